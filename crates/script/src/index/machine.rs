//! Runs maps and reduces for one index worker.
//!
//! Invariants:
//! - Programs leave nothing behind: the entries of a document depend on it and the host alone.
//! - A failed document does not keep the next from being mapped.
//!
//! Threads: one; a machine stays on the thread that made it.

use bumpalo::Bump;
use jackdaw_document::{Builder, DocumentBuf, Value};

use crate::index::error::RunError;
use crate::index::host::IndexHost;
use crate::index::item::IndexedDocument;
use crate::index::javascript::{self, Mode, Script, ScriptHost};
use crate::index::linq::Compiled;
use crate::index::native;
use crate::index::program::{MapCode, MapProgram, ReduceCode, ReduceProgram};
use crate::input::Argument;
use crate::limits::ScriptLimits;
use crate::machine::Wanted;
use crate::machines::Machines;

/// Realms of JavaScript kept: the maps and the reduce of an index, and some more.
const MACHINES_MAX: usize = 16;

/// An arena of more is given back after a run.
const ARENA_KEPT_BYTES: usize = 1 << 20;

/// See the file head.
pub struct IndexMachine {
    limits: ScriptLimits,
    machines: Machines,
    /// Values of the present native run.
    arena: Bump,
    builder: Builder,
}

/// What a native program goes over.
enum Input<'i> {
    /// Of a map, and whether no reduce computes with its entries.
    One(IndexedDocument<'i>, bool),
    Entries(&'i [Value<'i>]),
}

impl IndexMachine {
    /// A machine whose runs stay within `limits` each.
    #[must_use]
    pub fn new(limits: ScriptLimits) -> IndexMachine {
        IndexMachine {
            limits,
            machines: Machines::new(limits, MACHINES_MAX),
            arena: Bump::new(),
            builder: Builder::new(),
        }
    }

    /// Calls `emit` with each entry of `document`: see [`special`](crate::index::special) for
    /// their form. Entries before a failure have been emitted.
    ///
    /// # Errors
    /// [`RunError::Document`] when this document cannot be indexed, [`RunError::Fatal`] when the
    /// host failed.
    pub fn map(
        &mut self,
        program: &MapProgram,
        document: IndexedDocument<'_>,
        host: &mut dyn IndexHost,
        emit: &mut dyn FnMut(DocumentBuf),
    ) -> Result<(), RunError> {
        match program.code() {
            MapCode::Native(compiled) => {
                let input = Input::One(document, program.is_final());
                self.native(compiled, input, host, emit)
            }
            MapCode::Script(script) => self.map_by_script(script, document, host, emit),
        }
    }

    /// The results of a group, mostly one. `entries` are objects with the fields of maps, or of
    /// earlier results of the same reduce; they have the same values in the fields of
    /// [`ReduceProgram::group_by`].
    ///
    /// # Errors
    /// As [`IndexMachine::map`].
    pub fn reduce(
        &mut self,
        program: &ReduceProgram,
        entries: &[Value<'_>],
        host: &mut dyn IndexHost,
    ) -> Result<Vec<DocumentBuf>, RunError> {
        let mut results = Vec::new();
        if entries.is_empty() {
            return Ok(results);
        }
        match program.code() {
            ReduceCode::Native(compiled) => {
                let emit = &mut |result| results.push(result);
                self.native(compiled, Input::Entries(entries), host, emit)?;
            }
            ReduceCode::Script(script) => {
                let mut builder = Builder::new();
                builder.begin_array();
                for entry in entries {
                    builder.value(*entry);
                }
                let list = builder.end_array().finish();
                let list = list.map_err(|error| RunError::Document(error.to_string()))?;
                let item = Argument::Value(list.root());
                let emit = &mut |result| results.push(result);
                self.run_script(script, item, Mode::Reduce, host, emit)?;
            }
        }
        Ok(results)
    }

    fn native(
        &mut self,
        compiled: &Compiled,
        input: Input<'_>,
        host: &mut dyn IndexHost,
        emit: &mut dyn FnMut(DocumentBuf),
    ) -> Result<(), RunError> {
        host.begin();
        let is_final = matches!(input, Input::One(_, true));
        let root = match input {
            Input::One(document, _) => native::root_of(document, &self.arena),
            Input::Entries(entries) => native::root_of_entries(entries, &self.arena),
        };
        let (expression, slot_count) = (&compiled.expression, compiled.slot_count);
        let outcome = native::run(expression, slot_count, root, &self.arena, self.limits, host);
        let outcome = outcome.and_then(|results| {
            native::entries(results, is_final, &mut self.builder, emit).map_err(RunError::Document)
        });
        self.builder.clear();
        // A large document must not take the memory of those behind it.
        match self.arena.allocated_bytes() > ARENA_KEPT_BYTES {
            true => self.arena = Bump::new(),
            false => self.arena.reset(),
        }
        outcome
    }

    fn map_by_script(
        &mut self,
        script: &Script,
        document: IndexedDocument<'_>,
        host: &mut dyn IndexHost,
        emit: &mut dyn FnMut(DocumentBuf),
    ) -> Result<(), RunError> {
        match document {
            IndexedDocument::Document(document) => {
                let item = Argument::Document(document);
                self.run_script(script, item, Mode::Documents, host, emit)
            }
            IndexedDocument::Counter(counter) => {
                let item = counter.to_document();
                let item = Argument::Value(item.root());
                self.run_script(script, item, Mode::Documents, host, emit)
            }
            IndexedDocument::Series(series) => {
                let item = series.to_document();
                let item = Argument::Value(item.root());
                self.run_script(script, item, Mode::TimeSeries, host, emit)
            }
        }
    }

    fn run_script(
        &mut self,
        script: &Script,
        item: Argument<'_>,
        mode: Mode,
        host: &mut dyn IndexHost,
        emit: &mut dyn FnMut(DocumentBuf),
    ) -> Result<(), RunError> {
        let arguments = [
            item,
            Argument::Value(Value::String(mode.name())),
            Argument::Value(script.fields.root()),
        ];
        let mut host = ScriptHost { host };
        let output = self.machines.with(&script.program, |machine| {
            machine.run(&mut host, &arguments, None, Wanted::Value)
        });
        let output = output.map_err(RunError::of_script)?;
        javascript::entries(&output.value, emit).map_err(RunError::of_script)
    }
}
