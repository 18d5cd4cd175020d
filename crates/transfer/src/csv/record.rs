//! One CSV record split into fields.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use crate::dialect::Dialect;
use crate::skip::SkipReason;

/// Most fields of a record.
pub const FIELD_COUNT_MAX: usize = 32_768;

/// Splits records, reusing its buffers.
pub(super) struct FieldSplitter {
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
    field_count: usize,
}

impl FieldSplitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(dialect.delimiter)
            .quote(dialect.quote)
            .escape(dialect.escape)
            .terminator(Terminator::Any(dialect.line_break))
            .build();
        Self {
            reader,
            output: Vec::new(),
            ends: vec![0; 64],
            field_count: 0,
        }
    }

    /// Splits a record without its line break.
    pub(super) fn split(&mut self, record: &[u8]) -> Result<(), SkipReason> {
        self.reader.reset();
        self.field_count = 0;
        // Splitting never makes the fields longer than the record.
        self.output.resize(record.len() + 1, 0);
        let (mut input, mut written, mut ended) = (record, 0, 0);
        loop {
            let (result, read, wrote, ends) = self.reader.read_record(
                input,
                &mut self.output[written..],
                &mut self.ends[ended..],
            );
            input = &input[read..];
            written += wrote;
            ended += ends;
            match result {
                ReadRecordResult::OutputEndsFull if self.ends.len() >= FIELD_COUNT_MAX => {
                    let what = format!("it has more than {FIELD_COUNT_MAX} fields");
                    return Err(SkipReason::Malformed { what });
                }
                ReadRecordResult::OutputEndsFull => {
                    let larger = self.ends.len() * 4;
                    self.ends.resize(larger.min(FIELD_COUNT_MAX), 0);
                }
                ReadRecordResult::OutputFull => self.output.resize(self.output.len() * 2, 0),
                // Empty input tells the reader that the record ends here.
                ReadRecordResult::InputEmpty => input = &[],
                ReadRecordResult::Record | ReadRecordResult::End => {
                    self.field_count = ended;
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn field_count(&self) -> usize {
        self.field_count
    }

    pub(super) fn fields(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.field_count).map(|slot| self.field(slot))
    }

    pub(super) fn field(&self, slot: usize) -> &[u8] {
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.output[start..self.ends[slot]]
    }
}
