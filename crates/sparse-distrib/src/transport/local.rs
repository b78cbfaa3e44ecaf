//! Ranks that are threads of one process, joined by channels.

use super::{Transport, check_peer, check_rank, with_length};
use sparse_core::peer::{Channels, RankEnded};
use sparse_core::{Error, Result};
use std::thread;

/// A rank among threads of one process. Sending never waits.
///
/// ```
/// use sparse_distrib::{Local, Transport};
///
/// let sums = Local::run(3, |rank| {
///     let message = rank.broadcast(0, vec![5 * u8::from(rank.rank() == 0)])?;
///     Ok::<_, sparse_core::Error>(usize::from(message[0]) + rank.rank())
/// });
/// assert!(sums.into_iter().map(Result::unwrap).eq([5, 6, 7]));
/// ```
#[derive(Debug)]
pub struct Local {
    rank: usize,
    messages: Channels<Vec<u8>>,
    collectives: Channels<Vec<u8>>,
}

impl Local {
    /// The ends of `ranks` ranks, for the caller's threads.
    pub fn group(ranks: usize) -> Vec<Self> {
        let pairs = Channels::group(ranks).into_iter().zip(Channels::group(ranks));
        pairs
            .enumerate()
            .map(|(rank, (messages, collectives))| Self { rank, messages, collectives })
            .collect()
    }

    /// Runs `work` on a thread for each rank, and returns the results by rank. A panic of a rank is resumed here, after
    /// the others have ended.
    pub fn run<R: Send>(ranks: usize, work: impl Fn(Self) -> R + Sync) -> Vec<R> {
        let work = &work;
        let joined: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                Self::group(ranks).into_iter().map(|end| scope.spawn(move || work(end))).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        joined
            .into_iter()
            .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    }
}

impl Transport for Local {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.messages.ranks()
    }

    fn local_rank(&self) -> usize {
        self.rank
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        check_peer(self, to)?;
        self.messages.send(to, message).map_err(error)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        check_peer(self, from)?;
        self.messages.receive(from).map_err(error)
    }

    fn exchange(
        &self,
        messages: Vec<(usize, Vec<u8>)>,
        senders: &[(usize, usize)],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<u8>>> {
        let sent = messages.into_iter().try_for_each(|(to, message)| self.send(to, message));
        meanwhile();
        sent?;
        senders.iter().map(|&(from, bytes)| with_length(from, bytes, self.receive(from)?)).collect()
    }

    fn barrier(&self) -> Result<()> {
        self.gather(0, vec![])?;
        self.broadcast(0, vec![]).map(drop)
    }

    fn broadcast(&self, root: usize, message: Vec<u8>) -> Result<Vec<u8>> {
        check_rank(self, root)?;
        if self.rank != root {
            return self.collectives.receive(root).map_err(error);
        }
        for rank in (0..self.ranks()).filter(|&rank| rank != root) {
            self.collectives.send(rank, message.clone()).map_err(error)?;
        }
        Ok(message)
    }

    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        check_rank(self, root)?;
        self.collectives.send(root, message).map_err(error)?;
        if self.rank != root {
            return Ok(None);
        }
        let messages = (0..self.ranks()).map(|rank| self.collectives.receive(rank).map_err(error));
        messages.collect::<Result<_>>().map(Some)
    }
}

fn error(ended: RankEnded) -> Error {
    Error::Backend { backend: "local", source: ended.into() }
}
