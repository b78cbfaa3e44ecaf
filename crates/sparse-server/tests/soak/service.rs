//! The server of a scenario, in a process of its own, and what was required of it.

use crate::common::{Client, Response, Stream, process_id};
use crate::{DATA, NAME, TRICKLE_TLS, WORKERS, is_full, tls};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A requirement, and whether a run met it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: &'static str,
    pub(crate) what: String,
    pub(crate) is_met: bool,
}

/// A process of this program that serves by the configuration of a scenario.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server with so many worker processes; without a number its matrices are in its own.
    pub(crate) fn start(scenario: &str, data: &Path, workers: Option<usize>) -> Self {
        let errors = std::fs::File::options().create(true).append(true).open(errors_in(data)).unwrap();
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.env_remove(WORKERS).envs(workers.map(|count| (WORKERS, count.to_string())));
        program.envs([(DATA, data.as_os_str()), (NAME, scenario.as_ref())]);
        let mut child = program.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, address: line.trim().parse().expect("the server starts") }
    }

    pub(crate) fn id(&self) -> u64 {
        self.child.id().into()
    }

    pub(crate) fn terminate(&self) {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already, unless a scenario failed.
        let _ = self.child.kill();
    }
}

/// The file of what servers with a folder of data wrote to stderr.
fn errors_in(data: &Path) -> PathBuf {
    data.join("errors")
}

/// The server of a scenario.
pub(crate) struct Server {
    name: &'static str,
    pub(crate) address: SocketAddr,
    process: Process,
    data: tempfile::TempDir,
    outcomes: Mutex<Vec<Outcome>>,
}

impl Server {
    pub(crate) fn start(name: &'static str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let process = Process::start(name, data.path(), crate::workers());
        Self { name, address: process.address, process, data, outcomes: Mutex::default() }
    }

    pub(crate) fn client(&self) -> Client {
        if self.has_tls() {
            return Client::by(self.address, |address| Ok(Box::new(tls::connect(address, None))));
        }
        Client::new(self.address)
    }

    fn has_tls(&self) -> bool {
        self.name == TRICKLE_TLS
    }

    /// A connection of a client that sends no request of its own accord.
    pub(crate) fn connect(&self) -> Box<dyn Stream> {
        if self.has_tls() {
            return Box::new(tls::connect(self.address, None));
        }
        Box::new(TcpStream::connect(self.address).unwrap())
    }

    pub(crate) fn send(&self, request: &str, headers: &[&str], body: &[u8]) -> Response {
        self.client().send(request, headers, body).expect("an answer")
    }

    pub(crate) fn say(&self, figures: impl std::fmt::Display) {
        println!("{:<11} {figures}", self.name);
    }

    /// Requires a figure of a run of the full length, on a machine that does nothing else. One that is not met makes
    /// the program fail at its end.
    pub(crate) fn require(&self, what: &str, is_met: bool) {
        if is_full() {
            let outcome = Outcome { scenario: self.name, what: what.into(), is_met };
            self.outcomes.lock().unwrap().push(outcome);
        }
    }

    /// The folder of data.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// The numbers of operations that run and wait.
    pub(crate) fn operations(&self) -> u64 {
        let status = self.send("GET /v1/status", &[], &[]).json();
        ["running", "waiting"].iter().map(|name| status["operations"][name].as_u64().unwrap()).sum()
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.status("memory", "used_bytes")
    }

    /// A number of the status, the sum of those of the devices.
    pub(crate) fn status(&self, part: &str, name: &str) -> u64 {
        self.send("GET /v1/status", &[], &[]).json()[part][name].as_u64().unwrap()
    }

    /// The bytes that are allocated on the devices, where their library counts them.
    pub(crate) fn driver_used_bytes(&self) -> Option<u64> {
        self.send("GET /v1/status", &[], &[]).json()["memory"]["driver_used_bytes"].as_u64()
    }

    /// A number of the metrics, the sum of those of the devices.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let metrics = self.send("GET /metrics", &[], &[]);
        let samples = metrics.text().lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
        let of_devices = samples.filter(|(labels, _)| labels.is_empty() || labels.starts_with("{device="));
        of_devices.map(|(_, number)| number.parse::<f64>().unwrap()).sum()
    }

    /// Bytes of memory of the process that has the matrices; none without `/proc`.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        resident_bytes_of(process_id(self.address))
    }

    /// Processor time of the process that faces clients and, where that is another, of the one that has the matrices.
    pub(crate) fn processor_time(&self) -> Duration {
        let (front_end, device) = (self.process.id(), process_id(self.address));
        let worker =
            if front_end == device { Duration::ZERO } else { processor_time_of(&device.to_string()) };
        processor_time_of(&front_end.to_string()) + worker
    }

    /// Files and connections that the process which faces clients has open.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// The most bytes of memory that the process with the matrices has during `work`, and its result.
    pub(crate) fn peak_bytes<T>(&self, work: impl FnOnce() -> T) -> (Option<u64>, T) {
        let (process, is_done) = (process_id(self.address), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let peak = scope.spawn(|| {
                let mut peak = resident_bytes_of(process);
                while !is_done.load(Ordering::Relaxed) {
                    peak = peak.max(resident_bytes_of(process));
                    std::thread::sleep(Duration::from_millis(20));
                }
                peak
            });
            let done = work();
            is_done.store(true, Ordering::Relaxed);
            (peak.join().unwrap(), done)
        })
    }

    pub(crate) fn terminate(&self) {
        self.process.terminate();
    }

    /// Stops the server, which must succeed without a panic of any thread. Returns what was required.
    pub(crate) fn end(mut self) -> Vec<Outcome> {
        self.terminate();
        let status = self.process.wait();
        let errors = std::fs::read_to_string(errors_in(self.data.path())).unwrap();
        if errors.contains("panicked") {
            println!("{errors}");
        }
        assert!(status.success() && !errors.contains("panicked"), "{}: the server ends well", self.name);
        std::mem::take(&mut self.outcomes.lock().unwrap())
    }
}

/// Bytes of memory of a process, without the pages of its program and libraries as they are in their files: these come
/// as code first runs. Pages of other files, such as a body that is mapped, count.
fn resident_bytes_of(process: u64) -> Option<u64> {
    let program = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let mappings = std::fs::read_to_string(format!("/proc/{process}/smaps")).ok()?;
    let (mut is_code, mut kilobytes) = (false, 0);
    for line in mappings.lines() {
        match line.split_once(':') {
            // A field of a mapping: `Rss:    12 kB`.
            Some((field, value)) if !field.contains(' ') => {
                // What was written of a program's data is no longer a page of its file.
                if field == if is_code { "Anonymous" } else { "Rss" } {
                    kilobytes += value.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
                }
            }
            // The start of one: addresses, permissions, offset, device, inode, and the name of a file.
            _ => {
                let name = Path::new(line.splitn(6, ' ').nth(5).unwrap_or_default().trim());
                is_code = name == program || is_library(name);
            }
        }
    }
    Some(kilobytes << 10)
}

/// Processor time of a process, `self` for this one; none without `/proc`.
pub(crate) fn processor_time_of(process: &str) -> Duration {
    /// As `/proc` counts, whatever the kernel's own.
    const TICKS_PER_SECOND: u64 = 100;
    let statistics = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name of the program, which may have spaces, the 12th and 13th: in its own code, and in the kernel's.
    let fields = statistics.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(1000 * ticks / TICKS_PER_SECOND)
}

/// True for `libc.so.6` and the like.
fn is_library(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.split('.').skip(1).any(|part| part == "so"))
}

#[track_caller]
pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
