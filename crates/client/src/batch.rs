//! Several changes that happen together or not at all.

use serde::Serialize;

use crate::error::ClientError;

/// Commands for `DatabaseClient::batch`, kept as the JSON text that is sent.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    commands: String,
    count: usize,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Stores a document given as JSON text, which is sent as it is. `id` may end with `/` to have
    /// the server complete it.
    pub fn put_text(&mut self, id: &str, document: &str) -> &mut Batch {
        self.push("PUT", id, None, Some(document))
    }

    /// Stores a document of any type serde knows.
    ///
    /// # Errors
    /// [`ClientError::Unwritable`]; the batch is as it was.
    pub fn put<T: Serialize>(&mut self, id: &str, document: &T) -> Result<&mut Batch, ClientError> {
        let text = serde_json::to_string(document).map_err(ClientError::Unwritable)?;
        Ok(self.put_text(id, &text))
    }

    /// Stores a document if its change vector is `expected`; an empty one means "must not exist".
    pub fn put_text_if(&mut self, id: &str, document: &str, expected: &str) -> &mut Batch {
        self.push("PUT", id, Some(expected), Some(document))
    }

    /// Deletes a document; deleting an absent one is no failure.
    pub fn delete(&mut self, id: &str) -> &mut Batch {
        self.push("DELETE", id, None, None)
    }

    /// Number of commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no command.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that the commands take when sent.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.commands.len()
    }

    fn push(
        &mut self,
        kind: &str,
        id: &str,
        expected: Option<&str>,
        document: Option<&str>,
    ) -> &mut Batch {
        let separator = if self.count == 0 { "" } else { "," };
        let id = serde_json::Value::from(id);
        let expected = expected.map_or(serde_json::Value::Null, serde_json::Value::from);
        self.commands.push_str(&format!(
            "{separator}{{\"Type\":\"{kind}\",\"Id\":{id},\"ChangeVector\":{expected}"
        ));
        if let Some(document) = document {
            self.commands.push_str(",\"Document\":");
            self.commands.push_str(document);
        }
        self.commands.push('}');
        self.count += 1;
        self
    }

    pub(crate) fn body(&self) -> String {
        format!("{{\"Commands\":[{}]}}", self.commands)
    }
}
