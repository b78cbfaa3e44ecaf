//! The check of a database before it is opened: every page that it refers to, by its checksum. It reads by the handle
//! with which the database is opened, and which has its lock: on Windows another one could not.
//!
//! redb compares checksums only after a crash, once it has used the lengths in the header. Of a file that was damaged
//! it panics, asks for terabytes and ends the process, or returns other bytes: a manifest that names another file would
//! let the start remove the right one.
//!
//! A file of format 3 has a header with two commit slots, whose trees have the definitions of tables, and these the
//! roots of their trees. A page is referred to together with the XXH3 of its used bytes.

use redb::StorageBackend;
use std::io;
use twox_hash::XxHash3_128;

const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// Bytes of the header with both slots.
pub(super) const HEADER: usize = 320;
const SLOTS: [usize; 2] = [64, 192];
const SLOT: usize = 128;
const FORMAT: u8 = 3;
/// Flags of the byte behind the magic number: the slot that is current, a process that did not close the file, and a
/// current slot that was written once its pages were on disk.
const SECOND_SLOT: u8 = 1;
const NOT_CLOSED: u8 = 2;
const TWO_PHASES: u8 = 4;
/// The type of pages with entries, and with other pages.
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// Bytes of the definition of a table up to the widths of its keys and values.
const DEFINITION: usize = 52;

/// The bytes of a key and of a value, if all have the same.
type Widths = (Option<usize>, Option<usize>);

/// The file, and where its pages are.
struct Pages<'a, B> {
    storage: &'a B,
    length: u64,
    page: u64,
    /// Bytes of a whole region, and of its header.
    region: u64,
    region_header: u64,
}

/// True unless this header, which may be that of another file or empty, says that a process did not close the file.
pub(super) fn was_closed(header: &[u8]) -> bool {
    header.get(MAGIC.len()).is_none_or(|flags| flags & NOT_CLOSED == 0)
}

/// Fails with what is damaged. An empty file has no pages. Of one that was not closed the last commit may be
/// incomplete: then the one before it must be whole, which redb takes.
pub(super) fn check(storage: &impl StorageBackend) -> io::Result<()> {
    let length = storage.len()?;
    if length == 0 {
        return Ok(());
    }
    if length < HEADER as u64 {
        return Err(damaged("the header"));
    }
    let mut header = [0; HEADER];
    storage.read(0, &mut header)?;
    let flags = header[MAGIC.len()];
    if !header.starts_with(MAGIC) {
        return Err(damaged("the header"));
    }
    let is_closed = flags & NOT_CLOSED == 0;
    let [page, region_header, region_data, regions, rest] =
        [12, 16, 20, 24, 28].map(|at| number(&header, at, 4).unwrap_or(0));
    let region = page.saturating_mul(region_header + region_data);
    let last = if rest == 0 { 0 } else { page.saturating_mul(region_header + rest) };
    let described = page.saturating_add(regions.saturating_mul(region)).saturating_add(last);
    // A file may have grown since its header was written.
    if length < described || (is_closed && length > described) {
        return Err(damaged("the lengths in the header"));
    }
    let slots = SLOTS.map(|start| &header[start..start + SLOT]);
    let [current, other] = if flags & SECOND_SLOT == 0 { slots } else { [slots[1], slots[0]] };
    let is_older = is_whole(other) && transaction(other) > transaction(current);
    if slots.iter().any(|slot| slot[0] != FORMAT) || (is_closed && is_older) {
        return Err(damaged("the commit slots"));
    }
    let candidates = match (is_closed || flags & TWO_PHASES != 0, is_older) {
        (true, _) => vec![current],
        (false, false) => vec![current, other],
        (false, true) => vec![other, current],
    };
    let region_header = page.saturating_mul(region_header);
    let pages = Pages { storage, length, page, region, region_header };
    let mut checked = Err(damaged("the commit slots"));
    for slot in candidates.into_iter().filter(|slot| is_whole(slot)) {
        checked = pages.check_slot(slot);
        if checked.is_ok() {
            break;
        }
    }
    checked
}

/// The number of the transaction that wrote a slot.
fn transaction(slot: &[u8]) -> Option<u64> {
    number(slot, 104, 8)
}

/// True for a slot that has the bytes of its checksum.
fn is_whole(slot: &[u8]) -> bool {
    let (bytes, checksum) = slot.split_at(SLOT - 16);
    XxHash3_128::oneshot(bytes).to_le_bytes() == checksum
}

