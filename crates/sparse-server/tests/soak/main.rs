//! A server under load, with little memory, wrong bodies and slow clients. Prints figures.
//!
//! The program starts itself as the server of each scenario, and stops it. Without `NNZ_SOAK=full`, which
//! `cargo xtask soak` sets, it takes some seconds and asserts what does not depend on the machine's speed. Arguments are
//! names of scenarios. `NNZ_SOAK_WORKERS` is the number of devices of servers with worker processes, and
//! `NNZ_SOAK_BACKEND` their backend, `cpu` by default.

#![allow(clippy::print_stdout, reason = "it prints figures, and the parent reads the address")]

mod churn;
mod client;
#[allow(dead_code, reason = "each test file uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod load;
mod mutation;
mod rates;
mod service;
mod zipf;

use common::IS_WORKER;
use service::Server;
use sparse_server::{Compute, Config, StartError, WorkerCommand, serve_as_worker, serve_until_stopped};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A way to ask much of a server.
struct Scenario {
    name: &'static str,
    configure: fn(&mut Config),
    run: fn(&mut Server),
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "latency", configure: |config| set_memory(config, 1 << 30), run: rates::latency },
    Scenario { name: "merging", configure: |config| set_memory(config, 1 << 30), run: rates::merging },
    Scenario { name: "transfer", configure: |config| set_memory(config, 16 << 30), run: rates::transfer },
    Scenario {
        name: "overload",
        configure: |config| (config.limits.workers, config.limits.queue) = (2, 2),
        run: load::overload,
    },
    Scenario { name: "zipf", configure: |config| set_memory(config, zipf::budget()), run: zipf::zipf },
    Scenario { name: "mutation", configure: |_| (), run: mutation::mutation },
    Scenario { name: "trickle", configure: |_| (), run: load::trickle },
    Scenario {
        name: "stop",
        configure: |config| config.limits.drain_time = Duration::from_secs(120),
        run: load::stop,
    },
    Scenario { name: "churn", configure: |config| set_memory(config, 16 << 20), run: churn::churn },
];

fn set_memory(config: &mut Config, bytes: u64) {
    config.memory = bytes;
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
    let mut misses = vec![];
    for scenario in SCENARIOS {
        if wanted.is_empty() || wanted.iter().any(|name| scenario.name.contains(&**name)) {
            let mut server = Server::start(scenario.name);
            (scenario.run)(&mut server);
            misses.extend(server.end());
        }
    }
    assert!(misses.is_empty(), "not met:\n{}", misses.join("\n"));
}

/// `full` for `cargo xtask soak`, else `short`.
fn size<T>(short: T, full: T) -> T {
    if is_full() { full } else { short }
}

fn is_full() -> bool {
    std::env::var_os("NNZ_SOAK").is_some_and(|size| size == "full")
}

/// The device of an index; the host, which is one, whatever the index.
fn device(index: &str) -> nnz::Result<nnz::Device> {
    match std::env::var(BACKEND) {
        Ok(backend) if backend != "cpu" => format!("{backend}:{index}").parse(),
        _ => "cpu".parse(),
    }
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
    let compute = match std::env::var(WORKERS) {
        Err(_) => Compute::Here(device("0").unwrap()),
        Ok(count) => (0..count.parse().unwrap()).map(worker).collect::<Vec<_>>().into(),
    };
    serve_until_stopped(config, || Ok::<_, StartError>(compute), |address| println!("{address}")).unwrap();
}
