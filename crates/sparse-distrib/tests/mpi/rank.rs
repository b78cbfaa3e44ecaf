//! The work of a rank under `mpirun`.

use crate::suite::{distribution, engine, matrices, reading, solvers, transport, vectors};
use backend_cpu::Cpu;
use backend_opencl::OPENCL;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::Communicator;
use sparse_core::reference::Reference;
use sparse_core::{Csr, Row};
use sparse_distrib::transport::launched_local_rank;
use sparse_distrib::{
    DeviceWorker, DistributedBackend, Distribution, Engine, Generated, Local, Mpi, Options, Partition,
    Scheme, Transport, collect, distribute,
};
use sparse_io::Output;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// The file that is written before a rank is killed.
pub(crate) const WHOLE: &str = "whole.mtx";
/// The file that is being written when a rank is killed.
pub(crate) const INTERRUPTED: &str = "interrupted.mtx";

/// Plays a role; a failure panics, which ends the job.
pub(crate) fn run(arguments: &[String]) {
    let transport = Mpi::initialize().unwrap();
    match (arguments[0].as_str(), arguments.get(1)) {
        ("suite", None) => suite(transport),
        ("opencl", None) => opencl(&transport),
        ("killed", Some(folder)) => killed(&transport, Path::new(folder)),
        ("killed_in_a_run", None) => killed_in_a_run(&transport),
        ("panics", None) => panics(&transport),
        ("long", None) => long(&transport),
        _ => panic!("{arguments:?} are no role and its folder"),
    }
}

fn suite(mut transport: Mpi) {
    assert_eq!(launched_local_rank(), Some(transport.local_rank()));
    let backend = Cpu::new().unwrap();
    transport::all(&transport);
    as_on_threads(&transport, &backend);
    engine::all(&transport);
    halves(&transport);
    transport.set_chunk_bytes(7);
    transport::all(&transport);
    as_on_threads(&transport, &backend);
    other_threads_are_refused(&transport);
    let rank = DistributedBackend::new(transport, backend);
    reading::all(&rank);
    if rank.ranks() <= 4 {
        solvers::all(&rank);
    }
    if rank.rank() == 0 {
        println!("{} ranks passed", rank.ranks());
    }
}

/// The first p of all ranks distribute on their OpenCL devices, for every p, so that each compiles its kernels once.
fn opencl(world: &Mpi) {
    let device = OPENCL.open_preferred().unwrap();
    vectors::all(&device);
    for ranks in 1..=world.ranks() {
        let color = if world.rank() < ranks { Color::with_value(0) } else { Color::undefined() };
        if let Some(group) = SimpleCommunicator::world().split_by_color(color) {
            as_on_threads(&Mpi::over(&group), &device);
        }
    }
    if world.rank() == 0 {
        println!("{} ranks passed", world.ranks());
    }
}

/// Compares the results of all ranks with those of threads, byte for byte.
fn as_on_threads(transport: &Mpi, backend: &impl distribution::Compresses) {
    let bytes = distribution::all(transport, backend);
    if let Some(all) = transport.gather(0, bytes).unwrap() {
        let threads = Local::run(transport.ranks(), |rank| distribution::all(&rank, backend));
        for (rank, (mpi, thread)) in all.iter().zip(&threads).enumerate() {
            assert!(mpi == thread, "rank {rank} of {} has other bytes than a thread", threads.len());
        }
    }
}

/// A rank on another thread is an error there, and no call of MPI.
fn other_threads_are_refused(transport: &Mpi) {
    let reported = std::thread::scope(|scope| scope.spawn(|| transport.barrier()).join().unwrap());
    assert!(reported.unwrap_err().to_string().contains("from another thread"));
}

/// The ranks of each half pass the suite at once, between two messages of the whole.
fn halves(transport: &Mpi) {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    if rank == 0 {
        (1..ranks).for_each(|to| transport.send(to, vec![to as u8; 3]).unwrap());
    }
    let half = SimpleCommunicator::world().split_by_color(Color::with_value((rank % 2) as i32)).unwrap();
    let half = Mpi::over(&half);
    assert_eq!((half.rank(), half.ranks()), (rank / 2, (ranks + 1 - rank % 2) / 2));
    transport::all(&half);
    if rank != 0 {
        assert_eq!(transport.receive(0).unwrap(), [rank as u8; 3]);
    }
}

/// Kills rank 2 while rank 0 waits in the middle of a file for it, and rank 1 at a barrier for both.
fn killed(transport: &Mpi, folder: &Path) {
    let (backend, matrix) = (Cpu::new().unwrap(), matrices::ten_by_eight());
    let partition = Partition::rows(transport.ranks()).unwrap();
    let distribution = Distribution { scheme: Scheme::Ed2, partition, root: 0 };
    let input = (transport.rank() == 0).then(|| matrix.as_view());
    let local_part =
        distribute::<_, _, Row, f32, i32, i32>(transport, &backend, distribution, input).unwrap();
    let whole: Option<Csr<f32>> = collect(transport, &backend, distribution, &local_part).unwrap();
    if let Some(whole) = whole {
        sparse_io::write_csr(folder.join(WHOLE), &whole).unwrap();
    }
    match transport.rank() {
        0 => Output::from(&folder.join(INTERRUPTED)).write(|file| half_a_file(file, transport)).unwrap(),
        1 => transport.barrier().unwrap(),
        _ => {
            transport.receive(0).unwrap();
            kill_this_process();
        }
    }
}

/// Kills rank 1 while it reads the second of its matrices, for which the others wait.
fn killed_in_a_run(transport: &Mpi) {
    let source = Generated::new(vec![(4, 4); 12], |item, elements: &mut [f32]| {
        elements.fill(item as f32);
        if item == 5 {
            kill_this_process();
        }
        Ok(())
    });
    let mut engine = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
    engine.compress_on_ranks::<Row>(transport, &source, &Options::default()).unwrap();
    println!("the run ended");
}

/// The shell's parent is this process.
fn kill_this_process() {
    Command::new("sh").args(["-c", "kill -9 $PPID"]).status().unwrap();
}

fn half_a_file(file: &mut impl Write, transport: &Mpi) -> io::Result<()> {
    writeln!(file, "%%MatrixMarket matrix coordinate real general")?;
    file.flush()?;
    transport.send(2, vec![]).unwrap();
    transport.receive(2).map(drop).map_err(io::Error::other)
}

fn panics(transport: &Mpi) {
    assert!(transport.rank() != 1, "rank 1 panics");
    transport.receive(1).unwrap();
}

/// A message that no count of MPI's holds.
fn long(transport: &Mpi) {
    const LEN: usize = (1 << 31) + 5;
    let check = |message: Vec<u8>| assert!(message.len() == LEN && message[LEN - 1] == 7);
    let message = || {
        let mut message = vec![0; LEN];
        message[LEN - 1] = 7;
        message
    };
    if transport.rank() == 0 {
        transport.send(1, message()).unwrap();
        check(transport.broadcast(0, message()).unwrap());
        transport.exchange(vec![(1, message())], &[], &mut || ()).unwrap();
    } else {
        check(transport.receive(0).unwrap());
        check(transport.broadcast(0, vec![]).unwrap());
        check(transport.exchange(vec![], &[(0, LEN)], &mut || ()).unwrap().swap_remove(0));
    }
}