impl<B: StorageBackend> Pages<'_, B> {
    /// Checks the trees of the users' tables and of redb's own.
    fn check_slot(&self, slot: &[u8]) -> io::Result<()> {
        for (is_there, root) in [(slot[1], &slot[8..40]), (slot[2], &slot[40..72])] {
            if is_there != 0 {
                self.check_tables(root)?;
            }
        }
        Ok(())
    }

    /// Checks the tree of tables with this root, and the trees of the tables.
    fn check_tables(&self, root: &[u8]) -> io::Result<()> {
        let mut tables = vec![];
        self.check(reference(root, 0, 8), (None, None), &mut |definition| tables.push(definition.to_vec()))?;
        for table in tables.iter().filter(|table| table.get(9) != Some(&0)) {
            let definition = table.get(..DEFINITION).ok_or_else(|| damaged("the definition of a table"))?;
            let width = |at: usize| (definition[at] != 0).then(|| usize_at(definition, at + 1)).flatten();
            self.check(reference(definition, 10, 18), (width(42), width(47)), &mut |_| ())?;
        }
        Ok(())
    }

    /// Checks a tree; `each` is called with the values.
    fn check(
        &self,
        reference: Option<(u64, &[u8])>,
        widths: Widths,
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        let (number, checksum) = reference.ok_or_else(|| damaged("a reference to a page"))?;
        let wrong = || damaged(format!("page {number:x}"));
        let page = self.read(number)?.ok_or_else(wrong)?;
        let node = Node::of(&page, widths).ok_or_else(wrong)?;
        let used = page.get(..node.end).ok_or_else(wrong)?;
        if XxHash3_128::oneshot(used).to_le_bytes() != checksum {
            return Err(wrong());
        }
        for child in 0..node.children {
            let (checksum, number) = (8 + 16 * child, 8 + 16 * node.children + 8 * child);
            self.check(self::reference(used, number, checksum), widths, each)?;
        }
        for &(start, end) in &node.values {
            each(used.get(start..end).ok_or_else(wrong)?);
        }
        Ok(())
    }

    /// A page, which is one of several in a row where its number says so; nothing if that is not in the file.
    fn read(&self, number: u64) -> io::Result<Option<Vec<u8>>> {
        let order = number >> 59;
        let (region, index) = ((number >> 20) & 0xf_ffff, number & (0xf_ffff >> order));
        let length = self.page.saturating_mul(1 << order);
        let in_region = self.region_header.saturating_add(index.saturating_mul(length));
        let start = self.page.saturating_add(region.saturating_mul(self.region)).saturating_add(in_region);
        if start.saturating_add(length) > self.length {
            return Ok(None);
        }
        let mut page = vec![0; length as usize];
        self.storage.read(start, &mut page)?;
        Ok(Some(page))
    }
}

/// The parts of a page.
struct Node {
    /// Bytes that are used.
    end: usize,
    children: usize,
    values: Vec<(usize, usize)>,
}

impl Node {
    fn of(page: &[u8], (key, value): Widths) -> Option<Self> {
        let (kind, count) = (*page.first()?, number(page, 2, 2)? as usize);
        let last = count.checked_sub(1)?;
        let ends = |width: Option<usize>| if width.is_none() { 4 * count } else { 0 };
        match kind {
            BRANCH => {
                let children = count + 1;
                let keys = 8 + 24 * children;
                let end = match key {
                    Some(width) => keys + width.checked_mul(count)?,
                    None => usize_at(page, keys + 4 * last)?,
                };
                Some(Self { end, children, values: vec![] })
            }
            LEAF => {
                let keys_end = match key {
                    Some(width) => 4 + ends(value) + width.checked_mul(count)?,
                    None => usize_at(page, 4 + 4 * last)?,
                };
                let value_end = |n: usize| match value {
                    Some(width) => keys_end.checked_add(width.checked_mul(n + 1)?),
                    None => usize_at(page, 4 + ends(key) + 4 * n),
                };
                let mut start = keys_end;
                let mut values = vec![];
                for n in 0..count {
                    let end = value_end(n)?;
                    values.push((start, end));
                    start = end;
                }
                Some(Self { end: start, children: 0, values })
            }
            _ => None,
        }
    }
}

/// The number of a page and its checksum, by their places.
fn reference(bytes: &[u8], number_at: usize, checksum_at: usize) -> Option<(u64, &[u8])> {
    Some((number(bytes, number_at, 8)?, bytes.get(checksum_at..checksum_at + 16)?))
}

