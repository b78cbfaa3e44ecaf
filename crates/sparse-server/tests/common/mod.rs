//! A server in this process, and a client of a few lines.

use sparse_server::{Compute, Config, Server, WorkerCommand};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A server that stops when it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a server, in the tests of `worker` with a worker process.
    pub(crate) fn start(config: Config) -> Self {
        match module_path!().starts_with("worker::") {
            true => Self::start_with(config, worker().into()),
            false => Self::start_with(config, nnz::Device::host_with_threads(1).unwrap().into()),
        }
    }

    pub(crate) fn start_with(config: Config, compute: Compute) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (tell, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let server = Server::start(config, compute).await.unwrap();
                tell.send(server.address().unwrap()).unwrap();
                let stop = async { stopped.await.unwrap_or(()) };
                server.run(stop).await.unwrap();
            });
        });
        Self { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn send(&self, request: &str, headers: &[&str], body: &[u8]) -> Response {
        send(self.address, request, headers, body)
    }

    /// Asks the server to stop, without waiting for it.
    pub(crate) fn stop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The variable that makes a process of this program a worker.
pub(crate) const IS_WORKER: &str = "NNZ_TEST_IS_WORKER";

/// This program as a worker: by the test that is one, in a process that runs no other.
pub(crate) fn worker() -> WorkerCommand {
    let program = std::env::current_exe().unwrap();
    WorkerCommand::new(move || {
        let mut command = std::process::Command::new(&program);
        command.args(["a_worker_without_a_front_end_ends", "--exact", "--nocapture"]).env(IS_WORKER, "1");
        command
    })
}

/// The process that holds the matrices of a server, or of its first device.
pub(crate) fn process_id(address: SocketAddr) -> u64 {
    process_of(address, 0).unwrap()
}

/// The process that holds the matrices of a device; none while the next one starts.
pub(crate) fn process_of(address: SocketAddr, device: usize) -> Option<u64> {
    let answer = send(address, "GET /v1/status", &[], &[]);
    let status = (answer.status == 200).then(|| answer.json())?;
    status["devices"].get(device).unwrap_or(&status)["process"]["id"].as_u64()
}

/// Kills a process, which learns nothing of it.
pub(crate) fn kill(process_id: u64) {
    let killed = std::process::Command::new("kill").args(["-KILL", &process_id.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// Waits until another worker of a device answers than this one, which was killed and may have a request still.
pub(crate) fn await_next_worker(address: SocketAddr, device: usize, killed: u64) {
    let began = std::time::Instant::now();
    while process_of(address, device).is_none_or(|process| process == killed) {
        assert!(began.elapsed().as_secs() < 60, "the next worker answers");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The entity tag.
    pub(crate) fn tag(&self) -> &str {
        self.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The values of an `.npy` body.
    pub(crate) fn array(&self) -> Vec<f64> {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        nnz::io::npy::parse(&self.body).unwrap().values.into_typed().unwrap()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}{}", self.head, String::from_utf8_lossy(&self.body));
        self
    }
}

/// Sends a request such as `PUT /v1/matrices/a` on a connection of its own.
pub(crate) fn send(address: SocketAddr, request: &str, headers: &[&str], body: &[u8]) -> Response {
    try_send(address, request, headers, body).expect("an answer")
}

/// As [`send`]; nothing if the server is gone.
pub(crate) fn try_send(
    address: SocketAddr,
    request: &str,
    headers: &[&str],
    body: &[u8],
) -> Option<Response> {
    let mut stream = TcpStream::connect(address).ok()?;
    let mut head = format!("{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    if !headers.iter().any(|header| header.starts_with("Content-Length") || header.starts_with("Transfer")) {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    headers.iter().for_each(|header| head += &format!("{header}\r\n"));
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    // A server that refuses the header need not read the body.
    let _ = stream.write_all(body);
    read(&mut stream)
}

/// Reads an answer to the end of the connection; nothing if there is none.
pub(crate) fn read(stream: &mut impl Read) -> Option<Response> {
    let mut bytes = vec![];
    // A connection that breaks behind a whole answer is as good as one that ends.
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Response { status, head, body: bytes[end + 4..].to_vec() })
}

/// A stream of bytes in both directions.
pub(crate) trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

type Connect = fn(SocketAddr) -> io::Result<Box<dyn Stream>>;

/// A connection on which one request follows the other.
pub(crate) struct Client {
    address: SocketAddr,
    connect: Connect,
    stream: Option<Box<dyn Stream>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let connect: Connect = |address| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        };
        Self::by(address, connect)
    }

    /// A client whose streams are made by `connect`.
    pub(crate) fn by(address: SocketAddr, connect: Connect) -> Self {
        Self { address, connect, stream: None }
    }

    /// As [`send`]; an error if the server is gone or closes the connection without an answer.
    pub(crate) fn send(&mut self, request: &str, headers: &[&str], body: &[u8]) -> io::Result<Response> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => (self.connect)(self.address)?,
        };
        let (address, length) = (self.address, body.len());
        let mut head = format!("{request} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n");
        headers.iter().for_each(|header| head += &format!("{header}\r\n"));
        let mut message = format!("{head}\r\n").into_bytes();
        let first = body.len().min(1 << 16);
        message.extend_from_slice(&body[..first]);
        // A server that refuses the header need not read the body.
        let sent = stream.write_all(&message).and_then(|()| stream.write_all(&body[first..]));
        let response = read_one(&mut *stream)?;
        if sent.is_ok() && !response.head.contains("connection: close") {
            self.stream = Some(stream);
        }
        Ok(response)
    }
}

/// Reads an answer of known length.
fn read_one(stream: &mut dyn Stream) -> io::Result<Response> {
    let (mut bytes, mut buffer) = (vec![], vec![0; 1 << 16]);
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut buffer)? {
            0 => return Err(broken()),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    };
    let mut body = bytes.split_off(end + 4);
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let received = body.len();
    body.resize(length, 0);
    if received < length {
        stream.read_exact(&mut body[received..])?;
    }
    Ok(Response { status, head, body })
}

pub(crate) const NPY: &str = "Content-Type: application/x-npy";
pub(crate) const NPZ: &str = "Content-Type: application/x-npz";
pub(crate) const MTX: &str = "Content-Type: text/x-matrix-market";

/// An `.npy` body of doubles.
pub(crate) fn npy(shape: &[usize], values: &[f64]) -> Vec<u8> {
    let mut body = nnz::io::npy::header::<f64>(shape, nnz::Order::RowMajor).unwrap();
    values.iter().for_each(|value| body.extend(value.to_ne_bytes()));
    body
}

/// A Matrix Market body.
pub(crate) fn mtx(rows: usize, cols: usize, entries: &[(usize, usize, f64)]) -> Vec<u8> {
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n{rows} {cols} {}\n", entries.len());
    entries.iter().for_each(|(row, col, value)| text += &format!("{} {} {value}\n", row + 1, col + 1));
    text.into_bytes()
}
