//! A database for maps and reduces that fits in a few lines, and short ways to run them.

use jackdaw_document::{DocumentBuf, Value};
use jackdaw_script::index::{
    Attachment, IndexHost, IndexMachine, IndexedDocument, LoadedDocument, MapProgram,
    ReduceProgram, RunError,
};
use jackdaw_script::{HostError, ScriptLimits};

use crate::common::{document, json};

/// A database of one address, with the same counters for every document.
pub(crate) struct IndexWorld {
    machine: IndexMachine,
    pub(crate) fails: bool,
    pub(crate) asked: Vec<String>,
}

impl Default for IndexWorld {
    fn default() -> IndexWorld {
        IndexWorld {
            machine: IndexMachine::new(ScriptLimits::default()),
            fails: false,
            asked: Vec::new(),
        }
    }
}

/// What the database answers.
struct Answers<'w> {
    fails: bool,
    asked: &'w mut Vec<String>,
}

impl IndexHost for Answers<'_> {
    fn load(
        &mut self,
        id: &str,
        collection: Option<&str>,
    ) -> Result<Option<LoadedDocument>, HostError> {
        self.asked
            .push(format!("{id} {}", collection.unwrap_or("?")));
        if self.fails {
            return Err(HostError::Failed("the disk is gone".into()));
        }
        Ok((id == "addresses/1").then(|| LoadedDocument {
            id: id.to_owned(),
            body: json(r#"{"city":"Lund","next":"addresses/1","number":1.10}"#),
            metadata: None,
            collection: Some("Addresses".to_owned()),
            change_vector: None,
            last_modified: None,
        }))
    }

    fn compare_exchange(&mut self, key: &str) -> Result<Option<DocumentBuf>, HostError> {
        Ok((key == "k").then(|| json(r#"{"v":7}"#)))
    }

    fn counter_names(&mut self, _: &str) -> Result<Vec<String>, HostError> {
        Ok(vec!["likes".to_owned()])
    }

    fn time_series_names(&mut self, _: &str) -> Result<Vec<String>, HostError> {
        Ok(vec!["Heart".to_owned()])
    }

    fn attachments(&mut self, _: &str) -> Result<Vec<Attachment>, HostError> {
        Ok(vec![Attachment {
            name: "cover.png".to_owned(),
            content_type: "image/png".to_owned(),
            hash: "abc".to_owned(),
            len_bytes: 12,
        }])
    }

    fn attachment_content(&mut self, _: &str, name: &str) -> Result<Option<Vec<u8>>, HostError> {
        Ok(match name {
            "cover.png" => Some(b"\xFF\xFE\x41\x00\xE9\x00".to_vec()),
            _ => None,
        })
    }

    fn is_over(&mut self) -> bool {
        false
    }
}

impl IndexWorld {
    pub(crate) fn entries(
        &mut self,
        map: &MapProgram,
        document: IndexedDocument<'_>,
    ) -> Result<Vec<String>, RunError> {
        let mut entries = Vec::new();
        let mut answers = Answers {
            fails: self.fails,
            asked: &mut self.asked,
        };
        self.machine
            .map(map, document, &mut answers, &mut |entry| {
                entries.push(entry.root().to_json());
            })?;
        Ok(entries)
    }

    /// Entries of the document `albums/1`.
    pub(crate) fn of_document(
        &mut self,
        map: &MapProgram,
        body: &str,
    ) -> Result<Vec<String>, RunError> {
        let body = json(body);
        self.entries(map, IndexedDocument::Document(document("albums/1", &body)))
    }
}

pub(crate) fn compile(text: &str) -> MapProgram {
    MapProgram::compile(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn mapped_by(map: &MapProgram, body: &str) -> Vec<String> {
    let mapped = IndexWorld::default().of_document(map, body);
    mapped.unwrap_or_else(|error| panic!("{body}: {error}"))
}

pub(crate) fn mapped(text: &str, body: &str) -> Vec<String> {
    mapped_by(&compile(text), body)
}

/// The error of a map; empty when there is none.
pub(crate) fn map_error(text: &str, body: &str) -> String {
    let mapped = IndexWorld::default().of_document(&compile(text), body);
    mapped
        .err()
        .map_or_else(String::new, |error| error.to_string())
}

pub(crate) fn reduced(reduce: &ReduceProgram, entries: &[&str]) -> Vec<String> {
    let parsed: Vec<DocumentBuf> = entries.iter().map(|entry| json(entry)).collect();
    let values: Vec<Value<'_>> = parsed.iter().map(DocumentBuf::root).collect();
    let mut asked = Vec::new();
    let mut answers = Answers {
        fails: false,
        asked: &mut asked,
    };
    let mut machine = IndexMachine::new(ScriptLimits::default());
    let results = machine
        .reduce(reduce, &values, &mut answers)
        .expect("the group reduces");
    results
        .iter()
        .map(|result| result.root().to_json())
        .collect()
}
