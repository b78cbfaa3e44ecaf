//! The server of a scenario, in a process of its own.

use crate::common::{Client, Response, process_id};
use crate::{DATA, NAME, is_full};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A server in a process of its own.
pub(crate) struct Server {
    name: &'static str,
    pub(crate) address: SocketAddr,
    child: Child,
    data: tempfile::TempDir,
    /// What was required of it and not met.
    misses: Mutex<Vec<String>>,
}

impl Server {
    pub(crate) fn start(name: &'static str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let errors = std::fs::File::create(data.path().join("errors")).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs([(DATA, data.path().as_os_str()), (NAME, name.as_ref())])
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self {
            name,
            address: line.trim().parse().expect("the server starts"),
            child,
            data,
            misses: Mutex::default(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub(crate) fn send(&self, request: &str, headers: &[&str], body: &[u8]) -> Response {
        self.client().send(request, headers, body).expect("an answer")
    }

    pub(crate) fn say(&self, figures: impl std::fmt::Display) {
        println!("{:<9} {figures}", self.name);
    }

    /// Requires a figure of a run of the full length, on a machine that does nothing else. All that are not met make the
    /// program fail at its end.
    pub(crate) fn require(&self, what: &str, is_met: bool) {
        if is_full() && !is_met {
            self.say(format_args!("NOT MET: {what}"));
            self.misses.lock().unwrap().push(format!("{}: {what}", self.name));
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
        self.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"].as_u64().unwrap()
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

    /// Files and connections that the process which faces clients has open.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
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
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
    }

    /// Stops the server, which must succeed without a panic of any thread. Returns what was required and not met.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.terminate();
        let status = self.child.wait().unwrap();
        let errors = std::fs::read_to_string(self.data.path().join("errors")).unwrap();
        if errors.contains("panicked") {
            println!("{errors}");
        }
        assert!(status.success() && !errors.contains("panicked"), "{}: the server ends well", self.name);
        std::mem::take(&mut self.misses.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, unless a scenario failed.
        let _ = self.child.kill();
    }
}

fn resident_bytes_of(process: u64) -> Option<u64> {
    let pages = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    Some(pages.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

#[track_caller]
pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
