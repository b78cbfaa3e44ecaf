//! Exchanges by NCCL.

use super::nccl::{Handle, Nccl};
use super::{Joint, OP, Transfer, Transfers};
use crate::memory::CuMemory;
use sparse_core::{Error, Result};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of an element of the first exchange.
const WARM_UP_BYTES: usize = 16;

/// The communicators of all ranks. After an error of one all are ended, so that no device waits for it.
#[derive(Debug)]
pub(super) struct Communicators {
    library: &'static Nccl,
    all: Vec<Mutex<Option<Communicator>>>,
}

#[derive(Debug)]
struct Communicator(Handle);

// SAFETY: a communicator may be used by any thread, one at a time, as its lock sees to.
unsafe impl Send for Communicator {}

impl Communicators {
    pub(super) fn new(joints: &[Joint]) -> Result<Self> {
        let unsupported = |reason: String| Error::unsupported("an exchange by NCCL", reason);
        let library = Nccl::found().map_err(unsupported)?;
        let devices: Vec<c_int> = joints.iter().map(|joint| joint.queue.device()).collect();
        let twice = devices.iter().enumerate().find(|(k, device)| devices[..*k].contains(device));
        if let Some((_, device)) = twice {
            return Err(unsupported(format!("device {device} is there twice, and NCCL takes it once")));
        }
        let _entered = joints.first().map(|joint| joint.queue.enter()).transpose()?;
        let handles = library.init_all(&devices)?;
        let all = handles.into_iter().map(|handle| Mutex::new(Some(Communicator(handle)))).collect();
        let made = Self { library, all };
        made.warm_up(joints)?;
        Ok(made)
    }

    pub(super) fn name(&self) -> String {
        format!("NCCL {}", self.library.version())
    }

    /// Sends a few bytes between all pairs: the library connects two ranks at their first exchange, and waits for both.
    fn warm_up(&self, joints: &[Joint]) -> Result<()> {
        let memory = |joint: &Joint| {
            let memory = CuMemory::allocate(2 * WARM_UP_BYTES * joints.len(), &joint.queue)?;
            joint.queue.synchronize().map(|()| memory)
        };
        let memory = joints.iter().map(memory).collect::<Result<Vec<_>>>()?;
        self.library.group(|| {
            for (rank, joint) in joints.iter().enumerate() {
                let transfers = |first: usize| -> Result<Vec<Transfer>> {
                    let to = |other: usize| {
                        let address = memory[rank].range((first + other) * WARM_UP_BYTES, WARM_UP_BYTES)?;
                        Ok(Transfer { rank: other, address, bytes: WARM_UP_BYTES })
                    };
                    (0..joints.len()).filter(|&other| other != rank).map(to).collect()
                };
                let handle = usable(&self.lock(rank))?;
                self.enqueue(handle, joint, &transfers(0)?, &transfers(joints.len())?)?;
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
            // SAFETY: the range lies inside its memory, as `Joint::transfers` has checked, of this communicator's device.
            // `exchange` lets the device's stream, on which memory is freed, wait for this.
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
        self.all[rank].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_all(&self) {
        for rank in 0..self.all.len() {
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

fn usable(communicator: &Option<Communicator>) -> Result<Handle> {
    match communicator {
        Some(Communicator(handle)) => Ok(*handle),
        None => Err(Error::operands(OP, "the exchange of a rank failed before")),
    }
}
