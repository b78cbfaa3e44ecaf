//! The snapshot of what CUDA kernels use, kernels-cu/resources.txt: lines of a key and a value in three sections.

use kernels_cu::File;
use std::collections::BTreeMap;

/// The lines of a section in the order of their keys.
pub(super) type Lines = BTreeMap<String, String>;

/// The sections.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    /// The resources of a kernel with one of the main sets of defines, on every architecture.
    pub(super) sets: Lines,
    /// The largest resources of a kernel with any set of defines, on one architecture.
    pub(super) kernels: Lines,
    /// A checksum of each file: of its compilations, and of its lines in the other sections.
    files: Lines,
}

impl Snapshot {
    /// Reads a page.
    pub(super) fn read(page: &str) -> Self {
        let mut sections = page.split("\n\n").map(|section| {
            let lines = section.lines().filter_map(|line| line.split_once(": "));
            lines.map(|(key, value)| (key.to_string(), value.to_string())).collect()
        });
        let [sets, kernels, files] = [(); 3].map(|()| sections.next().unwrap_or_default());
        Self { sets, kernels, files }
    }

    /// The page, with a heading before each section.
    pub(super) fn page(&self, headings: [&str; 3]) -> String {
        let section = |(heading, lines): (&str, &Lines)| {
            let lines: String = lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
            format!("{heading}\n{lines}")
        };
        headings
            .into_iter()
            .zip([&self.sets, &self.kernels, &self.files])
            .map(section)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// True if the file's lines are those that were written for these compilations.
    pub(super) fn knows(&self, file: &File, compilations: &str) -> bool {
        self.files.get(file.name) == Some(&self.checksum(file, compilations))
    }

    /// Sets the file's checksum.
    pub(super) fn record(&mut self, file: &File, compilations: &str) {
        self.files.insert(file.name.into(), self.checksum(file, compilations));
    }

    /// Takes the lines of a file's kernels from another snapshot.
    pub(super) fn take(&mut self, other: &Self, file: &File) {
        self.sets.extend(lines_of(&other.sets, file).map(|(key, value)| (key.clone(), value.clone())));
        self.kernels.extend(lines_of(&other.kernels, file).map(|(key, value)| (key.clone(), value.clone())));
    }

    fn checksum(&self, file: &File, compilations: &str) -> String {
        let lines = lines_of(&self.sets, file).chain(lines_of(&self.kernels, file));
        let lines: String = lines.map(|(key, value)| format!("{key}: {value}\n")).collect();
        format!("checksum {:016x}", checksum(&format!("{compilations}\n{lines}")))
    }
}

/// The lines of a file's kernels.
fn lines_of<'a>(lines: &'a Lines, file: &File) -> impl Iterator<Item = (&'a String, &'a String)> {
    let entries = file.entries;
    lines
        .iter()
        .filter(move |(key, _)| key.split([' ', ',']).next().is_some_and(|kernel| entries.contains(&kernel)))
}

/// FNV-1a.
pub(super) fn checksum(text: &str) -> u64 {
    let mix = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADINGS: [&str; 3] = ["# sets", "# kernels", "# files"];

    #[test]
    fn a_file_is_known_until_its_compilations_or_its_lines_change() {
        let [file, other] = [&kernels_cu::FILES[0], &kernels_cu::FILES[1]];
        let mut snapshot = Snapshot::default();
        for File { entries, .. } in [file, other] {
            snapshot.sets.insert(format!("{} F32", entries[0]), "30/0/0 31/0/0".into());
            snapshot.kernels.insert(format!("{}, 2 sets", entries[0]), "31/0/0, checksum 1".into());
        }
        snapshot.record(file, "the source");
        let page = snapshot.page(HEADINGS);
        let read = Snapshot::read(&page);
        assert_eq!(read, snapshot);
        assert!(read.knows(file, "the source") && !read.knows(other, "the source"));
        assert!(!read.knows(file, "another source"));
        let of_file = |text: &str| {
            text.replace(&format!("{} F32: 30", file.entries[0]), &format!("{} F32: 29", file.entries[0]))
        };
        assert!(!Snapshot::read(&of_file(&page)).knows(file, "the source"));
        let mut taken = Snapshot::default();
        taken.take(&read, file);
        taken.record(file, "the source");
        assert_eq!((taken.sets.len(), taken.kernels.len()), (1, 1));
        assert!(taken.knows(file, "the source"));
    }
}
