//! `cargo xtask dist`: a folder that runs on a machine without Rust.

use crate::program::{BENCH, HARNESS, NNZ, Program, target};
use anyhow::{Context, Result};
use provision::root;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The programs in the folder.
const PROGRAMS: [Program; 3] = [HARNESS, BENCH, NNZ];

/// A self-extracting script under a program's name: only the harness has every operation for every type and backend, 44
/// MB that gzip compresses to 8.
const UNPACK_AND_RUN: &str = r#"#!/bin/sh
# Unpacks the program beside itself at its first call, and runs it.
set -e
program=$0.run
if [ ! -x "$program" ]; then
    gzip -dc "$0.gz" > "$program.$$"
    chmod +x "$program.$$"
    mv -f "$program.$$" "$program"
fi
exec "$program" "$@"
"#;

/// Builds the harness, the benchmark and the command, stripped and packed, beside the snapshots and real
/// matrices of the harness.
///
/// A program unpacks itself beside its own file when it is first called. On the other machine `./conformance` finds
/// both folders beside itself; with `--corpus` it takes more matrices.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to make.
    #[arg(long, value_name = "DIR", default_value = "target/dist-folder")]
    out: PathBuf,
}

/// Makes the folder, and prints its size.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    let out = root().join(&args.out);
    shell.remove_path(&out)?;
    shell.create_dir(&out)?;
    for Program { package, name, .. } in PROGRAMS {
        cmd!(shell, "cargo build --quiet --profile dist -p {package} --bin {name}").run()?;
        let built = target().join("dist").join(name);
        pack(&shell, &built, &out.join(name)).with_context(|| format!("packing {}", built.display()))?;
    }
    for folder in ["snapshots", "corpus"] {
        let copies = shell.create_dir(out.join(folder))?;
        for file in shell.read_dir(root().join("crates/sparse-conformance").join(folder))? {
            shell.copy_file(file, &copies)?;
        }
    }
    println!("{}", cmd!(shell, "du -sh {out}").quiet().read()?);
    Ok(())
}

/// Writes `built` compressed as `program`.gz, and as `program` a script that unpacks it.
fn pack(shell: &Shell, built: &Path, program: &Path) -> Result<()> {
    let packed = cmd!(shell, "gzip --best --stdout {built}").quiet().output()?.stdout;
    shell.write_file(program.with_extension("gz"), packed)?;
    shell.write_file(program, UNPACK_AND_RUN)?;
    Ok(cmd!(shell, "chmod +x {program}").quiet().run()?)
}
