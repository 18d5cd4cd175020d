//! `cargo xtask test clients`: RavenDB's official clients, from their registries, against a server.
//!
//! The suites lie in `tests/clients`, one folder a language, with pinned releases. All of them run
//! against one server; each prints a line per scenario and closes with `N passed, N failed`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::server::Server;
use crate::{process, repository};

/// Set by CI: a suite whose tools are missing is then a failure.
const CI_VARIABLE: &str = "CI";
const PYTHON_EXAMPLE: &str = "examples/python/albums.py";
const SECURED_EXAMPLE: &str = "examples/python/secured.py";

/// Where things are, and what was asked for.
struct Context {
    root: PathBuf,
    target: PathBuf,
    url: String,
    /// Only scenarios whose name holds this run; empty for all.
    scenario: String,
}

/// One language: its name, the programs it needs, and what runs its suite.
struct Suite {
    name: &'static str,
    programs: &'static [&'static str],
    /// What to install when one of them is missing.
    advice: &'static str,
    run: fn(&Context) -> Result<()>,
}

const SUITES: &[Suite] = &[
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
    let (chosen, scenario) = parse(arguments)?;
    let root = repository::root();
    let target = process::target_directory(&root)?;
    let server = Server::start(&root, &["serve"])?;
    let context = Context {
        url: server.url.clone(),
        root,
        target,
        scenario,
    };
    let mut failed = Vec::new();
    for suite in chosen {
        if let Some(missing) = suite.programs.iter().find(|name| !process::exists(name)) {
            println!(
                "The suite `{}` did not run: `{missing}` was not found; {}.",
                suite.name, suite.advice
            );
            if std::env::var_os(CI_VARIABLE).is_some() {
                failed.push(suite.name);
            }
        } else if let Err(error) = (suite.run)(&context) {
            println!("The suite `{}` failed: {error:#}", suite.name);
            failed.push(suite.name);
        }
    }
    if !failed.is_empty() {
        bail!("suites of clients that failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The suites named by the arguments, all when none is, and the part of a scenario's name.
fn parse(arguments: &[String]) -> Result<(Vec<&'static Suite>, String)> {
    let mut chosen = Vec::new();
    let mut scenario = String::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--scenario" {
            let Some(part) = rest.next() else {
                bail!("`--scenario` needs a part of a scenario's name");
            };
            scenario.clone_from(part);
        } else if let Some(suite) = SUITES.iter().find(|suite| suite.name == argument) {
            chosen.push(suite);
        } else {
            bail!("unknown argument `{argument}`; see `cargo xtask test --help`");
        }
    }
    if chosen.is_empty() {
        chosen.extend(SUITES);
    }
    Ok((chosen, scenario))
}

/// The scenarios with each pinned release of the client, and the example with the newest.
fn python(context: &Context) -> Result<()> {
    let suite = context.root.join("tests/clients/python");
    // The client writes a log into the folder it runs in.
    let folder = context.target.join("python-clients");
    std::fs::create_dir_all(&folder)?;
    let mut failed = Vec::new();
    for release in ["7", "5"] {
        let python = python_with(&folder, &suite, release)?;
        let run = |script: &Path, extra: &str| {
            let mut command = Command::new(&python);
            command.current_dir(&folder).arg(script).arg(&context.url);
            command.env("PYTHONDONTWRITEBYTECODE", "1");
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

/// The scenarios with the administrator's certificate, and the example of several users, over TLS
/// against a server of their own.
fn secured(context: &Context, folder: &Path, python: &Path) -> Result<()> {
    let server = Server::start_secured(&context.root, &["serve"])?;
    let security = server.directory.join("security");
    let certificate = security.join("admin.pem");
    let authority = security.join("authority.pem");
    let with = |script: &str| {
        let mut command = Command::new(python);
        command.current_dir(folder).arg(context.root.join(script));
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(&server.url);
        command
    };
    let mut scenarios = with("tests/clients/python/main.py");
    scenarios.env("JACKDAW_CERTIFICATE", &certificate);
    process::run(scenarios.env("JACKDAW_AUTHORITY", &authority))?;
    process::run(with(SECURED_EXAMPLE).arg(&certificate).arg(&authority))
}

/// A virtual environment with one release of the client, made once; gives its Python.
fn python_with(folder: &Path, suite: &Path, release: &str) -> Result<PathBuf> {
    let requirements = suite.join(format!("requirements-{release}.txt"));
    let wanted = std::fs::read_to_string(&requirements)?;
    let environment = folder.join(format!("release-{release}"));
    let python = environment.join("bin/python");
    let asks = ["-m", "pip", "freeze", "--quiet"];
    let freeze = Command::new(&python).args(asks).output();
    if freeze.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains(wanted.trim())) {
        return Ok(python);
    }
    if environment.exists() {
        std::fs::remove_dir_all(&environment)?;
    }
    let mut make = Command::new("python3");
    process::run(make.args(["-m", "venv"]).arg(&environment))?;
    let arguments = ["-m", "pip", "install", "--quiet", "--requirement"];
    let mut install = Command::new(&python);
    process::run(install.args(arguments).arg(&requirements))?;
    Ok(python)
}

fn node(context: &Context) -> Result<()> {
    let suite = context.root.join("tests/clients/node");
    let installed = modified(&suite.join("node_modules/.package-lock.json"));
    if installed.is_none() || installed < modified(&suite.join("package-lock.json")) {
        let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        process::run(Command::new("npm").current_dir(&suite).args(arguments))?;
    }
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

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}
