//! CD albums: xmcd entries to documents of the collection `Albums`.
//!
//! Called by the parse threads of `import freedb` and `demo`.

use jackdaw_document::{Builder, DocumentBuf};

use super::parse::{EntryParser, NewDocument, check_id, collection_metadata};
use super::skip::SkipReason;
use super::xmcd::{Album, XmcdParser};

/// Makes an album's document:
/// `{DiscIds, Artist, Title, Year, Genre, Category, Tracks, LengthInSeconds}`, without the fields
/// that the entry does not have.
///
/// The id is `albums/<category>/<file name>`, so that importing an entry twice stores it once.
pub struct AlbumParser {
    xmcd: XmcdParser,
    builder: Builder,
    metadata: DocumentBuf,
}

impl AlbumParser {
    /// A parser for albums of the collection `collection`.
    #[must_use]
    pub fn new(collection: &str) -> Self {
        Self {
            xmcd: XmcdParser::default(),
            builder: Builder::new(),
            metadata: collection_metadata(collection),
        }
    }
}

impl EntryParser for AlbumParser {
    fn parse(&mut self, name: &str, content: &[u8]) -> Result<NewDocument, SkipReason> {
        let album = self.xmcd.parse(content)?;
        let mut parts = name
            .rsplit('/')
            .filter(|part| !part.is_empty() && *part != ".");
        let file = parts.next().unwrap_or_default();
        let category = parts.next();
        let id = match category {
            Some(category) => format!("albums/{category}/{file}"),
            None => format!("albums/{file}"),
        };
        check_id(&id)?;
        build(&mut self.builder, &album, category);
        let body = self
            .builder
            .finish()
            .map_err(|error| SkipReason::Malformed {
                what: format!("it makes no document: {error}"),
            })?;
        Ok(NewDocument {
            id,
            body,
            metadata: self.metadata.clone(),
        })
    }
}

fn build(builder: &mut Builder, album: &Album<'_>, category: Option<&str>) {
    builder.clear();
    builder.begin_object().key("DiscIds").begin_array();
    for disc_id in album.disc_ids() {
        builder.string(disc_id);
    }
    builder.end_array();
    let texts = [("Artist", album.artist()), ("Title", album.title())];
    for (name, text) in texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
    {
        builder.key(name).string(text);
    }
    if let Some(year) = album.year {
        builder.key("Year").long(i64::from(year));
    }
    let texts = [("Genre", album.genre()), ("Category", category)];
    for (name, text) in texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
    {
        builder.key(name).string(text);
    }
    builder.key("Tracks").begin_array();
    for track in album.tracks() {
        builder.string(track);
    }
    builder.end_array();
    if let Some(seconds) = album.length_seconds {
        builder.key("LengthInSeconds").long(i64::from(seconds));
    }
    builder.end_object();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, content: &[u8]) -> String {
        match AlbumParser::new("Albums").parse(name, content) {
            Ok(document) => format!("{} {}", document.id, document.body.root().to_json()),
            Err(reason) => reason.kind().to_owned(),
        }
    }

    #[test]
    fn an_album_has_the_fields_that_its_entry_has() {
        assert_eq!(
            parse(
                "freedb/rock/0e018e02",
                b"# Disc length: 400 seconds\nDISCID=0e018e02,aa\nDTITLE=The Wrens / Silver\n\
                  DYEAR=1998\nDGENRE=Rock\nTTITLE0=Dawn\nTTITLE1=Noon\n"
            ),
            "albums/rock/0e018e02 {\"DiscIds\":[\"0e018e02\",\"aa\"],\"Artist\":\"The Wrens\",\
             \"Title\":\"Silver\",\"Year\":1998,\"Genre\":\"Rock\",\"Category\":\"rock\",\
             \"Tracks\":[\"Dawn\",\"Noon\"],\"LengthInSeconds\":400}"
        );
        assert_eq!(
            parse("./0e018e02", b"DTITLE=Alone"),
            "albums/0e018e02 {\"DiscIds\":[],\"Artist\":\"Alone\",\"Title\":\"Alone\",\
             \"Tracks\":[]}"
        );
    }

    #[test]
    fn an_entry_without_a_usable_name_is_skipped() {
        assert_eq!(parse("", b"DTITLE=x"), "unusable id");
        assert_eq!(parse(&"x".repeat(600), b"DTITLE=x"), "unusable id");
        assert_eq!(parse("README", b"hello"), "not an album");
    }

    #[test]
    fn the_collection_is_in_the_metadata() {
        let document = AlbumParser::new("Discs").parse("a/b", b"DTITLE=x").unwrap();
        assert_eq!(
            document.metadata.root().to_json(),
            r#"{"@collection":"Discs"}"#
        );
    }
}
