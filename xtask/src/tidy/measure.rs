//! A figure of a crate with what it counts, as the ratchets compare and print it.

/// One figure of one crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) figure: usize,
    /// What the figure counts, one line each.
    pub(crate) details: Vec<String>,
}
