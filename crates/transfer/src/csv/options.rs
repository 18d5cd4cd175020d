//! How a CSV file is read: what the user says, and what holds when nothing is said.

use super::date::DatePattern;
use crate::dialect::DialectChoice;

/// What a column's cells become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellType {
    /// A number where its text means nothing else, a string otherwise.
    Auto,
    /// A string.
    String,
    /// A number; leading zeros and plus signs are dropped.
    Number,
    /// `true`, `yes`, `1` and `false`, `no`, `0`, in any letter case.
    Boolean,
    /// The JSON that stands in the cell.
    Json,
    /// A date, written in ISO 8601.
    Date(DatePattern),
}

/// Where the names of the columns come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnNames {
    /// The first record.
    FirstRecord,
    /// There are none: `Column1`, `Column2` and so on. The first record is data.
    Numbered,
    /// These; the first record is data.
    Given(Vec<String>),
}

/// Where a document's id comes from. Without a slash it follows the collection's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// The column called `Id` in any letter case; without one, records are numbered.
    Usual,
    /// This column.
    Column(String),
    /// Text with names of columns in braces: `{Country}/{Zip}`.
    Pattern(String),
    /// The column `@id`, which is no field of the document; without one, the database makes ids.
    AtId,
}

/// Options of a CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Divides fields; `None` takes the one of `, ; tab |` that the first record has most of.
    pub delimiter: Option<u8>,
    /// Surrounds fields that hold delimiters or line breaks. A doubled one stands for itself.
    pub quote: u8,
    /// Makes a quote behind it part of the field.
    pub escape: Option<u8>,
    /// Lines that begin with it are left out. `None` leaves out only lines before the first record
    /// that begin with `#` and have another number of fields.
    pub comment: Option<u8>,
    /// Lines before the first record.
    pub skip_rows: u64,
    /// See [`ColumnNames`].
    pub names: ColumnNames,
    /// Whether white space around fields is dropped.
    pub trim: bool,
    /// Fields that become null.
    pub nulls: Vec<String>,
    /// Types of columns, by name.
    pub types: Vec<(String, CellType)>,
    /// New names of columns, by the old ones.
    pub renamed: Vec<(String, String)>,
    /// Columns that are left out.
    pub omitted: Vec<String>,
    /// See [`IdSource`].
    pub id: IdSource,
    /// Whether numbers have a comma before their fraction.
    pub decimal_comma: bool,
    /// Divides groups of three digits.
    pub thousands: Option<u8>,
    /// Cells of columns without a type that have this form become dates.
    pub date: Option<DatePattern>,
    /// Whether `true` and `false` become booleans in columns without a type.
    pub booleans: bool,
    /// Whether cells without a type that hold a JSON array become one.
    pub arrays: bool,
    /// Whether `Pos.Lat` is a member of the object `Pos`, and `@metadata.x` metadata.
    pub nested: bool,
    /// Whether a record may span lines each of which looks like a record.
    pub multiline: bool,
}

impl CsvOptions {
    pub(super) fn choice(&self) -> DialectChoice {
        DialectChoice {
            delimiter: self.delimiter,
            quote: self.quote,
            escape: self.escape,
            comment: self.comment,
        }
    }
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            quote: b'"',
            escape: None,
            comment: None,
            skip_rows: 0,
            names: ColumnNames::FirstRecord,
            trim: false,
            nulls: vec![String::new()],
            types: Vec::new(),
            renamed: Vec::new(),
            omitted: Vec::new(),
            id: IdSource::Usual,
            decimal_comma: false,
            thousands: None,
            date: None,
            booleans: false,
            arrays: false,
            nested: false,
            multiline: false,
        }
    }
}
