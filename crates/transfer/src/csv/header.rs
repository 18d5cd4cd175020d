//! What the first record of a CSV file and the options make of its columns.

use super::options::{CellType, ColumnNames, CsvOptions, IdSource};
use super::record::FieldSplitter;
use crate::dialect::Dialect;
use crate::parse::OWN_METADATA;
use crate::text::decode_append;

/// A member of this name is not part of a document's content.
const METADATA: &str = "@metadata";
/// The column that is the id and no field, see [`IdSource::AtId`].
const AT_ID: &str = "@id";
/// Deepest path of a column; documents may be nested deeper.
const PATH_LEN_MAX: usize = 64;

/// What the columns of a file become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvHeader {
    /// What divides the file.
    pub dialect: Dialect,
    /// The columns of the file, those that are left out among them.
    pub columns: Vec<Column>,
    pub(super) body: Vec<(String, Node)>,
    pub(super) metadata: Vec<(String, Node)>,
    pub(super) id: IdPlan,
    /// Whether lines that begin with `#` stand before the first record.
    pub(super) has_comments: bool,
    pub(super) options: CsvOptions,
}

/// A column of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in the file.
    pub name: String,
    /// What its cells become.
    pub cell_type: CellType,
}

/// A member of the documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// The cell of this column.
    Cell(usize),
    /// An object.
    Object(Vec<(String, Node)>),
}

/// How ids are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IdPlan {
    /// By the place of the record.
    Numbered,
    /// Of these pieces; a file of one column has one.
    Pieces(Vec<IdPiece>),
    /// Made by the database, behind the name of the collection.
    OfDatabase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IdPiece {
    Text(String),
    Cell(usize),
}

impl CsvHeader {
    /// Reads the first record.
    ///
    /// # Errors
    /// A sentence for the user: no text, two columns of one name, one that no document can have,
    /// or an option that names a column that is not there.
    pub fn parse(
        record: &[u8],
        dialect: Dialect,
        options: &CsvOptions,
        has_comments: bool,
    ) -> Result<Self, String> {
        if record.contains(&0) {
            return Err(
                "its first line has zero bytes, so it is not text in UTF-8; name its --encoding"
                    .to_owned(),
            );
        }
        let mut splitter = FieldSplitter::new(dialect);
        splitter
            .split(record)
            .map_err(|reason| format!("in its first line, {reason}"))?;
        let names = names_of(&splitter, options)?;
        let slot_of = |name: &str| {
            let slot = names.iter().position(|known| known == name);
            slot.ok_or_else(|| {
                format!(
                    "its first line has no field {name:?}, but {}",
                    names.join(", ")
                )
            })
        };
        let mut columns: Vec<Column> = names
            .iter()
            .map(|name| Column {
                name: name.clone(),
                cell_type: CellType::Auto,
            })
            .collect();
        for (name, cell_type) in &options.types {
            columns[slot_of(name)?].cell_type = cell_type.clone();
        }
        let mut is_left_out = vec![false; names.len()];
        for name in &options.omitted {
            is_left_out[slot_of(name)?] = true;
        }
        let mut renamed = names.clone();
        for (old, new) in &options.renamed {
            renamed[slot_of(old)?].clone_from(new);
        }
        let id = id_plan(&names, &options.id, slot_of)?;
        let (mut body, mut metadata) = (Vec::new(), Vec::new());
        for (slot, name) in renamed.iter().enumerate() {
            if is_left_out[slot] || options.id == IdSource::AtId && name == AT_ID {
                continue;
            }
            let path: Vec<&str> = match options.nested {
                true => name.split('.').collect(),
                false => vec![name],
            };
            match path.as_slice() {
                [METADATA] => {
                    return Err(format!(
                        "its first line names a field {METADATA}, which no field of a document \
                         may be called; rename it"
                    ));
                }
                [METADATA, own] if OWN_METADATA.contains(own) => {}
                [METADATA, rest @ ..] => insert(&mut metadata, rest, slot, name)?,
                path => insert(&mut body, path, slot, name)?,
            }
        }
        Ok(Self {
            dialect,
            columns,
            body,
            metadata,
            id,
            has_comments,
            options: options.clone(),
        })
    }

