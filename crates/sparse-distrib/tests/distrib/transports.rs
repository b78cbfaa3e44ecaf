//! The suite of transports on `Local`, and what is its own.

use crate::suite::{distribution, transport};
use backend_cpu::Cpu;
use sparse_distrib::{Local, Transport};

#[test]
fn local_passes_the_suite() {
    let backend = Cpu::new().unwrap();
    for ranks in [1, 2, 3, 8] {
        Local::run(ranks, |rank| {
            transport::all(&rank);
            distribution::all(&rank, &backend)
        });
    }
}

#[test]
fn a_rank_that_ended_is_an_error_and_no_wait() {
    let told = Local::run(3, |rank| match rank.rank() {
        1 => None,
        _ => Some((rank.receive(1).unwrap_err().to_string(), rank.barrier().unwrap_err().to_string())),
    });
    let (receive, _) = told[0].clone().unwrap();
    assert_eq!(receive, "local: rank 1 has ended");
    assert!(told[2].is_some());
}

#[test]
#[should_panic(expected = "rank 2 panics")]
fn a_panic_of_a_rank_goes_on() {
    Local::run(4, |rank| assert!(rank.rank() != 2, "rank 2 panics"));
}
