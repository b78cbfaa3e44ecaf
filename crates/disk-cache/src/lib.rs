//! A cache on disk of results that a machine computes once: compiled kernels, measured rates.
//!
//! An entry is named by a hash and has its whole key beside its contents, and a checksum of both; one that is
//! truncated, foreign or has another key is ignored. Entries are written to a file of their own, synced and renamed, so
//! that concurrent processes and a crash leave a whole entry or none.
//!
//! Entries are trusted, and kernels among them run on a device. So a folder is used only if its path is absolute, it
//! belongs to the user and nobody else may write to it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder of entries of one kind.
///
/// ```
/// use disk_cache::{Cache, Kind};
///
/// # let root = tempfile::tempdir()?;
/// # let folder = root.path().join("squares");
/// let cache = Cache::in_folder(folder, Kind { magic: *b"squares1", extension: "square" });
/// assert_eq!(cache.read("7"), None);
/// cache.write("7", b"49")?;
/// assert_eq!(cache.read("7").as_deref(), Some(&b"49"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    kind: Kind,
}

/// The form of the entries of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The first bytes of an entry: the name and version of its contents.
    pub magic: [u8; 8],
    /// The end of the name of an entry's file.
    pub extension: &'static str,
}

impl Cache {
    /// The cache in the folder that the environment variable `variable` names by an absolute path; without that
    /// variable in `nnz/name` in the user's cache folder. `None` if the variable is empty or its path relative, or if
    /// the user has no such folder.
    pub fn of_user(variable: &str, name: &str, kind: Kind) -> Option<Self> {
        let value = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let user = value("XDG_CACHE_HOME").or_else(|| value("LOCALAPPDATA"));
        Some(Self::in_folder(folder_of(name, value(variable), user, value("HOME"))?, kind))
    }

    /// The cache in a folder, which is made by the first [`write`](Self::write).
    pub fn in_folder(folder: impl Into<PathBuf>, kind: Kind) -> Self {
        Self { folder: folder.into(), kind }
    }

    /// The contents of the entry of `key`, if it is there and whole, and nobody else may write to the folder.
    pub fn read(&self, key: &str) -> Option<Vec<u8>> {
        if !is_private(&self.folder) {
            return None;
        }
        self.kind.unpack(&fs::read(self.path(key)).ok()?, key)
    }

    /// Stores the contents of the entry of `key`.
    ///
    /// # Errors
    /// An error of the operating system; [`PermissionDenied`](io::ErrorKind::PermissionDenied) if others may write to
    /// the folder.
    pub fn write(&self, key: &str, contents: &[u8]) -> io::Result<()> {
        create_private(&self.folder)?;
        if !is_private(&self.folder) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&self.kind.pack(key, contents))?;
        file.as_file().sync_all()?;
        file.persist(self.path(key))?;
        // The name is on the disk when its folder is; not every system can sync one.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Removes the entry of `key`, if it is there.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn remove(&self, key: &str) -> io::Result<()> {
        match fs::remove_file(self.path(key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// The file of an entry.
    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.{}", checksum(&[key.as_bytes()]), self.kind.extension))
    }
}

impl Kind {
    /// The magic, the checksum of what follows, the length of the key, the key, the contents.
    fn pack(&self, key: &str, contents: &[u8]) -> Vec<u8> {
        let len = (key.len() as u64).to_le_bytes();
        let parts = [&len, key.as_bytes(), contents];
        let sum = checksum(&parts).to_le_bytes();
        [self.magic.as_slice(), &sum].iter().chain(&parts).copied().flatten().copied().collect()
    }

