//! CD albums: xmcd entries to documents of the collection `Albums`.
//!
//! Called by the parse threads of `import freedb` and `demo`.

use jackdaw_document::Builder;

use crate::parse::{DocumentBatch, EntryParser, NewDocument, built, check_id};
use crate::skip::SkipReason;
use crate::xmcd::{Album, XmcdParser};

/// Makes an album's document:
/// `{DiscIds, Artist, Title, Year, Genre, Category, Tracks, LengthInSeconds}`, without the fields
/// that the entry does not have.
///
/// The id is `albums/<category>/<file name>`, so that importing an entry twice stores it once.
pub struct AlbumParser {
    xmcd: XmcdParser,
    builder: Builder,
    collection: String,
    id: String,
}

impl AlbumParser {
    /// A parser for albums of the collection `collection`.
    #[must_use]
    pub fn new(collection: &str) -> Self {
        Self {
            xmcd: XmcdParser::default(),
            builder: Builder::new(),
            collection: collection.to_owned(),
            id: String::new(),
        }
    }
}

impl EntryParser for AlbumParser {
    fn parse(
        &mut self,
        name: &str,
        content: &[u8],
        batch: &mut dyn DocumentBatch,
    ) -> Result<(), SkipReason> {
        let album = self.xmcd.parse(content)?;
        let mut parts = name
            .rsplit('/')
            .filter(|part| !part.is_empty() && *part != ".");
        let file = parts.next().unwrap_or_default();
        let category = parts.next();
        self.id.clear();
        self.id.push_str("albums/");
        if let Some(category) = category {
            self.id.push_str(category);
            self.id.push('/');
        }
        self.id.push_str(file);
        check_id(&self.id)?;
        build(&mut self.builder, &album, category);
        let body = built(&mut self.builder)?;
        batch.put(NewDocument {
            id: &self.id,
            collection: &self.collection,
            metadata: None,
            body,
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
    use crate::parse::parse_one;

    fn parse(name: &str, content: &[u8]) -> String {
        parse_one(&mut AlbumParser::new("Discs"), name, content)
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
             \"Tracks\":[\"Dawn\",\"Noon\"],\"LengthInSeconds\":400} Discs -"
        );
        assert_eq!(
            parse("./0e018e02", b"DTITLE=Alone"),
            "albums/0e018e02 {\"DiscIds\":[],\"Artist\":\"Alone\",\"Title\":\"Alone\",\
             \"Tracks\":[]} Discs -"
        );
    }

    #[test]
    fn an_entry_without_a_usable_name_is_skipped() {
        assert!(parse("", b"DTITLE=x").starts_with("unusable id"));
        assert!(parse(&"x".repeat(600), b"DTITLE=x").starts_with("unusable id"));
        assert!(parse("README", b"hello").starts_with("not an album"));
    }
}
