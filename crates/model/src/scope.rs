//! Which documents a query, a feed or an index is about.

use jackdaw_base::lowercase::lowercase_char;

/// Which documents a query is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// Those of one collection; the name in any case.
    Collection(String),
}

impl Scope {
    /// Whether a document of `collection` is in it.
    #[must_use]
    pub fn contains(&self, collection: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Collection(name) => {
                let folded = collection.chars().map(lowercase_char);
                name == collection || name.chars().map(lowercase_char).eq(folded)
            }
        }
    }
}
