//! The parse stage's seam: entries in, documents out.

use jackdaw_document::DocumentBuf;

use super::skip::SkipReason;

/// Longest document id of the protocol's servers, in bytes.
pub const ID_BYTES_MAX: usize = 512;

/// A document that is ready to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Id in the case it is to be stored with.
    pub id: String,
    /// The document without metadata.
    pub body: DocumentBuf,
    /// The metadata; at least the collection.
    pub metadata: DocumentBuf,
}

/// Makes documents of entries. Each parse thread has its own.
pub trait EntryParser: Send {
    /// Makes the document of one entry.
    ///
    /// # Errors
    /// Why the entry is left out; the parser is ready for the next one.
    fn parse(&mut self, name: &str, content: &[u8]) -> Result<NewDocument, SkipReason>;
}

/// Metadata that says nothing but the collection.
///
/// # Panics
/// Never: the calls of the builder are balanced.
#[must_use]
pub fn collection_metadata(collection: &str) -> DocumentBuf {
    jackdaw_document::Builder::new()
        .begin_object()
        .key("@collection")
        .string(collection)
        .end_object()
        .finish()
        .expect("a balanced object of one string")
}

/// What the ids of a collection begin with, as the protocol's clients derive it: lower case,
/// unless the name has several capitals (`OrderLines`).
#[must_use]
pub fn id_prefix(collection: &str) -> String {
    let capitals = collection.chars().filter(|c| c.is_uppercase()).count();
    let mut prefix = if capitals <= 1 {
        collection.to_lowercase()
    } else {
        collection.to_owned()
    };
    prefix.push('/');
    prefix
}

/// Checks an id against what a database stores.
///
/// # Errors
/// What is wrong with it.
pub fn check_id(id: &str) -> Result<(), SkipReason> {
    let what = if id.is_empty() {
        "its id is empty".to_owned()
    } else if id.len() > ID_BYTES_MAX {
        format!(
            "its id has {} bytes; at most {ID_BYTES_MAX} are stored",
            id.len()
        )
    } else if id.ends_with('/') || id.ends_with('|') {
        format!("its id {id:?} ends with a character that asks the server for the rest")
    } else {
        return Ok(());
    };
    Err(SkipReason::BadId { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begin_like_the_collection() {
        assert_eq!(id_prefix("Albums"), "albums/");
        assert_eq!(id_prefix("OrderLines"), "OrderLines/");
    }

    #[test]
    fn ids_that_a_server_would_refuse_are_refused_here() {
        assert_eq!(check_id("albums/1"), Ok(()));
        for id in ["", "albums/", "albums|", &"x".repeat(513)] {
            assert!(
                matches!(check_id(id), Err(SkipReason::BadId { .. })),
                "{id}"
            );
        }
    }
}