    /// The contents of an entry, if it is whole and has this key. There are no empty contents.
    fn unpack(&self, entry: &[u8], key: &str) -> Option<Vec<u8>> {
        let (sum, rest) = entry.strip_prefix(&self.magic)?.split_first_chunk::<8>()?;
        if checksum(&[rest]) != u64::from_le_bytes(*sum) {
            return None;
        }
        let (len, rest) = rest.split_first_chunk::<8>()?;
        let (found, contents) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        (found == key.as_bytes() && !contents.is_empty()).then(|| contents.to_vec())
    }
}

/// The folder named by the variable, else one below the user's cache folder, else below the home folder. A path that is
/// empty or relative names none.
fn folder_of(
    name: &str,
    named: Option<PathBuf>,
    cache: Option<PathBuf>,
    home: Option<PathBuf>,
) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    if let Some(named) = named {
        return Some(named).filter(absolute);
    }
    let home = || home.filter(absolute).map(|home| home.join(".cache"));
    Some(cache.filter(absolute).or_else(home)?.join("nnz").join(name))
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

/// FNV-1a of the parts, one after the other: the same on every machine and in every version of the compiler.
fn checksum(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().copied().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { magic: *b"nnztest1", extension: "entry" };

    #[test]
    fn an_entry_counts_only_whole_and_with_its_key() {
        let entry = KIND.pack("key", b"cubin");
        assert_eq!(KIND.unpack(&entry, "key").as_deref(), Some(&b"cubin"[..]));
        assert_eq!(KIND.unpack(&entry, "another"), None);
        assert!((0..entry.len()).all(|len| KIND.unpack(&entry[..len], "key").is_none()));
        assert_eq!(KIND.unpack(&[entry.as_slice(), b"x"].concat(), "key"), None);
        for position in 0..entry.len() {
            let mut changed = entry.clone();
            changed[position] ^= 4;
            assert_eq!(KIND.unpack(&changed, "key"), None, "{position}");
        }
        assert_eq!(KIND.unpack(&KIND.pack("key", b""), "key"), None, "an entry of nothing");
        assert_eq!(KIND.unpack(&u64::MAX.to_le_bytes().repeat(4), "key"), None);
    }

    #[test]
    fn an_entry_is_written_whole_into_a_folder_that_is_made() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a").join("b");
        let cache = Cache::in_folder(&folder, KIND);
        assert_eq!(cache.read("key"), None);
        cache.write("key", b"one").unwrap();
        cache.write("key", b"two").unwrap();
        assert_eq!(cache.read("key").as_deref(), Some(&b"two"[..]));
        assert_eq!(folder.read_dir().unwrap().count(), 1, "no other file is left");
        for foreign in [&b""[..], b"two", b"\x7fELF and so on"] {
            fs::write(cache.path("key"), foreign).unwrap();
            assert_eq!(cache.read("key"), None);
        }
        cache.remove("key").unwrap();
        cache.remove("key").unwrap();
        fs::create_dir(cache.path("key")).unwrap();
        assert_eq!(cache.read("key"), None, "a folder in its place");
        assert!(cache.write("key", b"three").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_write_to_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("cache");
        let cache = Cache::in_folder(&folder, KIND);
        cache.write("key", b"cubin").unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for mode in [0o777, 0o770, 0o702] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.read("key"), None, "{mode:o}");
            assert!(cache.write("key", b"other").is_err(), "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(cache.read("key").as_deref(), Some(&b"cubin"[..]));
    }

    #[test]
    fn an_empty_or_a_relative_path_names_no_folder() {
        let path = |text: &str| Some(PathBuf::from(text));
        let root = if cfg!(windows) { "C:\\home" } else { "/home" };
        for none in ["", "relative", "./here"] {
            assert_eq!(folder_of("cuda", path(none), path(root), path(root)), None, "{none}");
            assert_eq!(folder_of("cuda", None, path(none), None), None, "{none}");
            assert_eq!(folder_of("cuda", None, None, path(none)), None, "{none}");
        }
        assert_eq!(folder_of("cuda", path(root), None, None), path(root));
        let below = |folder: PathBuf| Some(folder.join("nnz").join("cuda"));
        assert_eq!(folder_of("cuda", None, path(root), None), below(root.into()));
        assert_eq!(
            folder_of("cuda", None, path("relative"), path(root)),
            below(Path::new(root).join(".cache"))
        );
    }
}
