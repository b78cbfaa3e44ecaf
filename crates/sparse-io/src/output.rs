//! Outputs: a file by its name, written whole or not at all, or a stream.

use sparse_core::{Error, Result};
use std::fmt::{self, Debug, Formatter};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The output of a file.
///
/// Under a name, the file is written to a temporary file of the same folder, synced and renamed: if writing fails or
/// the process is killed, the name still refers to the old file, never to a part of the new one. On Linux the temporary
/// file has no name where the file system allows it (`O_TMPFILE`), so that a killed process leaves none; elsewhere it
/// has one and is removed unless the process is killed. The new file has the permissions of the old one, and a link to
/// it stays a link.
///
/// A device, a pipe, standard output or a [`Write`] is written once the file is complete in a temporary file.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_io::{MatrixFile, npz};
///
/// let a = Csr::<f64>::identity(3)?;
/// let mut bytes = vec![]; // or a socket, a compressor, a member of an archive
/// npz::write_csr(&mut bytes, &a)?;
/// let b: Csr<f64> = MatrixFile::from_reader("a.npz", &bytes[..])?.read_csr()?;
/// assert!(a.triplets().eq(b.triplets()));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub enum Output<'a> {
    /// A file, a device or a named pipe.
    Path(&'a Path),
    /// Standard output.
    Stdout,
    /// A file that is of no use without this process: it is written in place and not synced, which takes as long as the
    /// disk. Errors that the file system has only later, such as that of a full quota on another machine, are not those
    /// of the writing: they are found by syncing a handle that was opened before.
    Temporary(&'a Path),
    /// Bytes in memory, a socket, a compressor.
    Writer(&'a mut (dyn Write + Send)),
}

impl Debug for Output<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Output").field(&self.name()).finish()
    }
}

impl<'a, W: Write + Send> From<&'a mut W> for Output<'a> {
    fn from(writer: &'a mut W) -> Self {
        Self::Writer(writer)
    }
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for Output<'a> {
    fn from(path: &'a P) -> Self {
        Self::Path(path.as_ref())
    }
}

impl<'a> Output<'a> {
    /// Checks that a file can be written there; writes nothing.
    ///
    /// ```
    /// use sparse_io::Output;
    ///
    /// assert!(Output::from("/no/such/folder/a.mtx").check().is_err()); // before hours of computing
    /// assert!(Output::Stdout.check().is_ok());
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist or allows no files, or if the file exists and may not be written.
    pub fn check(&self) -> Result<()> {
        let Self::Path(path) = self else { return Ok(()) };
        let check = || match Target::of(path)? {
            Target::File(replacement) => replacement.draft().map(drop),
            Target::Temporary(_) | Target::Stream(_) => Ok(()),
        };
        check().map_err(|source| self.error(source))
    }

    /// Writes the output of `write`.
    ///
    /// ```
    /// use sparse_io::Output;
    /// use std::io::Write;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("residuals.txt");
    /// Output::from(&path).write(|file| writeln!(file, "1e-3 1e-6 1e-9"))?;
    /// assert_eq!(std::fs::read_to_string(&path)?, "1e-3 1e-6 1e-9\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if `write` fails or the file cannot be written; the old file then stays as it was.
    pub fn write(self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        let name = self.name();
        let write_all = || match self.target()? {
            Target::File(replacement) => replacement.write(write),
            Target::Temporary(path) => File::create(path).and_then(|file| fill(file, write)).map(drop),
            Target::Stream(stream) => write_to_stream(stream, write),
        };
        write_all().map_err(|source| error(name, source))
    }

