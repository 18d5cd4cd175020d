//! Proves that a round of the gate sees what was changed in its files, sooner or later, wakes
//! streams whose certificates have run out, and that an open stream keeps its token in use.

use std::path::{Path, PathBuf};

use hyper::header::HeaderValue;
use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::MemoryVfs;

use super::*;
use crate::auth::{Access, Clearance, Grant, Settings};
use crate::config::ServerConfig;
use crate::shared::Shared;

struct Place {
    data: PathBuf,
    directory: SecurityDirectory,
}

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("jackdaw-gate-{name}-{}", std::process::id());
        let data = std::env::temp_dir().join(name);
        let hosts = ["localhost".to_owned()];
        let directory = SecurityDirectory::create(&data, &hosts, &Settings::default()).unwrap();
        let grant = Grant::new("Operator").unwrap();
        directory.issue_client("first", grant, 1).unwrap();
        Place { data, directory }
    }

    fn gate(&self) -> Gate {
        Gate::secured(self.directory.clone()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.data));
    }
}

fn holders(gate: &Gate) -> usize {
    gate.as_secured().unwrap().lookup().certificates.len()
}

#[cfg(unix)]
#[test]
fn a_registry_that_could_not_be_read_is_read_again_although_its_date_is_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("again");
    let gate = place.gate();
    let grant = Grant::new("Operator").unwrap();
    place.directory.issue_client("second", grant, 1).unwrap();
    let path = place.directory.path().join("registry.json");
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).unwrap();
    };
    mode(0o644);
    gate.round(false);
    assert_eq!(holders(&gate), 1, "who was registered before still is");
    mode(0o600);
    gate.round(false);
    assert_eq!(holders(&gate), 2);
}

#[test]
fn a_directory_without_its_registry_is_no_open_server() {
    let place = Place::new("gone");
    std::fs::remove_file(place.directory.path().join("registry.json")).unwrap();
    let found = SecurityDirectory::find(&place.data).expect("it was set up once");
    assert!(Gate::secured(found).is_err());
}

#[test]
fn streams_are_woken_when_a_certificate_runs_out() {
    let place = Place::new("expired");
    let ends = SystemTime::now() - Duration::from_secs(5);
    let ends = ends.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    place
        .directory
        .change(|registry| {
            registry.certificates[0].valid_from = 0;
            registry.certificates[0].valid_to = ends.as_secs();
            Ok(())
        })
        .unwrap();
    let gate = place.gate();
    let secured = gate.as_secured().unwrap();
    let stream = secured.changed.subscribe();
    gate.round(false);
    assert!(!stream.has_changed().unwrap(), "it was over before");
    // As if the round before had been ten seconds ago.
    secured.looked.lock().unwrap().at -= Duration::from_secs(10);
    gate.round(false);
    assert!(stream.has_changed().unwrap());
}

#[test]
fn a_stream_keeps_the_token_that_opened_it_in_use() {
    let place = Place::new("stream");
    let (vfs, options) = (MemoryVfs::new(), DatabaseOptions::default());
    let set = DatabaseSet::open(vfs, Path::new("/data"), options).unwrap();
    let config = ServerConfig {
        security: Some(place.directory.clone()),
        ..ServerConfig::default()
    };
    let (_stop, shared) = Shared::unbound(config, Arc::new(set));
    let tokens = &shared.gate.as_secured().unwrap().tokens;
    let principal = Arc::new(Principal::new("job", Clearance::Operator, []));
    let start = Instant::now();
    let granted = tokens.grant("k", principal.clone(), start).unwrap();
    let bearer = format!("Bearer {}", granted.token);
    let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::try_from(bearer).unwrap())]);
    let needs = Needs {
        clearance: Clearance::Operator,
        access: Access::NoDatabase,
    };
    let lease = Lease::new(
        &shared,
        Caller::unproven(shared.address),
        &headers,
        needs,
        None,
    )
    .unwrap();
    let late = start + 2 * granted.idle;
    let ended = lease.ended();
    assert_eq!(tokens.sweep(late, |_| Some(principal.clone())), 0);
    drop(ended);
    assert_eq!(tokens.sweep(late, |_| Some(principal.clone())), 1);
}
