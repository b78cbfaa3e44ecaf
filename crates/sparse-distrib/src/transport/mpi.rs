//! Ranks that are processes of an MPI job.

use super::{Transport, check_peer, check_rank};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::request::multiple_scope;
use mpi::topology::{Process, Rank, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Equivalence, Root, Source};
use send_wrapper::SendWrapper;
use sparse_core::{Error, Result};
use std::fmt::{self, Debug};
use std::{process, thread};

/// The most bytes of one MPI message: MPI counts them in `c_int`.
const CHUNK_BYTES: usize = 1 << 30;

/// A rank among the processes of an MPI job (feature `mpi`).
///
/// MPI is called from the thread that made the rank. Other threads may own it (backends and solvers are `Send + Sync`),
/// but their calls are errors, and dropping it on another thread panics.
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
/// ranks and threads, and of messages that are shorter than announced. Where a process is killed, `mpirun` kills the
/// others and ends with an error. A rank that panics aborts the job when its `Mpi` is dropped. A rank that returns
/// early leaves the others waiting, since MPI waits for all ranks at the end: it must call [`abort`](Self::abort)
/// unless all ranks have the same error, as those of [`distribute`](crate::distribute()) have.
pub struct Mpi {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    chunk_bytes: usize,
    communicators: SendWrapper<Communicators>,
}

/// Communicators, which only the thread that made the rank may use.
struct Communicators {
    messages: SimpleCommunicator,
    collectives: SimpleCommunicator,
    /// MPI itself; declared after the communicators, so that they are freed before MPI ends.
    _universe: Option<Universe>,
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
        let world = universe.world();
        Ok(Self::new(&world, Some(universe)))
    }

    /// The ranks of the caller's communicator: a collective call of all of them.
    ///
    /// Messages do not mix with those that the caller sends by the communicator. The rank must be dropped before MPI
    /// ends.
    pub fn over(communicator: &impl Communicator) -> Self {
        Self::new(communicator, None)
    }

    fn new(communicator: &impl Communicator, universe: Option<Universe>) -> Self {
        let host = communicator.split_shared(communicator.rank());
        Self {
            rank: communicator.rank() as usize,
            ranks: communicator.size() as usize,
            local_rank: host.rank() as usize,
            chunk_bytes: CHUNK_BYTES,
            communicators: SendWrapper::new(Communicators {
                messages: communicator.duplicate(),
                collectives: communicator.duplicate(),
                _universe: universe,
            }),
        }
    }

    /// Divides messages into chunks of `chunk_bytes`, on all ranks: for tests of the division.
    #[doc(hidden)]
    pub fn set_chunk_bytes(&mut self, chunk_bytes: usize) {
        self.chunk_bytes = chunk_bytes;
    }

    /// Ends all processes of the job: for a rank that cannot go on while others wait for it.
    pub fn abort(&self) -> ! {
        match self.communicators() {
            Ok(communicators) => communicators.messages.abort(1),
            Err(_) => process::abort(), // which mpirun ends the job for
        }
    }

    fn communicators(&self) -> Result<&Communicators> {
        if self.communicators.valid() {
            return Ok(&self.communicators);
        }
        Err(error("a rank of MPI was called from another thread than the one that made it"))
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
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn local_rank(&self) -> usize {
        self.local_rank
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        check_peer(self, to)?;
        self.send_chunks(process_at(&self.communicators()?.messages, to), &message);
        Ok(())
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        check_peer(self, from)?;
        Ok(self.receive_chunks(process_at(&self.communicators()?.messages, from)))
    }

    /// Both sides know the lengths, so that chunks travel alone, and all are posted before `meanwhile`.
    fn exchange(
        &self,
        messages: Vec<(usize, Vec<u8>)>,
        senders: &[(usize, usize)],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<u8>>> {
        let mut peers = messages.iter().map(|&(to, _)| to).chain(senders.iter().map(|&(from, _)| from));
        let usable = peers.try_for_each(|peer| check_peer(self, peer));
        let communicator = match usable.and_then(|()| self.communicators()) {
            Ok(communicators) => &communicators.messages,
            Err(error) => {
                meanwhile();
                return Err(error);
            }
        };
        let mut received: Vec<_> = senders.iter().map(|&(_, bytes)| vec![0; bytes]).collect();
        let mut found = 0;
        multiple_scope(messages.len() + senders.len(), |scope, requests| {
            for (message, &(from, _)) in received.iter_mut().zip(senders) {
                let from = process_at(communicator, from);
                for chunk in message.chunks_mut(self.chunk_bytes) {
                    requests.add(from.immediate_receive_into(scope, chunk));
                }
            }
            let receives = requests.incomplete();
            for (to, message) in &messages {
                let to = process_at(communicator, *to);
                for chunk in message.chunks(self.chunk_bytes) {
                    requests.add(to.immediate_send(scope, chunk));
                }
            }
            meanwhile();
            let mut completed = vec![];
            requests.wait_all(&mut completed);
            let statuses = completed[..receives].iter().map(|(_, status, _)| status);
            found = statuses.map(|status| status.count(u8::equivalent_datatype()) as usize).sum();
        });
        match senders.iter().map(|&(_, bytes)| bytes).sum::<usize>() {
            expected if expected == found => Ok(received),
            expected => {
                let reason = format!("{found} bytes came in an exchange where {expected} are needed");
                Err(Error::operands("transport", reason))
            }
        }
    }

    fn barrier(&self) -> Result<()> {
        self.communicators()?.collectives.barrier();
        Ok(())
    }

    fn broadcast(&self, root: usize, mut message: Vec<u8>) -> Result<Vec<u8>> {
        check_rank(self, root)?;
        let root = process_at(&self.communicators()?.collectives, root);
        let mut len = message.len();
        root.broadcast_into(&mut len);
        message.resize(len, 0);
        message.chunks_mut(self.chunk_bytes).for_each(|chunk| root.broadcast_into(chunk));
        Ok(message)
    }

    /// By messages among the collectives: `MPI_Gatherv` counts the bytes of all ranks together in `c_int`.
    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        check_rank(self, root)?;
        let collectives = &self.communicators()?.collectives;
        if self.rank != root {
            self.send_chunks(process_at(collectives, root), &message);
            return Ok(None);
        }
        let others = |rank| self.receive_chunks(process_at(collectives, rank));
        let mut messages: Vec<_> = (0..root).map(others).collect();
        messages.push(message);
        messages.extend((root + 1..self.ranks).map(others));
        Ok(Some(messages))
    }
}

/// Others may wait for this rank, and finalizing MPI would wait for them.
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
fn process_at(communicator: &SimpleCommunicator, rank: usize) -> Process<'_> {
    communicator.process_at_rank(rank as Rank)
}

fn error(reason: &'static str) -> Error {
    Error::Backend { backend: "mpi", source: reason.into() }
}
