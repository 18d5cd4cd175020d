//! Tokens: random texts handed out for API keys, kept in memory, found by one hash look-up.
//!
//! Used by `gate`. What is kept is the SHA-256 of a token, so neither the memory of the map nor the
//! time of a look-up tells one. Tokens end with the process; clients exchange their key again.
//!
//! Invariant: a token counts while it is in the map, its key is registered, and neither time has
//! run out; it is not idle while a stream that it opened is. Ending one ends it for the next
//! request, and for open streams with the gate's next round.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::certificate::{Fingerprint, fingerprint};
use super::directory::SecurityError;
use super::key::{random, random_text};
use super::principal::Principal;

/// What every token begins with, so that scanners for secrets know one.
const PREFIX: &str = "jdk_t_";
/// A token that is not used for so long ends.
const IDLE_MAX: Duration = Duration::from_secs(15 * 60);
/// A token ends at this age in any case.
const AGE_MAX: Duration = Duration::from_secs(12 * 3600);
/// How long a token that was renewed is still accepted, for requests under way.
const RENEWED_GRACE: Duration = Duration::from_secs(60);
/// Most tokens of one key; the oldest ends when there would be more.
const OF_KEY_MAX: usize = 1_000;
/// Most tokens at all.
const COUNT_MAX: usize = 100_000;

/// A token as it is handed out.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) token: String,
    /// How long it lasts at most, and between two uses.
    pub(crate) lasts: Duration,
    pub(crate) idle: Duration,
}

#[derive(Debug)]
struct Session {
    principal: Arc<Principal>,
    key: String,
    made: Instant,
    /// Moved forward when the token is renewed.
    ends: Mutex<Instant>,
    /// What makes the next token of this one, once it was renewed.
    renewed: Mutex<Option<[u8; 32]>>,
    /// Seconds after the start of the map at which it was used last.
    used: AtomicU64,
    /// Streams that are open with it.
    streams: AtomicUsize,
}

/// A stream that is open with a token: as long as this is there, the token is in use.
#[derive(Debug)]
pub(super) struct InUse {
    session: Arc<Session>,
    /// Of the map.
    started: Instant,
}

impl Drop for InUse {
    fn drop(&mut self) {
        let used = seconds_between(self.started, Instant::now());
        self.session.used.fetch_max(used, Ordering::Relaxed);
        self.session.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All tokens of a server.
#[derive(Debug)]
pub(super) struct Tokens {
    started: Instant,
    sessions: RwLock<HashMap<Fingerprint, Arc<Session>>>,
}

impl Tokens {
    pub(super) fn new(now: Instant) -> Tokens {
        Tokens {
            started: now,
            sessions: RwLock::default(),
        }
    }

    /// A new token for the owner of a key.
    pub(super) fn grant(
        &self,
        key: &str,
        principal: Arc<Principal>,
        now: Instant,
    ) -> Result<Granted, SecurityError> {
        let token = format!("{PREFIX}{}", random_text(&random::<32>()?));
        self.insert(&token, key, principal, now);
        Ok(granted(token))
    }

    fn insert(&self, token: &str, key: &str, principal: Arc<Principal>, now: Instant) {
        let session = Session {
            principal,
            key: key.to_owned(),
            made: now,
            ends: Mutex::new(now + AGE_MAX),
            renewed: Mutex::default(),
            used: AtomicU64::new(self.seconds(now)),
            streams: AtomicUsize::new(0),
        };
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let of_key = sessions
            .values()
            .filter(|session| session.key == key)
            .count();
        if of_key >= OF_KEY_MAX || sessions.len() >= COUNT_MAX {
            let is_candidate = |session: &Session| of_key < OF_KEY_MAX || session.key == key;
            let candidates = sessions.iter().filter(|(_, session)| is_candidate(session));
            let oldest = candidates.min_by_key(|(_, session)| session.made);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                sessions.remove(&oldest);
            }
        }
        sessions.insert(fingerprint(token.as_bytes()), Arc::new(session));
    }

    /// Whose token it is, and that it is used now. One hash, one look-up, no allocation.
    pub(super) fn find(&self, token: &str, now: Instant) -> Option<Arc<Principal>> {
        let session = self.session(token, now)?;
        session.used.store(self.seconds(now), Ordering::Relaxed);
        Some(session.principal.clone())
    }

    /// Whose token it is, when the server asks for itself: that is no use of it.
    pub(super) fn peek(&self, token: &str, now: Instant) -> Option<Arc<Principal>> {
        Some(self.session(token, now)?.principal.clone())
    }

    /// Notes that a stream is open with a token, until what is given is dropped.
    pub(super) fn hold(&self, token: &str, now: Instant) -> Option<InUse> {
        let session = self.session(token, now)?;
        session.streams.fetch_add(1, Ordering::Relaxed);
        Some(InUse {
            session,
            started: self.started,
        })
    }

    fn session(&self, token: &str, now: Instant) -> Option<Arc<Session>> {
        let digest = fingerprint(token.strip_prefix(PREFIX).map(|_| token)?.as_bytes());
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get(&digest)?;
        (!self.is_over(session, now)).then(|| session.clone())
    }

    /// A new token for the owner of an old one, which ends in a minute. Renewed again until then,
    /// an old token has the same new one: a client that lost the answer may ask again, and there is
    /// one session. `None` once the new one has ended.
    pub(super) fn renew(
        &self,
        token: &str,
        now: Instant,
    ) -> Option<Result<Granted, SecurityError>> {
        let session = self.session(token, now)?;
        let mut renewed = lock(&session.renewed);
        if let Some(salt) = *renewed {
            let next = next_of(&salt, token);
            self.session(&next, now)?;
            return Some(Ok(granted(next)));
        }
        let salt = match random::<32>() {
            Ok(salt) => salt,
            Err(error) => return Some(Err(error)),
        };
        let next = next_of(&salt, token);
        self.insert(&next, &session.key, session.principal.clone(), now);
        *renewed = Some(salt);
        let mut ends = lock(&session.ends);
        *ends = (*ends).min(now + RENEWED_GRACE);
        Some(Ok(granted(next)))
    }

    /// Ends one token; whether it was there.
    pub(super) fn end(&self, token: &str) -> bool {
        let digest = fingerprint(token.as_bytes());
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&digest).is_some()
    }

