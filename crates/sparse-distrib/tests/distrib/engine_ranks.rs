//! Failures of ranks that compress together: an error on all of them, and none that waits.

use crate::engine::{reference, twenty, views};
use crate::faulty::{Fault, Faults, FaultyWorker, Step};
use sparse_core::{Dense, Error, Result, Row};
use sparse_distrib::{Engine, Generated, Local, Options, Source, Transport, Worker};

type Device = Box<dyn Worker<f32, i32, i32>>;

/// The error of each of three ranks. All fail.
fn errors<X: Transport>(
    wrap: impl Fn(Local) -> X + Sync,
    source: &(impl Fn(usize) -> Box<dyn Source<f32>> + Sync),
    device: impl Fn(usize) -> Device + Sync,
) -> Vec<String> {
    Local::run(3, |rank| {
        let rank = wrap(rank);
        let mut engine = Engine::new(vec![device(rank.rank())]).unwrap();
        let source = source(rank.rank());
        engine.compress_on_ranks::<Row>(&rank, source.as_ref(), &Options::default()).unwrap_err().to_string()
    })
}

/// Twenty diagonals of which rank `broken` cannot read number 12.
fn diagonals(count: usize, broken: bool) -> Box<dyn Source<f32>> {
    Box::new(Generated::new(vec![(3, 3); count], move |item, elements: &mut [f32]| {
        elements.fill(0.0);
        elements[0] = 1.0;
        if broken && item == 12 { Err(Error::format("source", "unreadable")) } else { Ok(()) }
    }))
}

#[test]
fn a_matrix_that_cannot_be_read_fails_all_ranks() {
    let reported = errors(|rank| rank, &|_| diagonals(20, true), |_| reference("cpu"));
    assert_eq!(reported[1], "compress: matrix 12: source: unreadable"); // rank 1 has 7..14
    for other in [0, 2] {
        assert_eq!(reported[other], "compress: rank 1: compress: matrix 12: source: unreadable");
    }
}

#[test]
fn ranks_with_other_matrices_are_refused() {
    let reported = errors(|rank| rank, &|rank| diagonals(20 + rank / 2, false), |_| reference("cpu"));
    assert!(
        reported
            .iter()
            .all(|reported| reported == "compress: rank 2 has other matrices or settings than rank 0")
    );
}

#[test]
fn a_device_that_loses_its_matrices_fails_all_ranks() {
    for broken in 0..3 {
        let device = |rank| {
            let faults = if rank == broken {
                Faults::new(Step::Download, Fault::Broken, 0..usize::MAX)
            } else {
                Faults::none()
            };
            FaultyWorker::boxed("device", &faults, 1 << 20)
        };
        let reported = errors(|rank| rank, &|_| diagonals(20, false), device);
        assert!(
            reported.iter().all(|reported| reported.contains("Download failed")),
            "{broken}: {reported:?}"
        );
    }
}

/// A transport that changes a byte of every long message that it receives.
struct Noisy(Local);

impl Transport for Noisy {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn local_rank(&self) -> usize {
        self.0.local_rank()
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        self.0.send(to, message)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        let mut message = self.0.receive(from)?;
        if let Some(byte) = message.get_mut(130) {
            *byte ^= 4;
        }
        Ok(message)
    }

    fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }

    fn broadcast(&self, root: usize, message: Vec<u8>) -> Result<Vec<u8>> {
        self.0.broadcast(root, message)
    }

    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        self.0.gather(root, message)
    }
}

#[test]
fn a_byte_that_changes_on_its_way_is_noticed() {
    let reported = errors(Noisy, &|_| diagonals(20, false), |_| reference("cpu"));
    assert!(
        reported.iter().all(|reported| reported.contains("ed2: bytes 48..52: the checksum")),
        "{reported:?}"
    );
}

#[test]
fn a_device_without_memory_leaves_its_share_undone_and_says_so() {
    let matrices: Vec<Dense<f32>> = twenty();
    let reported = Local::run(2, |rank| {
        let budget = if rank.rank() == 1 { 8 } else { 1 << 20 };
        let mut engine = Engine::new(vec![FaultyWorker::boxed("small", &Faults::none(), budget)]).unwrap();
        let result = engine.compress_on_ranks::<Row>(&rank, &views(&matrices), &Options::default());
        result.unwrap_err().to_string()
    });
    assert!(reported.iter().all(|reported| reported.contains("matrix 10: out of memory")), "{reported:?}");
}
