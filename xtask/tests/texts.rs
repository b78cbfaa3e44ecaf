//! The texts of `xtask` for people: help and lists.

use std::process::Command;

/// The output of `xtask` with these words; wrapped at 100 columns, since there is no terminal.
fn printed(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output =
        command.args(arguments.split_whitespace()).env_remove("COLUMNS").output().expect("xtask starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn help() {
    insta::assert_snapshot!(printed("--help"));
}

#[test]
fn ci_list() {
    insta::assert_snapshot!(printed("ci --list"));
}