    /// Ends all tokens of a key; how many there were.
    pub(super) fn end_of_key(&self, key: &str) -> usize {
        self.retain(|session| session.key != key)
    }

    /// Removes what is over, and the tokens of keys that are not registered any more or whose owner
    /// may something else now; how many.
    pub(super) fn sweep(
        &self,
        now: Instant,
        principal: impl Fn(&str) -> Option<Arc<Principal>>,
    ) -> usize {
        self.retain(|session| {
            let is_same = |now: Arc<Principal>| now == session.principal;
            !self.is_over(session, now) && principal(&session.key).is_some_and(is_same)
        })
    }

    fn retain(&self, stays: impl Fn(&Session) -> bool) -> usize {
        let has_any = {
            let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
            sessions.values().any(|session| !stays(session))
        };
        if !has_any {
            return 0;
        }
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = sessions.len();
        sessions.retain(|_, session| stays(session));
        before - sessions.len()
    }

    fn is_over(&self, session: &Session, now: Instant) -> bool {
        let ends = *lock(&session.ends);
        let idle = self
            .seconds(now)
            .saturating_sub(session.used.load(Ordering::Relaxed));
        let is_open = session.streams.load(Ordering::Relaxed) > 0;
        now >= ends || (!is_open && idle >= IDLE_MAX.as_secs())
    }

    fn seconds(&self, now: Instant) -> u64 {
        seconds_between(self.started, now)
    }
}

fn granted(token: String) -> Granted {
    Granted {
        token,
        lasts: AGE_MAX,
        idle: IDLE_MAX,
    }
}

