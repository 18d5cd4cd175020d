//! Proves that whatever is changed in, cut off from or taken out of an audit log is found, that
//! what a killed server left is not taken for that, and that strangers cannot make the log long.

use std::time::Duration;

use super::*;

/// A log in a directory of its own, removed in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("jackdaw-audit-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    fn path(&self) -> PathBuf {
        self.0.join("audit.log")
    }

    fn open(&self) -> AuditLog {
        AuditLog::open(self.path()).unwrap()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }

    fn verify(&self) -> Result<VerifiedAudit, AuditError> {
        verify_audit(&self.path(), None)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn entry(url: &str, status: u16) -> Entry {
    Entry {
        who: Some(("somebody\n".to_owned(), "key 01".to_owned())),
        peer: "127.0.0.1:1".parse().unwrap(),
        method: "PUT",
        url: url.to_owned(),
        objects: Objects::default(),
        status,
    }
}

#[test]
fn the_chain_goes_on_after_opening_again_and_any_change_breaks_it() {
    let place = Place::new("chain");
    assert_eq!(AuditLog::open(place.path()).map(drop).ok(), Some(()));
    assert_eq!(place.verify().unwrap().lines, 0);
    for url in ["/a", "/b", "/c"] {
        place.open().write(&entry(url, 403)).unwrap();
    }
    let whole = place.verify().unwrap();
    assert_eq!((whole.lines, whole.newer), (3, 0));
    let text = place.text();
    let lines: Vec<&str> = text.lines().collect();
    let write = |text: &str| std::fs::write(place.path(), text).unwrap();
    write(&text.replace("/b", "/x"));
    assert!(matches!(place.verify(), Err(AuditError::Broken(3))));
    // The last line is told by the head alone.
    let without_last = format!("{}\n{}\n", lines[0], lines[1]);
    for cut in [&text.replace("/c", "/x"), &without_last, ""] {
        write(cut);
        assert!(matches!(place.verify(), Err(AuditError::End(3))), "{cut}");
    }
    // A server that goes on does not hide it.
    write(&without_last);
    place.open().write(&entry("/d", 200)).unwrap();
    assert!(matches!(place.verify(), Err(AuditError::Broken(3))));
    write(&text);
    std::fs::remove_file(head::path_of(&place.path())).unwrap();
    assert!(matches!(place.verify(), Err(AuditError::NoHead(_))));
}

#[test]
fn what_was_noted_elsewhere_has_to_be_there() {
    let place = Place::new("noted");
    place.open().write(&entry("/a", 200)).unwrap();
    let noted = place.verify().unwrap().last;
    place.open().write(&entry("/b", 200)).unwrap();
    assert!(verify_audit(&place.path(), Some(&noted)).is_ok());
    let other = Place::new("replaced");
    other.open().write(&entry("/a", 200)).unwrap();
    let found = verify_audit(&other.path(), Some(&noted));
    assert!(matches!(found, Err(AuditError::NotThere(_))), "{found:?}");
}

#[test]
fn what_a_killed_server_left_is_gone_on_with() {
    let place = Place::new("killed");
    let log = place.open();
    log.write(&entry("/a", 200)).unwrap();
    // Not settled: the head counts one line.
    log.write(&entry("/b", 403)).unwrap();
    std::mem::forget(log);
    let found = place.verify().unwrap();
    assert_eq!((found.lines, found.newer), (2, 1));
    let half = format!("{}{{\"Who\":\"h", place.text());
    std::fs::write(place.path(), half).unwrap();
    assert_eq!(place.verify().unwrap().lines, 2);
    place.open().write(&entry("/c", 200)).unwrap();
    let found = place.verify().unwrap();
    assert_eq!((found.lines, found.newer), (3, 0));
}

#[test]
fn settling_lets_the_head_count_refusals_too() {
    let place = Place::new("settled");
    let log = place.open();
    log.write(&entry("/a", 403)).unwrap();
    assert_eq!(place.verify().unwrap().newer, 1);
    log.settle(Instant::now()).unwrap();
    assert_eq!(place.verify().unwrap().newer, 0);
}

#[test]
fn strangers_are_counted_and_others_are_told_each_time() {
    let place = Place::new("strangers");
    let log = place.open();
    let start = Instant::now();
    let stranger = |host: u8, status| Entry {
        who: None,
        peer: SocketAddr::from(([192, 0, 2, host], 7)),
        ..entry("/databases", status)
    };
    for host in 0..200 {
        log.write_at(&stranger(host, 403), start).unwrap();
    }
    for _ in 0..3 {
        log.write_at(&entry("/a", 403), start).unwrap();
    }
    // An exchange of a key succeeds for somebody who has no name before it.
    log.write_at(&stranger(1, 200), start).unwrap();
    assert_eq!(place.verify().unwrap().lines, 5);
    log.settle(start + Duration::from_secs(59)).unwrap();
    assert_eq!(place.verify().unwrap().lines, 5);
    log.settle(start + Duration::from_secs(60)).unwrap();
    let text = place.text();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["From"], "192.0.2.0/24");
    assert_eq!(last["MoreRefused"], 199);
    // Those who come while the server ends are counted, too.
    log.write(&stranger(1, 403)).unwrap();
    log.write(&stranger(1, 403)).unwrap();
    drop(log);
    assert!(place.text().ends_with("}\n"));
    assert_eq!(place.text().matches("MoreRefused").count(), 2);
    assert_eq!(place.verify().unwrap().newer, 0);
}

#[test]
fn a_head_that_is_gone_is_told_in_the_log() {
    let place = Place::new("headless");
    place.open().write(&entry("/a", 200)).unwrap();
    std::fs::remove_file(head::path_of(&place.path())).unwrap();
    drop(place.open());
    assert!(
        place.text().contains(r#""HeadMissing":true"#),
        "{}",
        place.text()
    );
    assert_eq!(place.verify().unwrap().lines, 2);
    drop(place.open());
    assert_eq!(place.text().matches("HeadMissing").count(), 1);
}
