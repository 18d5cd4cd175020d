//! One client of the soak: it changes documents and attachments of its own, and asks for them.
//!
//! It knows what it wrote, so every answer has to be exact: of documents and attachments always, of
//! the automatic index too, of the static one unless it says that it is behind. Its documents are
//! bounded in number and length.

use std::iter::Sum;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jackdaw_base::width::to_usize;
use jackdaw_database::{
    AttachmentChange, AttachmentContent, Command, Database, Patch, QueryRequest, QueryResult,
    RowBuffer, StaticDefinition,
};
use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_slow_tests::mix;

use crate::Course;

/// Documents of a client at most.
const SLOTS: u64 = 5_000;
const BUCKETS: u64 = 50;
const ATTACHMENTS: u64 = 48;
const TEXT_BYTES_MAX: u64 = 3_000;
const BATCH_MAX: u64 = 8;
/// Most attachments are at most this long; one in twenty is `LARGE_BYTES`, which is uploaded in
/// several transactions.
const SMALL_BYTES_MAX: u64 = 384 << 10;
const LARGE_BYTES: u64 = 6 << 20;
/// Time from one operation to the next: a steady load, whatever else the machine does.
const PACE: Duration = Duration::from_millis(10);

/// A static index of totals.
const INDEX: &str = "{\"Name\":\"Buckets\",\"Maps\":[\"from i in docs.Items select new { i.Owner, \
     i.Bucket, i.Count, Documents = 1 }\"],\"Reduce\":\"from r in results group r by new { \
     r.Owner, r.Bucket } into g select new { \
     Owner = g.Key.Owner, Bucket = g.Key.Bucket, Count = g.Sum(x => x.Count), \
     Documents = g.Sum(x => x.Documents) }\"}";

/// How many answers were compared.
#[derive(Clone, Copy, Default)]
pub(crate) struct Answers {
    pub(crate) documents: u64,
    pub(crate) attachments: u64,
    pub(crate) automatic: u64,
    pub(crate) fixed: u64,
    pub(crate) stale: u64,
}

impl Sum for Answers {
    fn sum<I: Iterator<Item = Answers>>(answers: I) -> Answers {
        answers.fold(Answers::default(), |sum, more| Answers {
            documents: sum.documents + more.documents,
            attachments: sum.attachments + more.attachments,
            automatic: sum.automatic + more.automatic,
            fixed: sum.fixed + more.fixed,
            stale: sum.stale + more.stale,
        })
    }
}

/// What a document holds; the rest follows from it.
#[derive(Clone, Copy)]
struct Item {
    bucket: u64,
    count: u64,
    /// Says what its text is.
    text: u64,
}

pub(crate) struct Client {
    database: Arc<Database>,
    number: u64,
    random: u64,
    items: Vec<Option<Item>>,
    /// What the content of each attachment follows from.
    attachments: Vec<Option<u64>>,
    pub(crate) answers: Answers,
}

fn json(text: &str) -> Result<DocumentBuf> {
    Ok(DocumentBuf::from_json(text.as_bytes(), &Limits::default())?)
}

/// Makes the static index.
pub(crate) fn define_index(database: &Database) -> Result<()> {
    let text = json(INDEX)?;
    let object = text
        .root()
        .as_object()
        .context("a definition is an object")?;
    Ok(database.put_index(StaticDefinition::read(object)?)?)
}

impl Client {
    pub(crate) fn new(database: &Arc<Database>, number: u64, seed: u64) -> Result<Client> {
        let client = Client {
            database: Arc::clone(database),
            number,
            random: mix(seed ^ number << 32),
            items: vec![None; to_usize(SLOTS)],
            attachments: vec![None; to_usize(ATTACHMENTS)],
            answers: Answers::default(),
        };
        let folder = put(&client.folder(), "Folders", "{}")?;
        client.database.batch(vec![folder])?;
        Ok(client)
    }

