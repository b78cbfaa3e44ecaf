//! Exchanges by copies from device to device.
//!
//! The receiver copies: it learns by a message where the elements are and which event comes behind them, lets its
//! stream wait for that event, and answers with the event behind its copy, for which the sender's stream waits before
//! anything may change the elements. Threads wait for messages, never for a device.

use super::{Joint, OP, Transfer, Transfers};
use crate::error::failed;
use crate::event::Mark;
use crate::queue::Queue;
use cudarc::driver::sys;
use sparse_core::peer::{Channels, RankEnded};
use sparse_core::{Error, Result};
use std::sync::Arc;

/// Messages to and from the threads of other ranks.
#[derive(Debug)]
pub(super) struct Mailbox {
    offers: Channels<Option<Offer>>,
    answers: Channels<Option<Arc<Mark>>>,
}

/// Elements that a rank is to copy; none is sent by a rank that failed.
#[derive(Debug)]
struct Offer {
    address: sys::CUdeviceptr,
    bytes: usize,
    queue: Arc<Queue>,
    ready: Arc<Mark>,
}

impl Mailbox {
    pub(super) fn group(ranks: usize) -> Vec<Self> {
        let pairs = Channels::group(ranks).into_iter().zip(Channels::group(ranks));
        pairs.map(|(offers, answers)| Self { offers, answers }).collect()
    }

    pub(super) fn exchange(
        &self,
        joint: &Joint,
        sends: Transfers,
        receives: Transfers,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<()> {
        let begun = joint.begin();
        let offered = self.offer(joint, sends.all.and_then(|all| begun.map(|()| all)), &sends.ranks);
        meanwhile();
        let copied = self.copy(joint, receives.all, &receives.ranks);
        let released = self.wait_for_receivers(joint, &sends.ranks);
        offered.and(copied).and(released)
    }

    /// Tells each receiver where its elements are, or that there are none.
    fn offer(&self, joint: &Joint, sends: Result<Vec<Transfer>>, ranks: &[usize]) -> Result<()> {
        let mut sent = Ok(());
        for (k, &rank) in ranks.iter().enumerate() {
            let offer = sends.as_ref().ok().map(|sends| Offer {
                address: sends[k].address,
                bytes: sends[k].bytes,
                queue: joint.queue.clone(),
                ready: joint.ready.clone(),
            });
            sent = sent.and(send(&self.offers, rank, offer));
        }
        sends.and(sent)
    }

    /// Enqueues the copies of what was offered, lets the device's stream wait for them, and answers.
    fn copy(&self, joint: &Joint, receives: Result<Vec<Transfer>>, ranks: &[usize]) -> Result<()> {
        let offers: Vec<_> = ranks.iter().map(|&rank| receive(&self.offers, rank)).collect();
        let copies = receives.and_then(|receives| {
            receives.iter().zip(offers).try_for_each(|(transfer, offer)| match offer? {
                Some(offer) => offer.copy_to(*transfer, joint),
                None => Err(Error::operands(OP, format!("rank {} failed", transfer.rank))),
            })
        });
        let marked = joint.done.record(&joint.exchanges).and_then(|()| joint.done.precedes(&joint.queue));
        if marked.is_err() {
            // Nobody can wait for the event, so the host does.
            let _ = joint.exchanges.synchronize();
        }
        let mut sent = Ok(());
        for &rank in ranks {
            sent = sent.and(send(&self.answers, rank, marked.is_ok().then(|| joint.done.clone())));
        }
        copies.and(marked).and(sent)
    }

    /// Lets the device's stream wait for the copies of all receivers.
    fn wait_for_receivers(&self, joint: &Joint, ranks: &[usize]) -> Result<()> {
        let mut waits = Ok(());
        for &rank in ranks {
            let wait = receive(&self.answers, rank).and_then(|done| match done {
                Some(done) => done.precedes(&joint.queue),
                None => Ok(()),
            });
            waits = waits.and(wait);
        }
        waits
    }
}

impl Offer {
    fn copy_to(&self, to: Transfer, joint: &Joint) -> Result<()> {
        if self.bytes != to.bytes {
            let reason = format!("rank {} sent {} bytes where {} are needed", to.rank, self.bytes, to.bytes);
            return Err(Error::operands(OP, reason));
        }
        self.ready.precedes(&joint.exchanges)?;
        let (from, target) = (self.queue.context(), joint.queue.context());
        let _entered = joint.exchanges.enter()?;
        // SAFETY: both ranges lie inside their memory, as `Joint::transfers` has checked on each side. The sender's
        // stream waits for the copy before it frees or changes the elements, and so does the receiver's.
        let copied = unsafe {
            sys::cuMemcpyPeerAsync(to.address, target, self.address, from, self.bytes, joint.exchanges.stream)
        };
        copied.result().map_err(failed("cuMemcpyPeerAsync"))
    }
}

/// Sends a message to a rank.
fn send<M>(channels: &Channels<M>, to: usize, message: M) -> Result<()> {
    check_rank(to, channels.ranks())?;
    channels.send(to, message).map_err(error)
}

/// Waits for the next message of a rank.
fn receive<M>(channels: &Channels<M>, from: usize) -> Result<M> {
    check_rank(from, channels.ranks())?;
    channels.receive(from).map_err(error)
}

fn check_rank(rank: usize, ranks: usize) -> Result<()> {
    if rank < ranks { Ok(()) } else { Err(Error::shape(OP, format_args!("rank {rank} of {ranks} ranks"))) }
}

fn error(ended: RankEnded) -> Error {
    Error::operands(OP, ended.to_string())
}
