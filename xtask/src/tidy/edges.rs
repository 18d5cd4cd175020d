//! The layers: which crate may depend on which, and where runtimes and system calls may appear.
//!
//! ARCHITECTURE.md draws the same order. Edges come from `cargo metadata`.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Finding;
use crate::process;

/// The layers from the lowest up. A crate depends only on crates of lower layers; two crates of
/// one layer do not know each other.
const LAYERS: &[&[&str]] = &[
    &["jackdaw-base"],
    &["jackdaw-io", "jackdaw-model"],
    &["jackdaw-storage", "jackdaw-document"],
    &["jackdaw-search", "jackdaw-script"],
    &["jackdaw-query"],
    &["jackdaw-database"],
    &["jackdaw-transfer"],
    &["jackdaw-server", "jackdaw-redis", "jackdaw"],
    &["jackdaw-cli"],
];

/// Crates outside the layers, and the crates of the project that each may use.
const BESIDE: &[(&str, &[&str])] = &[
    ("jackdaw-sim", &["jackdaw-base", "jackdaw-io"]),
    (
        "jackdaw-proof",
        &[
            "jackdaw-base",
            "jackdaw-io",
            "jackdaw-search",
            "jackdaw-sim",
            "jackdaw-storage",
        ],
    ),
    ("jackdaw-client", &[]),
    ("jackdaw-workload", &[]),
    ("xtask", &[]),
];

/// Crates that stand on top and may use everything; all but the first may use the first, too.
const TOPS: &[&str] = &[
    "jackdaw-cli",
    "jackdaw-examples",
    "jackdaw-slow-tests",
    "jackdaw-fuzz",
];

/// Crates outside the layers that any crate may use, for its tests only.
const FOR_TESTS: &[&str] = &["jackdaw-sim", "jackdaw-client"];

/// Libraries that only some crates may link, and why. Tests and benches may use them anywhere.
const CONFINED: &[(&str, &[&str], &str)] = &[
    ("rustix", &["jackdaw-io"], "only `io` makes system calls"),
    ("libc", &["jackdaw-io"], "only `io` makes system calls"),
    ("memmap2", &["jackdaw-io"], "only `io` makes system calls"),
    ("aes", &["jackdaw-io"], "only `io` encrypts"),
    ("chacha20poly1305", &["jackdaw-io"], "only `io` encrypts"),
    ("xts-mode", &["jackdaw-io"], "only `io` encrypts"),
    (
        "tokio",
        &["jackdaw-server", "jackdaw-cli"],
        "the engine is synchronous",
    ),
    ("hyper", &["jackdaw-server"], "only `server` knows HTTP"),
    (
        "hyper-util",
        &["jackdaw-server"],
        "only `server` knows HTTP",
    ),
    (
        "http-body-util",
        &["jackdaw-server"],
        "only `server` knows HTTP",
    ),
    ("bytes", &["jackdaw-server"], "only at the edge"),
    (
        "rquickjs",
        &["jackdaw-script"],
        "only `script` runs scripts",
    ),
    (
        "serde",
        &["jackdaw", "jackdaw-server", "jackdaw-client", "jackdaw-cli"],
        "types of the engine have no wire form",
    ),
    (
        "serde_json",
        &["jackdaw-server", "jackdaw-client", "jackdaw-cli", "xtask"],
        "documents have a reader and a writer of their own",
    ),
    (
        "anyhow",
        &["jackdaw-cli", "jackdaw-examples", "xtask"],
        "libraries have typed errors",
    ),
    (
        "mimalloc",
        &["jackdaw-cli"],
        "the binary chooses the allocator",
    ),
];

/// A package of the workspace with the names of what it depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    name: String,
    manifest: String,
    normal: Vec<String>,
    for_tests: Vec<String>,
}

/// The packages of the workspace at `root`.
///
/// # Errors
/// When `cargo metadata` fails or answers something else than expected.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>> {
    let arguments = [
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ];
    let text = process::output_of(&mut process::cargo_in(root, &arguments))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let list = metadata["packages"]
        .as_array()
        .context("no packages in cargo metadata")?;
    Ok(list
        .iter()
        .map(|package| package_of(package, root))
        .collect())
}

fn package_of(package: &Value, root: &Path) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = text(&package["manifest_path"]);
    let relative = Path::new(&manifest)
        .strip_prefix(root)
        .map(Path::to_path_buf);
    let mut result = Package {
        name: text(&package["name"]),
        manifest: relative.map_or(manifest, |p| p.to_string_lossy().into_owned()),
        ..Package::default()
    };
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let name = text(&dependency["name"]);
        match dependency["kind"].as_str() {
            Some("dev") => result.for_tests.push(name),
            _ => result.normal.push(name),
        }
    }
    result
}

pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_own = |name: &&String| packages.iter().any(|p| p.name == **name);
    for package in packages {
        let mut report = |text: String| {
            findings.push(Finding::new("edge", &package.manifest, 0, text));
        };
        if !is_known(&package.name) {
            report(format!("`{}` has no place in the layers", package.name));
            continue;
        }
        for target in package.normal.iter().filter(is_own) {
            if !may_use(&package.name, target) {
                report(format!("`{}` may not depend on `{target}`", package.name));
            }
        }
        for target in package.for_tests.iter().filter(is_own) {
            let allowed = may_use(&package.name, target) || FOR_TESTS.contains(&target.as_str());
            if !allowed {
                report(format!(
                    "the tests of `{}` may not use `{target}`",
                    package.name
                ));
            }
        }
        for (library, crates, why) in CONFINED {
            let uses = package.normal.iter().any(|name| name == library);
            let is_top = TOPS.contains(&package.name.as_str()) && package.name != "jackdaw-cli";
            if uses && !is_top && !crates.contains(&package.name.as_str()) {
                report(format!(
                    "`{}` may not depend on `{library}`: {why}",
                    package.name
                ));
            }
        }
    }
    findings
}

fn layer_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn is_known(name: &str) -> bool {
    layer_of(name).is_some() || BESIDE.iter().any(|(n, _)| *n == name) || TOPS.contains(&name)
}

fn may_use(user: &str, target: &str) -> bool {
    if TOPS.contains(&user) {
        let is_top = TOPS.contains(&target) && (user == TOPS[0] || target != TOPS[0]);
        return !is_top && target != "jackdaw-sim";
    }
    if let Some((_, targets)) = BESIDE.iter().find(|(name, _)| *name == user) {
        return targets.contains(&target);
    }
    matches!((layer_of(user), layer_of(target)), (Some(from), Some(to)) if to < from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, normal: &[&str], for_tests: &[&str]) -> Package {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Package {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            normal: owned(normal),
            for_tests: owned(for_tests),
        }
    }

    fn findings(under_test: Package) -> usize {
        let all = LAYERS
            .iter()
            .copied()
            .flatten()
            .chain(BESIDE.iter().map(|(name, _)| name));
        let mut packages: Vec<Package> = all
            .filter(|name| **name != under_test.name)
            .map(|name| package(name, &[], &[]))
            .collect();
        packages.push(under_test);
        check(&packages).len()
    }

    #[test]
    fn an_upward_edge_is_found() {
        assert_eq!(
            findings(package("jackdaw-storage", &["jackdaw-io"], &[])),
            0
        );
        assert_eq!(
            findings(package("jackdaw-storage", &["jackdaw-search"], &[])),
            1
        );
        assert_eq!(findings(package("jackdaw-io", &["jackdaw-io"], &[])), 1);
    }

    #[test]
    fn crates_of_one_layer_do_not_know_each_other() {
        assert_eq!(
            findings(package("jackdaw-storage", &["jackdaw-document"], &[])),
            1
        );
        assert_eq!(
            findings(package("jackdaw-document", &["jackdaw-storage"], &[])),
            1
        );
    }

    #[test]
    fn the_simulated_disk_is_for_tests_only() {
        assert_eq!(
            findings(package("jackdaw-storage", &[], &["jackdaw-sim"])),
            0
        );
        assert_eq!(
            findings(package("jackdaw-storage", &["jackdaw-sim"], &[])),
            1
        );
        assert_eq!(findings(package("jackdaw-cli", &["jackdaw-sim"], &[])), 1);
        assert_eq!(
            findings(package("jackdaw-sim", &["jackdaw-storage"], &[])),
            1
        );
    }

    #[test]
    fn confined_libraries_stay_where_they_belong() {
        assert_eq!(findings(package("jackdaw-io", &["rustix"], &[])), 0);
        assert_eq!(findings(package("jackdaw-storage", &["rustix"], &[])), 1);
        assert_eq!(findings(package("jackdaw-database", &["tokio"], &[])), 1);
        assert_eq!(
            findings(package("jackdaw-document", &[], &["serde_json"])),
            0
        );
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        assert_eq!(findings(package("jackdaw-helpers", &[], &[])), 1);
    }

    #[test]
    fn layers_match_the_workspace() {
        let packages = packages(&crate::repository::root()).unwrap();
        for name in LAYERS.iter().copied().flatten() {
            assert!(packages.iter().any(|p| p.name == *name), "{name}");
        }
    }
}
