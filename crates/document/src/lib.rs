//! Binary document form, JSON in and out.
