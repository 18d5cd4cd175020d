//! Results of a reduce as documents of a collection, and documents that list them.
//!
//! Documents live in another environment, so that the two cannot change at once: a batch notes the
//! groups whose results changed; when it is committed, their documents are written; then the note
//! goes. After a crash in between they are written once more, which changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document, DocumentBuf, Value};
use jackdaw_storage::{Environment, ReadTransaction, StorageError, WriteTransaction};

use super::definition::StaticDefinition;
use super::errors::{self, IndexingError};
use super::groups::GroupRecord;
use super::references::hash_of;
use super::trees::{
    ENTRIES, GROUPS, META, Meta, OUTPUT_DOCUMENTS, OUTPUT_REFERENCES, OUTPUTS, decode_owned, key,
    last_number,
};
use crate::command::Command;
use crate::database::Core;
use crate::error::{ReadError, WriteError};
use crate::indexes::index::Index;
use crate::indexes::step::StepError;
use crate::prepared::Prepared;
use crate::store::apply_outputs;

/// Groups whose documents are written at once, and bytes of these documents.
const GROUPS_MAX: usize = 256;
const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// What the collection of documents that list results is called when nobody says.
const REFERENCES_SUFFIX: &str = "/References";

/// Documents of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Written {
    ids: Vec<String>,
    /// Id of the document that lists them.
    reference: Option<String>,
}

/// Writes the documents of all groups whose results changed.
pub(super) fn store(
    index: &Index,
    documents: &Environment,
    core: &Arc<Core>,
) -> Result<(), StepError> {
    let definition = index.definition();
    let Some(own) = definition.as_static() else {
        return Ok(());
    };
    while !index.is_stopping() {
        let pages = index.read()?;
        let Some(work) = Work::gather(&pages, own)? else {
            return Ok(());
        };
        drop(pages);
        write(documents, core, work.commands)?;
        let mut transaction = index.environment.begin_write()?;
        for (group, before, now) in work.groups {
            transaction.tree_mut(OUTPUTS)?.delete(&key(group))?;
            let mut written = transaction.tree_mut(OUTPUT_DOCUMENTS)?;
            match now.ids.is_empty() {
                true => written.delete(&key(group))?,
                false => written.put(&key(group), now.encode().as_bytes())?,
            };
            let mut references = transaction.tree_mut(OUTPUT_REFERENCES)?;
            if let Some(id) = &before.reference {
                references.delete(&reference_key(id, group))?;
            }
            if let Some(id) = &now.reference {
                references.put(&reference_key(id, group), &[])?;
            }
        }
        store_errors(&mut transaction, work.errors, core.now())?;
        transaction.commit()?;
    }
    Ok(())
}

fn store_errors(
    transaction: &mut WriteTransaction,
    errors: Vec<String>,
    at: UnixTicks,
) -> Result<(), StepError> {
    if errors.is_empty() {
        return Ok(());
    }
    let of = |error| IndexingError {
        at,
        document: None,
        action: "Reduce".to_owned(),
        error,
    };
    let errors: Vec<IndexingError> = errors.into_iter().map(of).collect();
    let mut meta = Meta::load(transaction.tree(META)?.as_ref())?;
    errors::store(transaction, &errors, &mut meta)?;
    transaction
        .tree_mut(META)?
        .put(Meta::key(), &meta.encode())?;
    Ok(())
}

/// Carries out commands as one transaction of the documents.
fn write(
    documents: &Environment,
    core: &Arc<Core>,
    commands: Vec<Command>,
) -> Result<(), StepError> {
    let prepared = Prepared::from_commands(commands, || core.random_id())?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let (within, hub) = (Arc::clone(core), Arc::clone(&core.hub));
    documents.submit_then(
        move |transaction| apply_outputs(transaction, &within, &prepared),
        move |outcome| {
            if let Ok(applied) = &outcome {
                hub.report(applied);
            }
            // The worker waits until it has the outcome.
            let _ = sender.send(outcome.map(drop).map_err(WriteError::from));
        },
    );
    let lost = || Err(WriteError::Unknown(StorageError::Poisoned));
    Ok(receiver.recv().unwrap_or_else(|_| lost())?)
}

/// Documents to be written, and what is known of their groups then.
struct Work {
    commands: Vec<Command>,
    groups: Vec<(u64, Written, Written)>,
    /// Why results are not listed.
    errors: Vec<String>,
}

