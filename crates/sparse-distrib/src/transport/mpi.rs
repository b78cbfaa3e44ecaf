//! Ranks that are processes of an MPI job.

use super::{Transport, check_peer, check_rank};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::{Process, Rank, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use sparse_core::{Error, Result};
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::thread;

/// The bytes that are sent at once: MPI counts them in `c_int`.
const CHUNK_BYTES: usize = 1 << 30;

/// A rank among the processes of an MPI job (feature `mpi`).
///
/// MPI is called from the thread that made the rank: it can be neither sent to nor shared with another.
///
/// ```no_run
#[doc = include_str!("../../examples/mpi.rs")]
/// ```
///
/// ```console
/// $ cargo build --package sparse-distrib --features mpi --example mpi
/// $ mpirun -n 4 target/debug/examples/mpi
/// rows 0..250: 749 entries
/// rows 250..500: 750 entries
/// rows 500..750: 750 entries
/// rows 750..1000: 749 entries
/// ```
///
/// For more ranks than there are cores Open MPI's `mpirun` needs `--oversubscribe`.
///
/// # A rank that is gone
/// MPI's own errors, a lost connection among them, end the whole job: the transport's errors are only those of wrong
/// ranks. Where a process is killed, `mpirun` kills the others and ends with an error. A rank that panics aborts the
/// job when its `Mpi` is dropped. A rank that returns early leaves the others waiting, since MPI waits for all ranks
/// at the end: it must call [`abort`](Self::abort) unless all ranks have the same error, as those of
/// [`distribute`](crate::distribute()) have.
pub struct Mpi {
    messages: SimpleCommunicator,
    collectives: SimpleCommunicator,
    local_rank: usize,
    chunk_bytes: usize,
    /// Behind the communicators, which are freed before MPI ends.
    _universe: Option<Universe>,
    /// Communicators are integers in some MPI libraries, and could go to another thread there.
    _thread: PhantomData<*const ()>,
}

impl Mpi {
    /// Starts MPI, and ends it when the rank is dropped: a collective call of all processes of the job, once in each.
    ///
    /// A process that `mpirun` has not started is the only rank.
    ///
    /// # Errors
    /// [`Error::Backend`] if MPI has been started in this process before, or serves no process with several threads.
    pub fn initialize() -> Result<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| error("MPI has been started in this process before; use Mpi::over"))?;
        if threading < Threading::Funneled {
            return Err(error(
                "MPI serves no process with several threads; it must have MPI_THREAD_FUNNELED",
            ));
        }
        let mut rank = Self::over(&universe.world());
        rank._universe = Some(universe);
        Ok(rank)
    }

    /// The ranks of a communicator of the caller's: a collective call of all of them.
    ///
    /// Messages do not mix with those of the communicator. The rank must be dropped before MPI ends.
    pub fn over(communicator: &impl Communicator) -> Self {
        let host = communicator.split_shared(communicator.rank());
        Self {
            messages: communicator.duplicate(),
            collectives: communicator.duplicate(),
            local_rank: host.rank() as usize,
            chunk_bytes: CHUNK_BYTES,
            _universe: None,
            _thread: PhantomData,
        }
    }

    /// Divides messages into chunks of so many bytes, on all ranks: for tests of the division.
    #[doc(hidden)]
    pub fn set_chunk_bytes(&mut self, chunk_bytes: usize) {
        self.chunk_bytes = chunk_bytes;
    }

    /// Ends all processes of the job: for a rank that cannot go on while others wait for it.
    pub fn abort(&self) -> ! {
        self.messages.abort(1)
    }

    fn send_chunks(&self, to: Process<'_>, message: &[u8]) {
        to.send(&message.len());
        message.chunks(self.chunk_bytes).for_each(|chunk| to.send(chunk));
    }

    fn receive_chunks(&self, from: Process<'_>) -> Vec<u8> {
        let mut len = 0_usize;
        from.receive_into(&mut len);
        let mut message = vec![0; len];
        for chunk in message.chunks_mut(self.chunk_bytes) {
            from.receive_into(chunk);
        }
        message
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.messages.rank() as usize
    }

    fn ranks(&self) -> usize {
        self.messages.size() as usize
    }

    fn local_rank(&self) -> usize {
        self.local_rank
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        check_peer(self, to)?;
        self.send_chunks(process(&self.messages, to), &message);
        Ok(())
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        check_peer(self, from)?;
        Ok(self.receive_chunks(process(&self.messages, from)))
    }

    fn barrier(&self) -> Result<()> {
        self.collectives.barrier();
        Ok(())
    }

    fn broadcast(&self, root: usize, mut message: Vec<u8>) -> Result<Vec<u8>> {
        check_rank(self, root)?;
        let root = process(&self.collectives, root);
        let mut len = message.len();
        root.broadcast_into(&mut len);
        message.resize(len, 0);
        message.chunks_mut(self.chunk_bytes).for_each(|chunk| root.broadcast_into(chunk));
        Ok(message)
    }

    /// By messages among the collectives: `MPI_Gatherv` counts the bytes of all ranks together in `c_int`.
    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        check_rank(self, root)?;
        if self.rank() != root {
            self.send_chunks(process(&self.collectives, root), &message);
            return Ok(None);
        }
        let others = |rank| self.receive_chunks(process(&self.collectives, rank));
        let mut messages: Vec<_> = (0..root).map(others).collect();
        messages.push(message);
        messages.extend((root + 1..self.ranks()).map(others));
        Ok(Some(messages))
    }
}

/// Others may wait for this rank, and MPI would wait for them.
impl Drop for Mpi {
    fn drop(&mut self) {
        if thread::panicking() {
            self.abort();
        }
    }
}

impl Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mpi {{ rank: {}, ranks: {}, .. }}", self.rank(), self.ranks())
    }
}

/// A rank that was checked, which MPI counts in `c_int`.
fn process(communicator: &SimpleCommunicator, rank: usize) -> Process<'_> {
    communicator.process_at_rank(rank as Rank)
}

fn error(reason: &'static str) -> Error {
    Error::Backend { backend: "mpi", source: reason.into() }
}
