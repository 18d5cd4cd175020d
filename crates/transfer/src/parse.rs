//! The parse stage's seam: entries in, documents out.

use jackdaw_document::{Builder, Document, DocumentBuf};

use crate::skip::SkipReason;

/// Longest document id of the protocol's servers, in bytes.
pub const ID_BYTES_MAX: usize = 512;

/// Metadata that the database makes itself: an import leaves it out, and so does an export.
pub const OWN_METADATA: [&str; 14] = [
    "@id",
    "@collection",
    "@change-vector",
    "@last-modified",
    "@etag",
    "@flags",
    "@attachments",
    "@counters",
    "@timeseries",
    "@index-score",
    "@projection",
    "@spatial",
    "@suggestions",
    "@explanations",
];

/// A document that is ready to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewDocument<'d> {
    /// Id in the case it is to be stored with.
    pub id: &'d str,
    /// The collection it belongs to.
    pub collection: &'d str,
    /// Further metadata, without the collection.
    pub metadata: Option<Document<'d>>,
    /// The document without metadata.
    pub body: Document<'d>,
}

/// A document of its own, for programs that store documents in their own way.
#[derive(Clone, Debug)]
pub struct OwnedDocument {
    /// See [`NewDocument::id`].
    pub id: String,
    /// See [`NewDocument::collection`].
    pub collection: String,
    /// See [`NewDocument::body`].
    pub body: DocumentBuf,
}

/// Documents that will be stored together.
pub trait DocumentBatch: Send + 'static {
    /// Adds a document.
    ///
    /// # Errors
    /// Why the database would refuse it; the batch is as it was.
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason>;

    /// Names the document that was added last, for the report of what the database leaves out.
    fn label(&mut self, _name: &str) {}

    /// Number of documents.
    fn document_count(&self) -> usize;
}

/// Documents one by one, without further metadata.
impl DocumentBatch for Vec<OwnedDocument> {
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason> {
        self.push(OwnedDocument {
            id: document.id.to_owned(),
            collection: document.collection.to_owned(),
            body: document.body.to_buf(),
        });
        Ok(())
    }

    fn document_count(&self) -> usize {
        self.len()
    }
}

/// Makes documents of entries. Each parse thread has its own.
pub trait EntryParser: Send {
    /// Makes the document of one entry and adds it to `batch`.
    ///
    /// # Errors
    /// Why the entry is left out; the parser is ready for the next one.
    fn parse(
        &mut self,
        name: &str,
        content: &[u8],
        batch: &mut dyn DocumentBatch,
    ) -> Result<(), SkipReason>;
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

/// The document that a parser has put together.
///
/// # Errors
/// Why it is none.
pub(crate) fn built(builder: &mut Builder) -> Result<Document<'_>, SkipReason> {
    let document = builder.finish_borrowed();
    document.map_err(|error| SkipReason::Malformed {
        what: format!("it makes no document: {error}"),
    })
}

/// A batch for tests: what was put, one line a document.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub(crate) struct ListBatch(pub(crate) Vec<(String, String)>);

#[cfg(test)]
impl DocumentBatch for ListBatch {
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason> {
        let metadata = document.metadata.map(|metadata| metadata.root().to_json());
        let text = format!(
            "{} {} {}",
            document.body.root().to_json(),
            document.collection,
            metadata.as_deref().unwrap_or("-")
        );
        self.0.push((document.id.to_owned(), text));
        Ok(())
    }

    fn document_count(&self) -> usize {
        self.0.len()
    }
}

/// What a parser makes of one entry: `id body collection metadata`, or the kind of its skip.
#[cfg(test)]
pub(crate) fn parse_one(parser: &mut dyn EntryParser, name: &str, content: &[u8]) -> String {
    let mut batch = ListBatch::default();
    match parser.parse(name, content, &mut batch) {
        Ok(()) => format!("{} {}", batch.0[0].0, batch.0[0].1),
        Err(reason) => format!("{}: {reason}", reason.kind()),
    }
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
