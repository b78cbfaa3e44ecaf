//! A backend in a process of its own: a crash or a hang is a failure of the running case, and the cases after it run in
//! another process.
//!
//! The child runs the table with a [`Reporter`] as its listener; the parent's [`Supervisor`] starts it, and restarts it
//! after a case that crashed it.

use crate::case::Tier;
use crate::report::{Listener, Record, Status};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::panic::resume_unwind;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A message from the child to the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    /// The backend is not there, for this reason.
    Missing(String),
    /// The name of the device that the backend runs on, and the tier.
    Opened(String, Tier),
    /// The number of cases that will run.
    Begun(usize),
    /// A case starts, in these types.
    Started(String, String),
    /// An algorithm ended.
    Finished(Record),
    /// Nothing is left to do.
    Ended,
}

/// The child's side: writes one line of JSON for every event.
///
/// The process exits if its parent has closed the pipe.
#[derive(Debug)]
pub struct Reporter<W>(W);

impl<W: Write> Reporter<W> {
    /// Reports to `out`, which is the child's standard output.
    pub fn new(out: W) -> Self {
        Self(out)
    }

    /// Reports that the backend is not available, so that nothing will run.
    pub fn missing(&mut self, reason: &str) {
        self.send(&Event::Missing(reason.into()));
    }

    /// Reports that everything has run: a child that ends without this has crashed.
    pub fn ended(&mut self) {
        self.send(&Event::Ended);
    }

    /// Begins with a line break, which ends a line that a driver may have begun to print.
    fn send(&mut self, event: &Event) {
        let line = serde_json::to_string(event).map_err(io::Error::from);
        let sent = line.and_then(|line| self.0.write_all(format!("\n{line}\n").as_bytes()));
        if sent.and_then(|()| self.0.flush()).is_err() {
            std::process::exit(1);
        }
    }
}

impl<W: Write> Listener for Reporter<W> {
    fn opened(&mut self, device: &str, tier: Tier) {
        self.send(&Event::Opened(device.into(), tier));
    }

    fn begun(&mut self, cases: usize) {
        self.send(&Event::Begun(cases));
    }

    fn started(&mut self, name: &str, types: &str) {
        self.send(&Event::Started(name.into(), types.into()));
    }

    fn finished(&mut self, record: Record) {
        self.send(&Event::Finished(record));
    }
}

/// Hangs of a backend after which its remaining cases are skipped.
const MAX_HANGS: usize = 3;

/// The parent's side: runs children until every case has run, those of all parts of the table at once.
pub struct Supervisor<'a> {
    /// The backend.
    pub backend: &'a str,
    /// The number of parts of the table.
    pub parts: usize,
    /// Makes the command of a child from `(part, skipped)`: it runs part number `part` of the table without its first
    /// `skipped` cases.
    pub command: &'a (dyn Fn(usize, usize) -> Command + Sync),
    /// The longest time without an event after which a child counts as hanging.
    pub limit: Duration,
}

/// The end of a supervised run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The listener got every case.
    Done,
    /// The backend is not there, for this reason.
    Missing(String),
}

