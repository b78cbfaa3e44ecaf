//! Tests of the repository's pages: their programs run, their links lead somewhere, the examples do what they say.
#![cfg(feature = "cpu")]
#![allow(clippy::print_stdout, reason = "the programs of the pages print")]

mod examples;
mod links;

use std::path::{Path, PathBuf};

/// The program of the README.
mod first {
    include!("first.rs");

    pub(super) fn run() -> nnz::Result<()> {
        main()
    }
}

/// The program of `docs/for-scipy-users.md`.
mod for_scipy_users {
    include!("for_scipy_users.rs");

    pub(super) fn run() -> nnz::Result<()> {
        main()
    }
}

/// A file or a folder of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn page(path: &str) -> String {
    std::fs::read_to_string(repository(path)).expect(path)
}

/// The blocks of code of a page: the language and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').expect("a language and a text")).collect()
}

#[test]
fn the_programs_of_the_pages_run() {
    let folder = tempfile::tempdir().unwrap();
    let before = std::env::current_dir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let ran = first::run().and_then(|()| for_scipy_users::run());
    std::env::set_current_dir(before).unwrap();
    ran.unwrap();
}

/// The blocks in `console` are run by `sparse-cli/tests/command.rs`, those in `python` by the tests of `sparse-python`,
/// and `xtask/tests/workflow.rs` knows the two commands.
#[test]
fn the_pages_show_the_programs_that_run() {
    let readme = page("README.md");
    let languages: Vec<_> = blocks(&readme).into_iter().map(|(language, _)| language).collect();
    assert_eq!(languages, ["sh", "rust", "console", "python", "sh"]);
    assert_eq!(blocks(&readme)[1].1, include_str!("first.rs"));
    assert_eq!(blocks(&page("docs/for-scipy-users.md")), [("rust", include_str!("for_scipy_users.rs"))]);
}

#[test]
fn every_line_of_rust_for_scipy_users_stands_in_the_program() {
    let page = page("docs/for-scipy-users.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cells =
        rows.filter_map(|row| row.replace("\\|", "¦").split('|').nth(2).map(|cell| cell.replace('¦', "|")));
    let lines: Vec<_> = cells.filter(|cell| !cell.trim().is_empty()).collect();
    assert!(lines.len() > 25);
    for line in lines {
        let line = line.trim().trim_matches('`');
        assert!(include_str!("for_scipy_users.rs").contains(line), "{line}");
    }
}
