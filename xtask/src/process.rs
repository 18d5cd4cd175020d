//! Running other programs: every command line is printed before it runs, so that a failing step
//! can be repeated by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The Cargo that started this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `cargo` with arguments, in the repository's root.
pub(crate) fn cargo_in(root: &Path, arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.args(arguments).current_dir(root);
    command
}

/// Prints and runs a command.
///
/// # Errors
/// When it cannot be started or ends with a status other than success.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    println!("$ {line}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns its standard output; its standard error stays visible.
///
/// # Errors
/// As [`run`]; also when the output is not UTF-8.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let line = line_of(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed invalid UTF-8"))
}

/// Whether a program of that name answers `--version` (or `version`).
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The target triple of this machine, as the compiler names it.
///
/// # Errors
/// When the compiler cannot be asked.
pub(crate) fn host_triple() -> Result<String> {
    let verbose = output_of(Command::new("rustc").arg("-vV"))?;
    let host = verbose.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Where Cargo builds to.
///
/// # Errors
/// When Cargo cannot be asked.
pub(crate) fn target_directory(root: &Path) -> Result<PathBuf> {
    let arguments = [
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ];
    let text = output_of(&mut cargo_in(root, &arguments))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let path = metadata["target_directory"].as_str();
    Ok(PathBuf::from(
        path.context("cargo metadata names no target directory")?,
    ))
}

/// Builds `jackdaw` with all optimizations; returns its path.
///
/// # Errors
/// When it cannot be built, or Cargo cannot be asked where it is.
pub(crate) fn build_jackdaw(root: &Path) -> Result<PathBuf> {
    let mut build = cargo_in(root, &["build", "--release", "--package", "jackdaw-cli"]);
    run(build.args(["--bin", "jackdaw"]))?;
    Ok(target_directory(root)?.join("release/jackdaw"))
}

fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}
