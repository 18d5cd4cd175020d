//! Everything an index says, in an order that does not depend on how it came about.
//!
//! Called by `images`. How lists are cut into chunks differs between an index with a history and
//! one that was built at once; what they say may not.

use jackdaw_search::{Direction, IndexError, IndexReader, StoredTerm, TermKind};
use jackdaw_storage::PageRead;

/// A term with its entries and, in full text, where it stands in each.
type TermContent = (Vec<u8>, Vec<u64>, Vec<(u64, Vec<u32>)>);

/// What an index holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) indexed_up_to: u64,
    entries: Vec<u64>,
    fields: Vec<FieldContent>,
}

#[derive(Debug, PartialEq, Eq)]
struct FieldContent {
    name: String,
    counts: [u64; 3],
    with_null: Vec<u64>,
    terms: Vec<TermContent>,
}

/// Reads all of an index, and checks it on the way.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub(super) fn read<P: PageRead + ?Sized>(
    reader: Option<&IndexReader<'_, P>>,
) -> Result<Content, String> {
    let Some(reader) = reader else {
        return Ok(Content::default());
    };
    let report = reader.verify().map_err(|error| error.to_string())?;
    match report.damages.first() {
        Some(damage) => Err(damage.to_string()),
        None => read_all(reader).map_err(|error| error.to_string()),
    }
}

fn read_all<P: PageRead + ?Sized>(reader: &IndexReader<'_, P>) -> Result<Content, IndexError> {
    let mut fields = Vec::new();
    for info in reader.fields() {
        let Some(field) = reader.field(info.name()) else {
            continue;
        };
        let mut terms = Vec::new();
        for kind in [TermKind::Text, TermKind::Number] {
            let mut walk = reader.terms(field, kind, Direction::Ascending)?;
            while let Some(term) = walk.next_term()? {
                let entries = term.postings()?.map(|entry| Ok(entry?.0));
                let entries = entries.collect::<Result<Vec<u64>, IndexError>>()?;
                let (bytes, mut places) = (name_of(&term.term()?), Vec::new());
                if info.options().positions && kind == TermKind::Text {
                    let word = String::from_utf8_lossy(&bytes).into_owned();
                    let mut walk = reader.occurrences(field, &word);
                    while let Some(found) = walk.next_occurrence()? {
                        let mut positions = Vec::new();
                        found.positions(&mut positions)?;
                        places.push((found.entry().0, positions));
                    }
                }
                terms.push((bytes, entries, places));
            }
        }
        fields.push(FieldContent {
            name: info.name().to_owned(),
            counts: [info.term_count(), info.text_count(), info.token_total()],
            with_null: reader.null(field)?.iter().map(|entry| entry.0).collect(),
            terms,
        });
    }
    Ok(Content {
        indexed_up_to: reader.indexed_up_to(),
        entries: reader.all()?.iter().map(|entry| entry.0).collect(),
        fields,
    })
}

fn name_of(term: &StoredTerm<'_>) -> Vec<u8> {
    match term {
        StoredTerm::Text(text) => text.as_bytes().to_vec(),
        other => format!("{other:?}").into_bytes(),
    }
}
