//! Handles, which move and free what they hold, and the account of a device's memory.

use crate::engine::{options, twenty, views};
use backend_cpu::Cpu;
use sparse_core::op::Keep;
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, Col, Error};
use sparse_distrib::{DeviceWorker, Engine, Ledger, Options, Worker};
use std::time::Duration;

#[test]
fn handles_move_and_give_their_memory_back() {
    let matrices = twenty();
    let cpu = DeviceWorker::new(Cpu::new().unwrap()).named("cpu").with_budget(1 << 20);
    let ledger = cpu.ledger().clone();
    let mut engine = Engine::new(vec![Box::new(cpu) as Box<dyn Worker<f32, i32, i32>>]).unwrap();
    let options = Options { keep: Keep::Above(5.0), ..options(None) };
    let outcome = engine.compress::<Col>(&views(&matrices), &options).unwrap();
    let (mut handle, report) = outcome.complete().unwrap();
    let entries = matrices.iter().flat_map(|a| a.data().to_vec()).filter(|&v| v > 5.0).count();
    assert_eq!((report.nnz as usize, handle.placement(3)), (entries, Some("cpu")));
    let before = handle.fetch_all().unwrap();
    assert!(ledger.used() >= handle.bytes());

    let other = DeviceWorker::new(Reference).named("other").with_budget(handle.bytes());
    handle.move_to(&other).unwrap();
    assert_eq!((handle.placement(19), other.ledger().used()), (Some("other"), handle.bytes()));
    let small = DeviceWorker::new(Reference).named("small").with_budget(10);
    assert!(matches!(handle.move_to(&small), Err(Error::OutOfMemory { .. })));
    assert_eq!(handle.fetch_all().unwrap(), before);
    assert!(handle.batches()[0].resident().as_any().is::<BatchCsr<f32>>());
    drop(handle);
    assert_eq!(other.ledger().used(), 0);
}

#[test]
fn a_reservation_waits_for_one_that_runs() {
    let ledger = Ledger::new(10);
    let lease = ledger.reserve(8, Duration::ZERO).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ledger.reserve(5, Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(20));
        drop(lease);
        assert_eq!(waiting.join().unwrap().unwrap().bytes(), 5);
    });
    // `reserve` does not wait for memory that stays reserved.
    let mut resident = ledger.reserve(8, Duration::ZERO).unwrap();
    resident.settle(8);
    assert!(ledger.reserve(5, Duration::from_secs(60)).is_err());
}
