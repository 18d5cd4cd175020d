//! `cargo xtask test clients`: RavenDB's official clients, from their registries, against a server.
//!
//! The suites lie in `tests/clients`, one folder a language, with pinned releases. All of them run
//! against one server; each prints a line per scenario and closes with `N passed, N failed`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::server::Server;
use super::suites::{self, Suite};
use crate::{process, repository};

const PYTHON_EXAMPLE: &str = "examples/python/albums.py";
const SECURED_SCENARIOS: &str = "tests/clients/python/secured.py";
const SECURED_EXAMPLE: &str = "examples/python/secured.py";

/// Where things are, and what was asked for.
struct Context {
    root: PathBuf,
    target: PathBuf,
    url: String,
    /// Only scenarios whose name holds this run; empty for all.
    scenario: String,
}

const SUITES: &[Suite<Context>] = &[
    Suite {
        name: "python",
        programs: &["python3"],
        advice: "install Python 3.9 or later",
        run: python,
    },
    Suite {
        name: "node",
        programs: &["node", "npm"],
        advice: "install Node.js 20 or later, which brings npm",
        run: node,
    },
    Suite {
        name: "jvm",
        programs: &["java", "javac", "mvn"],
        advice: "install a JDK 17 or later and Maven (Debian: `apt-get install maven`)",
        run: jvm,
    },
];

/// # Errors
/// When a client cannot be had, or a scenario fails.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let mut chosen = suites::choose(SUITES, arguments)?;
    if let Some(argument) = chosen.others.first() {
        bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
    }
    let root = repository::root();
    let target = process::target_directory(&root)?;
    let server = Server::start(&root, &["serve"])?;
    let context = Context {
        url: server.url.clone(),
        root,
        target,
        scenario: chosen.scenario,
    };
    let mut failed = suites::leave_out_missing(&mut chosen.suites);
    failed.extend(suites::run_all(&chosen.suites, &context));
    if !failed.is_empty() {
        bail!("suites of clients that failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The scenarios with each pinned release of the client, and the example with the newest.
fn python(context: &Context) -> Result<()> {
    let suite = context.root.join("tests/clients/python");
    // The client writes a log into the folder it runs in.
    let folder = context.target.join("python-clients");
    std::fs::create_dir_all(&folder)?;
    let mut failed = Vec::new();
    for release in ["7", "5"] {
        let environment = folder.join(format!("release-{release}"));
        let requirements = suite.join(format!("requirements-{release}.txt"));
        let python = suites::python_with(&environment, &requirements)?;
        let run = |script: &Path, extra: &str| {
            let mut command = suites::python_script(&python, script);
            command.current_dir(&folder).arg(&context.url);
            if !extra.is_empty() {
                command.arg(extra);
            }
            process::run(&mut command)
        };
        if run(&suite.join("main.py"), &context.scenario).is_err() {
            failed.push(release);
        }
        if release == "7" && context.scenario.is_empty() {
            run(&context.root.join(PYTHON_EXAMPLE), "")?;
            secured(context, &folder, &python)?;
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("with release {} of the client", failed.join(" and ")),
    }
}

/// Against a server that `jackdaw setup` secured: who is let in, all scenarios with the certificate
/// of the administrator, and the example of several users.
fn secured(context: &Context, folder: &Path, python: &Path) -> Result<()> {
    let server = Server::start_secured(&context.root, &["serve"])?;
    let security = server.directory.join("security");
    let certificate = security.join("admin.pem");
    let authority = security.join("authority.pem");
    let with = |script: &str| {
        let mut command = suites::python_script(python, &context.root.join(script));
        command.current_dir(folder).arg(&server.url);
        command
    };
    let mut access = with(SECURED_SCENARIOS);
    access.env("JACKDAW_BINARY", &server.binary);
    process::run(access.arg(&server.directory))?;
    let mut scenarios = with("tests/clients/python/main.py");
    scenarios.env("JACKDAW_CERTIFICATE", &certificate);
    process::run(scenarios.env("JACKDAW_AUTHORITY", &authority))?;
    process::run(with(SECURED_EXAMPLE).arg(&certificate).arg(&authority))
}

fn node(context: &Context) -> Result<()> {
    let suite = context.root.join("tests/clients/node");
    suites::install_node_modules(&suite)?;
    let mut command = Command::new("node");
    command.arg(suite.join("main.mjs")).arg(&context.url);
    process::run(command.arg(&context.scenario))
}

fn jvm(context: &Context) -> Result<()> {
    let suite = context.root.join("tests/clients/jvm");
    let build = context.target.join("jvm-client");
    std::fs::create_dir_all(&build)?;
    let class_path = build.join("class-path.txt");
    let mut maven = Command::new("mvn");
    maven
        .current_dir(&suite)
        .args(["--quiet", "--batch-mode", "--no-transfer-progress"])
        .arg(format!("-DbuildDirectory={}", build.display()))
        .arg(format!("-Dmdep.outputFile={}", class_path.display()))
        .args(["compile", "dependency:build-classpath"]);
    process::run(&mut maven)?;
    let libraries = std::fs::read_to_string(&class_path)?;
    let classes = build.join("classes");
    let mut command = Command::new("java");
    command
        .env(
            "CLASSPATH",
            format!("{}:{}", classes.display(), libraries.trim()),
        )
        .args(["jackdaw.clients.Main", &context.url]);
    process::run(command.arg(&context.scenario))
}