    /// Whether the first record is data, and not the names of the columns.
    #[must_use]
    pub fn first_record_is_data(&self) -> bool {
        self.options.names != ColumnNames::FirstRecord
    }
}

/// The names of the columns, each once.
fn names_of(splitter: &FieldSplitter, options: &CsvOptions) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    match &options.names {
        ColumnNames::FirstRecord => {
            for field in splitter.fields() {
                let mut name = String::new();
                decode_append(field.trim_ascii(), &mut name);
                if name.is_empty() {
                    name = numbered_name(names.len());
                }
                names.push(name);
            }
        }
        ColumnNames::Numbered => {
            names.extend((0..splitter.field_count()).map(numbered_name));
        }
        ColumnNames::Given(given) => {
            let found = splitter.field_count();
            if given.len() != found {
                return Err(format!(
                    "its first line has {found} fields, and --names gives {} names",
                    given.len()
                ));
            }
            names.clone_from(given);
        }
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!(
            "its first line names two fields {:?}; rename one",
            pair[0]
        )),
        None => Ok(names),
    }
}

fn numbered_name(slot: usize) -> String {
    format!("Column{}", slot + 1)
}

fn id_plan(
    names: &[String],
    source: &IdSource,
    slot_of: impl Fn(&str) -> Result<usize, String>,
) -> Result<IdPlan, String> {
    let of_column = |slot: Option<usize>, otherwise: IdPlan| {
        slot.map_or(otherwise, |slot| IdPlan::Pieces(vec![IdPiece::Cell(slot)]))
    };
    Ok(match source {
        IdSource::Usual => of_column(
            names
                .iter()
                .position(|name| name.eq_ignore_ascii_case("id")),
            IdPlan::Numbered,
        ),
        IdSource::AtId => of_column(
            names.iter().position(|name| name == AT_ID),
            IdPlan::OfDatabase,
        ),
        IdSource::Column(name) => of_column(Some(slot_of(name)?), IdPlan::Numbered),
        IdSource::Pattern(pattern) => {
            let mut pieces = Vec::new();
            let mut rest = pattern.as_str();
            while let Some(open) = rest.find('{') {
                if open > 0 {
                    pieces.push(IdPiece::Text(rest[..open].to_owned()));
                }
                let close = rest[open..]
                    .find('}')
                    .ok_or_else(|| format!("the id {pattern:?} has a brace that is not closed"))?;
                pieces.push(IdPiece::Cell(slot_of(&rest[open + 1..open + close])?));
                rest = &rest[open + close + 1..];
            }
            if !rest.is_empty() {
                pieces.push(IdPiece::Text(rest.to_owned()));
            }
            IdPlan::Pieces(pieces)
        }
    })
}

