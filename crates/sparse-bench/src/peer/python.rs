//! Python processes beside this one, which run an operation on request.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// A running process; the folder of its files is removed with it.
pub(super) struct Process {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    child: Child,
    folder: TempDir,
}

impl Process {
    /// True if there is a Python that runs `line`.
    pub(super) fn finds(line: &str) -> bool {
        let mut probe = Command::new("python3");
        let probe = probe.args(["-c", line]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    }

    /// Starts a script, whose arguments are the folder and `arguments`.
    pub(super) fn start(script: &str, folder: TempDir, arguments: &[&str]) -> Result<Self> {
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(folder.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start python3")?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("python3 was started without pipes");
        };
        Ok(Self { stdin, stdout: BufReader::new(stdout), child, folder })
    }

    /// The answer to a line.
    pub(super) fn ask(&mut self, line: &str) -> Result<String> {
        writeln!(self.stdin, "{line}")?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        Ok(answer.trim().into())
    }

    /// Runs the operation once; returns its seconds.
    pub(super) fn seconds(&mut self) -> Result<f64> {
        let answer = self.ask("run")?;
        answer.parse().with_context(|| format!("Python answered {answer:?} in place of seconds"))
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for the files of a process.
pub(super) fn folder(name: &str) -> Result<TempDir> {
    tempfile::Builder::new().prefix(&format!("nnz-bench-{name}-")).tempdir().context("cannot make a folder")
}

/// Writes a file of a process.
pub(super) fn file(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    std::fs::write(folder.join(name), bytes).with_context(|| format!("cannot write {name}"))
}