    fn target(self) -> io::Result<Target<'a>> {
        match self {
            Self::Path(path) => Target::of(path),
            Self::Temporary(path) => Ok(Target::Temporary(path)),
            Self::Stdout => Ok(Target::Stream(Stream::Stdout)),
            Self::Writer(writer) => Ok(Target::Stream(Stream::Writer(writer))),
        }
    }

    /// A temporary file without a name, in the folder of the output, or in that of the system for a stream.
    pub(crate) fn scratch(&self) -> Result<File> {
        let file = match self {
            Self::Path(path) | Self::Temporary(path) => tempfile::tempfile_in(folder_of(path)),
            Self::Stdout | Self::Writer(_) => tempfile::tempfile(),
        };
        file.map_err(|source| self.error(source))
    }

    pub(crate) fn error(&self, source: io::Error) -> Error {
        error(self.name(), source)
    }

    /// The name in errors.
    fn name(&self) -> &'a Path {
        match self {
            Self::Path(path) | Self::Temporary(path) => path,
            Self::Stdout => Path::new("<stdout>"),
            Self::Writer(_) => Path::new("<writer>"),
        }
    }
}

fn error(name: &Path, source: io::Error) -> Error {
    Error::Io { path: name.into(), source }
}

enum Target<'a> {
    File(Replacement),
    Temporary(&'a Path),
    Stream(Stream<'a>),
}

enum Stream<'a> {
    Path(&'a Path),
    Stdout,
    Writer(&'a mut dyn Write),
}

impl<'a> Target<'a> {
    fn of(path: &'a Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => {
                OpenOptions::new().write(true).open(path)?;
                Ok(Self::File(Replacement::new(fs::canonicalize(path)?, Some(found.permissions()))))
            }
            Ok(_) => Ok(Self::Stream(Stream::Path(path))),
            Err(_) => {
                let linked = fs::read_link(path).map(|link| folder_of(path).join(link));
                Ok(Self::File(Replacement::new(linked.unwrap_or_else(|_| path.into()), None)))
            }
        }
    }
}

/// Copies the output of `write` to a device, a pipe, standard output or a writer, once it is whole.
fn write_to_stream(
    stream: Stream<'_>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut draft = fill(tempfile::tempfile()?, write)?;
    draft.rewind()?;
    match stream {
        Stream::Path(path) => copy(&mut draft, &mut OpenOptions::new().write(true).open(path)?),
        Stream::Stdout => copy(&mut draft, &mut io::stdout().lock()),
        Stream::Writer(writer) => copy(&mut draft, writer),
    }
}

fn copy(draft: &mut File, stream: &mut (impl Write + ?Sized)) -> io::Result<()> {
    io::copy(draft, stream)?;
    stream.flush()
}

fn fill(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<File> {
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that is written whole or not at all.
struct Replacement {
    path: PathBuf,
    /// The permissions of the file that is replaced.
    permissions: Option<Permissions>,
}

impl Replacement {
    fn new(path: PathBuf, permissions: Option<Permissions>) -> Self {
        Self { path, permissions }
    }

    /// An empty temporary file in the same folder.
    fn draft(&self) -> io::Result<Draft> {
        Draft::new(folder_of(&self.path))
    }

    fn write(self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
        let draft = self.draft()?;
        let file = fill(draft.file().try_clone()?, write)?;
        if let Some(permissions) = self.permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        drop(file);
        draft.publish(&self.path)
    }
}

/// A temporary file before it gets its name.
enum Draft {
    #[cfg(target_os = "linux")]
    Unnamed(unnamed::File),
    Named(NamedTempFile),
}

impl Draft {
    fn new(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed::File::new(folder) {
            return Ok(Self::Unnamed(file));
        }
        let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        names().make_in(folder, create).map(Self::Named)
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file.file(),
            Self::Named(file) => file.as_file(),
        }
    }

    /// Gives the file its name, replacing another one.
    fn publish(self, path: &Path) -> io::Result<()> {
        let named = match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match file.link(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    names().make_in(folder_of(path), |name| file.link(name))?.into_temp_path()
                }
                linked => return linked,
            },
            Self::Named(file) => file.into_temp_path(),
        };
        named.persist(path).map_err(|error| error.error)
    }
}

/// The names of temporary files: `.nnz-….part`.
fn names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".nnz-").suffix(".part");
    names
}

#[cfg(target_os = "linux")]
mod unnamed {
    //! Files of Linux that have no name until they are linked.

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    /// The names of this process's open files.
    const OPEN_FILES: &str = "/proc/self/fd";