/// The token that follows `token`. The memory of the server holds the salt alone.
fn next_of(salt: &[u8], token: &str) -> String {
    let digest = fingerprint(&[salt, token.as_bytes()].concat());
    format!("{PREFIX}{}", random_text(&digest))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seconds_between(started: Instant, now: Instant) -> u64 {
    now.saturating_duration_since(started).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Clearance;

    fn somebody() -> Arc<Principal> {
        Arc::new(Principal::new("job", Clearance::Operator, []))
    }

    #[test]
    fn a_token_counts_until_it_is_idle_old_renewed_or_ended() {
        let start = Instant::now();
        let tokens = Tokens::new(start);
        let token = || tokens.grant("k", somebody(), start).unwrap().token;
        let after = |time: Duration| start + time;

        let one = token();
        assert_eq!(tokens.find(&one, start), Some(somebody()));
        assert_eq!(tokens.find(&one[1..], start), None);
        assert_eq!(tokens.find("jdk_t_", start), None);
        assert!(tokens.find(&one, after(IDLE_MAX / 2)).is_some());
        assert!(
            tokens
                .find(&one, after(IDLE_MAX * 3 / 2 + Duration::from_secs(1)))
                .is_none()
        );

        let used = token();
        let mut at = Duration::ZERO;
        while at < AGE_MAX {
            assert!(tokens.find(&used, after(at)).is_some(), "{at:?}");
            at += IDLE_MAX / 2;
        }
        assert!(tokens.find(&used, after(AGE_MAX)).is_none());

        let old = token();
        let new = tokens.renew(&old, start).unwrap().unwrap().token;
        assert!(tokens.find(&old, after(RENEWED_GRACE / 2)).is_some());
        assert!(tokens.find(&old, after(RENEWED_GRACE)).is_none());
        assert!(tokens.find(&new, after(RENEWED_GRACE)).is_some());
        assert!(tokens.end(&new) && !tokens.end(&new));
        assert!(tokens.find(&new, start).is_none());
    }

    #[test]
    fn a_token_renewed_again_has_one_successor() {
        let start = Instant::now();
        let tokens = Tokens::new(start);
        let count = || tokens.sessions.read().unwrap().len();
        let old = tokens.grant("k", somebody(), start).unwrap().token;
        let renew = |token: &str| {
            tokens
                .renew(token, start)
                .map(|granted| granted.unwrap().token)
        };
        let new = renew(&old).unwrap();
        assert_eq!((renew(&old), count()), (Some(new.clone()), 2));
        let both = std::thread::scope(|scope| {
            let other = scope.spawn(|| renew(&new));
            (renew(&new), other.join().unwrap())
        });
        assert!(both.0.is_some() && both.0 == both.1 && count() == 3);
        // What was ended does not come back.
        assert!(tokens.end(&new));
        assert_eq!((renew(&old), renew(&new)), (None, None));
    }

    #[test]
    fn looking_at_a_token_is_no_use_of_it() {
        let start = Instant::now();
        let tokens = Tokens::new(start);
        let token = tokens.grant("k", somebody(), start).unwrap().token;
        let late = start + IDLE_MAX - Duration::from_secs(1);
        assert_eq!(tokens.peek(&token, late), Some(somebody()));
        assert_eq!(tokens.peek(&token, start + IDLE_MAX), None);
        assert_eq!(tokens.sweep(start + IDLE_MAX, |_| Some(somebody())), 1);
    }

    #[test]
    fn a_token_is_not_idle_while_a_stream_is_open_with_it() {
        let start = Instant::now();
        let tokens = Tokens::new(start);
        let token = tokens.grant("k", somebody(), start).unwrap().token;
        let (late, end) = (start + 2 * IDLE_MAX, start + AGE_MAX);
        let (one, other) = (tokens.hold(&token, start), tokens.hold(&token, start));
        drop(one);
        assert_eq!(tokens.sweep(late, |_| Some(somebody())), 0);
        assert_eq!(tokens.peek(&token, late), Some(somebody()));
        assert_eq!(tokens.peek(&token, end), None, "it is old");
        drop(other);
        assert_eq!(tokens.peek(&token, late), None);
        assert!(tokens.hold(&token, late).is_none());
    }

    #[test]
    fn tokens_end_with_their_key_and_when_it_may_less() {
        let start = Instant::now();
        let tokens = Tokens::new(start);
        let token = tokens.grant("k", somebody(), start).unwrap().token;
        assert_eq!(tokens.sweep(start, |_| Some(somebody())), 0);
        let less = Arc::new(Principal::new("job", Clearance::ValidUser, []));
        assert_eq!(tokens.sweep(start, |_| Some(less.clone())), 1);
        assert!(tokens.find(&token, start).is_none());
        let token = tokens.grant("k", somebody(), start).unwrap().token;
        assert_eq!(tokens.end_of_key("other"), 0);
        assert_eq!(tokens.end_of_key("k"), 1);
        assert!(tokens.find(&token, start).is_none());
    }

    #[test]
    fn a_key_has_a_bounded_number_of_tokens() {
        let start = Instant::now();
        let tokens = Tokens::new(start);
        let first = tokens.grant("k", somebody(), start).unwrap().token;
        for second in 1..=OF_KEY_MAX as u64 {
            tokens
                .grant("k", somebody(), start + Duration::from_millis(second))
                .unwrap();
        }
        assert!(tokens.find(&first, start).is_none());
        assert_eq!(tokens.end_of_key("k"), OF_KEY_MAX);
    }
}
