//! `POST /databases/*/bulk_insert`: one long JSON array of documents, stored while it arrives.
//!
//! The body is cut into its elements without waiting for its end; elements are parsed on the
//! blocking pool and stored in batches of a MiB, or less where there is little memory. One batch is
//! being stored while the next is received, so that network and disk work at the same time.
//!
//! The closing `]` ends the work, whether or not the body ends with it: some clients keep the body
//! open until they have the answer.
//!
//! Each batch is a transaction; the request as a whole is not. When it fails, what was stored
//! before stays, and the answer says how much that is.

use std::sync::Arc;

use hyper::StatusCode;
use jackdaw_database::{Command, CommandResult, Database};
use jackdaw_document::{Limits, Parser};
use tokio::task::JoinHandle;

use super::{Rate, batch, input, writing};
use crate::http::{BodyPlace, Call, Feed, Pending, Reply, crowded, overloaded};
use crate::wire::{WireError, kind};

/// What has been stored so far.
#[derive(Clone, Copy, Default)]
struct Stored {
    documents: usize,
    batches: usize,
    /// Whether documents are left alone that come with the content that they have.
    skips_unchanged: bool,
}

type Storing = JoinHandle<Result<usize, WireError>>;

/// `POST /databases/*/bulk_insert?id=`
pub(super) fn run(call: Arc<Call>, mut feed: Feed) -> Pending {
    Box::pin(async move {
        let outcome = insert(&call, &mut feed).await;
        // What is left is nothing, or the rest of what was refused.
        feed.drain().await;
        outcome.map(|()| Reply::empty(StatusCode::CREATED))
    })
}

async fn insert(call: &Arc<Call>, feed: &mut Feed) -> Result<(), WireError> {
    let database = super::database_soon(call).await?;
    let number = call.query().number("id");
    let number = number.ok_or_else(|| WireError::missing_parameter("id"))?;
    let operations = &call.shared.operations;
    let progress = operations.under(database.id().as_str(), number, "Bulk insert".to_owned());
    let mut stored = Stored {
        skips_unchanged: call.query().flag("skipOverwriteIfUnchanged"),
        ..Stored::default()
    };
    let outcome = tokio::select! {
        outcome = store_all(call, &database, feed, &mut stored) => outcome,
        () = progress.cancelled() => Err(ended()),
    };
    let Stored {
        documents, batches, ..
    } = stored;
    let outcome = outcome.map_err(|cause| {
        let message = format!(
            "Failed to process bulk insert. Inserted {documents} items in {batches} batches."
        );
        let cause = format!("{}: {}", cause.kind, cause.message);
        WireError::new(kind::INVALID_OPERATION, message).caused_by(cause)
    });
    match &outcome {
        Ok(()) => progress.complete(documents, Vec::new()),
        Err(error) => progress.fail(error),
    }
    outcome
}

fn ended() -> WireError {
    let message = "The bulk insert was ended by a request to kill its operation.";
    WireError::new(kind::BULK_INSERT_ABORTED, message)
}

async fn store_all(
    call: &Call,
    database: &Arc<Database>,
    feed: &mut Feed,
    stored: &mut Stored,
) -> Result<(), WireError> {
    let bodies = &call.shared.bodies;
    // Larger batches save nothing more on the journal.
    let batch_bytes = bodies.piece_bytes();
    let mut elements = Elements::new(call.shared.config.body_bytes_max);
    let mut place = bodies.enter();
    let mut storing: Option<Storing> = None;
    while !elements.ended {
        let Some(piece) = feed.next().await? else {
            break;
        };
        let wanted = (elements.held_bytes() + piece.len()) as u64;
        // With little memory left, what is whole is stored instead of waiting beside the rest.
        if !place.try_grow(wanted) && elements.is_divisible() {
            settle(&mut storing, stored).await?;
            let full = (
                elements.take(),
                std::mem::replace(&mut place, bodies.enter()),
            );
            storing = Some(store(call, database, full, stored.skips_unchanged));
        }
        let wanted = (elements.held_bytes() + piece.len()) as u64;
        place.grow(wanted).await.map_err(|_| crowded())?;
        elements.push(&piece)?;
        if elements.ready_bytes() >= batch_bytes && elements.is_divisible() {
            settle(&mut storing, stored).await?;
            let full = (
                elements.take(),
                std::mem::replace(&mut place, bodies.enter()),
            );
            storing = Some(store(call, database, full, stored.skips_unchanged));
        }
    }
    elements.finish()?;
    settle(&mut storing, stored).await?;
    let last = (elements.take(), place);
    let mut last = Some(store(call, database, last, stored.skips_unchanged));
    settle(&mut last, stored).await
}

