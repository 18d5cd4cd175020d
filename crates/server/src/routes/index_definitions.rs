//! Definitions of indexes on the wire: what clients put, and what they are shown.

use hyper::StatusCode;
use jackdaw_database::{
    AutoDefinition, DefinitionError, IndexDefinition, IndexInfo, PutIndexError, Scope,
    StaticDefinition,
};
use jackdaw_document::{Builder, Object, Value as Json};
use jackdaw_query::FieldKind;
use serde_json::{Map, Value, json};

use super::{analyzers, failure, indexes, input};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Collection under which clients see an index over all documents.
const ALL_DOCUMENTS: &str = "@all_docs";

/// What kind of index it is, in the words of clients.
pub(super) fn type_name(definition: &IndexDefinition) -> &'static str {
    match definition.as_static() {
        None => "AutoMap",
        Some(own) => match (own.is_javascript(), own.reduce.is_some()) {
            (false, false) => "Map",
            (false, true) => "MapReduce",
            (true, false) => "JavaScriptMap",
            (true, true) => "JavaScriptMapReduce",
        },
    }
}

/// A definition with every member that clients insist on.
pub(super) fn describe(info: &IndexInfo) -> Value {
    match &*info.definition {
        IndexDefinition::Auto(definition) => describe_auto(info, definition),
        IndexDefinition::Static(definition) => describe_static(info, definition),
    }
}

/// A static index, for `GET /indexes` and for the record of a database.
fn describe_static(info: &IndexInfo, definition: &StaticDefinition) -> Value {
    let mut builder = Builder::new();
    builder.begin_object();
    definition.write(&mut builder);
    let document = builder.end_object().finish();
    let json = document
        .map(|document| document.root().to_json())
        .unwrap_or_default();
    let mut members: Map<String, Value> = serde_json::from_str(&json).unwrap_or_default();
    let output = definition.output_collection.as_ref().map(|_| info.number);
    for (name, value) in [
        ("SourceType", json!(info.source_type.as_str())),
        ("Type", json!(type_name(&info.definition))),
        ("State", json!(indexes::state(info))),
        ("ReduceOutputIndex", json!(output)),
    ] {
        members.insert(name.to_owned(), value);
    }
    if let Some(Value::Object(fields)) = members.get_mut("Fields") {
        fields.values_mut().for_each(fill_spatial);
    }
    Value::Object(members)
}

/// Adds what clients read of the spatial options of a field and its definition left out.
fn fill_spatial(field: &mut Value) {
    let Some(Value::Object(given)) = field.get_mut("Spatial") else {
        return;
    };
    for (name, value) in [
        ("Type", json!("Geography")),
        ("MaxTreeLevel", json!(9)),
        ("MaxX", json!(180)),
        ("MaxY", json!(90)),
        ("MinX", json!(-180)),
        ("MinY", json!(-90)),
        ("Strategy", json!("GeohashPrefixTree")),
        ("Units", json!("Kilometers")),
    ] {
        if given.get(name).is_none_or(Value::is_null) {
            given.insert(name.to_owned(), value);
        }
    }
}

fn describe_auto(info: &IndexInfo, definition: &AutoDefinition) -> Value {
    let fields: Vec<String> = definition.fields.iter().map(|field| field.name()).collect();
    let member = |field: &String| {
        let settings = json!({ "Indexing": "Default", "Storage": "No" });
        (field.clone(), settings)
    };
    let members: Map<String, Value> = fields.iter().map(member).collect();
    let map = format!("{}:[{}]", collection(definition), fields.join(", "));
    json!({
        "Name": definition.name,
        "SourceType": "Documents",
        "Type": "AutoMap",
        "LockMode": "Unlock",
        "ArchivedDataProcessingBehavior": null,
        "Priority": "Normal",
        "State": indexes::state(info),
        "OutputReduceToCollection": null,
        "DeploymentMode": null,
        "ReduceOutputIndex": null,
        "PatternForOutputReduceToCollectionReferences": null,
        "PatternReferencesCollectionName": null,
        "Configuration": {},
        "AdditionalSources": {},
        "AdditionalAssemblies": [],
        "Reduce": null,
        "Maps": [map],
        "Fields": members,
    })
}

/// The indexes of a database as its record shows them: static ones and automatic ones.
pub(super) fn in_record(infos: &[IndexInfo]) -> (Map<String, Value>, Map<String, Value>) {
    let (mut own, mut automatic) = (Map::new(), Map::new());
    for info in infos {
        let name = info.name().to_owned();
        match &*info.definition {
            IndexDefinition::Auto(definition) => {
                automatic.insert(name, in_record_auto(definition));
            }
            IndexDefinition::Static(definition) => {
                own.insert(name, describe_static(info, definition));
            }
        }
    }
    (own, automatic)
}

/// What a database record tells about an automatic index.
fn in_record_auto(definition: &AutoDefinition) -> Value {
    let field = |kind: &FieldKind| {
        let indexing = match kind {
            FieldKind::Plain | FieldKind::Named(_) => "Default",
            FieldKind::Point(_) | FieldKind::Shape => "Default",
            FieldKind::Vector(_) | FieldKind::NamedVector(..) => "Default",
            FieldKind::Exact => "Exact",
            FieldKind::Search => "Search",
        };
        json!({
            "Storage": "No",
            "Indexing": indexing,
            "Aggregation": "None",
            "Spatial": null,
            "Vector": null,
            "GroupByArrayBehavior": "NotApplicable",
            "Suggestions": false,
            "IsNameQuoted": false,
        })
    };
    let fields = definition.fields.iter();
    let fields: Map<String, Value> = fields
        .map(|one| (one.path.as_str().to_owned(), field(&one.kind)))
        .collect();
    json!({
        "Type": "AutoMap",
        "Collection": collection(definition),
        "MapFields": fields,
        "GroupByFields": {},
        "GroupByFieldNames": [],
        "Name": definition.name,
        "Priority": "Normal",
        "State": null,
    })
}

