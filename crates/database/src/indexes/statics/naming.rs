//! What a static index may be called, and which settings it may have.

use super::definition::DefinitionError;

/// Beginnings of the keys of settings that an index may have. Most of them tell other engines how
/// to work; they are kept and do nothing here.
const SETTING_PREFIXES: &[&str] = &["indexing.", "query.", "queries.", "core.", "patching."];

/// Refuses a name that cannot be one.
pub(super) fn check(name: &str, bytes_max: usize) -> Result<(), DefinitionError> {
    let refuse = |text: String| Err(DefinitionError::Name(text));
    if name.is_empty() {
        return refuse("Index name cannot be empty!".to_owned());
    }
    if name
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("Auto/"))
    {
        return refuse(format!(
            "Index name '{name}' is not permitted. Static index name cannot start with 'Auto/'"
        ));
    }
    if name.len() > bytes_max {
        return refuse(format!("An index name has at most {bytes_max} bytes"));
    }
    if name.chars().any(char::is_control) {
        return refuse("An index name has no control characters".to_owned());
    }
    Ok(())
}

/// Refuses a setting that no index has.
pub(super) fn check_setting(index: &str, key: &str) -> Result<(), DefinitionError> {
    let folded = key.to_ascii_lowercase();
    if SETTING_PREFIXES
        .iter()
        .any(|prefix| folded.starts_with(prefix))
    {
        return Ok(());
    }
    Err(DefinitionError::Creation(format!(
        "Could not create index '{index}' because the configuration option key '{key}' is not \
         recognized"
    )))
}
