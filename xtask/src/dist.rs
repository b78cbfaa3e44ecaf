//! `cargo xtask dist`: a folder that runs on a machine without Rust.

use crate::ci::{root, target};
use anyhow::{Context, Result};
use std::path::PathBuf;
use xshell::{Shell, cmd};

/// The programs that the folder holds, by their packages.
const PROGRAMS: [(&str, &str); 3] =
    [("xtask", "xtask"), ("sparse-bench", "sparse-bench"), ("sparse-cli", "nnz")];

/// Builds the harness, the benchmark and the command, stripped, beside the snapshots that the harness compares with.
///
/// On the other machine `./xtask conformance` finds its snapshots beside itself; with `--corpus` it takes matrices too.
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
    shell.create_dir(&out)?;
    for (package, program) in PROGRAMS {
        cmd!(shell, "cargo build --quiet --profile dist -p {package}").run()?;
        let built = target().join("dist").join(program);
        shell.copy_file(&built, &out).with_context(|| format!("copying {}", built.display()))?;
    }
    let snapshots = out.join("snapshots");
    shell.remove_path(&snapshots)?;
    shell.create_dir(&snapshots)?;
    for file in shell.read_dir(root().join("crates/sparse-conformance/snapshots"))? {
        shell.copy_file(file, &snapshots)?;
    }
    println!("{}", cmd!(shell, "du -sh {out}").quiet().read()?);
    Ok(())
}
