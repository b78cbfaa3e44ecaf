//! Open files that clients on the same machine pass over a Unix socket, to be the body of a request or to have the
//! result: a memfd, or any other regular file.
//!
//! For each byte that comes with a descriptor the client has a line back with its id, 32 hexadecimal digits, which one
//! request names. A client has opened what it passes, so that it reaches nothing by the server that it could not reach
//! itself; and nobody guesses an id. A descriptor is closed after its request, or with the connection.
//!
//! Files are read and written, and not mapped, so that one that is cut short meanwhile is an error and no signal: it
//! needs no seals. Those that a program or the kernel makes as they are read are refused, since they may let a thread
//! wait for ever.

use crate::error::StartError;
use crate::lock::lock;
use crate::problem::Problem;
use crate::security::auth::to_hex;
use crate::upload::RESULT_DESCRIPTOR;
use rustix::cmsg_space;
#[cfg(target_os = "linux")]
use rustix::fs::fstatfs;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::collections::{HashMap, HashSet};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, IoSliceMut, Seek};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The header with the id of the descriptor that has the body of a request.
pub(crate) const BODY_DESCRIPTOR: &str = "nnz-body-descriptor";

/// Connections of clients that pass descriptors, of all and of each user of the machine.
const CONNECTIONS: usize = 256;
const CONNECTIONS_PER_USER: usize = 64;
/// Descriptors of a connection that no request has named yet.
const UNUSED_PER_CONNECTION: usize = 16;

/// The descriptors that were passed and that no request has named, by their ids, and the socket they come from.
#[derive(Debug)]
pub(crate) struct Descriptors {
    passed: Passed,
    socket: PathBuf,
    /// Ends with the value.
    _accepting: JoinSet<()>,
}

type Passed = Arc<Mutex<HashMap<String, File>>>;

/// The connections of each user, by the number of the user.
type Users = Arc<Mutex<HashMap<u32, usize>>>;

impl Descriptors {
    /// Listens on a socket of this path, to which all that may enter its folder may connect.
    pub(crate) fn listen(socket: &Path) -> Result<Self, StartError> {
        let listener = bind(socket).map_err(|error| StartError::file(socket, error))?;
        let passed = Passed::default();
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, passed.clone()));
        Ok(Self { passed, socket: socket.into(), _accepting: accepting })
    }

    /// The file of an id that the header `name` has, which no other request can have after that.
    fn take(&self, name: &str, id: &str) -> Result<File, Problem> {
        lock(&self.passed).remove(id).ok_or_else(|| {
            let detail = "the id of a descriptor that was passed, by a connection that is still open, and not used by \
                          another request, is needed";
            Problem::unprocessable(format!("{name}: {detail}"))
        })
    }

    /// The file with the body of a request.
    pub(crate) fn body(&self, id: &str) -> Result<File, Problem> {
        let mut file = self.take(BODY_DESCRIPTOR, id)?;
        file.rewind()?;
        Ok(file)
    }

    /// The file that is to have a result, emptied.
    pub(crate) fn result(&self, id: &str) -> Result<File, Problem> {
        let mut file = self.take(RESULT_DESCRIPTOR, id)?;
        let emptied = file.set_len(0).and_then(|()| file.rewind());
        emptied.map_err(|error| Problem::unprocessable(format!("{RESULT_DESCRIPTOR}: {error}")))?;
        Ok(file)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // The operator may have removed it.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Listens on a path, in place of a server that is gone.
fn bind(socket: &Path) -> io::Result<UnixListener> {
    let is_left_over = std::fs::symlink_metadata(socket).is_ok_and(|found| found.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(socket)
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
    if is_left_over {
        std::fs::remove_file(socket)?;
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, Permissions::from_mode(0o666))?;
    Ok(listener)
}

async fn accept(listener: UnixListener, passed: Passed) {
    let (permits, users) = (Arc::new(Semaphore::new(CONNECTIONS)), Users::default());
    while let Ok(permit) = permits.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some(user) = User::of(&stream, &users) else { continue };
                let connection = Connection { passed: passed.clone(), ids: HashSet::new() };
                tokio::spawn(async move {
                    if let Err(error) = connection.receive(stream).await {
                        tracing::debug!("descriptors: {error}");
                    }
                    drop((permit, user));
                });
            }
            Err(error) => {
                tracing::warn!("accepting a connection for descriptors: {error}");
                // Of too many open files there are fewer after a while.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The user of a connection, which counts as one of theirs until this is dropped.
struct User {
    id: u32,
    users: Users,
}

impl User {
    /// The user of the process that has connected; none if there are as many connections as one may have.
    fn of(stream: &UnixStream, users: &Users) -> Option<Self> {
        let id = stream.peer_cred().ok()?.uid();
        let mut all = lock(users);
        let count = all.entry(id).or_default();
        if *count == CONNECTIONS_PER_USER {
            tracing::warn!("the user {id} has {count} connections for descriptors: one more is closed");
            return None;
        }
        *count += 1;
        Some(Self { id, users: users.clone() })
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let mut all = lock(&self.users);
        if let Some(count) = all.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.id);
            }
        }
    }
}

