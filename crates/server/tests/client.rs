//! Proves that the Rust client and the server agree: every call of the client once, over loopback.

mod support;

use std::ops::ControlFlow;

use jackdaw_client::{Batch, Client, ClientError};
use serde::{Deserialize, Serialize};
use support::{TestServer, config};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Album {
    title: String,
    year: u32,
}

#[test]
fn databases_documents_and_batches() {
    let running = TestServer::start(config());
    let client = Client::new(&running.url());
    assert!(client.version().unwrap().starts_with("Jackdaw "));
    client.create_database("Music").unwrap();
    assert!(matches!(
        client.create_database("music"),
        Err(ClientError::Conflict { .. })
    ));
    assert_eq!(client.databases().unwrap(), ["Music"]);
    let music = client.database("music");
    let album = Album {
        title: "Kind of Blue".to_owned(),
        year: 1959,
    };
    let stored = music.put("albums/1 + 1%", &album).unwrap();
    assert_eq!(stored.id, "albums/1 + 1%");
    assert_eq!(music.load::<Album>("albums/1 + 1%").unwrap(), Some(album));
    assert!(music.load_text("albums/none").unwrap().is_none());
    let stale = music.put_text_if("albums/1 + 1%", "{}", "");
    assert!(matches!(stale, Err(ClientError::Conflict { .. })));
    music
        .put_text_if("albums/1 + 1%", "{}", &stored.change_vector)
        .unwrap();

    let mut batch = Batch::new();
    batch.put_text(
        "albums/2",
        r#"{"n":1.10,"@metadata":{"@collection":"Albums"}}"#,
    );
    batch
        .put("albums/3", &serde_json::json!({ "n": 2 }))
        .unwrap();
    batch.delete("albums/1 + 1%");
    assert_eq!(music.batch(&batch).unwrap().len(), 3);
    let texts = music.load_texts(&["albums/3", "zz", "albums/2"]).unwrap();
    assert!(texts[0].is_some() && texts[1].is_none());
    assert!(texts[2].as_ref().unwrap().starts_with(r#"{"n":1.10,"#));
    assert_eq!(music.collections().unwrap()["Albums"], 1);
    assert_eq!(music.statistics().unwrap()["CountOfDocuments"], 2);

    let mut lines = Vec::new();
    let count = music.stream_documents("albums/", |line| {
        lines.push(line.to_owned());
        ControlFlow::Continue(())
    });
    assert_eq!(count.unwrap(), 2);
    assert!(lines[0].contains("1.10"), "{lines:?}");
    music.delete("albums/2").unwrap();
    client.delete_database("Music").unwrap();
    client.delete_database("Music").unwrap();
    let error = music.put_text("a", "{}").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("Database 'music' does not exist."),
        "{error}"
    );
}

#[test]
fn a_server_that_is_not_there_is_told_with_advice() {
    let mut server = TestServer::start(config());
    let client = Client::new(&server.url());
    server.stop();
    let error = client.version().unwrap_err();
    assert!(error.to_string().contains("jackdaw serve"), "{error}");
}
