//! A capacity that several users have together, of which none takes all.

use crate::lock::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// A capacity of which a user may take no more than is left after that: one alone has half of it at most, and while it
/// does, a second one a quarter. Who has nothing may take one as long as one is left, so that a few users leave some for
/// others; many together may have all.
#[derive(Debug)]
pub(crate) struct SharedCapacity<K> {
    capacity: usize,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    by_user: HashMap<K, usize>,
}

/// The right to a part of the capacity, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct CapacityPermit<K: Eq + Hash> {
    capacity: Arc<SharedCapacity<K>>,
    user: K,
    amount: usize,
}

impl<K: Eq + Hash + Clone> SharedCapacity<K> {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, taken: Mutex::new(Taken { all: 0, by_user: HashMap::new() }) })
    }

    /// Takes `amount` more for a user, unless it would have more than is left then and more than one.
    pub(crate) fn take(self: &Arc<Self>, user: &K, amount: usize) -> Option<CapacityPermit<K>> {
        self.take_within(user, amount, |left| left.max(1))
    }

    /// Takes `amount` more for a user who may have all that is left.
    pub(crate) fn take_any(self: &Arc<Self>, user: &K, amount: usize) -> Option<CapacityPermit<K>> {
        self.take_within(user, amount, |_| usize::MAX)
    }

    fn take_within(
        self: &Arc<Self>,
        user: &K,
        amount: usize,
        limit: impl Fn(usize) -> usize,
    ) -> Option<CapacityPermit<K>> {
        let mut taken = lock(&self.taken);
        let all = taken.all.checked_add(amount)?;
        let own = taken.by_user.get(user).copied().unwrap_or(0).checked_add(amount)?;
        if own > limit(self.capacity.checked_sub(all)?) {
            return None;
        }
        taken.all = all;
        taken.by_user.insert(user.clone(), own);
        Some(CapacityPermit { capacity: self.clone(), user: user.clone(), amount })
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        lock(&self.taken).all
    }
}

impl<K: Eq + Hash> CapacityPermit<K> {
    /// Gives back what is more than `amount`.
    pub(crate) fn shrink_to(&mut self, amount: usize) {
        let less = self.amount.saturating_sub(amount);
        self.amount -= less;
        let mut taken = lock(&self.capacity.taken);
        taken.all -= less;
        if let Some(own) = taken.by_user.get_mut(&self.user) {
            *own -= less;
            if *own == 0 {
                taken.by_user.remove(&self.user);
            }
        }
    }
}

impl<K: Eq + Hash> Drop for CapacityPermit<K> {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_has_half_and_others_find_some() {
        let capacity = SharedCapacity::new(1024);
        let take_all = |user| std::iter::from_fn(|| capacity.take(&user, 1)).collect::<Vec<_>>();
        let [first, second, third] = ["a", "b", "c"].map(take_all);
        assert_eq!([&first, &second, &third].map(Vec::len), [512, 256, 128]);
        assert!((0..6).all(|_| capacity.take(&"d", 1).is_some()) && capacity.take(&"a", 1).is_none());
        drop(first);
        assert_eq!(take_all("b").len(), 192, "each has as much as is left");
        drop((second, third));
        assert_eq!((capacity.taken(), lock(&capacity.taken).by_user.len()), (0, 0));
    }

    #[test]
    fn who_has_nothing_finds_the_last_one() {
        let capacity = SharedCapacity::new(1024);
        let mut taken = vec![];
        for user in 0..10 {
            taken.extend(std::iter::from_fn(|| capacity.take(&user, 1)));
        }
        assert_eq!(capacity.taken(), 1023);
        assert!((0..10).all(|user| capacity.take(&user, 1).is_none()));
        let last = capacity.take(&10, 1);
        assert!(last.is_some() && capacity.take(&11, 1).is_none());
        assert!(SharedCapacity::new(1).take(&"alone", 1).is_some());
    }

    #[test]
    fn a_user_without_a_limit_takes_what_others_have_less() {
        let capacity = SharedCapacity::new(8);
        let any: Vec<_> = (0..6).map(|_| capacity.take_any(&"a", 1).unwrap()).collect();
        let other = capacity.take(&"b", 1).unwrap();
        assert!(capacity.take(&"b", 1).is_none());
        assert!(capacity.take_any(&"a", 1).is_some() && capacity.take_any(&"a", 2).is_none());
        drop((any, other));
        assert_eq!(capacity.taken(), 0);
    }

    #[test]
    fn a_permit_that_shrinks_gives_back_the_rest() {
        let capacity = SharedCapacity::new(100);
        assert!(capacity.take(&"a", 51).is_none() && capacity.take(&"a", usize::MAX).is_none());
        let mut permit = capacity.take(&"a", 50).unwrap();
        assert!(capacity.take(&"a", 1).is_none() && capacity.take(&"b", 26).is_none());
        permit.shrink_to(10);
        assert_eq!(capacity.taken(), 10);
        assert!(capacity.take(&"a", 40).is_some());
        permit.shrink_to(20);
        drop(permit);
        assert_eq!(capacity.taken(), 0);
    }
}
