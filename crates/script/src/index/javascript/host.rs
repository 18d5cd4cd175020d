//! What JavaScript of an index asks, as questions to the [`IndexHost`].

use std::borrow::Cow;

use jackdaw_document::{Array, Value, write_array};

use crate::host::{Host, HostError};
use crate::index::host::{Attachment, IndexHost};

/// Lends an [`IndexHost`] to a machine.
pub(crate) struct ScriptHost<'h> {
    pub(crate) host: &'h mut dyn IndexHost,
}

impl Host for ScriptHost<'_> {
    fn call(&mut self, function: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let text = |slot: usize| arguments.get(slot).and_then(|value| value.as_str());
        // A question about nothing is answered with nothing, as documents may be missing.
        let Some(first) = text(0) else {
            return Ok(match function {
                "load" | "cmpxchg" | "loadAttachment" | "attachmentText" => b"null".to_vec(),
                _ => b"[]".to_vec(),
            });
        };
        let mut out = Vec::new();
        match function {
            "load" => match self.host.load(first, text(1))? {
                Some(document) => document.as_script().write(&mut out),
                None => out.extend_from_slice(b"null"),
            },
            "cmpxchg" => match self.host.compare_exchange(first)? {
                Some(value) => value.root().write_json(&mut out),
                None => out.extend_from_slice(b"null"),
            },
            "counterNamesFor" => write_names(&self.host.counter_names(first)?, &mut out),
            "timeSeriesNamesFor" => write_names(&self.host.time_series_names(first)?, &mut out),
            "attachmentsFor" | "loadAttachments" => {
                let attachments = self.host.attachments(first)?;
                write_array(&mut out, |list| {
                    for attachment in &attachments {
                        list.object(|object| write_attachment(attachment, object));
                    }
                });
            }
            "loadAttachment" => {
                let name = text(1).unwrap_or_default();
                let attachments = self.host.attachments(first)?;
                let found = attachments
                    .iter()
                    .find(|one| one.name.eq_ignore_ascii_case(name));
                match found {
                    Some(found) => {
                        jackdaw_document::write_object(&mut out, |object| {
                            write_attachment(found, object);
                        });
                    }
                    None => out.extend_from_slice(b"null"),
                }
            }
            "attachmentText" => {
                let name = text(1).unwrap_or_default();
                match self.host.attachment_content(first, name)? {
                    Some(content) => Value::String(&text_of(&content)).write_json(&mut out),
                    None => out.extend_from_slice(b"null"),
                }
            }
            _ => {
                let message = format!("{function}() cannot be used in an index");
                return Err(HostError::Refused(message));
            }
        }
        Ok(out)
    }

    fn begin(&mut self) {
        self.host.begin();
    }

    fn is_over(&mut self) -> bool {
        self.host.is_over()
    }
}

/// The text of a content: UTF-8, or UTF-16 that says so at its beginning. What is no text becomes
/// replacement characters.
fn text_of(content: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        let mut text = String::from_utf16_lossy(&units);
        if !rest.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        Cow::Owned(text)
    };
    match content {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest),
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(content),
    }
}

fn write_names(names: &[String], out: &mut Vec<u8>) {
    write_array(out, |list| {
        for name in names {
            list.value(Value::String(name));
        }
    });
}

fn write_attachment(attachment: &Attachment, object: &mut jackdaw_document::ObjectWriter<'_>) {
    object.string("Name", &attachment.name);
    object.string("ContentType", &attachment.content_type);
    object.string("Hash", &attachment.hash);
    object.long(
        "Size",
        i64::try_from(attachment.len_bytes).unwrap_or(i64::MAX),
    );
}
