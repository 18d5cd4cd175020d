//! Proves that a database which asks for shards or for other nodes is refused with a sentence and
//! is not created, and that nodes cannot be added to one.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{start, start_with_database};

#[test]
fn records_that_ask_for_more_than_one_node_create_nothing() {
    let (_running, mut connection) = start();
    let shards = json!({ "Shards": { "0": { "Members": ["A"] } } });
    let refused: &[(Value, &str)] = &[
        (json!({ "Sharding": shards }), "Sharded databases"),
        (json!({ "Sharding": {} }), "Sharded databases"),
        (json!({ "Sharding": [] }), "Sharded databases"),
        (json!({ "Sharding": false }), "Sharded databases"),
        (
            json!({ "Topology": { "Members": ["A", "B", "C"] } }),
            "add node B",
        ),
        (json!({ "Topology": { "Members": ["B"] } }), "add node B"),
        (json!({ "Topology": { "Members": ["a"] } }), "add node a"),
        (json!({ "Topology": { "Members": [""] } }), "add node "),
        (
            json!({ "Topology": { "Members": ["\u{c4}\u{1f600}"] } }),
            "add node \u{c4}",
        ),
        (json!({ "Topology": { "Members": ["A", "A"] } }), "2 times"),
        (
            json!({ "Topology": { "Members": ["A"], "Promotables": ["B"] } }),
            "add node B",
        ),
        (json!({ "Topology": { "Rehabs": ["B"] } }), "add node B"),
        (
            json!({ "Topology": { "Members": ["A"], "Rehabs": ["A"] } }),
            "2 times",
        ),
        (json!({ "Topology": { "Members": "A,B" } }), "be an array"),
        (json!({ "Topology": { "Members": [1] } }), "hold strings"),
        (json!({ "Topology": ["A", "B"] }), "be an object"),
        (json!({ "Topology": "A" }), "be an object"),
    ];
    for (slot, (members, sentence)) in refused.iter().enumerate() {
        let name = format!("refused{slot}");
        let mut record = members.clone();
        record["DatabaseName"] = name.clone().into();
        let path = format!("/admin/databases?name={name}");
        let answer = connection.put(&path, &record.to_string());
        assert_eq!(answer.status, 400, "{record}: {}", answer.text());
        let message = answer.json()["Message"].as_str().unwrap().to_owned();
        assert!(message.contains(sentence), "{record}: {message}");
        assert_eq!(connection.get(&path).status, 404, "{record}");
    }
    assert_eq!(
        connection.get("/databases?namesOnly=true").json()["Databases"],
        json!([])
    );
}

#[test]
fn records_that_ask_for_this_node_alone_create_a_database() {
    let (_running, mut connection) = start();
    let accepted = [
        json!({}),
        json!({ "Sharding": null }),
        json!({ "Topology": null }),
        json!({ "Topology": {} }),
        json!({ "Topology": { "Members": [] } }),
        json!({ "Topology": { "Members": null, "Rehabs": [] } }),
        json!({ "Topology": { "Members": ["A"] } }),
        json!({ "Topology": { "ReplicationFactor": 1 } }),
    ];
    for (slot, members) in accepted.into_iter().enumerate() {
        let name = format!("accepted{slot}");
        let mut record = members;
        record["DatabaseName"] = name.clone().into();
        let answer = connection.put(
            &format!("/admin/databases?name={name}"),
            &record.to_string(),
        );
        assert_eq!(answer.status, 201, "{record}: {}", answer.text());
        let answer = answer.json();
        assert_eq!(answer["Topology"]["Members"], json!(["A"]));
        assert_eq!(answer["ShardsDefined"], false);
    }
}

#[test]
fn no_node_can_be_added_to_a_database() {
    let (_running, mut connection) = start_with_database();
    let mut add = |parameters: &str| {
        let answer = connection.put(&format!("/admin/databases/node?{parameters}"), "");
        assert_eq!(answer.status, 400, "{}", answer.text());
        let body = answer.json();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        (text("Type"), text("Message"))
    };
    let operation = "System.InvalidOperationException".to_owned();
    for (parameters, message) in [
        (
            "name=DB1",
            "Database db1 already exists on all the nodes of the cluster",
        ),
        (
            "name=db1&node=",
            "Database db1 already exists on all the nodes of the cluster",
        ),
        (
            "name=db1&node=A",
            "Can't add node A to db1 topology because it is already part of it",
        ),
        (
            "name=db1&node=B",
            "Can't add node B to database 'db1' topology, because node B (which is in the new \
             topology) is not part of the cluster",
        ),
    ] {
        assert_eq!(add(parameters), (operation.clone(), message.to_owned()));
    }
    assert_eq!(
        add("name=nothere&node=A"),
        (
            "Raven.Client.Exceptions.Database.DatabaseDoesNotExistException".to_owned(),
            "Database Record not found when trying to add a node to the database topology"
                .to_owned()
        )
    );
    assert_eq!(
        add("node=A").1,
        "Query string value 'name' must have a non empty value"
    );
}
