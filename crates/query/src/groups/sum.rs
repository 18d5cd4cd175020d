//! Sums of whole and of broken numbers, of which parts can be taken away again.

use jackdaw_document::Value;

/// What one document adds to a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sum {
    Long(i64),
    Double(f64),
}

impl Sum {
    /// Adds a number; false when the value is none. Null counts as nothing.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a sum beyond 64 bits is the nearest number"
    )]
    pub(super) fn add(&mut self, value: Value<'_>) -> bool {
        let so_far = match *self {
            Sum::Long(sum) => sum as f64,
            Sum::Double(sum) => sum,
        };
        match (*self, value) {
            (_, Value::Null) => {}
            (Sum::Long(sum), Value::Long(long)) => {
                *self = match sum.checked_add(long) {
                    Some(sum) => Sum::Long(sum),
                    None => Sum::Double(so_far + long as f64),
                };
            }
            (_, value) => match value.as_f64() {
                Some(double) => *self = Sum::Double(so_far + double),
                None => return false,
            },
        }
        true
    }
}

/// A sum of many. Whole numbers are exact, whatever their order; taking a broken one away leaves
/// what it rounded, so those are added up anew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    longs: i128,
    doubles: f64,
    double_count: u64,
}

impl Total {
    pub(super) fn add(&mut self, sum: Sum) {
        match sum {
            Sum::Long(long) => self.longs += i128::from(long),
            Sum::Double(double) => {
                self.doubles += double;
                self.double_count += 1;
            }
        }
    }

    /// Whether that left an exact total.
    pub(super) fn subtract(&mut self, sum: Sum) -> bool {
        match sum {
            Sum::Long(long) => {
                self.longs -= i128::from(long);
                true
            }
            Sum::Double(_) => {
                self.double_count -= 1;
                false
            }
        }
    }

    /// Leaves broken numbers out, for them to be added up anew.
    pub(super) fn forget_doubles(&mut self) {
        self.doubles = 0.0;
        self.double_count = 0;
    }

    /// Adds a broken number anew; a whole one is there.
    pub(super) fn add_double(&mut self, sum: Sum) {
        if let Sum::Double(_) = sum {
            self.add(sum);
        }
    }

    /// The sum: a whole number when all are and it has 64 bits.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a sum beyond 64 bits is the nearest number"
    )]
    pub(super) fn value(&self) -> Sum {
        match i64::try_from(self.longs) {
            Ok(long) if self.double_count == 0 => Sum::Long(long),
            _ => Sum::Double(self.longs as f64 + self.doubles),
        }
    }
}
