//! Binds `include highlight(...)` and `include explanations(...)`.
//!
//! Called by `query`.

use jackdaw_document::Value as Json;

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::highlight::Highlight;
use crate::parameters::Resolved;
use crate::predicate::Field;
use crate::syntax::Call;

/// Longest fragment, and most of one document.
const LENGTH_MAX: usize = 10_000;
const COUNT_MAX: usize = 1_000;

/// `highlight(field, length, count [, options])`.
pub(super) fn bind_highlight<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    call: &'q Call,
) -> Result<Highlight, QueryError> {
    binder.check_arguments(call, 3, 4)?;
    let Field::Values(field) = binder.field_argument(call, 0)? else {
        return Err(QueryError::invalid(
            "highlight() takes a field, but got id()",
        ));
    };
    let size = |position: usize, most: usize| -> Result<usize, QueryError> {
        let number = binder.number_argument(call, position)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and bounded"
        )]
        let size = number.min(most as f64) as usize;
        Ok(size)
    };
    let mut highlight = Highlight {
        path: field.path,
        length: size(1, LENGTH_MAX)?,
        count: size(2, COUNT_MAX)?,
        pre_tags: Vec::new(),
        post_tags: Vec::new(),
        group_key: None,
    };
    if call.arguments.len() == 4
        && let Resolved::Object(options) = binder.value_argument(call, 3)?
    {
        let texts = |value: Json<'_>| -> Vec<String> {
            let array = value.as_array();
            let texts = array.iter().flat_map(|array| array.iter());
            texts
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        for (name, value) in options.iter() {
            match name.to_ascii_lowercase().as_str() {
                "pretags" => highlight.pre_tags = texts(value),
                "posttags" => highlight.post_tags = texts(value),
                "groupkey" => highlight.group_key = value.as_str().map(FieldPath::parse),
                _ => {}
            }
        }
        if highlight.pre_tags.len() != highlight.post_tags.len() {
            return Err(QueryError::invalid(
                "highlight() needs as many PostTags as PreTags",
            ));
        }
    }
    Ok(highlight)
}

/// The field that rows of `explanations([options])` are named by, if it is not the id.
pub(super) fn bind_explanation_key<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    call: &'q Call,
) -> Result<Option<FieldPath>, QueryError> {
    binder.check_arguments(call, 0, 1)?;
    if call.arguments.is_empty() {
        return Ok(None);
    }
    let Resolved::Object(options) = binder.value_argument(call, 0)? else {
        return Ok(None);
    };
    let mut options = options.iter();
    let group_key = options.find(|(name, _)| name.eq_ignore_ascii_case("GroupKey"));
    Ok(group_key.and_then(|(_, value)| value.as_str().map(FieldPath::parse)))
}
