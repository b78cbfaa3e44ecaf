//! SciPy, in a Python process beside this one that runs the operation whenever it is told to.

use crate::measure::Contender;
use anyhow::{Context, Result, bail};
use sparse_core::{Coo, Csr, Matrix};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SCRIPT: &str = include_str!("scipy_peer.py");

/// What SciPy works on.
pub(crate) enum Input<'a> {
    Csr(&'a Csr<f32>),
    Coo(&'a Coo<f32>),
    /// `count` matrices of `n` rows and columns.
    Dense {
        data: &'a [f32],
        n: usize,
        count: usize,
    },
    File(&'a Path),
}

impl<'a> From<&'a Csr<f32>> for Input<'a> {
    fn from(a: &'a Csr<f32>) -> Self {
        Self::Csr(a)
    }
}

impl<'a> From<&'a Coo<f32>> for Input<'a> {
    fn from(a: &'a Coo<f32>) -> Self {
        Self::Coo(a)
    }
}

/// SciPy as a contender; `number` counts columns, iterations or matrices. `None` where Python or SciPy is missing.
pub(crate) fn contender(op: &str, input: Input<'_>, number: usize) -> Result<Option<Contender<'static>>> {
    if !available() {
        return Ok(None);
    }
    let mut peer = Peer::start(op, &input, number)?;
    Ok(Some(Contender::external("scipy", move || peer.run())))
}

/// A running Python process; its files go with it.
struct Peer {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    child: Child,
    folder: PathBuf,
}

impl Peer {
    fn start(op: &str, input: &Input<'_>, number: usize) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("nnz-bench-{}-{op}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let (rows, cols) = write(&folder, input)?;
        let mut child = Command::new("python3")
            .args(["-c", SCRIPT, op])
            .arg(&folder)
            .args([rows.to_string(), cols.to_string(), number.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start python3")?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("python3 was started without pipes");
        };
        Ok(Self { stdin, stdout: BufReader::new(stdout), child, folder })
    }

    /// Runs the operation once; returns its seconds.
    fn run(&mut self) -> Result<f64> {
        writeln!(self.stdin, "run")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        line.trim().parse().with_context(|| format!("SciPy answered {line:?} in place of seconds"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether there is a Python that finds SciPy.
fn available() -> bool {
    let probe = Command::new("python3")
        .args(["-c", "import numpy, scipy.sparse"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    probe.is_ok_and(|status| status.success())
}

/// Writes the arrays of the input as raw files; returns its shape.
fn write(folder: &Path, input: &Input<'_>) -> Result<(usize, usize)> {
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).with_context(|| format!("cannot write {name}"))
    };
    match input {
        Input::Csr(a) => {
            file("indptr", bytemuck::cast_slice(a.row_ptr()))?;
            file("indices", bytemuck::cast_slice(a.col_idx()))?;
            file("data", bytemuck::cast_slice(a.values()))?;
            Ok((a.rows(), a.cols()))
        }
        Input::Coo(a) => {
            file("row", bytemuck::cast_slice(a.row_idx()))?;
            file("col", bytemuck::cast_slice(a.col_idx()))?;
            file("data", bytemuck::cast_slice(a.values()))?;
            Ok((a.rows(), a.cols()))
        }
        Input::Dense { data, n, count } => {
            file("data", bytemuck::cast_slice(data))?;
            Ok((n * count, *n))
        }
        Input::File(path) => {
            file("path", path.as_os_str().as_encoded_bytes())?;
            Ok((0, 0))
        }
    }
}
