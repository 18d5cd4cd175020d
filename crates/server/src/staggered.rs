//! A value that thousands wait for, told to a few of them at a time, so that a request that comes
//! meanwhile waits for a few others and not for all ("thundering herd").
//!
//! Each group is a `tokio` watch channel of its own. Between groups the task that tells yields:
//! whoever was woken runs, then the runtime looks at its sockets, then the next group is told.
//!
//! Invariants:
//! - Who follows before a value is told sees it, or a newer one. Who begins while it is told may
//!   see it, too.
//! - One task tells at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Followers that are woken together. Each takes some 10 us of a processor to write what it has to
/// tell.
const GROUP_MAX: usize = 32;

/// See the file head.
pub(crate) struct Staggered<T>(Mutex<State<T>>);

struct State<T> {
    value: T,
    groups: Vec<watch::Sender<T>>,
}

impl<T: Copy> Staggered<T> {
    pub(crate) fn new(value: T) -> Staggered<T> {
        Staggered(Mutex::new(State {
            value,
            groups: Vec::new(),
        }))
    }

    /// Waits for values told from here on.
    pub(crate) fn follow(&self) -> watch::Receiver<T> {
        let mut state = self.state();
        let mut groups = state.groups.iter();
        if let Some(group) = groups.find(|group| group.receiver_count() < GROUP_MAX) {
            return group.subscribe();
        }
        let (group, receiver) = watch::channel(state.value);
        state.groups.push(group);
        receiver
    }

    /// Tells one group after the other.
    pub(crate) async fn tell(&self, value: T) {
        self.state().value = value;
        let mut group = 0;
        while self.tell_group(group, value) {
            group += 1;
            tokio::task::yield_now().await;
        }
        self.state()
            .groups
            .retain(|group| group.receiver_count() > 0);
    }

    /// Whether there is such a group.
    fn tell_group(&self, group: usize, value: T) -> bool {
        let state = self.state();
        let group = state.groups.get(group);
        group.is_some_and(|group| {
            group.send_replace(value);
            true
        })
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_are_told_and_places_of_those_who_left_are_taken_again() {
        let staggered = Staggered::new(0);
        let count = 10 * GROUP_MAX;
        let mut followers: Vec<_> = (0..count).map(|_| staggered.follow()).collect();
        assert_eq!(staggered.state().groups.len(), 10);
        staggered.tell(1).await;
        for follower in &mut followers {
            assert!(follower.has_changed().unwrap());
            assert_eq!(*follower.borrow_and_update(), 1);
        }
        // Every second one leaves: others take their places.
        followers = followers.into_iter().step_by(2).collect();
        followers.extend((0..count / 2).map(|_| staggered.follow()));
        assert_eq!(staggered.state().groups.len(), 10);
        drop(followers);
        staggered.tell(2).await;
        assert_eq!(staggered.state().groups.len(), 0);
        // A new one begins with the last value, and waits for the next.
        assert!(!staggered.follow().has_changed().unwrap());
    }

    #[tokio::test]
    async fn who_comes_or_goes_meanwhile_misses_nothing() {
        let staggered = Staggered::new(0);
        let mut followers: Vec<_> = (0..3 * GROUP_MAX).map(|_| staggered.follow()).collect();
        let mut late = None;
        let meanwhile = async {
            followers.drain(..2 * GROUP_MAX);
            late = Some(staggered.follow());
        };
        let ((), ()) = tokio::join!(biased; staggered.tell(1), meanwhile);
        assert!(followers.iter().all(|one| one.has_changed().unwrap()));
        staggered.tell(2).await;
        let mut late = late.unwrap();
        assert!(late.has_changed().unwrap());
        assert_eq!(*late.borrow_and_update(), 2);
    }

    #[tokio::test]
    async fn others_work_between_two_groups() {
        let staggered = Staggered::new(0);
        let followers: Vec<_> = (0..3 * GROUP_MAX).map(|_| staggered.follow()).collect();
        let told = || followers.iter().filter(|one| one.has_changed().unwrap());
        let telling = staggered.tell(1);
        let between = async { told().count() };
        let ((), told_then) = tokio::join!(biased; telling, between);
        assert_eq!(told_then, GROUP_MAX);
        assert_eq!(told().count(), 3 * GROUP_MAX);
    }
}
