//! Exchanges by NCCL.

use super::nccl::{Handle, Nccl, UniqueId};
use super::{Joint, OP, Transfer, Transfers};
use crate::memory::CuMemory;
use sparse_core::{Error, Result};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of an element of the first exchange.
const WARM_UP_BYTES: usize = 16;

/// The communicators of the ranks of this process: of all ranks, or of one. After an error of one they are ended, so
/// that none of their devices waits for it.
#[derive(Debug)]
pub(super) struct Communicators {
    library: &'static Nccl,
    /// The number of all ranks.
    ranks: usize,
    /// The first rank of this process.
    first: usize,
    own: Vec<Mutex<Option<Communicator>>>,
}

#[derive(Debug)]
struct Communicator(Handle);

// SAFETY: a communicator may be used by any thread, one at a time, as its lock sees to.
unsafe impl Send for Communicator {}

impl Communicators {
    pub(super) fn new(joints: &[Joint]) -> Result<Self> {
        let library = library()?;
        let devices: Vec<c_int> = joints.iter().map(|joint| joint.queue.device()).collect();
        let twice = devices.iter().enumerate().find(|(k, device)| devices[..*k].contains(device));
        if let Some((_, device)) = twice {
            return Err(unsupported(format!("device {device} is there twice, and NCCL takes it once")));
        }
        let _entered = joints.first().map(|joint| joint.queue.enter()).transpose()?;
        let handles = library.init_all(&devices)?;
        Self { library, ranks: joints.len(), first: 0, own: handles.into_iter().map(alive).collect() }
            .warm(joints)
    }

    /// The communicator of one rank of several processes, each of which has the `id` and calls this.
    pub(super) fn of_rank(joint: &Joint, id: &[u8], rank: usize, ranks: usize) -> Result<Self> {
        let library = library()?;
        let reason = || Error::shape(OP, format_args!("{} bytes of a number of NCCL", id.len()));
        let id = UniqueId(id.try_into().map_err(|_| reason())?);
        let _entered = joint.queue.enter()?;
        let handle = library.init_rank(ranks, id, rank)?;
        Self { library, ranks, first: rank, own: vec![alive(handle)] }.warm(std::slice::from_ref(joint))
    }

    fn warm(self, joints: &[Joint]) -> Result<Self> {
        self.warm_up(joints)?;
        Ok(self)
    }

    pub(super) fn name(&self) -> String {
        format!("NCCL {}", self.library.version())
    }

    /// Sends a few bytes between all pairs: the library connects two ranks at their first exchange, and waits for both.
    fn warm_up(&self, joints: &[Joint]) -> Result<()> {
        let memory = |joint: &Joint| {
            let memory = CuMemory::allocate(2 * WARM_UP_BYTES * self.ranks, &joint.queue)?;
            joint.queue.synchronize().map(|()| memory)
        };
        let memory = joints.iter().map(memory).collect::<Result<Vec<_>>>()?;
        self.library.group(|| {
            for ((joint, memory), rank) in joints.iter().zip(&memory).zip(self.first..) {
                let transfers = |first: usize| -> Result<Vec<Transfer>> {
                    let to = |other: usize| {
                        let address = memory.range((first + other) * WARM_UP_BYTES, WARM_UP_BYTES)?;
                        Ok(Transfer { rank: other, address, bytes: WARM_UP_BYTES })
                    };
                    (0..self.ranks).filter(|&other| other != rank).map(to).collect()
                };
                let handle = usable(&self.lock(rank))?;
                self.enqueue(handle, joint, &transfers(0)?, &transfers(self.ranks)?)?;
            }
            Ok(())
        })?;
        joints.iter().try_for_each(|joint| joint.exchanges.synchronize())
    }

    pub(super) fn exchange(
        &self,
        rank: usize,
        joint: &Joint,
        sends: Transfers,
        receives: Transfers,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<()> {
        let alone = sends.ranks.is_empty() && receives.ranks.is_empty();
        let begun = match alone {
            true => Ok(()),
            false => self.begin(rank, joint, sends, receives),
        };
        if begun.is_err() {
            self.end_all();
        }
        meanwhile();
        begun?;
        if alone { Ok(()) } else { joint.done.precedes(&joint.queue) }
    }

    fn begin(&self, rank: usize, joint: &Joint, sends: Transfers, receives: Transfers) -> Result<()> {
        let (sends, receives) = (sends.all?, receives.all?);
        joint.begin()?;
        let communicator = self.lock(rank);
        let handle = usable(&communicator)?;
        self.library.group(|| self.enqueue(handle, joint, &sends, &receives))?;
        joint.done.record(&joint.exchanges)
    }

    /// Adds the calls of one rank to a group. The memory of the transfers is used until the joint's exchange is done.
    fn enqueue(
        &self,
        handle: Handle,
        joint: &Joint,
        sends: &[Transfer],
        receives: &[Transfer],
    ) -> Result<()> {
        let _entered = joint.exchanges.enter()?;
        let stream = joint.exchanges.stream.cast();
        for &Transfer { rank, address, bytes } in receives {
            // SAFETY: the range lies inside its memory, as `Joint::transfers` has checked, of this communicator's
            // device. `exchange` lets the device's stream, on which memory is freed, wait for this.
            unsafe { self.library.receive((address, bytes), rank, handle, stream) }?;
        }
        for &Transfer { rank, address, bytes } in sends {
            // SAFETY: as above.
            unsafe { self.library.send((address, bytes), rank, handle, stream) }?;
        }
        Ok(())
    }

    /// The communicator of a rank, which no other thread ends until the guard is dropped.
    fn lock(&self, rank: usize) -> MutexGuard<'_, Option<Communicator>> {
        self.own[rank - self.first].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if other processes have ranks.
    pub(super) fn has_others(&self) -> bool {
        self.own.len() < self.ranks
    }

    /// Ends the communicators of this process, and what their devices wait for.
    pub(super) fn end_all(&self) {
        for rank in self.first..self.first + self.own.len() {
            if let Some(Communicator(handle)) = self.lock(rank).take() {
                // SAFETY: the communicator was taken from under its lock, which its calls hold.
                unsafe { self.library.abort(handle) };
            }
        }
    }
}

/// All ranks have dropped their ends, and their streams are done.
impl Drop for Communicators {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn alive(handle: Handle) -> Mutex<Option<Communicator>> {
    Mutex::new(Some(Communicator(handle)))
}

/// NCCL's library, or the reason why it is not to be had.
pub(super) fn library() -> Result<&'static Nccl> {
    Nccl::found().map_err(unsupported)
}

pub(super) fn unsupported(reason: String) -> Error {
    Error::unsupported("an exchange by NCCL", reason)
}

fn usable(communicator: &Option<Communicator>) -> Result<Handle> {
    match communicator {
        Some(Communicator(handle)) => Ok(*handle),
        None => Err(Error::operands(OP, "the exchange of a rank failed before")),
    }
}
