//! Tests of the crate's public interface, as one program.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a panic is how a test fails"
)]

mod builder;
mod common;
mod damage;
mod json;
mod limits;
mod metadata;
mod order;
