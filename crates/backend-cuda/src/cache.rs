//! Compiled kernels on disk, so that a program's second start compiles nothing.
//!
//! An entry is named by a hash and has its whole key (the compiler's version, the options and the source) beside the
//! CUBIN, and a checksum of both; one that is truncated, foreign or has another key is ignored. Entries are written to
//! a file of their own, synced and renamed, so that concurrent processes and a crash leave a whole entry or none. A
//! cache that cannot be read or written is no error: kernels are compiled.
//!
//! Kernels that are read here run on the device, so the folder is trusted only if its path is absolute, it belongs to the
//! user and nobody else may write to it.

use crate::nvrtc::{Source, version};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The environment variable that names the folder of compiled kernels, by an absolute path; empty, it turns the cache off.
/// Without it the folder is `nnz/cuda` in the user's cache folder.
pub const CACHE_VARIABLE: &str = "NNZ_CUDA_CACHE";

/// The first bytes of an entry: the name and version of the format.
const MAGIC: &[u8; 8] = b"nnzcu\0\0\x02";

/// The CUBIN of a source, if it is there.
pub(crate) fn read(source: &Source) -> Option<Vec<u8>> {
    let key = key(source)?;
    read_entry(&folder()?, &key)
}

/// Stores the CUBIN of a source.
pub(crate) fn write(source: &Source, cubin: &[u8]) {
    if let (Some(key), Some(folder)) = (key(source), folder()) {
        let _ = write_entry(&folder, &key, cubin);
    }
}

/// Removes the CUBIN of a source, because it does not load.
pub(crate) fn remove(source: &Source) {
    if let (Some(key), Some(folder)) = (key(source), folder()) {
        let _ = fs::remove_file(folder.join(name(&key)));
    }
}

/// The key: everything that a CUBIN depends on; none if the compiler does not report its version.
fn key(source: &Source) -> Option<String> {
    let (major, minor) = version()?;
    Some(format!("NVRTC {major}.{minor}\n{}", source.key()))
}

/// The folder, if a trustworthy one exists or can be made.
fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    folder_of(
        variable(CACHE_VARIABLE),
        variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")),
        variable("HOME"),
    )
}

/// The folder named by the variable, else one below the user's cache folder, else below the home folder. A path that is
/// empty or relative names none.
fn folder_of(named: Option<PathBuf>, cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    if let Some(named) = named {
        return Some(named).filter(absolute);
    }
    let home = || home.filter(absolute).map(|home| home.join(".cache"));
    Some(cache.filter(absolute).or_else(home)?.join("nnz").join("cuda"))
}

/// The file of an entry.
fn name(key: &str) -> String {
    format!("{:016x}.cubin", checksum(&[key.as_bytes()]))
}

fn read_entry(folder: &Path, key: &str) -> Option<Vec<u8>> {
    if !is_private(folder) {
        return None;
    }
    unpack(&fs::read(folder.join(name(key))).ok()?, key)
}

fn write_entry(folder: &Path, key: &str, cubin: &[u8]) -> io::Result<()> {
    create_private(folder)?;
    if !is_private(folder) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&pack(key, cubin))?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name(key)))?;
    // The name is on the disk when its folder is; not every system can sync one.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Makes a folder, and those above it, that nobody else writes to.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// True if a folder is the user's and nobody else may write to it.
#[cfg(unix)]
fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: the call only asks for a number.
    let user = unsafe { libc::geteuid() };
    let is_mine = |about: fs::Metadata| about.is_dir() && about.uid() == user && about.mode() & 0o022 == 0;
    fs::metadata(folder).is_ok_and(is_mine)
}

/// True if a folder exists: everything in the user's cache folder is the user's.
#[cfg(not(unix))]
fn is_private(folder: &Path) -> bool {
    folder.is_dir()
}

/// The magic, the checksum of what follows, the length of the key, the key, the CUBIN.
fn pack(key: &str, cubin: &[u8]) -> Vec<u8> {
    let len = (key.len() as u64).to_le_bytes();
    let parts = [&len, key.as_bytes(), cubin];
    let sum = checksum(&parts).to_le_bytes();
    [MAGIC.as_slice(), &sum].iter().chain(&parts).copied().flatten().copied().collect()
}

/// The CUBIN of an entry, if it is whole and has this key.
fn unpack(entry: &[u8], key: &str) -> Option<Vec<u8>> {
    let (sum, rest) = entry.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
    if checksum(&[rest]) != u64::from_le_bytes(*sum) {
        return None;
    }
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (found, cubin) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    (found == key.as_bytes() && !cubin.is_empty()).then(|| cubin.to_vec())
}

/// FNV-1a of the parts, one after the other: the same on every machine and in every version of the compiler.
fn checksum(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().copied().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
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
        for position in 0..entry.len() {
            let mut changed = entry.clone();
            changed[position] ^= 4;
            assert_eq!(unpack(&changed, "key"), None, "{position}");
        }
        assert_eq!(unpack(&pack("key", b""), "key"), None, "an entry of nothing");
        assert_eq!(unpack(&u64::MAX.to_le_bytes().repeat(4), "key"), None);
    }

    #[test]
    fn an_entry_is_written_whole_into_a_folder_that_is_made() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a").join("b");
        assert_eq!(read_entry(&folder, "key"), None);
        write_entry(&folder, "key", b"one").unwrap();
        write_entry(&folder, "key", b"two").unwrap();
        assert_eq!(read_entry(&folder, "key").as_deref(), Some(&b"two"[..]));
        assert_eq!(folder.read_dir().unwrap().count(), 1, "no other file is left");
        for foreign in [&b""[..], b"two", b"\x7fELF and so on"] {
            fs::write(folder.join(name("key")), foreign).unwrap();
            assert_eq!(read_entry(&folder, "key"), None);
        }
        fs::remove_file(folder.join(name("key"))).unwrap();
        fs::create_dir(folder.join(name("key"))).unwrap();
        assert_eq!(read_entry(&folder, "key"), None, "a folder in its place");
        assert!(write_entry(&folder, "key", b"three").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_write_to_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("cache");
        write_entry(&folder, "key", b"cubin").unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for mode in [0o777, 0o770, 0o702] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_entry(&folder, "key"), None, "{mode:o}");
            assert!(write_entry(&folder, "key", b"other").is_err(), "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(read_entry(&folder, "key").as_deref(), Some(&b"cubin"[..]));
    }

    #[test]
    fn an_empty_or_a_relative_path_names_no_folder() {
        let path = |text: &str| Some(PathBuf::from(text));
        let root = if cfg!(windows) { "C:\\home" } else { "/home" };
        for none in ["", "relative", "./here"] {
            assert_eq!(folder_of(path(none), path(root), path(root)), None, "{none}");
            assert_eq!(folder_of(None, path(none), None), None, "{none}");
            assert_eq!(folder_of(None, None, path(none)), None, "{none}");
        }
        assert_eq!(folder_of(path(root), None, None), path(root));
        let below = |folder: PathBuf| Some(folder.join("nnz").join("cuda"));
        assert_eq!(folder_of(None, path(root), None), below(root.into()));
        assert_eq!(folder_of(None, path("relative"), path(root)), below(Path::new(root).join(".cache")));
    }
}
