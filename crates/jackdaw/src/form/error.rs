//! Why a value of a program is no document, or a document no value of that type.

use std::fmt;

/// A value that cannot be stored, or stored data that is not of the type asked for.
///
/// Nothing was written. [`ValueError::path`] names the place, [`ValueError::what`] the reason.
///
/// ```
/// use jackdaw::{Database, Error};
///
/// let db = Database::in_memory()?;
/// db.put("albums/1", &serde_json::json!({"Title": "Hejira", "Tracks": [{"Seconds": "no"}]}))?;
///
/// #[derive(Debug, serde::Deserialize)]
/// struct Track {
///     #[serde(rename = "Seconds")]
///     _seconds: u32,
/// }
/// #[derive(Debug, serde::Deserialize)]
/// struct Album {
///     #[serde(rename = "Tracks")]
///     _tracks: Vec<Track>,
/// }
/// let Err(Error::Value(error)) = db.get::<Album>("albums/1") else { panic!("no number") };
/// assert_eq!(error.path(), "Tracks[0].Seconds");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Steps from the place to the root.
    steps: Vec<Step>,
    what: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Element(usize),
}

impl ValueError {
    pub(crate) fn new(what: impl Into<String>) -> ValueError {
        ValueError {
            steps: Vec::new(),
            what: what.into(),
        }
    }

    pub(crate) fn of(error: impl fmt::Display) -> ValueError {
        ValueError::new(error.to_string())
    }

    /// The same error, seen from the object around it.
    #[cold]
    pub(crate) fn in_field(mut self, name: &str) -> ValueError {
        self.steps.push(Step::Field(name.to_owned()));
        self
    }

    /// The same error, seen from the array around it.
    #[cold]
    pub(crate) fn in_element(mut self, slot: usize) -> ValueError {
        self.steps.push(Step::Element(slot));
        self
    }

    /// Where the value is, such as `Tracks[0].Seconds`; empty for the document itself.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            match step {
                Step::Element(slot) => path.push_str(&format!("[{slot}]")),
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => {
                    path.push('.');
                    path.push_str(name);
                }
            }
        }
        path
    }

    /// What is wrong with it.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            path if path.is_empty() => f.write_str(&self.what),
            path => write!(f, "{path}: {}", self.what),
        }
    }
}

impl std::error::Error for ValueError {}

impl serde::ser::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> ValueError {
        ValueError::of(message)
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> ValueError {
        ValueError::of(message)
    }
}
