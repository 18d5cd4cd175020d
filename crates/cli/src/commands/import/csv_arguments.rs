//! How a CSV file is read, as the command line says it.

use jackdaw_transfer::csv::{CellType, ColumnNames, CsvOptions, DatePattern, IdSource};

/// Arguments of `jackdaw import csv`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CsvArguments {
    /// The collection.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["check", "preview"])]
    pub(super) collection: Option<String>,
    /// The field that holds the id; by default one called Id in any letter case. Without one,
    /// records are numbered. A value without a slash goes behind the name of the collection.
    #[arg(long, value_name = "FIELD", conflicts_with = "id")]
    id_field: Option<String>,
    /// The id as a text with fields in braces: {Country}/{Zip}.
    #[arg(long, value_name = "PATTERN")]
    id: Option<String>,
    /// The character between fields; by default the one of , ; tab | that splits the first line
    /// most, outside quotes.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    delimiter: Option<u8>,
    /// The character around fields that hold delimiters or line breaks.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character, default_value = "\"")]
    quote: u8,
    /// A character that makes a quote behind it part of the field; doubled quotes are always read.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    escape: Option<u8>,
    /// Lines that begin with this character are comments. By default only lines before the first
    /// one that begin with # and have another number of fields.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    comment: Option<u8>,
    /// Lines to leave out at the beginning of a file.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_rows: u64,
    /// The first line is a record: fields are Column1, Column2 and so on.
    #[arg(long, conflicts_with = "names")]
    no_header: bool,
    /// Names of the fields, separated by commas; the first line is a record.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    names: Vec<String>,
    /// Drop white space around fields.
    #[arg(long)]
    trim: bool,
    /// What stands for null; may be repeated. By default the empty field.
    #[arg(long = "null", value_name = "TEXT")]
    nulls: Vec<String>,
    /// The type of a field: string, number, boolean, json, or date:PATTERN such as
    /// Born=date:dd.MM.yyyy; may be repeated.
    #[arg(long = "type", value_name = "FIELD=TYPE", value_parser = parse_type)]
    types: Vec<(String, CellType)>,
    /// A new name for a field; may be repeated.
    #[arg(long, value_name = "FIELD=NAME", value_parser = parse_pair)]
    rename: Vec<(String, String)>,
    /// A field to leave out; may be repeated.
    #[arg(long, value_name = "FIELD")]
    omit: Vec<String>,
    /// Numbers have a comma before their fraction.
    #[arg(long)]
    decimal_comma: bool,
    /// The character between groups of three digits.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    thousands: Option<u8>,
    /// Fields of this form become dates: yyyy, MM, dd, HH, mm, ss and fff, as in dd.MM.yyyy.
    #[arg(long, value_name = "PATTERN", value_parser = parse_date)]
    date: Option<DatePattern>,
    /// true and false become booleans.
    #[arg(long)]
    booleans: bool,
    /// A field Pos.Lat is a member of the object Pos, and @metadata.x belongs to the metadata.
    #[arg(long)]
    nested: bool,
    /// Records may span lines each of which looks like a record.
    #[arg(long)]
    multiline: bool,
}

impl CsvArguments {
    /// The options that they stand for.
    pub(super) fn options(&self) -> Result<CsvOptions, String> {
        if self.delimiter == Some(self.quote) {
            return Err("--delimiter and --quote name the same character".to_owned());
        }
        if self.decimal_comma && self.thousands == Some(b',') {
            return Err("--thousands names the comma, which --decimal-comma needs".to_owned());
        }
        Ok(CsvOptions {
            delimiter: self.delimiter,
            quote: self.quote,
            escape: self.escape,
            comment: self.comment,
            skip_rows: self.skip_rows,
            names: match (self.no_header, self.names.as_slice()) {
                (true, _) => ColumnNames::Numbered,
                (false, []) => ColumnNames::FirstRecord,
                (false, names) => ColumnNames::Given(names.to_vec()),
            },
            trim: self.trim,
            nulls: match self.nulls.as_slice() {
                [] => vec![String::new()],
                nulls => nulls.to_vec(),
            },
            types: self.types.clone(),
            renamed: self.rename.clone(),
            omitted: self.omit.clone(),
            id: match (&self.id, &self.id_field) {
                (Some(pattern), _) => IdSource::Pattern(pattern.clone()),
                (None, Some(field)) => IdSource::Column(field.clone()),
                (None, None) => IdSource::Usual,
            },
            decimal_comma: self.decimal_comma,
            thousands: self.thousands,
            date: self.date.clone(),
            booleans: self.booleans,
            arrays: false,
            nested: self.nested,
            multiline: self.multiline,
        })
    }
}

/// One byte, or the word `tab`.
fn parse_character(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if *byte != b'\n' && *byte != b'\r' && byte.is_ascii() => Ok(*byte),
        _ => Err("one ASCII character, or the word tab".to_owned()),
    }
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, value)) if !field.is_empty() && !value.is_empty() => {
            Ok((field.to_owned(), value.to_owned()))
        }
        _ => Err("a field, an equals sign and a value".to_owned()),
    }
}

fn parse_type(text: &str) -> Result<(String, CellType), String> {
    let (field, name) = parse_pair(text)?;
    let cell_type = match name.as_str() {
        "string" => CellType::String,
        "number" => CellType::Number,
        "boolean" => CellType::Boolean,
        "json" => CellType::Json,
        name => match name.strip_prefix("date:") {
            Some(pattern) => CellType::Date(DatePattern::parse(pattern)?),
            None => {
                return Err(format!(
                    "{name:?} is no type: use string, number, boolean, json or date:PATTERN"
                ));
            }
        },
    };
    Ok((field, cell_type))
}

fn parse_date(text: &str) -> Result<DatePattern, String> {
    DatePattern::parse(text)
}
