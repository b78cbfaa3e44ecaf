//! The workflows do not run here; so the commands of `.github/workflows/ci.yml` are checked against cargo, rustup and
//! xtask, and the versions in `wheels.yml` against the Python package.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

#[path = "../src/portability.rs"]
mod portability;

#[derive(Deserialize)]
struct Workflow {
    jobs: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Job {
    runs_on: String,
    #[serde(default)]
    strategy: Strategy,
    #[serde(rename = "timeout-minutes")]
    _timeout_minutes: u32,
    #[serde(default)]
    env: BTreeMap<String, String>,
    steps: Vec<Step>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Strategy {
    #[serde(rename = "fail-fast")]
    _fail_fast: bool,
    matrix: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    run: Option<String>,
    uses: Option<String>,
    #[serde(default)]
    with: BTreeMap<String, String>,
}

impl Job {
    fn commands(&self) -> Vec<&str> {
        self.steps.iter().filter_map(|step| step.run.as_deref()).flat_map(str::lines).collect()
    }
}

fn workflow() -> Workflow {
    workflow_in("ci.yml")
}

fn workflow_in(name: &str) -> Workflow {
    serde_norway::from_str(&file(&format!(".github/workflows/{name}"))).expect("a workflow")
}

/// A file of the workspace.
fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// The output of a command, or `None` if it fails or does not exist.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The features of every package.
static PACKAGES: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let metadata = output("cargo", &["metadata", "--no-deps", "--format-version", "1"]).expect("metadata");
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let features =
        |package: &Value| package["features"].as_object().expect("features").keys().cloned().collect();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages.map(|package| (package["name"].as_str().expect("a name").into(), features(package))).collect()
});

fn ensure(holds: bool, problem: &str, word: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{problem} `{word}`")) }
}

/// An error if a command is wrong.
fn check(command: &str) -> Result<(), String> {
    let words: Vec<_> = command.split_whitespace().collect();
    match &words[..] {
        ["cargo", arguments @ ..] => check_cargo(arguments),
        ["rustup", "run", version, "cargo", arguments @ ..] => {
            check_toolchain(version)?;
            check_cargo(arguments)
        }
        ["rustup", "toolchain", "install", version, options @ ..] => {
            check_toolchain(version)?;
            let mut targets = options.windows(2).filter(|pair| pair[0] == "--target").map(|pair| pair[1]);
            targets.try_for_each(check_target)?;
            // Without rustup its options are unknown.
            let Some(help) = output("rustup", &["toolchain", "install", "--help"]) else { return Ok(()) };
            options.iter().filter(|word| word.starts_with('-')).try_for_each(|word| check_option(&help, word))
        }
        _ => Err(format!("unknown command `{command}`")),
    }
}

fn check_toolchain(version: &str) -> Result<(), String> {
    ensure(["stable", env!("CARGO_PKG_RUST_VERSION")].contains(&version), "unexpected toolchain", version)
}

fn check_target(target: &str) -> Result<(), String> {
    let targets = output("rustc", &["--print", "target-list"]).expect("rustc's targets");
    ensure(targets.lines().any(|line| line == target), "unknown target", target)
}

fn check_option(help: &str, option: &str) -> Result<(), String> {
    let mut known = help.split([' ', ',', '\n']).map(|word| word.trim_end_matches('.'));
    ensure(option.starts_with('-') && known.any(|word| word == option), "unknown option", option)
}

/// True for a chore, and for `ci` with its options: those of a program that a chore starts are known to that alone.
fn is_known_to_xtask(arguments: &[&str]) -> bool {
    let succeeds = |words: &[&str]| output(env!("CARGO_BIN_EXE_xtask"), words).is_some();
    match arguments {
        ["ci", ..] => succeeds(&[arguments, &["--help"]].concat()),
        [chore] => succeeds(&["help", chore]),
        _ => false,
    }
}

