//! Snapshots: the answers of the exact class as text, one file per operation and case, without a backend's name.
//!
//! The files are insta's: `tests/snapshots.rs` compares them with its macros, so that `cargo insta review` shows
//! changes. They are compared here too, because insta's macros ask cargo for the workspace, and a machine that only
//! runs the harness has no cargo.

use crate::case::{Case, Operands, Problem};
use crate::triplets::Triplets;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The test that insta takes the files for.
const SOURCE: &str = "crates/sparse-conformance/tests/snapshots.rs";

/// The largest extent of a matrix whose answers are stored: files that a person can read.
const LARGEST: usize = 20;

/// The folder of snapshots, for comparing or writing.
#[derive(Debug)]
pub struct Snapshots {
    folder: PathBuf,
    bless: bool,
    files: BTreeMap<String, File>,
}

/// The lines of one file, by label.
#[derive(Debug)]
struct File {
    description: String,
    lines: BTreeMap<String, String>,
    blessed: BTreeMap<String, String>,
}

impl Snapshots {
    /// Compares results with the files of `folder`.
    pub fn compare(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), bless: false, files: BTreeMap::new() }
    }

    /// Writes results to the files of `folder`, once [`save`](Self::save) is called: for the serial reference alone.
    pub fn bless(folder: impl Into<PathBuf>) -> Self {
        Self { bless: true, ..Self::compare(folder) }
    }

    /// The folder `snapshots` beside the program if there is one, else that of this crate, where it was built.
    pub fn default_folder() -> PathBuf {
        let beside = std::env::current_exe().ok().map(|program| program.with_file_name("snapshots"));
        let built = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
        beside.filter(|folder| folder.is_dir()).unwrap_or_else(built)
    }

    /// True if the case has snapshots in a type that represents its values: a small matrix of integers.
    pub fn include(case: &Case, matrix: &Triplets) -> bool {
        let exact = matches!(case.operands, Operands::Integers);
        exact && !case.large && matrix.rows.max(matrix.cols) <= LARGEST
    }

    /// True if the answers to the problem are part of a snapshot.
    pub(crate) fn keeps(problem: &Problem) -> bool {
        problem.unrounded && Self::include(problem.case, &problem.matrix)
    }

    /// An error, in words, unless the answer under `label` is `text`.
    pub(crate) fn check(&mut self, op: &str, case: &str, label: String, text: String) -> Result<(), String> {
        let (folder, name) = (&self.folder, format!("{op}__{case}"));
        let read = || File::read(format!("{op} of the case {case}"), &path(folder, &name));
        let file = self.files.entry(name.clone()).or_insert_with(read);
        let known = if self.bless { &mut file.blessed } else { &mut file.lines };
        match known.get(&label) {
            Some(answer) if *answer == text => Ok(()),
            Some(answer) => Err(format!("the snapshot {name} has {label}: {answer}; found {text}")),
            None if self.bless => {
                known.insert(label, text);
                Ok(())
            }
            None => Err(format!(
                "no snapshot of {label} in {name}.snap: `cargo xtask conformance --backend reference --bless` writes it"
            )),
        }
    }

    /// Writes the blessed answers.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn save(self) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        for (name, mut file) in self.files {
            file.lines.append(&mut file.blessed);
            fs::write(path(&self.folder, &name), file.text())?;
        }
        Ok(())
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.snap"))
}

impl File {
    /// The file, or an empty one if it cannot be read: then every answer is missing.
    fn read(description: String, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let answers =
            text.lines().skip_while(|line| *line != "---").skip(1).skip_while(|line| *line != "---");
        let split = |line: &str| {
            line.split_once(':').map(|(label, text)| (label.to_string(), text.trim_start().to_string()))
        };
        Self { description, lines: answers.skip(1).filter_map(split).collect(), blessed: BTreeMap::new() }
    }

    /// The file in insta's form: an empty answer leaves no space at the end of its line.
    fn text(&self) -> String {
        let mut text = format!("---\nsource: {SOURCE}\ndescription: {}\n---\n", self.description);
        for (label, answer) in &self.lines {
            let _ = writeln!(text, "{}", format!("{label}: {answer}").trim_end());
        }
        text
    }
}