/// A connection by which descriptors come.
struct Connection {
    passed: Passed,
    /// Those of its descriptors, some of which requests have used.
    ids: HashSet<String>,
}

impl Connection {
    /// Answers each byte that comes with a descriptor by an id, or by what is wrong.
    async fn receive(mut self, mut stream: UnixStream) -> io::Result<()> {
        while let Some(descriptor) = next(&stream).await? {
            let line = match self.add(descriptor) {
                Ok(id) => format!("{id}\n"),
                Err(reason) => format!("error: {reason}\n"),
            };
            stream.write_all(line.as_bytes()).await?;
        }
        Ok(())
    }

    fn add(&mut self, descriptor: Option<OwnedFd>) -> Result<String, String> {
        let file = File::from(descriptor.ok_or("a byte with one descriptor is needed")?);
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        if !is_file || !is_readable(&file) || is_made_when_read(&file) {
            return Err("a memfd or a regular file that is open for reading is needed".into());
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| error.to_string())?;
        let id = to_hex(&random);
        let mut passed = lock(&self.passed);
        self.ids.retain(|id| passed.contains_key(id));
        if self.ids.len() == UNUSED_PER_CONNECTION {
            return Err(format!(
                "{UNUSED_PER_CONNECTION} descriptors of this connection wait for their requests"
            ));
        }
        passed.insert(id.clone(), file);
        self.ids.insert(id.clone());
        Ok(id)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut passed = lock(&self.passed);
        self.ids.iter().for_each(|id| drop(passed.remove(id)));
    }
}

fn is_readable(file: &File) -> bool {
    fcntl_getfl(file).is_ok_and(|flags| (flags & OFlags::RWMODE) != OFlags::WRONLY)
}

/// True for a file of a filesystem of a user's program, or of the kernel's state.
#[cfg(target_os = "linux")]
fn is_made_when_read(file: &File) -> bool {
    // FUSE, proc, sysfs, tracefs and debugfs.
    let kinds = [0x6573_5546, 0x9fa0, 0x6265_6572, 0x7472_6163, 0x6462_6720];
    fstatfs(file).is_ok_and(|system| kinds.contains(&system.f_type))
}

#[cfg(not(target_os = "linux"))]
fn is_made_when_read(_: &File) -> bool {
    false
}

/// The next byte, with the descriptor if exactly one comes with it; none at the end of the connection.
async fn next(stream: &UnixStream) -> io::Result<Option<Option<OwnedFd>>> {
    let (bytes, mut opened) = stream.async_io(Interest::READABLE, || receive(stream)).await?;
    let only = if opened.len() == 1 { opened.pop() } else { None };
    Ok((bytes > 0).then_some(only))
}

/// Receives a byte and the descriptors that come with it, which no child process inherits: on Linux none that is
/// started at the same time, either.
fn receive(stream: &UnixStream) -> io::Result<(usize, Vec<OwnedFd>)> {
    // Space for two, so that one too many is seen, and closed.
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let received = recvmsg(stream, &mut [IoSliceMut::new(&mut [0])], &mut control, flags)?;
    let mut opened = vec![];
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            opened.extend(descriptors);
        }
    }
    #[cfg(not(target_os = "linux"))]
    for descriptor in &opened {
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((received.bytes, opened))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{FdFlags, fcntl_getfd};
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::io::IoSlice;
    use std::os::fd::AsFd;

    #[tokio::test]
    async fn one_descriptor_comes_with_a_byte_and_is_closed_in_child_processes() {
        let (client, server) = UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        for count in [1, 0, 2, 3] {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let descriptors = vec![file.as_fd(); count];
            if count > 0 {
                assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
            }
            sendmsg(&client, &[IoSlice::new(b"f")], &mut control, SendFlags::empty()).unwrap();
            let received = next(&server).await.unwrap().expect("a byte");
            assert_eq!(received.is_some(), count == 1, "{count} descriptors");
            if let Some(received) = received {
                assert!(fcntl_getfd(&received).unwrap().contains(FdFlags::CLOEXEC));
            }
        }
        drop(client);
        assert!(next(&server).await.unwrap().is_none());
    }
}
