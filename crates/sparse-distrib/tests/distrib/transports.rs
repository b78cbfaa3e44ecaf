//! The suite of transports on `Local`, and what is its own.

use crate::suite::{distribution, transport};
use backend_cpu::Cpu;
use sparse_core::Result;
use sparse_distrib::{Local, Transport};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

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

/// A transport whose `send` waits for the receiver, and which has the trait's own `exchange`.
struct Rendezvous {
    collectives: Local,
    to: Vec<SyncSender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Rendezvous {
    fn group(ranks: usize) -> Vec<Self> {
        let ends = Local::group(ranks).into_iter();
        let mut group: Vec<_> =
            ends.map(|collectives| Self { collectives, to: vec![], from: vec![] }).collect();
        for sender in 0..ranks {
            for receiver in 0..ranks {
                let (to, from) = sync_channel(0);
                group[sender].to.push(to);
                group[receiver].from.push(from);
            }
        }
        group
    }

    /// An error, that of `Local`, unless `peer` is another rank.
    fn check(&self, peer: usize) -> Result<()> {
        if peer < self.ranks() && peer != self.rank() { Ok(()) } else { self.collectives.send(peer, vec![]) }
    }
}

impl Transport for Rendezvous {
    fn rank(&self) -> usize {
        self.collectives.rank()
    }

    fn ranks(&self) -> usize {
        self.collectives.ranks()
    }

    fn local_rank(&self) -> usize {
        self.collectives.local_rank()
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        self.check(to)?;
        self.to[to].send(message).unwrap();
        Ok(())
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        self.check(from)?;
        Ok(self.from[from].recv().unwrap())
    }

    fn barrier(&self) -> Result<()> {
        self.collectives.barrier()
    }

    fn broadcast(&self, root: usize, message: Vec<u8>) -> Result<Vec<u8>> {
        self.collectives.broadcast(root, message)
    }

    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        self.collectives.gather(root, message)
    }
}

#[test]
fn sends_that_wait_do_not_block_exchanges() {
    for ranks in [1, 2, 5] {
        thread::scope(|scope| {
            Rendezvous::group(ranks).into_iter().for_each(|rank| {
                scope.spawn(move || {
                    transport::messages_keep_their_order(&rank);
                    transport::exchanges_do_not_wait_for_each_other(&rank);
                });
            });
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
