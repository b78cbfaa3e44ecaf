//! The suite of transports on `Local`, and what is its own.

use crate::failing::Failing;
use crate::suite::{distribution, engine, reading, solvers, transport};
use backend_cpu::Cpu;
use sparse_core::op::{Op, Operations};
use sparse_core::reference::Reference;
use sparse_core::{PlanOptions, Result};
use sparse_distrib::{
    DistributedBackend, DistributedMatrix, DistributedSpmvPlan, DistributedVector, Local, Transport,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

#[test]
fn local_passes_the_suite() {
    let backend = Cpu::new().unwrap();
    for ranks in [1, 2, 3, 8] {
        Local::run(ranks, |rank| {
            transport::all(&rank);
            distribution::all(&rank, &backend);
            engine::all(&rank);
            let rank = DistributedBackend::new(rank, backend.clone());
            reading::all(&rank);
            solvers::all(&rank);
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

/// The transport is not `Sync`: products do not need it to be.
#[test]
fn products_do_not_wait_for_sends_that_wait() {
    let a = sparse_generate::stencil_5::<f64>(3, 9).unwrap();
    let x: Vec<_> = (0..27).map(f64::from).collect();
    let mut expected = vec![0.0; 27];
    Reference.spmv(Op::None, 1.0, &a, &x, 0.0, &mut expected).unwrap();
    let product = &|rank: Rendezvous| {
        let backend = DistributedBackend::new(rank, Reference);
        let input = (backend.rank() == 0).then_some(&a);
        let a = DistributedMatrix::from_root(&backend, 0, input, None)?;
        let x = DistributedVector::scatter(&backend, 0, a.col_ownership(), Some(&x))?;
        let mut y = DistributedVector::zeros(&backend, a.row_ownership())?;
        let mut plan = DistributedSpmvPlan::new(&backend, &a, Op::None, &PlanOptions::default())?;
        plan.run(1.0, &a, &x, 0.0, &mut y)?;
        y.gather(&backend, 0)
    };
    let mut found: Vec<Result<_>> = thread::scope(|scope| {
        let start = |rank: Rendezvous| scope.spawn(move || product(rank));
        let ranks: Vec<_> = Rendezvous::group(4).into_iter().map(start).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert_eq!(found.swap_remove(0).unwrap(), Some(expected)); // small integers
}

/// A transport that notes how many operations its rank's backend has left when an exchange begins, around what runs
/// meanwhile, and when it ends.
struct Recording {
    local: Local,
    left: Arc<AtomicUsize>,
    notes: Sender<[usize; 4]>,
}

impl Transport for Recording {
    fn rank(&self) -> usize {
        self.local.rank()
    }

    fn ranks(&self) -> usize {
        self.local.ranks()
    }

    fn local_rank(&self) -> usize {
        self.local.local_rank()
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        self.local.send(to, message)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        self.local.receive(from)
    }

    fn exchange(
        &self,
        messages: Vec<(usize, Vec<u8>)>,
        senders: &[(usize, usize)],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<u8>>> {
        let left = || self.left.load(Ordering::Relaxed);
        let mut note = [left(); 4];
        let received = self.local.exchange(messages, senders, &mut || {
            note[1] = left();
            meanwhile();
            note[2] = left();
        });
        note[3] = left();
        self.notes.send(note).unwrap();
        received
    }

    fn barrier(&self) -> Result<()> {
        self.local.barrier()
    }

    fn broadcast(&self, root: usize, message: Vec<u8>) -> Result<Vec<u8>> {
        self.local.broadcast(root, message)
    }

    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        self.local.gather(root, message)
    }
}

/// Packing, the product with one block, and no more than copying and the product with the other: in this order.
#[test]
fn a_product_runs_one_block_between_posting_and_waiting() {
    const OPERATIONS: usize = 1000;
    let a = sparse_generate::stencil_5::<f64>(6, 6).unwrap();
    Local::run(3, |local| {
        let (left, (notes, noted)) = (Arc::new(AtomicUsize::new(OPERATIONS)), channel());
        let transport = Recording { local, left: left.clone(), notes };
        let backend = DistributedBackend::new(transport, Failing { left: left.clone() });
        let a = DistributedMatrix::from_root(&backend, 0, Some(&a), None).unwrap();
        for op in [Op::None, Op::Transpose] {
            let x = DistributedVector::zeros(&backend, a.col_ownership()).unwrap();
            let mut y = DistributedVector::zeros(&backend, a.row_ownership()).unwrap();
            let mut plan = DistributedSpmvPlan::new(&backend, &a, op, &PlanOptions::default()).unwrap();
            noted.try_iter().for_each(drop);
            left.store(OPERATIONS, Ordering::Relaxed);
            plan.run(1.0, &a, &x, 0.0, &mut y).unwrap();
            let [posts, starts, ends, waited] = noted.try_recv().unwrap();
            assert_eq!(OPERATIONS - posts, 2, "a product that packs, and copying");
            assert_eq!((posts - starts, starts - ends, ends - waited), (0, 1, 0), "{op:?}");
            assert_eq!(waited - left.load(Ordering::Relaxed), 2, "copying and the other block");
        }
    });
}

#[test]
fn a_rank_that_ended_is_an_error_and_no_wait() {
    let reported = Local::run(3, |rank| match rank.rank() {
        1 => None,
        _ => Some((rank.receive(1).unwrap_err().to_string(), rank.barrier().unwrap_err().to_string())),
    });
    let (receive, _) = reported[0].clone().unwrap();
    assert_eq!(receive, "local: rank 1 has ended");
    assert!(reported[2].is_some());
}

#[test]
#[should_panic(expected = "rank 2 panics")]
fn a_panic_of_a_rank_goes_on() {
    Local::run(4, |rank| assert!(rank.rank() != 2, "rank 2 panics"));
}
