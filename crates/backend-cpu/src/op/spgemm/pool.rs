//! Workspaces that threads take and give back.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Workspaces that no thread uses, as their last user left them. There are as many as threads ran at once.
#[derive(Debug)]
pub(super) struct Pool<W>(Mutex<Vec<W>>);

impl<W> Default for Pool<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W: Default> Pool<W> {
    /// Lends a workspace to `work`: one that is not in use, or a new one.
    pub(super) fn lend<R>(&self, work: impl FnOnce(&mut W) -> R) -> R {
        let mut workspace = self.take();
        let result = work(&mut workspace);
        self.give_back(workspace);
        result
    }

    /// A workspace that is not in use, or a new one.
    pub(super) fn take(&self) -> W {
        self.idle().pop().unwrap_or_default()
    }

    /// Keeps a workspace for the next user.
    pub(super) fn give_back(&self, workspace: W) {
        self.idle().push(workspace);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sum of `bytes` over all workspaces that are not in use.
    pub(super) fn bytes(&self, bytes: impl Fn(&W) -> usize) -> usize {
        self.idle().iter().map(bytes).sum()
    }
}
