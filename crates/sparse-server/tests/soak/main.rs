//! A server under load, with little memory, wrong bodies and slow clients, and one that is killed. Prints figures.
//!
//! The program starts itself as the server of each scenario, and stops it. Without `NNZ_SOAK=full`, which
//! `cargo xtask soak --full` sets, it takes some seconds and asserts what does not depend on the machine's speed.
//! Arguments are names of scenarios. `NNZ_SOAK_WORKERS` is the number of devices of servers with worker processes, and
//! `NNZ_SOAK_BACKEND` their backend, `cpu` by default; `NNZ_KILL_CYCLES` sets how often a process is killed.

#![allow(clippy::print_stdout, reason = "it prints figures, and the parent reads the address")]

mod churn;
mod client;
#[allow(dead_code, reason = "each test file uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod kill;
mod load;
mod mutation;
mod rates;
mod service;
#[allow(dead_code, reason = "each test file uses a part")]
#[path = "../common/tls.rs"]
mod tls;
mod zipf;

use common::IS_WORKER;
use service::{Outcome, Server};
use sparse_server::{
    Compute, Config, StartError, TlsFiles, WorkerCommand, serve_as_worker, serve_until_stopped,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// That of `nnz`.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: recycler::Recycler = recycler::Recycler;

/// A way to ask much of a server.
struct Scenario {
    name: &'static str,
    configure: fn(&mut Config),
    run: Run,
}

/// The work of a scenario, which returns what was required.
enum Run {
    /// On a server that is started for it, and stopped.
    OnServer(fn(&mut Server)),
    /// On servers that it starts.
    OnServers(fn() -> Vec<Outcome>),
}

impl Scenario {
    fn run(&self) -> Vec<Outcome> {
        match self.run {
            Run::OnServers(run) => run(),
            Run::OnServer(run) => {
                let mut server = Server::start(self.name);
                run(&mut server);
                server.end()
            }
        }
    }
}

const SCENARIOS: &[Scenario] = &[
    on_server("latency", |config| set_memory(config, 1 << 30), rates::latency),
    on_server("merging", |config| set_memory(config, 1 << 30), rates::merging),
    on_server("transfer", |config| set_memory(config, 16 << 30), rates::transfer),
    on_server("overload", |config| (config.limits.workers, config.limits.queue) = (2, 2), load::overload),
    on_server("zipf", |config| set_memory(config, zipf::budget()), zipf::zipf),
    on_server("host-tier", zipf::with_host_tier, zipf::zipf),
    on_server("mutation", |_| (), mutation::mutation),
    on_server("trickle", |_| (), load::trickle),
    on_server(TRICKLE_TLS, set_tls, load::trickle),
    on_server("paused", |_| (), load::paused),
    on_server("stop", |config| config.limits.drain_time = Duration::from_secs(120), load::stop),
    on_server("churn", |config| set_memory(config, 16 << 20), churn::churn),
    Scenario {
        name: "kill",
        configure: |config| set_memory(config, 1 << 20),
        run: Run::OnServers(kill::nothing_acknowledged_is_lost),
    },
];

const fn on_server(name: &'static str, configure: fn(&mut Config), run: fn(&mut Server)) -> Scenario {
    Scenario { name, configure, run: Run::OnServer(run) }
}

fn set_memory(config: &mut Config, bytes: u64) {
    config.memory = bytes;
}

/// The scenario whose server and clients talk TLS.
const TRICKLE_TLS: &str = "trickle-tls";

fn set_tls(config: &mut Config) {
    let (certificate, key) = (tls::file("server.pem"), tls::file("server.key"));
    config.tls = Some(TlsFiles { certificate, key, client_authorities: None });
}

/// Bytes of memory that a server has unless its scenario says otherwise.
const BUDGET: u64 = 64 << 20;

/// Name the folder and the scenario of the server, in the environment of the child.
const DATA: &str = "NNZ_SOAK_TEST_DATA";
const NAME: &str = "NNZ_SOAK_TEST_NAME";
/// Gives the servers so many devices, each with a worker process.
const WORKERS: &str = "NNZ_SOAK_WORKERS";
/// Names the backend of the devices.
const BACKEND: &str = "NNZ_SOAK_BACKEND";

fn main() {
    if let Ok(index) = std::env::var(IS_WORKER) {
        return serve_as_worker(|| device(&index)).unwrap();
    }
    if let Some(data) = std::env::var_os(DATA) {
        return serve(Path::new(&data), &std::env::var(NAME).unwrap());
    }
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let mut outcomes = vec![];
    for scenario in SCENARIOS {
        if wanted.is_empty() || wanted.iter().any(|name| scenario.name.contains(&**name)) {
            // The others go on where one fails.
            let run = catch_unwind(AssertUnwindSafe(|| scenario.run()));
            let failed =
                || Outcome { scenario: scenario.name, what: "ends without a panic".into(), is_met: false };
            outcomes.extend(run.unwrap_or_else(|_| vec![failed()]));
        }
    }
    for Outcome { scenario, what, is_met } in &outcomes {
        println!("{:<7} {scenario:<11} {what}", if *is_met { "met" } else { "NOT MET" });
    }
    assert!(outcomes.iter().all(|outcome| outcome.is_met), "not all that is required was met");
}

/// The number of devices of servers with worker processes.
fn workers() -> Option<usize> {
    std::env::var(WORKERS).ok().map(|count| count.parse().expect("a number of devices"))
}

/// `full` for `cargo xtask soak --full`, else `short`.
fn size<T>(short: T, full: T) -> T {
    if is_full() { full } else { short }
}

fn is_full() -> bool {
    std::env::var_os("NNZ_SOAK").is_some_and(|size| size == "full")
}

/// True if the devices are the host, which is one, whatever the index.
fn is_cpu() -> bool {
    std::env::var(BACKEND).map_or(true, |backend| backend == "cpu")
}

/// The device of an index.
fn device(index: &str) -> nnz::Result<nnz::Device> {
    if is_cpu() {
        return "cpu".parse();
    }
    format!("{}:{index}", std::env::var(BACKEND).unwrap_or_default()).parse()
}

fn serve(data: &Path, name: &str) {
    let mut config = Config::new(data, BUDGET);
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
    (scenario.configure)(&mut config);
    let worker = |index: usize| {
        WorkerCommand::new(move || {
            let mut worker = Command::new(std::env::current_exe().unwrap());
            worker.env(IS_WORKER, index.to_string());
            worker
        })
    };
    let compute = match workers() {
        None => Compute::Here(device("0").unwrap()),
        Some(count) => (0..count).map(worker).collect::<Vec<_>>().into(),
    };
    serve_until_stopped(config, || Ok::<_, StartError>(compute), |address| println!("{address}")).unwrap();
}