fn collection(definition: &AutoDefinition) -> &str {
    match &definition.scope {
        Scope::All => ALL_DOCUMENTS,
        Scope::Collection(name) => name,
    }
}

/// `PUT /databases/*/indexes`: JavaScript alone, as clients without rights of an administrator
/// send it.
pub(super) fn put(call: &Call) -> Outcome {
    put_all(call, |definition| {
        if definition.is_javascript() {
            return Ok(());
        }
        let message = format!(
            "Index {} is a C# index but was sent through a non-admin endpoint using REST api, this \
             is not allowed.",
            definition.name
        );
        Err(WireError::new(kind::UNAUTHORIZED, message))
    })
}

/// `PUT /databases/*/admin/indexes`
pub(super) fn put_as_admin(call: &Call) -> Outcome {
    put_all(call, |_| Ok(()))
}

fn put_all(call: &Call, check: impl Fn(&StaticDefinition) -> Result<(), WireError>) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let Some(given) = body.get("Indexes").and_then(|given| given.as_array()) else {
        let message = "Request should have a property name 'Indexes' which is mandatory.";
        return Err(WireError::new(kind::ARGUMENT, message));
    };
    let mut definitions = Vec::with_capacity(given.len());
    for one in given.iter() {
        let mut definition = read(one)?;
        call.objects.add(&definition.name);
        check(&definition)?;
        analyzers::resolve(call, &mut definition)?;
        definitions.push(definition);
    }
    // All are checked before one is made.
    for definition in &definitions {
        let checked = jackdaw_database::Database::check_index(definition);
        checked.map_err(|error| refused(&error, definition.is_javascript()))?;
    }
    let entry = call.shared.databases.entry(&call.part(0));
    let index = entry.map_or(0, |entry| entry.index);
    let mut rows = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let (name, is_javascript) = (definition.name.clone(), definition.is_javascript());
        database
            .put_index(definition)
            .map_err(|error| match error {
                PutIndexError::Definition(error) => refused(&error, is_javascript),
                PutIndexError::Database(error) => failure::database(&error),
                other => WireError::new(kind::UNEXPECTED, other.to_string()),
            })?;
        rows.push(json!({ "Index": name, "RaftCommandIndex": index }));
    }
    let mut reply = Reply::value(&json!({ "Results": rows }));
    reply.status = StatusCode::CREATED;
    Ok(reply)
}

fn read(given: Json<'_>) -> Result<StaticDefinition, WireError> {
    let object: Object<'_> = given.as_object().ok_or_else(|| {
        let message = format!("Expected StartObject , but got {}", input::token(given));
        WireError::new(kind::INVALID_OPERATION, message)
    })?;
    StaticDefinition::read(object).map_err(|error| refused(&error, false))
}

/// A definition that was refused, as clients expect to hear of it.
pub(super) fn refused(error: &DefinitionError, is_javascript: bool) -> WireError {
    let message = error.to_string();
    match error {
        DefinitionError::Compilation { why, .. } if is_javascript => {
            WireError::new(kind::JINT, why)
        }
        DefinitionError::Compilation { text, property, .. } => {
            WireError::new(kind::INDEX_COMPILATION, message)
                .with("IndexDefinitionProperty", *property)
                .with("ProblematicText", text.as_str())
        }
        DefinitionError::Analyzer { .. } => WireError::new(kind::INDEX_COMPILATION, message)
            .with("IndexDefinitionProperty", Value::Null)
            .with("ProblematicText", Value::Null),
        DefinitionError::Creation(_) => WireError::new(kind::INDEX_CREATION, message),
        DefinitionError::Locked(_) => WireError::new(kind::INVALID_OPERATION, message),
        _ => WireError::new(kind::ARGUMENT, message),
    }
}

/// `POST /databases/*/indexes/has-changed`
pub(super) fn has_changed(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let read = StaticDefinition::read(body);
    let mut definition = read.map_err(|error| refused(&error, false))?;
    analyzers::resolve(call, &mut definition)?;
    let changed = database.index_has_changed(&definition);
    Ok(Reply::value(&json!({ "Changed": changed })))
}

/// `GET /databases/*/indexes/source?name=`: the texts of an index.
pub(super) fn source(call: &Call) -> Outcome {
    let name = indexes::required_name(call)?;
    let infos = indexes::infos(&*super::database(call)?)?;
    let found = infos
        .iter()
        .find(|info| info.name().to_lowercase() == name.to_lowercase());
    let info = found.ok_or_else(|| failure::no_index(&name))?;
    let Some(own) = info.definition.as_static() else {
        let message = format!("Index '{name}' is automatic and has no source.");
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    let texts: Vec<&str> = own
        .maps
        .iter()
        .chain(&own.reduce)
        .map(String::as_str)
        .collect();
    Ok(Reply::value(
        &json!({ "Index": info.name(), "Source": texts.join("\n\n") }),
    ))
}
