//! Addresses as people write them, to listen on and to reach a server.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::{Served, TestDirectory, demo_archive, import, jackdaw};

#[test]
fn a_server_listens_on_names_and_on_ports() {
    for listen in ["localhost:0", ":0"] {
        let directory = TestDirectory::new();
        let server = Served::start_on(listen, &directory.text("data"));
        assert!(
            server.url.starts_with("http://127.0.0.1:"),
            "{}",
            server.url
        );
        assert!(server.stop(), "the server ends in order");
    }
}

#[test]
fn addresses_of_servers_need_no_scheme() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(20));
    import("freedb", &archive, &data, &[]).ok();
    let server = Served::start(&data);
    let (_, host_and_port) = server.url.split_once("//").unwrap();
    let (_, port) = host_and_port.rsplit_once(':').unwrap();
    for url in [
        host_and_port,
        &format!("localhost:{port}"),
        &format!(":{port}"),
        &format!("HTTP://{host_and_port}/"),
    ] {
        let asked = ["query", "--database", "music", "--url", url, "from Albums"];
        let run = jackdaw(&asked).ok();
        assert!(run.out.contains("20 rows in "), "{run:#?}");
        let exported = ["export", "--database", "music", "--url", url, "-o", "-"];
        assert_eq!(jackdaw(&exported).ok().out.lines().count(), 20);
    }
    let backup = ["backup", "--url", host_and_port, "monday"];
    jackdaw(&backup).ok();
    // With an authority, the connection has to be secured.
    let authority = directory.file("authority.pem", "nothing");
    let asked = ["query", "--database", "music", "--url", host_and_port];
    let secured = [&asked[..], &["--authority", &authority, "from Albums"]].concat();
    jackdaw(&secured).fails(1, &["authority.pem cannot be used"]);
    assert!(server.stop(), "the server ends in order");
}

#[test]
fn wrong_addresses_are_wrong_usage() {
    for (arguments, part) in [
        (&["serve", "--listen", "8080"][..], "write :8080"),
        (&["serve", "--listen", "localhost"], "localhost:8080"),
        (&["serve", "--listen", "::1:80"], "in brackets"),
        (&["serve", "--listen", "localhost:70000"], "0 to 65535"),
        (&["serve", "--listen-tcp", ""], "it is empty"),
        (&["serve", "--redis", "x"], "names no port"),
        (&["serve", "--insecure-i-know", "x"], "names no port"),
        (&["demo", "--listen", "x"], "names no port"),
        (&["setup", "--listen", "x"], "names no port"),
        (&["backup", "--url", "ftp://x", "y"], "not by ftp://"),
        (
            &["query", "--database", "d", "--url", "8080", "from X"],
            "write :8080",
        ),
    ] {
        let run = jackdaw(arguments);
        assert_eq!(run.code, 2, "{run:#?}");
        assert!(run.err.contains(part), "no {part:?} in: {}", run.err);
    }
}