fn check_cargo(arguments: &[&str]) -> Result<(), String> {
    let (subcommand, arguments) = arguments.split_first().ok_or("cargo without a command")?;
    if *subcommand == "xtask" {
        return ensure(is_known_to_xtask(arguments), "unknown to xtask:", &arguments.join(" "));
    }
    let commands = output("cargo", &["--list"]).expect("cargo's commands");
    let known = commands.lines().any(|line| line.split_whitespace().next() == Some(subcommand));
    ensure(known, "unknown cargo command", subcommand)?;
    let help = output("cargo", &[subcommand, "-h"]).expect("help of a command");
    let mut words = arguments.iter().copied();
    let mut package = None;
    while let Some(word) = words.next() {
        check_option(&help, word)?;
        match word {
            "-p" | "--package" | "--exclude" => {
                package = words.next();
                ensure(
                    package.is_some_and(|name| PACKAGES.contains_key(name)),
                    "unknown package after",
                    word,
                )?;
            }
            "--features" => {
                let known = package.map(|name| &PACKAGES[name]).ok_or("features without a package")?;
                let features = words.next().unwrap_or_default();
                ensure(
                    features.split(',').all(|f| known.iter().any(|k| k == f)),
                    "unknown feature in",
                    features,
                )?;
            }
            "--target" => check_target(words.next().unwrap_or_default())?,
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn every_command_exists() {
    let workflow = workflow();
    let commands: Vec<_> = workflow.jobs.values().flat_map(Job::commands).collect();
    assert!(!commands.is_empty());
    for command in commands {
        assert_eq!(check(command), Ok(()), "{command}");
    }
}

#[test]
fn a_misspelt_command_is_found() {
    for command in [
        "carg check",
        "cargo chekc --workspace",
        "cargo check --wrkspace",
        "cargo check workspace",
        "cargo check --workspace --exclude sparse-bnech",
        "cargo check -p nz",
        "cargo check -p nnz --features cpu,opncl",
        "cargo check --target aarch64-linux",
        "cargo xtask conformnce",
        "cargo xtask conformance --teir quick",
        "cargo xtask ci --onyl test",
        "rustup run 1.88 cargo check",
        "rustup toolchain install 1.8",
        "rustup toolchain install 1.89 --target aarch64",
    ] {
        assert!(check(command).is_err(), "{command}");
    }
    assert_eq!(check("cargo check -p nnz --features cpu,opencl --tests"), Ok(()));
}

#[test]
fn the_first_job_runs_the_commands_of_the_readme() {
    let job = &workflow().jobs["test"];
    assert!(job.runs_on.starts_with("ubuntu-"));
    let commands: Vec<_> = job.commands().into_iter().filter(|line| line.starts_with("cargo ")).collect();
    assert_eq!(commands, ["cargo xtask conformance", "cargo xtask ci"]);
    let readme = file("README.md");
    for command in commands {
        let is_command = |line: &str| line.split('#').next().is_some_and(|code| code.trim() == command);
        assert!(readme.lines().any(is_command), "{command}");
    }
}

#[test]
fn the_second_job_runs_the_checks_of_the_step_portability() {
    let workflow = workflow();
    let checks = portability::CHECKS.iter().flat_map(|check| [check.install, check.run]);
    assert_eq!(workflow.jobs["portability"].commands(), checks.collect::<Vec<_>>());
    assert_eq!(workflow.jobs["portability"].env["RUSTFLAGS"], portability::RUSTFLAGS);
    for check in &portability::CHECKS {
        assert!(check.install.contains(check.needs) && check.run.contains(check.needs), "{}", check.run);
        assert!(check.list.starts_with("rustup ") && check.list.contains(" list"), "{}", check.list);
    }
}

#[test]
fn the_third_job_checks_on_windows_and_macos() {
    let job = &workflow().jobs["platforms"];
    assert_eq!(job.runs_on, "${{ matrix.os }}");
    assert_eq!(job.strategy.matrix["os"], ["windows-latest", "macos-latest"]);
    assert!(job.commands().iter().all(|command| command.starts_with("cargo check ")));
}

#[test]
fn every_job_checks_out_and_caches_what_is_built() {
    for (name, job) in workflow().jobs {
        let actions: Vec<_> = job.steps.iter().filter_map(|step| step.uses.as_deref()).collect();
        assert_eq!(actions, ["actions/checkout@v4", "actions/cache@v4"], "{name}");
        let cache = &job.steps[1].with;
        let folders: Vec<_> = cache["path"].lines().collect();
        assert_eq!(folders, ["~/.cargo/registry", "~/.cargo/git", "target"], "{name}");
        assert!(cache["key"].contains("hashFiles('Cargo.lock')"), "{name}");
    }
}

#[test]
fn wheels_are_tested_with_the_oldest_versions_that_the_package_allows() {
    let package = "crates/sparse-python";
    let project = file(&format!("{package}/pyproject.toml"));
    let workflow = workflow_in("wheels.yml");
    let commands = workflow.jobs["wheel"].commands().join("\n");
    for name in ["numpy", "scipy"] {
        let after = project.split(&format!("\"{name}>=")).nth(1).expect("a least version");
        let least = after.split('"').next().expect("a version");
        assert!(commands.contains(&format!("{name}=={least}.*")), "{name} {least}");
    }
    let python = project.split("requires-python = \">=").nth(1).expect("a least version of Python");
    let python = python.split('"').next().expect("a version");
    assert!(commands.contains(&format!("python{python} -m venv")), "Python {python}");
    for job in workflow.jobs.values() {
        let tested = format!("python -m pytest {package}");
        assert!(job.commands().iter().any(|command| command.ends_with(&tested)));
        assert!(job.steps.iter().flat_map(|step| step.with.values()).all(|value| !value.is_empty()));
    }
}