    /// Works until the course is over.
    pub(crate) fn run(&mut self, course: &Course) -> Result<()> {
        while !course.is_over() {
            let started = Instant::now();
            self.step()?;
            course.operations.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(PACE.saturating_sub(started.elapsed()));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        match self.below(100) {
            0..38 => self.store(),
            38..48 => self.delete(),
            48..62 => self.patch(),
            62..74 => {
                let slot = self.below(SLOTS);
                self.compare(slot)
            }
            74..84 => self.ask_automatic(),
            84..90 => self.ask_static(),
            90..94 => self.attach(),
            _ => self.read_attachment(),
        }
    }

    fn next(&mut self) -> u64 {
        self.random = mix(self.random);
        self.random
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn id(&self, slot: u64) -> String {
        format!("items/{}-{slot}", self.number)
    }

    fn folder(&self) -> String {
        format!("folders/{}", self.number)
    }

    fn text_of(&self, item: Item) -> String {
        let words = item.text % TEXT_BYTES_MAX / 17;
        let words: Vec<String> = (0..words)
            .map(|position| format!("{:016x}", mix(item.text ^ position)))
            .collect();
        format!(
            "{{\"Owner\":{},\"Bucket\":{},\"Count\":{},\"Text\":\"{}\"}}",
            self.number,
            item.bucket,
            item.count,
            words.join(" ")
        )
    }

    fn store(&mut self) -> Result<()> {
        let mut commands = Vec::new();
        for _ in 0..=self.below(BATCH_MAX) {
            let slot = self.below(SLOTS);
            let item = Item {
                bucket: self.below(BUCKETS),
                count: self.below(1_000),
                text: self.next(),
            };
            commands.push(put(&self.id(slot), "Items", &self.text_of(item))?);
            self.items[to_usize(slot)] = Some(item);
        }
        self.database.batch(commands)?;
        Ok(())
    }

    fn delete(&mut self) -> Result<()> {
        let first = self.below(SLOTS);
        let slots = first..(first + self.below(BATCH_MAX) + 1).min(SLOTS);
        let delete = |slot| Command::Delete {
            id: self.id(slot),
            expected: None,
        };
        self.database.batch(slots.clone().map(delete).collect())?;
        for slot in slots {
            self.items[to_usize(slot)] = None;
        }
        Ok(())
    }

    fn patch(&mut self) -> Result<()> {
        let slot = self.below(SLOTS);
        let Some(item) = self.items[to_usize(slot)] else {
            return Ok(());
        };
        let by = self.below(100);
        let arguments = json(&format!("{{\"By\":{by}}}"))?;
        let patch = Patch::script(&self.id(slot), "this.Count += args.By;", Some(arguments));
        self.database.batch(vec![Command::Patch(Box::new(patch))])?;
        let count = item.count + by;
        self.items[to_usize(slot)] = Some(Item { count, ..item });
        Ok(())
    }

    /// Reads one document.
    fn compare(&mut self, slot: u64) -> Result<()> {
        self.check_item(&self.database.read()?, slot)?;
        self.answers.documents += 1;
        Ok(())
    }

    fn check_item(&self, snapshot: &jackdaw_database::Snapshot, slot: u64) -> Result<()> {
        let id = self.id(slot);
        let found = snapshot.get(&id)?;
        let found = found.map(|row| row.body().root().to_json());
        let expected = self.items[to_usize(slot)].map(|item| self.text_of(item));
        ensure!(
            found == expected,
            "{id} is {found:?}, and {expected:?} was written"
        );
        Ok(())
    }

    /// Reads all documents and attachments.
    pub(crate) fn compare_all(&self) -> Result<()> {
        let snapshot = self.database.read()?;
        (0..SLOTS).try_for_each(|slot| self.check_item(&snapshot, slot))?;
        (0..ATTACHMENTS).try_for_each(|slot| self.check_attachment(slot))
    }

    /// Number of documents in a bucket and the sum of their counts.
    fn totals(&self, bucket: u64) -> (u64, u64) {
        let items = self.items.iter().flatten();
        let items = items.filter(|item| item.bucket == bucket);
        items.fold((0, 0), |(documents, sum), item| {
            (documents + 1, sum + item.count)
        })
    }

    fn query(&self, text: &str) -> Result<(QueryResult, String)> {
        let mut rows = RowBuffer::default();
        let request = QueryRequest {
            text,
            page_size: Some(10),
            ..QueryRequest::default()
        };
        let result = self.database.query(&request, &mut rows);
        let result = result.with_context(|| text.to_owned())?;
        Ok((result, String::from_utf8(rows.rows)?))
    }

    fn ask_automatic(&mut self) -> Result<()> {
        let bucket = self.below(BUCKETS);
        let text = format!(
            "from Items where Owner = {} and Bucket = {bucket}",
            self.number
        );
        let (result, _) = self.query(&text)?;
        if result.is_stale {
            self.answers.stale += 1;
            return Ok(());
        }
        let (documents, _) = self.totals(bucket);
        let found = result.outcome.total_results;
        ensure!(
            found == Some(documents),
            "{text}: {found:?} documents instead of {documents}"
        );
        self.answers.automatic += 1;
        Ok(())
    }

    fn ask_static(&mut self) -> Result<()> {
        let bucket = self.below(BUCKETS);
        let text = format!(
            "from index 'Buckets' where Owner = {} and Bucket = {bucket}",
            self.number
        );
        let (result, rows) = self.query(&text)?;
        if result.is_stale {
            self.answers.stale += 1;
            return Ok(());
        }
        let (documents, sum) = self.totals(bucket);
        let expected = match documents {
            0 => String::new(),
            _ => format!(
                "{{\"Owner\":{},\"Bucket\":{bucket},\"Count\":{sum},\"Documents\":{documents},",
                self.number
            ),
        };
        let is_right = rows.starts_with(&expected) && rows.is_empty() == expected.is_empty();
        ensure!(is_right, "{text}: {rows} instead of {expected}");
        self.answers.fixed += 1;
        Ok(())
    }

    fn attach(&mut self) -> Result<()> {
        let slot = self.below(ATTACHMENTS);
        let seed = self.next();
        let bytes = content_of(seed);
        let content = match is_large(seed) {
            false => AttachmentContent::from_bytes(bytes),
            true => {
                let mut upload = self.database.upload_attachment();
                for piece in bytes.chunks(1 << 20) {
                    upload.push(piece.to_vec())?;
                }
                upload.finish(Vec::new())?
            }
        };
        self.database.batch(vec![Command::Attachment {
            id: self.folder(),
            name: slot.to_string(),
            expected: None,
            change: AttachmentChange::Put {
                content_type: String::new(),
                content,
            },
        }])?;
        self.attachments[to_usize(slot)] = Some(seed);
        Ok(())
    }

    fn read_attachment(&mut self) -> Result<()> {
        let slot = self.below(ATTACHMENTS);
        self.check_attachment(slot)?;
        self.answers.attachments += 1;
        Ok(())
    }

    fn check_attachment(&self, slot: u64) -> Result<()> {
        let Some(seed) = self.attachments[to_usize(slot)] else {
            return Ok(());
        };
        let (snapshot, name) = (self.database.read()?, slot.to_string());
        let folder = snapshot
            .get(&self.folder())?
            .context("the folder is gone")?;
        let info = snapshot.attachment(folder.number(), &name)?;
        let info = info.with_context(|| format!("attachment {name} is gone"))?;
        let mut found = Vec::new();
        while (found.len() as u64) < info.len_bytes {
            let piece = snapshot.attachment_piece(&info.hash, found.len() as u64)?;
            ensure!(!piece.is_empty(), "attachment {name} ends too early");
            found.extend_from_slice(piece);
        }
        ensure!(
            found == content_of(seed),
            "attachment {name} of client {} is not what was written",
            self.number
        );
        Ok(())
    }
}

fn put(id: &str, collection: &str, body: &str) -> Result<Command> {
    Ok(Command::Put {
        id: Some(id.to_owned()),
        body: json(body)?,
        metadata: Some(json(&format!("{{\"@collection\":\"{collection}\"}}"))?),
        expected: None,
        keeps_revision: false,
    })
}

fn is_large(seed: u64) -> bool {
    seed.is_multiple_of(20)
}

fn content_of(seed: u64) -> Vec<u8> {
    let len_bytes = match is_large(seed) {
        true => LARGE_BYTES,
        false => 1 + mix(seed) % SMALL_BYTES_MAX,
    };
    let words = (0..len_bytes.div_ceil(8)).map(|word| mix(seed ^ word).to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(to_usize(len_bytes));
    bytes
}
