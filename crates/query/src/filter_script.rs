//! Conditions of which scripts compute values: `filter`, and `where` of subscriptions.
//!
//! Called by `execute::rows` and `follow` for each document. The script runs for the values that
//! decide, reads through the snapshot of the query, and changes nothing.

use std::cell::RefCell;

use jackdaw_document::{DocumentBuf, Value};
use jackdaw_script::{Argument, Machine, ScriptLimits, Wanted};

use crate::bind::BoundQuery;
use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::filter;
use crate::scripted::{Loaded, SourceHost, Texts, failed, load_all, push_loaded, texts_of_loaded};
use crate::source::{Source, StoredDocument};

/// The condition of a query while it runs: its script is compiled at the first value.
#[derive(Default)]
pub(crate) struct Filtered {
    machine: Option<Machine>,
}

impl Filtered {
    /// Whether `document` passes the `filter` of `query`.
    pub(crate) fn passes<S: Source>(
        &mut self,
        query: &BoundQuery,
        document: &StoredDocument<'_>,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<bool, QueryError> {
        let Some(filter) = &query.filter else {
            return Ok(true);
        };
        let loaded = match query.filter_reads_loaded {
            true => load_all(&query.load, document, source)?,
            false => Vec::new(),
        };
        let documents: Vec<_> = loaded.iter().map(Loaded::documents).collect();
        let Some(call) = &query.filter_script else {
            return Ok(filter::passes(filter, document, &documents, &|_| None));
        };
        let machine = self
            .machine
            .get_or_insert_with(|| Machine::new(&call.program, &ScriptLimits::default()));
        let machine = RefCell::new(machine);
        let failure: RefCell<Option<QueryError>> = RefCell::new(None);
        let texts = Texts::of(document);
        let loaded_texts = texts_of_loaded(&loaded);
        let compute = |slot: usize| -> Option<DocumentBuf> {
            if failure.borrow().is_some() {
                return None;
            }
            let (mut included, mut included_keys) = (Vec::new(), Vec::new());
            let mut host = SourceHost {
                source,
                options,
                included: &mut included,
                included_keys: &mut included_keys,
            };
            let slot = Value::Long(i64::try_from(slot).unwrap_or(i64::MAX));
            let mut arguments = vec![Argument::Document(texts.document(document))];
            push_loaded(&loaded, &loaded_texts, &mut arguments);
            arguments.push(Argument::Value(slot));
            let parameters = call.parameters.as_ref();
            let parameters = parameters.map(|parameters| parameters.root());
            let mut machine = machine.borrow_mut();
            match machine.run(&mut host, &arguments, parameters, Wanted::Value) {
                Ok(output) => Some(output.value),
                Err(error) => {
                    failure.replace(Some(failed(error)));
                    None
                }
            }
        };
        let holds = filter::passes(filter, document, &documents, &compute);
        match failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(holds),
        }
    }
}