/// Parses and stores a batch on a task of its own; its memory is counted until that is done.
fn store(
    call: &Call,
    database: &Arc<Database>,
    (batch, place): (Batch, BodyPlace),
    skips_unchanged: bool,
) -> Storing {
    let (shared, database) = (call.shared.clone(), database.clone());
    tokio::spawn(async move {
        let _place = place;
        let turn = shared.admission.enter(Rate::Data).await;
        let turn = turn.map_err(|_| overloaded())?;
        let parsed = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            batch.commands()
        });
        let commands = parsed.await.map_err(|_| lost())??;
        if commands.is_empty() {
            return Ok(0);
        }
        let count = commands.len();
        let _: Vec<CommandResult> = match skips_unchanged {
            true => writing::submit_changed(&database, commands).await?,
            false => writing::submit(&database, commands).await?,
        };
        Ok(count)
    })
}

async fn settle(storing: &mut Option<Storing>, stored: &mut Stored) -> Result<(), WireError> {
    if let Some(storing) = storing.take() {
        let documents = storing.await.map_err(|_| lost())??;
        stored.documents += documents;
        stored.batches += usize::from(documents > 0);
    }
    Ok(())
}

fn lost() -> WireError {
    WireError::new(kind::UNEXPECTED, "A batch of the bulk insert was lost.")
}

/// Whole elements: their text, and where each ends.
struct Batch {
    /// Longest element.
    element_bytes_max: usize,
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Contents of attachments, and the positions of their elements.
    contents: Vec<(usize, Vec<u8>)>,
}

impl Batch {
    fn commands(self) -> Result<Vec<Command>, WireError> {
        let limits = Limits {
            len_bytes_max: self.element_bytes_max,
            ..Limits::default()
        };
        let (mut parser, mut spare) = (Parser::new(limits), Parser::new(limits));
        let mut commands = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        let mut contents = self.contents.into_iter().peekable();
        for (slot, end) in self.ends.iter().enumerate() {
            let text = &self.text[start..*end];
            let element = parser
                .parse(text)
                .map_err(|error| input::refused(&error, text))?;
            let content = contents
                .next_if(|(of, _)| *of == slot)
                .map(|(_, content)| content);
            commands.extend(batch::read_insert(element.root(), content, &mut spare)?);
            start = *end;
        }
        Ok(commands)
    }
}

/// Cuts a JSON array into its elements as it arrives.
struct Elements {
    element_bytes_max: usize,
    ready: Batch,
    /// The beginning of an element that has not ended yet.
    partial: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether `[` has been seen.
    begun: bool,
    /// Whether `]` has been seen.
    ended: bool,
    /// Bytes of the content of an attachment that are still to come.
    content_left: usize,
}

impl Batch {
    fn new(element_bytes_max: usize) -> Batch {
        Batch {
            element_bytes_max,
            text: Vec::new(),
            ends: Vec::new(),
            contents: Vec::new(),
        }
    }
}

impl Elements {
    fn new(element_bytes_max: usize) -> Elements {
        Elements {
            element_bytes_max,
            ready: Batch::new(element_bytes_max),
            partial: Vec::new(),
            depth: 0,
            in_string: false,
            escaped: false,
            begun: false,
            ended: false,
            content_left: 0,
        }
    }

    /// Bytes that are in memory.
    fn held_bytes(&self) -> usize {
        self.ready_bytes() + self.partial.len()
    }

    fn ready_bytes(&self) -> usize {
        let contents = self.ready.contents.iter().map(|(_, content)| content.len());
        self.ready.text.len() + contents.sum::<usize>()
    }

    /// Whether what is whole can be stored by itself.
    fn is_divisible(&self) -> bool {
        !self.ready.ends.is_empty() && self.content_left == 0
    }

    fn take(&mut self) -> Batch {
        std::mem::replace(&mut self.ready, Batch::new(self.element_bytes_max))
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), WireError> {
        let mut start = None;
        let mut slot = 0;
        while let Some(byte) = piece.get(slot) {
            if self.content_left > 0 {
                slot += self.take_content(&piece[slot..]);
                continue;
            }
            if self.depth == 0 {
                if self.between(*byte)? {
                    start = Some(slot);
                }
            } else if self.inside(*byte) {
                let begin = start.take().unwrap_or(0);
                self.ready.text.append(&mut self.partial);
                self.ready.text.extend_from_slice(&piece[begin..=slot]);
                self.begin_content()?;
                self.ready.ends.push(self.ready.text.len());
            }
            slot += 1;
        }
        if self.depth > 0 {
            self.partial.extend_from_slice(&piece[start.unwrap_or(0)..]);
        }
        if self.partial.len() > self.element_bytes_max {
            return Err(WireError::body_too_large(self.element_bytes_max));
        }
        Ok(())
    }