/// A number of `width` bytes.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let digits = bytes.get(at..at + width)?;
    Some(digits.iter().rev().fold(0, |number, &digit| number << 8 | u64::from(digit)))
}

fn usize_at(bytes: &[u8], at: usize) -> Option<usize> {
    number(bytes, at, 4).map(|number| number as usize)
}

fn damaged(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is not what was written"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::backends::FileBackend;
    use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
    use std::fs::{self, File};
    use std::path::Path;

    const TEXTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("texts");
    const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

    fn check_file(path: &Path) -> io::Result<()> {
        check(&FileBackend::new(File::options().read(true).write(true).open(path)?).unwrap())
    }

    /// Adds entries, among them some that are longer than a page, and removes others, in several transactions.
    fn write(path: &Path, keys: std::ops::Range<u64>) {
        let database = Database::create(path).unwrap();
        for key in keys {
            let write = database.begin_write().unwrap();
            {
                let (mut texts, mut numbers) =
                    (write.open_table(TEXTS).unwrap(), write.open_table(NUMBERS).unwrap());
                let (name, length) =
                    (format!("default/matrix-{key}@1"), if key % 50 == 7 { 9000 } else { 200 });
                texts.insert(&*name, &vec![key as u8; length][..]).unwrap();
                numbers.insert(&*name, key).unwrap();
                texts.remove(&*format!("default/matrix-{}@1", key / 2)).unwrap();
            }
            write.commit().unwrap();
        }
    }

    type Entries = Vec<(String, Vec<u8>)>;

    fn read(path: &Path) -> Result<Entries, Box<dyn std::error::Error>> {
        let database = Database::create(path)?;
        let read = database.begin_read()?;
        let mut all = vec![];
        for entry in read.open_table(TEXTS)?.iter()? {
            let (key, value) = entry?;
            all.push((key.value().to_owned(), value.value().to_vec()));
        }
        for entry in read.open_table(NUMBERS)?.iter()? {
            let (key, value) = entry?;
            all.push((key.value().to_owned(), value.value().to_le_bytes().to_vec()));
        }
        Ok(all)
    }

    #[test]
    fn what_was_written_is_sound_and_every_change_that_is_read_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("a.redb"), folder.path().join("b.redb"));
        drop(Database::create(&path).unwrap());
        check_file(&path).unwrap();
        for keys in [0..1, 1..20, 20..400] {
            write(&path, keys);
            check_file(&path).unwrap();
        }
        let (expected, whole) = (read(&path).unwrap(), fs::read(&path).unwrap());
        let mut found = 0;
        for at in (0..HEADER).chain((HEADER..whole.len()).step_by(251)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&copy, &bytes).unwrap();
            match check_file(&copy) {
                Err(_) => found += 1,
                // Nothing refers to it, or redb makes nothing of it: it reads what was written.
                Ok(()) => assert_eq!(read(&copy).unwrap(), expected, "byte {at}"),
            }
        }
        assert!(found > 300, "{found} of {} bytes", whole.len());
        for length in [1, HEADER, whole.len() / 2, whole.len() - 1] {
            fs::write(&copy, &whole[..length]).unwrap();
            assert!(check_file(&copy).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_database_that_was_not_closed_has_one_of_the_last_two_commits_or_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("a.redb"), folder.path().join("b.redb"));
        write(&path, 0..200);
        let before = read(&path).unwrap();
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(NUMBERS).unwrap().insert("last", 1).unwrap();
        write.commit().unwrap();
        let whole = fs::read(&path).unwrap();
        drop(database);
        let last = read(&path).unwrap();
        assert_ne!(last, before);
        let (mut found, mut earlier) = (0, 0);
        for at in (0..HEADER).chain((HEADER..whole.len()).step_by(251)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&copy, &bytes).unwrap();
            if check_file(&copy).is_err() {
                found += 1;
                continue;
            }
            let entries = read(&copy).unwrap();
            earlier += usize::from(entries == before);
            assert!(entries == last || entries == before, "byte {at}");
            check_file(&copy).unwrap();
        }
        assert!(found > 100 && earlier > 0, "{found} found, {earlier} with the commit before");
        fs::write(&copy, &whole).unwrap();
        check_file(&copy).unwrap();
        assert_eq!(read(&copy).unwrap(), last);
        fs::write(&copy, &whole[..whole.len() / 2]).unwrap();
        assert!(check_file(&copy).is_err());
    }
}