impl Supervisor<'_> {
    /// Runs all parts; `listener` gets the start of each part, and a crash as a failure of the running case.
    ///
    /// # Errors
    /// The operating system's, if a child cannot be started or ended.
    pub fn run(&self, listener: &mut (dyn Listener + Send)) -> io::Result<Ending> {
        let listener = Mutex::new(listener);
        let run = |part| self.run_part(part, &mut Shared(&listener));
        let endings: Vec<_> = thread::scope(|scope| {
            let parts: Vec<_> = (0..self.parts).map(|part| scope.spawn(move || run(part))).collect();
            parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let missing = |ending: &Ending| matches!(ending, Ending::Missing(_));
        let endings = endings.into_iter().collect::<io::Result<Vec<_>>>()?;
        Ok(endings.into_iter().find(missing).unwrap_or(Ending::Done))
    }

    fn run_part(&self, part: usize, listener: &mut dyn Listener) -> io::Result<Ending> {
        let mut progress = Progress::default();
        loop {
            let before = progress.started;
            match self.child(part, &mut progress, listener)? {
                Death::Natural => return Ok(Ending::Done),
                Death::Missing(reason) => return Ok(Ending::Missing(reason)),
                Death::Failure(reason) => listener.finished(progress.failure(self.backend, reason)),
            }
            if progress.started == before || progress.ended || progress.hangs == MAX_HANGS {
                return Ok(Ending::Done);
            }
        }
    }

    /// Reads a child's events until it ends.
    fn child(&self, part: usize, progress: &mut Progress, listener: &mut dyn Listener) -> io::Result<Death> {
        progress.running = (BEGIN.into(), String::new());
        let mut child = (self.command)(part, progress.started).stdout(Stdio::piped()).spawn()?;
        let events = events(child.stdout.take());
        let mut missing = None;
        let silence = loop {
            match events.recv_timeout(self.limit) {
                Ok(Event::Missing(reason)) => missing = Some(reason),
                Ok(event) => progress.hear(event, listener),
                Err(silence) => break silence,
            }
        };
        if silence == RecvTimeoutError::Timeout {
            child.kill()?;
        }
        let status = child.wait()?;
        Ok(match missing {
            _ if silence == RecvTimeoutError::Timeout => Death::Failure(progress.hang(self.limit)),
            Some(reason) => Death::Missing(reason),
            None if progress.ended && status.success() => Death::Natural,
            None => Death::Failure(format!("the backend's process died here: {status}")),
        })
    }
}

/// A listener of several parts.
struct Shared<'a, 'b>(&'a Mutex<&'b mut (dyn Listener + Send)>);

impl<'b> Shared<'_, 'b> {
    fn listener(&self) -> MutexGuard<'_, &'b mut (dyn Listener + Send)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Shared<'_, '_> {
    fn opened(&mut self, device: &str, tier: Tier) {
        self.listener().opened(device, tier);
    }

    fn begun(&mut self, cases: usize) {
        self.listener().begun(cases);
    }

    fn started(&mut self, name: &str, types: &str) {
        self.listener().started(name, types);
    }

    fn finished(&mut self, record: Record) {
        self.listener().finished(record);
    }
}

/// The end of a child.
enum Death {
    Natural,
    Missing(String),
    Failure(String),
}

/// The name of the time before the first case and after the last one.
const BEGIN: &str = "probe/p1_backend_is_there";
const END: &str = "probe/p1_backend_ends";

/// The progress of the children.
#[derive(Default)]
struct Progress {
    /// The number of cases started, by all of them.
    started: usize,
    hangs: usize,
    ended: bool,
    /// The running case, and its types.
    running: (String, String),
}

impl Progress {
    fn hear(&mut self, event: Event, listener: &mut dyn Listener) {
        match event {
            Event::Opened(device, tier) => listener.opened(&device, tier),
            Event::Begun(cases) if self.started == 0 => listener.begun(cases),
            Event::Begun(_) | Event::Missing(_) => {}
            Event::Started(name, types) => {
                listener.started(&name, &types);
                self.started += 1;
                self.running = (name, types);
            }
            Event::Finished(record) => listener.finished(record),
            Event::Ended => {
                self.ended = true;
                self.running = (END.into(), String::new());
            }
        }
    }

    fn hang(&mut self, limit: Duration) -> String {
        self.hangs += 1;
        let rest = if self.hangs == MAX_HANGS { ", and the cases behind it are given up" } else { "" };
        format!("no answer within {} s: the backend's process was ended{rest}", limit.as_secs_f64())
    }

    fn failure(&self, backend: &str, reason: String) -> Record {
        let (name, types) = &self.running;
        let (op, case) = name.rsplit_once('/').unwrap_or(("", name));
        let record = Record::probe(backend, case, Status::Fail, &reason);
        Record { op: op.into(), types: types.clone(), ..record }
    }
}

/// The events of a child as they come. Other lines are a driver's.
fn events(out: Option<ChildStdout>) -> Receiver<Event> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let lines = out.into_iter().flat_map(|out| BufReader::new(out).split(b'\n').map_while(Result::ok));
        for event in lines.filter_map(|line| serde_json::from_slice(&line).ok()) {
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    receiver
}