    /// Looks whether the element that ended is followed by the content of an attachment.
    fn begin_content(&mut self) -> Result<(), WireError> {
        let start = self.ready.ends.last().copied().unwrap_or(0);
        let text = &self.ready.text[start..];
        const MARK: &[u8] = b"\"AttachmentPUT\"";
        if !text.windows(MARK.len()).any(|part| part == MARK) {
            return Ok(());
        }
        let mut parser = Parser::default();
        let element = parser
            .parse(text)
            .map_err(|error| input::refused(&error, text))?;
        let element = element.root();
        if element.get("Type").and_then(|name| name.as_str()) != Some("AttachmentPUT") {
            return Ok(());
        }
        let len = element.get("ContentLength").and_then(|len| len.as_i64());
        let len = len
            .and_then(|len| usize::try_from(len).ok())
            .ok_or_else(|| {
                let message = "An attachment of a bulk insert needs its ContentLength.";
                WireError::new(kind::INVALID_DATA, message)
            })?;
        if len > self.element_bytes_max {
            return Err(WireError::body_too_large(self.element_bytes_max));
        }
        self.ready
            .contents
            .push((self.ready.ends.len(), Vec::new()));
        self.content_left = len;
        Ok(())
    }

    /// Takes bytes of a content; gives how many.
    fn take_content(&mut self, piece: &[u8]) -> usize {
        let count = piece.len().min(self.content_left);
        if let Some((_, content)) = self.ready.contents.last_mut() {
            content.extend_from_slice(&piece[..count]);
        }
        self.content_left -= count;
        count
    }

    /// A byte between elements; true when it begins one.
    fn between(&mut self, byte: u8) -> Result<bool, WireError> {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if self.ended => {}
            b'[' if !self.begun => self.begun = true,
            b',' if self.begun => {}
            b']' if self.begun => self.ended = true,
            b'{' if self.begun => {
                self.depth = 1;
                return Ok(true);
            }
            other => {
                let found = char::from(other).escape_default();
                let message = format!("A bulk insert is an array of objects, but got '{found}'.");
                return Err(WireError::new(kind::INVALID_DATA, message));
            }
        }
        Ok(false)
    }

    /// A byte inside an element; true when it ends it.
    fn inside(&mut self, byte: u8) -> bool {
        if self.in_string {
            if std::mem::take(&mut self.escaped) {
                return false;
            }
            self.escaped = byte == b'\\';
            self.in_string = byte != b'"';
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }

    /// The body has ended: so must the array.
    fn finish(&self) -> Result<(), WireError> {
        if self.ended {
            return Ok(());
        }
        let message = "Stream ended without reaching end of json content";
        Err(WireError::new(kind::END_OF_STREAM, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, size: usize) -> Result<Vec<String>, WireError> {
        let mut elements = Elements::new(1 << 20);
        let mut cut = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            elements.push(piece)?;
            let batch = elements.take();
            let mut start = 0;
            for end in batch.ends {
                cut.push(String::from_utf8(batch.text[start..end].to_vec()).unwrap());
                start = end;
            }
        }
        elements.finish().map(|()| cut)
    }

    #[test]
    fn elements_are_found_whatever_the_pieces() {
        let text = r#" [ {"a":"}\"]{"}, {"b":[{},{"c":{}}],"d":"\\"},{},
            {"e":"\u00e9"} ] rubbish"#;
        let expected = [
            r#"{"a":"}\"]{"}"#,
            r#"{"b":[{},{"c":{}}],"d":"\\"}"#,
            "{}",
            r#"{"e":"\u00e9"}"#,
        ];
        for size in 1..text.len() {
            assert_eq!(cut(text, size).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn what_is_not_an_array_of_objects_is_refused() {
        for text in [
            "", "[", "[{}", "[{\"a\":", "{}", "[1]", "[[]]", "x", "[{},7",
        ] {
            assert!(cut(text, 3).is_err(), "{text}");
        }
        assert!(cut("[]", 1).unwrap().is_empty());
    }
}