impl Work {
    /// The next groups; `None` when there are none.
    fn gather(
        pages: &ReadTransaction,
        definition: &StaticDefinition,
    ) -> Result<Option<Work>, StepError> {
        let Some(collection) = &definition.output_collection else {
            return Ok(None);
        };
        let mut waiting = Vec::new();
        if let Some(outputs) = pages.tree(OUTPUTS)? {
            for entry in outputs.iter()?.take(GROUPS_MAX) {
                let (key, hash) = entry?;
                waiting.push((last_number(&key.to_vec())?, hash));
            }
        }
        if waiting.is_empty() {
            return Ok(None);
        }
        let mut work = Work {
            commands: Vec::new(),
            groups: Vec::new(),
            errors: Vec::new(),
        };
        let mut len_bytes = 0;
        for (group, hash) in waiting {
            if len_bytes > OUTPUT_BYTES_MAX {
                break;
            }
            let before = written(pages, group)?;
            let results = results(pages, group)?;
            let mut now = Written::default();
            for (slot, result) in results.iter().enumerate() {
                let id = output_id(collection, hash, slot);
                if let Some(pattern) = &definition.reference_pattern {
                    match referencing_id(pattern, result.root()) {
                        Ok(id) => now.reference = Some(id),
                        Err(field) => work.errors.push(format!(
                            "The result {id} is listed by no document, because its field \
                             '{field}' is null and the pattern of ids '{pattern}' names it."
                        )),
                    }
                }
                len_bytes += result.as_bytes().len();
                work.commands.push(put(&id, result.to_buf(), collection));
                now.ids.push(id);
            }
            let gone = before.ids.iter().filter(|id| !now.ids.contains(id));
            work.commands.extend(gone.map(|id| delete(id)));
            work.groups.push((group, before, now));
        }
        work.list(pages, definition, collection)?;
        Ok(Some(work))
    }

    /// Writes the documents that list the results of the groups, as they are afterwards.
    fn list(
        &mut self,
        pages: &ReadTransaction,
        definition: &StaticDefinition,
        collection: &str,
    ) -> Result<(), StepError> {
        let mut lists: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (_, before, now) in &self.groups {
            for id in before.reference.iter().chain(&now.reference) {
                lists.entry(id.clone()).or_default();
            }
        }
        if lists.is_empty() {
            return Ok(());
        }
        let changed: BTreeSet<u64> = self.groups.iter().map(|(group, ..)| *group).collect();
        let references = pages.tree(OUTPUT_REFERENCES)?;
        for (id, listed) in &mut lists {
            if let Some(references) = &references {
                for entry in references.prefix(&hash_of(id.as_bytes()))? {
                    let group = last_number(&entry?.0.to_vec())?;
                    if !changed.contains(&group) {
                        listed.extend(written(pages, group)?.ids);
                    }
                }
            }
            for (_, _, now) in &self.groups {
                if now.reference.as_ref() == Some(id) {
                    listed.extend(now.ids.iter().cloned());
                }
            }
        }
        let fallback = format!("{collection}{REFERENCES_SUFFIX}");
        let listing = definition
            .reference_collection
            .as_deref()
            .unwrap_or(&fallback);
        for (id, listed) in lists {
            if listed.is_empty() {
                self.commands.push(delete(&id));
                continue;
            }
            let mut builder = Builder::new();
            builder.begin_object().key("ReduceOutputs").begin_array();
            for output in &listed {
                builder.string(output);
            }
            let body = builder.end_array().end_object().finish()?;
            self.commands.push(put(&id, body, listing));
        }
        Ok(())
    }
}

fn put(id: &str, body: DocumentBuf, collection: &str) -> Command {
    let mut builder = Builder::new();
    builder
        .begin_object()
        .key("@collection")
        .string(collection)
        .end_object();
    Command::Put {
        id: Some(id.to_owned()),
        body,
        metadata: Some(builder.finish().expect("the calls are balanced")),
        expected: None,
        keeps_revision: false,
    }
}

fn delete(id: &str) -> Command {
    Command::Delete {
        id: id.to_owned(),
        expected: None,
    }
}

/// The id of a result of the group with this hash.
fn output_id(collection: &str, hash: &[u8], slot: usize) -> String {
    let number = hash
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes));
    match slot {
        0 => format!("{collection}/{number}"),
        slot => format!("{collection}/{number}/{slot}"),
    }
}

fn written(pages: &ReadTransaction, group: u64) -> Result<Written, ReadError> {
    let bytes = match pages.tree(OUTPUT_DOCUMENTS)? {
        Some(tree) => tree.get(&key(group))?,
        None => None,
    };
    Ok(bytes.map_or_else(Written::default, Written::decode))
}

