//! Patches as callers state them, and what became of each.

use std::sync::Arc;

use jackdaw_base::time::UnixTicks;
use jackdaw_document::DocumentBuf;
use jackdaw_script::{Assignments, Program, ScriptError, ScriptLimits};

use crate::foresight::Foreseen;

/// Longest time that a script may hold up the writer.
pub(crate) const SCRIPT_NANOS_MAX: u64 = 1_000_000_000;

/// A script with the values of its `args`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchScript {
    /// JavaScript over `this` and `args`.
    pub text: String,
    /// An object; `None` without parameters.
    pub parameters: Option<DocumentBuf>,
}

impl PatchScript {
    /// The script inside of what surrounds it.
    pub(crate) fn program(&self, context: &ScriptContext) -> Program {
        let mut program = Program::patch(&self.text);
        program.declarations.clone_from(&context.declarations);
        if let Some(alias) = &context.alias {
            program.parameters = vec![alias.clone()];
        }
        program
    }
}

impl PatchWork {
    /// Refuses scripts that are no JavaScript, also when no document would be patched.
    ///
    /// # Errors
    /// Why it is none.
    pub fn check(&self) -> Result<(), ScriptError> {
        let PatchWork::Script {
            script,
            context,
            if_missing,
            ..
        } = self
        else {
            return Ok(());
        };
        for script in std::iter::once(script).chain(if_missing) {
            let program = script.program(context);
            if Assignments::read(&program).is_none() {
                jackdaw_script::check(&program, &ScriptLimits::default())?;
            }
        }
        Ok(())
    }
}

/// What is done to a document.
#[derive(Clone, Debug)]
pub enum PatchWork {
    /// A script changes it. Other documents may change with it, in the same transaction.
    Script {
        /// For a document that is there.
        script: PatchScript,
        /// Functions declared before the script, and the name of the document in it.
        context: ScriptContext,
        /// For one that is not there; it gets an empty one.
        if_missing: Option<PatchScript>,
        /// Stored, without a script, when there is none: body and metadata.
        create_if_missing: Option<(DocumentBuf, Option<DocumentBuf>)>,
    },
    /// Operations of JSON Patch (RFC 6902): an array.
    Json(DocumentBuf),
}

/// What surrounds a script in a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptContext {
    /// `function name(parameters) { ... }`, any number of them.
    pub declarations: String,
    /// Name of the document beside `this`.
    pub alias: Option<String>,
}

/// A change of one document by what it holds.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The document's id in any letter case.
    pub id: String,
    /// As in [`Command`](crate::Command).
    pub expected: Option<String>,
    /// A document that is not as expected is left alone, which is no failure.
    pub skips_mismatch: bool,
    /// What is done; patches of many documents share it.
    pub work: Arc<PatchWork>,
    /// What that will leave, where it was worked out before. Used for a patch that expects and
    /// tells nothing, if its document is still the same then.
    pub foreseen: Option<Arc<Foreseen>>,
    /// Whether the outcome tells the document as the patch left it.
    pub tells_document: bool,
    /// Bytes of documents that the patches of a batch up to this one may tell together. A batch
    /// beyond it fails.
    pub told_bytes_max: usize,
    /// Whether the outcome tells the document before, and what the script did.
    pub debug: bool,
    /// Given back with the outcome, for callers that tell patches apart by it.
    pub tag: u32,
}

impl Patch {
    /// A script over one document.
    #[must_use]
    pub fn script(id: &str, text: &str, parameters: Option<DocumentBuf>) -> Patch {
        let text = text.to_owned();
        Patch {
            id: id.to_owned(),
            expected: None,
            skips_mismatch: false,
            work: Arc::new(PatchWork::Script {
                script: PatchScript { text, parameters },
                context: ScriptContext::default(),
                if_missing: None,
                create_if_missing: None,
            }),
            foreseen: None,
            tells_document: true,
            told_bytes_max: usize::MAX,
            debug: false,
            tag: 0,
        }
    }
}

/// What a patch did to its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchStatus {
    /// There is none, and nothing says what to do then.
    DocumentDoesNotExist,
    /// There was none; now there is.
    Created,
    /// It changed.
    Patched,
    /// It is not as expected, and was left alone.
    Skipped,
    /// The script left it as it was.
    NotModified,
}

/// What became of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchOutcome {
    /// The document's id as given.
    pub id: String,
    /// What happened.
    pub status: PatchStatus,
    /// Its etag and change vector now; `None` when it was not stored.
    pub stored: Option<PatchStored>,
    /// The document as the patch left it, as JSON with the metadata the user gave; `None` when
    /// there is none, it was left alone, or nobody asked.
    pub modified: Option<Vec<u8>>,
    /// More to look at, when asked for.
    pub debug: Option<PatchDebug>,
    /// The patch's.
    pub tag: u32,
}

/// A document as a patch stored it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchStored {
    /// Its change vector.
    pub change_vector: String,
    /// Its etag.
    pub etag: jackdaw_model::Etag,
    /// Its collection.
    pub collection: String,
    /// When it was stored.
    pub last_modified: UnixTicks,
}

/// What a script did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchDebug {
    /// The document before, as JSON.
    pub original: Option<Vec<u8>>,
    /// What `output()` was given.
    pub printed: Vec<String>,
    /// Documents asked for, and whether they are there.
    pub loaded: Vec<(String, bool)>,
    /// Documents stored: ids and JSON.
    pub put: Vec<(String, Vec<u8>)>,
    /// Documents deleted.
    pub deleted: Vec<String>,
}
