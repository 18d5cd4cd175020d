//! What a script will leave of documents, worked out before the transaction that stores it.
//!
//! Patches of many documents by one script are mostly reading and running: a [`Foresight`] does
//! that on the caller's thread, over a snapshot, while the writer's thread stores the batch before.
//! What it saw goes along with each [`Patch`](crate::Patch). The transaction takes it if the
//! document is still the one that was read, by its etag, and runs the script itself if not.
//!
//! Invariant: what is foreseen depends on the document alone, and on the moment and on chance where
//! the script looks at these. A script that asks for anything else (`load`, `put`, counters) is not
//! run here again, nor is what it does foreseen.

use jackdaw_document::{Array, DocumentBuf, Value};
use jackdaw_io::Vfs;
use jackdaw_model::Etag;
use jackdaw_script::{
    Argument, Assignments, Host, HostError, Machines, Output, Program, ScriptDocument,
    ScriptLimits, Wanted,
};

use crate::database::Database;
use crate::left::{Content, Left};
use crate::names::EMPTY_COLLECTION;
use crate::patch::{PatchWork, SCRIPT_NANOS_MAX};
use crate::snapshot::{DocumentRow, Snapshot};

/// Bytes of documents that one call foresees, and the last one beside them.
const BYTES_MAX: usize = 4 << 20;

/// Runs one script over documents before they are patched. See the file head.
pub struct Foresight {
    program: Program,
    parameters: Option<DocumentBuf>,
    machines: Machines,
    /// Whether the script is run no more: it asked for more than its document, or it failed.
    has_given_up: bool,
}

/// What a script will leave of one document.
pub struct Foreseen {
    /// The document that it was given.
    pub(crate) etag: Etag,
    /// `None`: what it was.
    pub(crate) left: Option<Content>,
}

impl std::fmt::Debug for Foreseen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Foreseen");
        shown.field("etag", &self.etag).finish_non_exhaustive()
    }
}

impl Foresight {
    /// Of the script that `work` runs over documents that are there; `None` where it runs none.
    #[must_use]
    pub fn new(work: &PatchWork) -> Option<Foresight> {
        let PatchWork::Script {
            script, context, ..
        } = work
        else {
            return None;
        };
        Some(Foresight {
            program: script.program(context),
            parameters: script.parameters.clone(),
            machines: Machines::new(ScriptLimits::default(), 1),
            has_given_up: false,
        })
    }

    /// What will be left of each document, in the time that the script takes; `None` where that
    /// has to be found out in the transaction: documents that are not there, all from the first
    /// for which the script fails or asks for more, whatever cannot be read, and what comes after
    /// 4 MiB of what is left.
    pub fn see(&mut self, database: &Database, ids: &[String]) -> Vec<Option<Foreseen>> {
        let nothing = || ids.iter().map(|_| None).collect();
        let Ok(snapshot) = database.read() else {
            return nothing();
        };
        let clock = database.clock();
        let program = std::mem::take(&mut self.program);
        let simple = Assignments::read(&program);
        let mut bytes_left = BYTES_MAX;
        let seen = ids.iter().map(|id| {
            if bytes_left == 0 {
                return None;
            }
            let row = row(&snapshot, id)?;
            let parameters = self.parameters.as_ref();
            let parameters = parameters.map(|parameters| parameters.root());
            let apply = |simple: &Assignments<'_>| simple.apply(&given(&row), parameters);
            let output = match simple.as_ref().and_then(apply) {
                Some(output) => output,
                None => self.run(&program, &row, clock)?,
            };
            let foreseen = foreseen(&row, output)?;
            let taken = foreseen.left.as_ref().map_or(0, |left| left.bytes.len());
            bytes_left = bytes_left.saturating_sub(taken);
            Some(foreseen)
        });
        let seen = seen.collect();
        drop(simple);
        self.program = program;
        seen
    }

    /// Runs the script in a realm of its own.
    fn run(&mut self, program: &Program, row: &DocumentRow<'_>, clock: &dyn Vfs) -> Option<Output> {
        if self.has_given_up {
            return None;
        }
        let (change_vector, last_modified) = (row.change_vector(), row.last_modified().to_string());
        let document = ScriptDocument {
            change_vector: Some(&change_vector),
            last_modified: Some(&last_modified),
            ..given(row)
        };
        let mut host = Nobody {
            was_asked: false,
            clock,
            deadline_nanos: u64::MAX,
        };
        let parameters = self.parameters.as_ref();
        let parameters = parameters.map(|parameters| parameters.root());
        let arguments = [Argument::Document(document)];
        let outcome = self.machines.with(program, |machine| {
            machine.run(&mut host, &arguments, parameters, Wanted::Document)
        });
        // A script that fails is known to when the transaction comes to it.
        self.has_given_up = host.was_asked || outcome.is_err();
        outcome.ok().filter(|_| !self.has_given_up)
    }
}

/// The document of that id in that very spelling.
fn row<'s>(snapshot: &'s Snapshot, id: &str) -> Option<DocumentRow<'s>> {
    let number = snapshot.number(id).ok().flatten()?;
    let row = snapshot.load(number).ok().flatten();
    row.filter(|row| row.id() == id)
}

/// A document as scripts are given it, without what only some of them look at.
fn given<'s>(row: &DocumentRow<'s>) -> ScriptDocument<'s> {
    let metadata = row.metadata().map(|metadata| metadata.root());
    ScriptDocument {
        body: row.body().root(),
        metadata: match metadata {
            Some(Value::Object(metadata)) => Some(metadata),
            _ => None,
        },
        collection: Some(row.collection()).filter(|name| *name != EMPTY_COLLECTION),
        id: row.id(),
        change_vector: None,
        last_modified: None,
    }
}

/// `None` for a document that would have to change its collection, which is refused.
fn foreseen(row: &DocumentRow<'_>, output: Output) -> Option<Foreseen> {
    let left = Left {
        body: output.value,
        metadata: output.metadata,
    };
    let etag = row.etag();
    if left.is_still(&given(row)) {
        return Some(Foreseen { etag, left: None });
    }
    let content = left.content(row.id()).ok()?;
    (content.collection == row.collection()).then_some(Foreseen {
        etag,
        left: Some(content),
    })
}

/// A host that answers nothing.
struct Nobody<'c> {
    was_asked: bool,
    clock: &'c dyn Vfs,
    /// From when the run began.
    deadline_nanos: u64,
}

impl Host for Nobody<'_> {
    fn call(&mut self, function: &str, _arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        self.was_asked = true;
        // Not to be caught by the script: it would go on with what is not so.
        Err(HostError::Failed(
            format!("{function}() is not asked here").into(),
        ))
    }

    fn begin(&mut self) {
        let now = self.clock.monotonic_nanos();
        self.deadline_nanos = now.saturating_add(SCRIPT_NANOS_MAX);
    }

    fn is_over(&mut self) -> bool {
        self.clock.monotonic_nanos() > self.deadline_nanos
    }
}
