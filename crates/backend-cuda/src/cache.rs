//! Compiled kernels on disk, so that a program's second start compiles nothing.
//!
//! An entry is named by a hash and holds its whole key (compiler, options and source) beside the CUBIN; one whose key or
//! length is another counts as none. Entries are written to a file of their own and renamed, so that concurrent
//! processes see a whole entry or none. A cache that cannot be read or written is no error: kernels are compiled.

use crate::nvrtc::{Source, version};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The environment variable that names the folder of compiled kernels; empty, it turns the cache off. Without it the
/// folder is `nnz/cuda` in the user's cache folder.
pub const CACHE_VARIABLE: &str = "NNZ_CUDA_CACHE";

/// The CUBIN of a source, if it is there.
pub(crate) fn read(source: &Source) -> Option<Vec<u8>> {
    let key = key(source);
    unpack(&fs::read(path(&key)?).ok()?, &key)
}

/// Keeps the CUBIN of a source.
pub(crate) fn write(source: &Source, cubin: &[u8]) {
    let key = key(source);
    if let Some(path) = path(&key) {
        let _ = write_whole(&path, &pack(&key, cubin));
    }
}

/// Forgets the CUBIN of a source, because it does not load.
pub(crate) fn remove(source: &Source) {
    if let Some(path) = path(&key(source)) {
        let _ = fs::remove_file(path);
    }
}

fn key(source: &Source) -> String {
    format!("{:?}\n{}", version(), source.key())
}

fn path(key: &str) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    Some(folder()?.join(format!("{:016x}.cubin", hasher.finish())))
}

fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    match variable(CACHE_VARIABLE) {
        Some(folder) => Some(folder).filter(|folder| !folder.as_os_str().is_empty()),
        None => {
            let home = || variable("HOME").map(|home| home.join(".cache"));
            let cache = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).or_else(home);
            Some(cache?.join("nnz").join("cuda"))
        }
    }
}

/// The length of the key, the key, the length of the CUBIN, the CUBIN.
fn pack(key: &str, cubin: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(16 + key.len() + cubin.len());
    for part in [key.as_bytes(), cubin] {
        entry.extend((part.len() as u64).to_le_bytes());
        entry.extend(part);
    }
    entry
}

/// The CUBIN of an entry, if it is whole and has this key.
fn unpack(entry: &[u8], key: &str) -> Option<Vec<u8>> {
    let (found, rest) = part(entry)?;
    let (cubin, rest) = part(rest)?;
    (found == key.as_bytes() && rest.is_empty()).then(|| cubin.to_vec())
}

fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_counts_only_whole_and_with_its_key() {
        let entry = pack("key", b"cubin");
        assert_eq!(unpack(&entry, "key").as_deref(), Some(&b"cubin"[..]));
        assert_eq!(unpack(&entry, "another"), None);
        assert!((0..entry.len()).all(|len| unpack(&entry[..len], "key").is_none()));
        assert_eq!(unpack(&[entry.as_slice(), b"x"].concat(), "key"), None);
        assert_eq!(unpack(&u64::MAX.to_le_bytes(), "key"), None);
    }

    #[test]
    fn an_entry_is_written_whole_into_a_folder_that_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").join("b.cubin");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
    }
}
