//! `jackdaw import ... --preview`: how the first entries of a file are read.

use jackdaw_document::Value;
use jackdaw_transfer::chunk::Chunk;
use jackdaw_transfer::csv::CsvHeader;
use jackdaw_transfer::parse::OwnedDocument;

use crate::import::job::Stages;
use crate::output::numbers::counted;
use crate::output::say::say;
use crate::output::table::{Align, Table, printable};

/// Documents shown.
const DOCUMENTS_SHOWN: usize = 5;
/// Skips shown.
const SKIPS_SHOWN: usize = 5;

/// Shows the dialect and the columns of a CSV file, and the first documents of any.
pub(super) fn show(
    name: &str,
    mut stages: Stages,
    header: Option<&CsvHeader>,
) -> anyhow::Result<()> {
    let mut chunk = Chunk::default();
    stages.source.fill(&mut chunk)?;
    let mut parser = (stages.parser)();
    let mut documents: Vec<OwnedDocument> = Vec::new();
    let mut skips = Vec::new();
    for (entry, content) in chunk.entries() {
        if let Err(reason) = parser.parse(entry, content, &mut documents) {
            skips.push(format!("{entry}: {reason}"));
        }
    }
    let mut skipped = Vec::new();
    chunk.drain_skipped(&mut skipped);
    skips.extend(
        skipped
            .iter()
            .map(|skip| format!("{}: {}", skip.name, skip.reason)),
    );
    say!("{}", printable(name));
    if let Some(header) = header {
        show_columns(header, &documents);
    }
    for document in documents.iter().take(DOCUMENTS_SHOWN) {
        say!("{} {}", document.id, document.body.root().to_json());
    }
    say!(
        "{} in the first part of the file; nothing is stored.",
        counted(documents.len() as u64, "document")
    );
    if !skips.is_empty() {
        say!("Left out of them: {}", skips.len());
    }
    for skip in skips.iter().take(SKIPS_SHOWN) {
        say!("  {}", printable(skip));
    }
    Ok(())
}

fn show_columns(header: &CsvHeader, documents: &[OwnedDocument]) {
    let delimiter = match header.dialect.delimiter {
        b'\t' => "tab".to_owned(),
        delimiter => char::from(delimiter).to_string(),
    };
    let line_break = match header.dialect.line_break {
        b'\r' => "CR",
        _ => "LF or CR LF",
    };
    say!("Delimiter {delimiter}, lines end with {line_break}.");
    let mut table = Table::new(&[
        ("Column", Align::Left),
        ("Numbers", Align::Right),
        ("Strings", Align::Right),
        ("Nulls", Align::Right),
        ("Others", Align::Right),
    ]);
    for (path, kinds) in columns(documents) {
        let [numbers, strings, nulls, others] = kinds.map(|count: u64| count.to_string());
        table.row([printable(&path), numbers, strings, nulls, others]);
    }
    say!("{}", table.render(None).trim_end());
}

/// Members of the documents, in the order of the first one, with how many are numbers, strings,
/// nulls and others.
fn columns(documents: &[OwnedDocument]) -> Vec<(String, [u64; 4])> {
    let mut found: Vec<(String, [u64; 4])> = Vec::new();
    for document in documents {
        let fields = document.body.root().as_object();
        for (position, (name, value)) in fields.iter().flat_map(|fields| fields.iter()).enumerate()
        {
            let slot = match value {
                Value::Long(_) | Value::Double(_) | Value::Number(_) => 0,
                Value::String(_) => 1,
                Value::Null => 2,
                _ => 3,
            };
            // Documents of one file have the same fields in the same order.
            if found.len() <= position {
                found.push((name.to_owned(), [0; 4]));
            }
            found[position].1[slot] += 1;
        }
    }
    found
}
