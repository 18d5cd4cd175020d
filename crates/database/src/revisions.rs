//! Which documents keep revisions, and how many.
//!
//! The configuration is stored with the documents, in the words of the wire protocol, and read by
//! each operation that changes documents: what is in force is always of the same moment as them.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::TICKS_PER_SECOND;
use jackdaw_document::{Builder, DocumentBuf, Object, Value};

/// Most collections that a configuration may name.
const COLLECTIONS_MAX: usize = 10_000;

/// How a collection keeps revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionsRule {
    /// Keeps none, whatever the default says.
    pub disabled: bool,
    /// Deleting a document deletes its revisions.
    pub purge_on_delete: bool,
    /// Revisions of a document beyond so many are deleted, the oldest first; `None` for all.
    pub minimum_to_keep: Option<u64>,
    /// Revisions younger than this many ticks are kept although they are too many.
    pub minimum_age: Option<i64>,
    /// Most revisions deleted by one change of their document.
    pub deleted_at_once_max: Option<u64>,
    /// The text of `minimum_age` as it was given.
    age_text: Option<String>,
}

/// The rule of all collections, and those of some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionsConfiguration {
    /// For collections without a rule of their own.
    pub default: Option<RevisionsRule>,
    /// Rules by name of the collection, in any letter case.
    pub collections: Vec<(String, RevisionsRule)>,
}

impl RevisionsConfiguration {
    /// Reads `{Default, Collections}`.
    ///
    /// # Errors
    /// A sentence about what is wrong with it.
    pub fn parse(object: Object<'_>) -> Result<RevisionsConfiguration, String> {
        let mut configuration = RevisionsConfiguration::default();
        if let Some(Value::Object(rule)) = object.get("Default") {
            configuration.default = Some(RevisionsRule::parse("the default", rule)?);
        }
        let Some(Value::Object(collections)) = object.get("Collections") else {
            return Ok(configuration);
        };
        if collections.len() > COLLECTIONS_MAX {
            return Err(format!(
                "more than {COLLECTIONS_MAX} collections have rules"
            ));
        }
        for (name, rule) in collections.iter() {
            let Value::Object(rule) = rule else { continue };
            let is_known = |(known, _): &(String, _)| lowercase(known) == lowercase(name);
            if configuration.collections.iter().any(is_known) {
                return Err(format!(
                    "cannot have two different revision configurations on the same collection, \
                     but '{name}' has them in two spellings"
                ));
            }
            let rule = RevisionsRule::parse(name, rule)?;
            configuration.collections.push((name.to_owned(), rule));
        }
        Ok(configuration)
    }

    /// The configuration in the form that [`RevisionsConfiguration::parse`] reads.
    #[must_use]
    pub fn to_document(&self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object().key("Default");
        match &self.default {
            Some(rule) => rule.write(&mut builder),
            None => {
                builder.null();
            }
        }
        builder.key("Collections").begin_object();
        for (name, rule) in &self.collections {
            builder.key(name);
            rule.write(&mut builder);
        }
        builder.end_object().end_object();
        builder.finish().expect("the calls are balanced")
    }

    /// The rule in force for a collection; `None` when it keeps no revisions.
    #[must_use]
    pub fn rule(&self, collection: &str) -> Option<&RevisionsRule> {
        // Documents of the product itself, such as `@hilo`, keep none.
        if collection.starts_with('@') {
            return None;
        }
        let folded = lowercase(collection);
        let own = self
            .collections
            .iter()
            .find(|(name, _)| lowercase(name) == folded);
        let rule = own.map(|(_, rule)| rule).or(self.default.as_ref());
        rule.filter(|rule| !rule.disabled)
    }
}

