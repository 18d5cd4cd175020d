//! Proves that a patch which was worked out before its transaction leaves what the transaction
//! would, and that what changed in between is not overwritten.

use std::sync::Arc;

use jackdaw_database::{
    Command, CommandResult, CounterAction, CounterOperation, Database, Foresight, Patch,
    PatchScript, PatchStatus, PatchWork, ScriptContext, WriteError,
};
use jackdaw_sim::SimVfs;

use crate::common::{delete, json, open, put, store, text};

/// Documents of all kinds that scripts below meet.
const DOCUMENTS: [(&str, &str); 5] = [
    (
        "a",
        r#"{"N":1,"Seen":false,"Text":"x","Long":12345678901234567890}"#,
    ),
    ("b", r#"{"N":2.50,"Seen":true,"List":[1,2,{"x":null}]}"#),
    ("c", r#"{}"#),
    ("D/Upper", r#"{"Seen":true,"N":"no number"}"#),
    ("e", r#"{"Other":{"Deep":[[]]},"N":-7}"#),
];

/// One of them has a counter.
const COUNTED: &str = "b";
/// A document with a date and metadata of its own.
const DATED: &str = "dated";
/// A document of no collection.
const EMPTY: &str = "empty";
/// One of them in another spelling.
const OTHER_CASE: &str = "d/UPPER";
const MISSING: &str = "missing";

fn work(text: &str) -> Arc<PatchWork> {
    Arc::new(PatchWork::Script {
        script: PatchScript {
            text: text.to_owned(),
            parameters: Some(json(r#"{"By":3}"#)),
        },
        context: ScriptContext::default(),
        if_missing: None,
        create_if_missing: None,
    })
}

fn filled(seed: u64) -> Arc<Database> {
    let database = open(&SimVfs::new(seed));
    for (id, body) in DOCUMENTS {
        store(&database, id, "Cars", body);
    }
    let operation = CounterOperation {
        name: "Likes".to_owned(),
        action: CounterAction::Increment(1),
    };
    let counters = Command::Counters {
        id: COUNTED.to_owned(),
        operations: vec![operation],
    };
    let put = |id: &str, metadata: &str| Command::Put {
        id: Some(id.to_owned()),
        body: json(r#"{"N":4}"#),
        metadata: Some(json(metadata)),
        expected: None,
        keeps_revision: false,
    };
    let dated = r#"{"@collection":"Cars","@expires":"2100-01-01T00:00:00.0000000Z","Own":[1]}"#;
    let commands = vec![counters, put(DATED, dated), put(EMPTY, "{}")];
    database.batch(commands).unwrap();
    database
}

/// What is patched, and whether it can be foreseen.
fn ids() -> Vec<(String, bool)> {
    let there = DOCUMENTS.iter().map(|(id, _)| (*id, true));
    let others = [
        (DATED, true),
        (EMPTY, true),
        (OTHER_CASE, false),
        (MISSING, false),
    ];
    let all = there.chain(others);
    all.map(|(id, is_there)| (id.to_owned(), is_there))
        .collect()
}

/// Patches of all documents; says which of them were foreseen.
fn patches(
    database: &Database,
    work: &Arc<PatchWork>,
    is_foreseeing: bool,
) -> (Vec<bool>, Vec<Command>) {
    let ids: Vec<String> = ids().into_iter().map(|(id, _)| id).collect();
    let mut seen: Vec<_> = ids.iter().map(|_| None).collect();
    if is_foreseeing {
        seen = Foresight::new(work).unwrap().see(database, &ids);
    }
    let foreseen = seen.iter().map(Option::is_some).collect();
    let commands = ids.into_iter().zip(seen).map(|(id, foreseen)| {
        Command::Patch(Box::new(Patch {
            work: work.clone(),
            foreseen: foreseen.map(Arc::new),
            tells_document: false,
            told_bytes_max: usize::MAX,
            ..Patch::script(&id, "", None)
        }))
    });
    (foreseen, commands.collect())
}

fn statuses(outcome: Result<Vec<CommandResult>, WriteError>) -> Result<Vec<PatchStatus>, String> {
    let status = |result| match result {
        CommandResult::Patch(outcome) => {
            assert_eq!(
                outcome.stored.is_some(),
                matches!(outcome.status, PatchStatus::Patched | PatchStatus::Created)
            );
            outcome.status
        }
        other => panic!("{other:?}"),
    };
    let results = outcome.map_err(|error| error.to_string())?;
    Ok(results.into_iter().map(status).collect())
}

/// All documents, without what differs between two databases: their identity and their times.
fn documents(database: &Database) -> Vec<String> {
    let snapshot = database.read().unwrap();
    let mut all: Vec<String> = snapshot
        .readable()
        .map(|row| {
            let row = row.unwrap();
            let text = text(&row).replace(&row.last_modified().to_string(), "TIME");
            format!("{} {} {text}", row.collection(), row.etag().0)
        })
        .collect();
    all.sort();
    let identity = database.id().as_str();
    all.iter().map(|one| one.replace(identity, "ID")).collect()
}

#[test]
fn what_is_foreseen_is_what_the_transaction_leaves() {
    // Script, and whether it is foreseen for the documents that are there.
    let scripts = [
        ("this.Seen = true;", true),
        ("this.N++; this.Text = args.By", true),
        ("delete this.Seen", true),
        (
            "for (let i = 0; i < 3; i++) { this.Turns = (this.Turns || 0) + i; }",
            true,
        ),
        (
            "this.Name = id(this); this.Vector = this['@metadata']['@change-vector']",
            true,
        ),
        ("(this['@metadata'] || {}).Own = { a: 1 }", true),
        ("if (this.Seen) { this.List = [this.N, this.Text]; }", true),
        ("", true),
        ("const other = load('b'); this.Copy = other.N", false),
        (
            "try { load('b'); this.Loaded = 1 } catch (e) { this.Loaded = 2 }",
            false,
        ),
        ("put('new/1', { a: this.N })", false),
        ("this['@metadata']['@collection'] = 'Others'", false),
        ("throw 'no'", false),
        ("while (true) {}", false),
        ("this is no script", false),
    ];
    for (script, is_foreseen) in scripts {
        let (plain, ahead) = (filled(1), filled(1));
        let work = work(script);
        let (_, commands) = patches(&plain, &work, false);
        let expected = statuses(plain.batch(commands));
        let (foreseen, commands) = patches(&ahead, &work, true);
        let there: Vec<bool> = ids()
            .iter()
            .map(|(_, is_there)| is_foreseen && *is_there)
            .collect();
        assert_eq!(foreseen, there, "{script}");
        assert_eq!(statuses(ahead.batch(commands)), expected, "{script}");
        assert_eq!(documents(&ahead), documents(&plain), "{script}");
    }
}

#[test]
fn what_changed_meanwhile_is_patched_as_it_is_then() {
    let database = filled(2);
    let work = work("this.N = 'patched'");
    let (_, commands) = patches(&database, &work, true);
    let meanwhile = vec![
        put("a", "Cars", r#"{"Fresh":1}"#),
        delete("b"),
        // Deleted and made again under the same id.
        delete("c"),
        put("c", "Boats", r#"{"Again":true}"#),
    ];
    database.batch(meanwhile).unwrap();
    let told = statuses(database.batch(commands)).unwrap();
    assert_eq!(told[1], PatchStatus::DocumentDoesNotExist);
    let snapshot = database.read().unwrap();
    let body = |id: &str| {
        snapshot
            .get(id)
            .unwrap()
            .map(|row| row.body().root().to_json())
    };
    assert_eq!(body("a").unwrap(), r#"{"Fresh":1,"N":"patched"}"#);
    assert_eq!(body("b"), None);
    assert_eq!(body("c").unwrap(), r#"{"Again":true,"N":"patched"}"#);
    assert_eq!(snapshot.get("c").unwrap().unwrap().collection(), "Boats");
}

#[test]
fn a_patch_that_expects_something_is_not_taken_from_what_was_foreseen() {
    let database = filled(3);
    let work = work("this.N = 'patched'");
    let seen = Foresight::new(&work)
        .unwrap()
        .see(&database, &["a".to_owned()]);
    let foreseen = seen.into_iter().next().flatten().map(Arc::new);
    assert!(foreseen.is_some());
    let patch = Patch {
        expected: Some("A:1-somethingElse".to_owned()),
        work,
        foreseen,
        ..Patch::script("a", "", None)
    };
    let refused = database.batch(vec![Command::Patch(Box::new(patch))]);
    assert!(
        matches!(refused, Err(WriteError::PatchConflict { .. })),
        "{refused:?}"
    );
}