    /// A file that vanishes unless it is linked.
    pub(super) struct File(std::fs::File);

    impl File {
        /// A file on the file system of `folder`, if that supports such files.
        pub(super) fn new(folder: &Path) -> Option<Self> {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = open(folder, flags, Mode::from_raw_mode(0o666)).ok()?;
            Path::new(OPEN_FILES).exists().then(|| Self(file.into()))
        }

        pub(super) fn file(&self) -> &std::fs::File {
            &self.0
        }

        /// Gives the file a name that no other one has.
        pub(super) fn link(&self, path: &Path) -> io::Result<()> {
            let file = format!("{OPEN_FILES}/{}", self.0.as_raw_fd());
            Ok(linkat(CWD, file, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a folder, with their contents.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn file(name: &str, text: &str) -> (String, String) {
        (name.into(), text.into())
    }

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: &str, end: fn() -> io::Result<()>| {
            Output::from(&path).write(|out| {
                let before = files(folder.path());
                out.write_all(text.as_bytes())?;
                out.flush()?;
                if cfg!(target_os = "linux") {
                    assert_eq!(files(folder.path()), before, "what a killed process would leave");
                }
                end()
            })
        };
        let full = || Err(io::Error::other("the disk is full"));
        assert!(write("first", full).is_err());
        assert_eq!(files(folder.path()), []);
        write("first", || Ok(())).unwrap();
        assert_eq!(files(folder.path()), [file("a", "first")]);
        let error = write("second", full).unwrap_err();
        assert!(error.to_string().ends_with("a: the disk is full"), "{error}");
        assert_eq!(files(folder.path()), [file("a", "first")]);
        write("second", || Ok(())).unwrap();
        assert_eq!(files(folder.path()), [file("a", "second")]);
        Output::from(&path).check().unwrap();
        assert_eq!(files(folder.path()), [file("a", "second")]);
    }

    #[test]
    fn a_temporary_file_is_written_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "longer than the next").unwrap();
        Output::Temporary(&path).write(|out| out.write_all(b"next")).unwrap();
        assert_eq!(files(folder.path()), [file("a", "next")]);
        let error = Output::Temporary(folder.path()).write(|_| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with(&folder.path().display().to_string()), "{error}");
    }

    #[test]
    fn what_cannot_be_written_is_refused_early() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Output::from(folder.path()).check().is_err());
        assert!(Output::from(&folder.path().join("no/such/folder/a")).check().is_err());
        assert!(Output::Stdout.check().is_ok());
    }

    #[test]
    fn a_writer_gets_a_whole_file_or_nothing() {
        let mut bytes = b"before ".to_vec();
        Output::from(&mut bytes).write(|out| out.write_all(b"after")).unwrap();
        let full = |_: &mut _| Err(io::Error::other("the disk is full"));
        let error = Output::from(&mut bytes).write(full).unwrap_err();
        assert_eq!(error.to_string(), "<writer>: the disk is full");
        assert_eq!(bytes, b"before after");
        let mut short = &mut [0; 3][..];
        assert!(Output::from(&mut short).write(|out| out.write_all(b"after")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let [path, link, dangling] = ["a", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        symlink("b", &dangling).unwrap();
        for path in [&link, &dangling] {
            Output::from(path).write(|out| out.write_all(b"new")).unwrap();
        }
        let new = ["a", "b", "dangling", "link"].map(|name| file(name, "new"));
        assert_eq!(files(folder.path()), new);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::read_link(&link).is_ok() && fs::read_link(&dangling).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_are_renamed_where_none_are_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for text in ["first", "second"] {
            let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
            let draft = Draft::Named(names().make_in(folder.path(), create).unwrap());
            draft.file().write_all(text.as_bytes()).unwrap();
            draft.publish(&path).unwrap();
            assert_eq!(files(folder.path()), [file("a", text)]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_where_it_is() {
        Output::from("/dev/null").write(|out| out.write_all(b"new")).unwrap();
        let error = Output::from("/dev/full").write(|out| out.write_all(b"new")).unwrap_err();
        assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull));
    }
}