impl RevisionsRule {
    fn parse(of: &str, rule: Object<'_>) -> Result<RevisionsRule, String> {
        let flag = |name: &str| {
            rule.get(name)
                .and_then(|flag| flag.as_bool())
                .unwrap_or(false)
        };
        let count = |name: &str| match rule.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
                let wrong = || format!("{name} of {of} must be a whole number of at least 0");
                count.map(Some).ok_or_else(wrong)
            }
        };
        let age_text = rule
            .get("MinimumRevisionAgeToKeep")
            .and_then(|age| age.as_str());
        let minimum_age = match age_text {
            None => None,
            Some(text) => {
                let wrong = || format!("MinimumRevisionAgeToKeep of {of} is no length of time");
                Some(ticks(text).ok_or_else(wrong)?)
            }
        };
        Ok(RevisionsRule {
            disabled: flag("Disabled"),
            purge_on_delete: flag("PurgeOnDelete"),
            minimum_to_keep: count("MinimumRevisionsToKeep")?,
            minimum_age,
            deleted_at_once_max: count("MaximumRevisionsToDeleteUponDocumentUpdate")?,
            age_text: age_text.map(str::to_owned),
        })
    }

    fn write(&self, builder: &mut Builder) {
        let count = |builder: &mut Builder, name: &str, count: Option<u64>| {
            builder.key(name);
            match count.and_then(|count| i64::try_from(count).ok()) {
                Some(count) => builder.long(count),
                None => builder.null(),
            };
        };
        builder.begin_object();
        builder.key("Disabled").bool(self.disabled);
        count(builder, "MinimumRevisionsToKeep", self.minimum_to_keep);
        builder.key("MinimumRevisionAgeToKeep");
        match &self.age_text {
            Some(text) => builder.string(text),
            None => builder.null(),
        };
        builder.key("PurgeOnDelete").bool(self.purge_on_delete);
        let at_once = "MaximumRevisionsToDeleteUponDocumentUpdate";
        count(builder, at_once, self.deleted_at_once_max);
        builder.end_object();
    }
}

/// Ticks of `[d.]hh:mm:ss[.fffffff]`; fractions of a second are dropped.
fn ticks(text: &str) -> Option<i64> {
    let (clock_start, days) = match text.split_once('.') {
        Some((days, rest)) if rest.contains(':') => (rest, days.parse::<i64>().ok()?),
        _ => (text, 0),
    };
    let clock = clock_start.split('.').next()?;
    let mut parts = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(0..60).contains(&minutes) || !(0..60).contains(&seconds) {
        return None;
    }
    let seconds = days
        .checked_mul(86_400)?
        .checked_add(hours.checked_mul(3_600)?)?;
    seconds
        .checked_add(minutes * 60 + (clock.rsplit(':').next()?.parse::<i64>().ok()?))?
        .checked_mul(TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use jackdaw_document::Limits;

    use super::*;

    fn parse(json: &str) -> Result<RevisionsConfiguration, String> {
        let document = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
        RevisionsConfiguration::parse(document.root().as_object().unwrap())
    }

    #[test]
    fn a_collection_has_its_own_rule_or_the_default() {
        let json = r#"{"Default":{"MinimumRevisionsToKeep":5,"Disabled":false},
            "Collections":{"uSErs":{"Disabled":true},"Orders":{"PurgeOnDelete":true,
            "MinimumRevisionAgeToKeep":"1.02:00:30"}}}"#;
        let configuration = parse(json).unwrap();
        assert!(configuration.rule("Users").is_none());
        assert!(configuration.rule("@hilo").is_none());
        assert_eq!(configuration.rule("X").unwrap().minimum_to_keep, Some(5));
        let orders = configuration.rule("orders").unwrap();
        assert_eq!(orders.minimum_age, Some(93_630 * TICKS_PER_SECOND));
        let again = configuration.to_document();
        let again = RevisionsConfiguration::parse(again.root().as_object().unwrap());
        assert_eq!(again.unwrap(), configuration);
    }

    #[test]
    fn two_spellings_of_a_collection_and_wrong_values_are_refused() {
        for json in [
            r#"{"Collections":{"users":{},"USERS":{}}}"#,
            r#"{"Default":{"MinimumRevisionsToKeep":-1}}"#,
            r#"{"Default":{"MinimumRevisionAgeToKeep":"soon"}}"#,
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }
}