/// The results of a group; none when it is gone.
fn results(pages: &ReadTransaction, group: u64) -> Result<Vec<Document<'_>>, ReadError> {
    let record = match pages.tree(GROUPS)? {
        Some(groups) => groups
            .get(&key(group))?
            .map(GroupRecord::decode)
            .transpose()?,
        None => None,
    };
    let (Some(record), Some(entries)) = (record, pages.tree(ENTRIES)?) else {
        return Ok(Vec::new());
    };
    let mut results = Vec::with_capacity(record.entries.len());
    for entry in record.entries {
        let damaged = || ReadError::damaged("a result of a static index");
        let bytes = entries.get(&key(entry))?.ok_or_else(damaged)?;
        results.push(Document::trusted(decode_owned(bytes)?.1));
    }
    Ok(results)
}

fn reference_key(id: &str, group: u64) -> Vec<u8> {
    let mut bytes = hash_of(id.as_bytes()).to_vec();
    bytes.extend_from_slice(&key(group));
    bytes
}

impl Written {
    fn encode(&self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object().key("Ids").begin_array();
        for id in &self.ids {
            builder.string(id);
        }
        builder.end_array().key("Reference");
        match &self.reference {
            Some(id) => builder.string(id),
            None => builder.null(),
        };
        builder.end_object();
        builder.finish().expect("the calls are balanced")
    }

    fn decode(bytes: &[u8]) -> Written {
        let root = Document::trusted(bytes).root();
        let text = |value: Value<'_>| value.as_str().map(str::to_owned);
        let ids = root.get("Ids").and_then(|ids| ids.as_array());
        Written {
            ids: ids
                .into_iter()
                .flat_map(|ids| ids.iter())
                .filter_map(text)
                .collect(),
            reference: root.get("Reference").and_then(text),
        }
    }
}

/// The id of the document that lists a result: a pattern with `{Field}` or `{Field:format}`.
///
/// # Errors
/// The name of a field that is null or missing: no document lists the result then.
fn referencing_id<'p>(pattern: &'p str, result: Value<'_>) -> Result<String, &'p str> {
    let mut id = String::new();
    let mut rest = pattern;
    while let Some((before, behind)) = rest.split_once('{') {
        id.push_str(before);
        let Some((inside, after)) = behind.split_once('}') else {
            id.push('{');
            rest = behind;
            continue;
        };
        let (name, format) = match inside.split_once(':') {
            Some((name, format)) => (name, Some(format)),
            None => (inside, None),
        };
        let value = result.get(name.trim()).unwrap_or(Value::Null);
        if value.is_null() {
            return Err(name.trim());
        }
        let text = value
            .as_str()
            .map_or_else(|| value.to_json(), str::to_owned);
        let moment = format.and_then(|_| UnixTicks::parse(&text));
        match (format, moment) {
            (Some(format), Some(moment)) => push_moment(format, moment, &mut id),
            _ => id.push_str(&text),
        }
        rest = after;
    }
    id.push_str(rest);
    Ok(id)
}

/// Writes a moment with the letters of .NET formats: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`.
fn push_moment(format: &str, moment: UnixTicks, out: &mut String) {
    // 2026-11-21T00:36:34.8037634Z
    let text = moment.to_string();
    let parts = [
        ("yyyy", 0..4),
        ("yy", 2..4),
        ("MM", 5..7),
        ("dd", 8..10),
        ("HH", 11..13),
        ("mm", 14..16),
        ("ss", 17..19),
    ];
    let mut rest = format;
    'format: while let Some(first) = rest.chars().next() {
        for (letters, range) in &parts {
            if let Some(behind) = rest.strip_prefix(letters) {
                out.push_str(text.get(range.clone()).unwrap_or_default());
                rest = behind;
                continue 'format;
            }
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackdaw_document::Limits;

    #[test]
    fn ids_of_listing_documents_follow_their_pattern() {
        let json = r#"{"At":"2017-05-24T10:11:12.0000000","N":5,"T":"x","Empty":"","Null":null}"#;
        let result = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
        for (pattern, expected) in [
            ("reports/daily/{At:yyyy-MM-dd}", "reports/daily/2017-05-24"),
            ("{At:yy}/{N}/{T:yyyy}/{Empty}", "17/5/x/"),
            ("a{b", "a{b"),
        ] {
            let id = referencing_id(pattern, result.root());
            assert_eq!(id.as_deref(), Ok(expected));
        }
        for pattern in ["{Null}", "x/{N}/{ Missing }", "{Null:yyyy}"] {
            assert!(referencing_id(pattern, result.root()).is_err(), "{pattern}");
        }
    }

    #[test]
    fn what_was_written_reads_back() {
        let written = Written {
            ids: vec!["A/1".to_owned(), "A/2".to_owned()],
            reference: Some("r".to_owned()),
        };
        assert_eq!(Written::decode(written.encode().as_bytes()), written);
        assert_eq!(Written::decode(&[]), Written::default());
    }
}
