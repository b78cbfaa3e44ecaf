//! The device of each name: a name is on one device, with all of its versions.

use crate::lock::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The devices by `tenant/name`. The workers know what is there; a name is here from the moment at which a request
/// may make an object of it, so that two requests never make it on two devices.
#[derive(Debug)]
pub(super) struct Directory {
    names: Mutex<HashMap<String, Entry>>,
    /// Time after which a request whose client is gone has no effect any more.
    longest_request: Duration,
}

#[derive(Debug)]
struct Entry {
    device: usize,
    /// Requests at work that may make an object of the name.
    requests: usize,
    /// True once a worker has listed the name, or may have made an object of it.
    is_confirmed: bool,
    /// From then on the worker lists the name, or nothing of the name is there.
    settled: Instant,
}

/// A name while a request is at work that may make an object of it.
#[derive(Debug)]
pub(super) struct Claim {
    directory: Arc<Directory>,
    key: String,
    pub(super) device: usize,
    /// None until it is answered.
    is_refused: Option<bool>,
}

impl Directory {
    pub(super) fn new(longest_request: Duration) -> Arc<Self> {
        Arc::new(Self { names: Mutex::default(), longest_request })
    }

    pub(super) fn find(&self, key: &str) -> Option<usize> {
        self.lock().get(key).map(|entry| entry.device)
    }

    /// Claims a name on the device where it is, or else on `device`.
    pub(super) fn claim(self: &Arc<Self>, key: &str, device: usize) -> Claim {
        let mut names = self.lock();
        let entry = names.entry(key.into()).or_insert_with(|| Entry::new(device, false));
        entry.requests += 1;
        Claim { directory: self.clone(), key: key.into(), device: entry.device, is_refused: None }
    }

    /// Takes over the names that the worker of a device has listed since `asked`.
    pub(super) fn update(&self, device: usize, listed: Vec<String>, asked: Instant) {
        let listed: HashSet<_> = listed.into_iter().collect();
        let mut names = self.lock();
        names.retain(|key, entry| {
            let may_be_there = entry.requests > 0 || entry.settled >= asked || listed.contains(key);
            entry.device != device || may_be_there
        });
        for key in listed {
            let entry = names.entry(key).or_insert_with_key(|_| Entry::new(device, true));
            entry.is_confirmed = true;
            if entry.device != device {
                tracing::error!("a name is on the devices {} and {device}: the first is used", entry.device);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        lock(&self.names)
    }
}

impl Entry {
    fn new(device: usize, is_confirmed: bool) -> Self {
        Self { device, requests: 0, is_confirmed, settled: Instant::now() }
    }
}

impl Claim {
    /// Ends the claim of a request that was answered. A name that only refused requests had is forgotten.
    pub(super) fn answered(mut self, is_refused: bool) {
        self.is_refused = Some(is_refused);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut names = self.directory.lock();
        let Some(entry) = names.get_mut(&self.key) else { return };
        entry.requests -= 1;
        entry.is_confirmed |= self.is_refused != Some(true);
        if entry.requests == 0 && !entry.is_confirmed {
            names.remove(&self.key);
            return;
        }
        // A client that is gone has not heard what became of its request.
        let longest = self.is_refused.map_or(self.directory.longest_request, |_| Duration::ZERO);
        entry.settled = entry.settled.max(Instant::now() + longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Arc<Directory> {
        Directory::new(Duration::from_secs(60))
    }

    #[test]
    fn a_name_stays_on_its_device_while_anything_of_it_may_be_there() {
        let directory = directory();
        let (first, second) = (directory.claim("t/a", 1), directory.claim("t/a", 0));
        assert_eq!((first.device, second.device), (1, 1));
        first.answered(true);
        directory.update(1, vec![], Instant::now());
        assert_eq!(directory.find("t/a"), Some(1), "a request is at work");
        second.answered(false);
        let asked = Instant::now();
        directory.update(0, vec![], asked);
        assert_eq!(directory.find("t/a"), Some(1), "another device has nothing to say of it");
        directory.update(1, vec!["t/a".into()], asked);
        directory.update(1, vec![], asked - Duration::from_secs(1));
        assert_eq!(directory.find("t/a"), Some(1), "the list is older than the object may be");
        directory.update(1, vec![], Instant::now());
        assert_eq!(directory.find("t/a"), None);
    }

    #[test]
    fn refused_names_are_forgotten_and_those_of_clients_that_are_gone_are_not() {
        let directory = directory();
        directory.claim("t/a", 1).answered(true);
        assert_eq!(directory.find("t/a"), None);
        drop(directory.claim("t/a", 1));
        directory.update(1, vec![], Instant::now() + Duration::from_secs(30));
        assert_eq!(directory.find("t/a"), Some(1));
        directory.claim("t/a", 0).answered(true);
        directory.update(1, vec![], Instant::now() + Duration::from_secs(90));
        assert_eq!(directory.find("t/a"), None);
    }
}