/// Adds a cell at a path, next to what is there.
fn insert(
    members: &mut Vec<(String, Node)>,
    path: &[&str],
    slot: usize,
    name: &str,
) -> Result<(), String> {
    let twice =
        || format!("its field {name:?} names a member that another field names, too; rename one");
    let (first, rest) = match path {
        [first, rest @ ..] if path.len() <= PATH_LEN_MAX && !first.is_empty() => (*first, rest),
        _ => {
            return Err(format!(
                "its field {name:?} is no path of members; rename it"
            ));
        }
    };
    let known = members.iter_mut().find(|(member, _)| member == first);
    match (known, rest) {
        (None, []) => members.push((first.to_owned(), Node::Cell(slot))),
        (None, rest) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, slot, name)?;
            members.push((first.to_owned(), Node::Object(inner)));
        }
        (Some((_, Node::Object(inner))), [_, ..]) => insert(inner, rest, slot, name)?,
        (Some(_), _) => return Err(twice()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(record: &str, options: &CsvOptions) -> Result<CsvHeader, String> {
        let commas = Dialect::of(b",", options.choice());
        CsvHeader::parse(record.as_bytes(), commas, options, false)
    }

    fn names(record: &str, options: &CsvOptions) -> Vec<String> {
        let header = header(record, options).unwrap();
        header
            .columns
            .into_iter()
            .map(|column| column.name)
            .collect()
    }

    fn id(record: &str, id: IdSource) -> IdPlan {
        let options = CsvOptions {
            id,
            ..CsvOptions::default()
        };
        header(record, &options).unwrap().id
    }

    #[test]
    fn names_come_from_the_record_or_the_options() {
        let usual = CsvOptions::default();
        assert_eq!(names("a,b;c,d", &usual), ["a", "b;c", "d"]);
        assert_eq!(names("a,,\" c \"", &usual), ["a", "Column2", "c"]);
        assert_eq!(names("x,@id", &usual), ["x", "@id"]);
        let numbered = CsvOptions {
            names: ColumnNames::Numbered,
            ..CsvOptions::default()
        };
        assert_eq!(names("x,x", &numbered), ["Column1", "Column2"]);
        let given = ColumnNames::Given(vec!["p".into(), "q".into()]);
        let given = CsvOptions {
            names: given,
            ..CsvOptions::default()
        };
        assert_eq!(names("x,x", &given), ["p", "q"]);
        assert!(header("x,y,z", &given).unwrap_err().contains("3 fields"));
    }

    #[test]
    fn ids_come_from_columns() {
        let cell = |slot| IdPlan::Pieces(vec![IdPiece::Cell(slot)]);
        assert_eq!(id("x,ID", IdSource::Usual), cell(1));
        assert_eq!(id("x,y", IdSource::Usual), IdPlan::Numbered);
        assert_eq!(id("x,y", IdSource::Column("x".into())), cell(0));
        assert_eq!(id("x,@id", IdSource::AtId), cell(1));
        assert_eq!(id("x,id", IdSource::AtId), IdPlan::OfDatabase);
        assert_eq!(
            id("x,y", IdSource::Pattern("p/{y}-{x}".into())),
            IdPlan::Pieces(vec![
                IdPiece::Text("p/".into()),
                IdPiece::Cell(1),
                IdPiece::Text("-".into()),
                IdPiece::Cell(0),
            ])
        );
    }

    #[test]
    fn headers_that_make_no_document_are_refused() {
        let usual = CsvOptions::default();
        let with = |change: fn(&mut CsvOptions)| {
            let mut options = CsvOptions::default();
            change(&mut options);
            options
        };
        for (record, options, part) in [
            ("x,x", usual.clone(), "two fields"),
            ("x,@metadata", usual.clone(), "a field @metadata"),
            ("x\0,y", usual, "zero bytes"),
            (
                "x,y",
                with(|o| o.id = IdSource::Column("z".into())),
                "no field \"z\", but x, y",
            ),
            (
                "x",
                with(|o| o.id = IdSource::Pattern("{x".into())),
                "not closed",
            ),
            (
                "x",
                with(|o| o.omitted = vec!["z".into()]),
                "no field \"z\"",
            ),
            (
                "x",
                with(|o| o.types = vec![("z".into(), CellType::String)]),
                "no field \"z\"",
            ),
            (
                "x,y",
                with(|o| o.renamed = vec![("x".into(), "y".into())]),
                "another field",
            ),
            ("a,a.b", with(|o| o.nested = true), "another field"),
            ("a.b,a", with(|o| o.nested = true), "another field"),
            ("a..b", with(|o| o.nested = true), "no path"),
        ] {
            let error = header(record, &options).unwrap_err();
            assert!(error.contains(part), "{record}: {error}");
        }
    }
}
