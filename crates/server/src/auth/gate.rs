//! The gate: who comes with a request, and how long a stream may stay open.
//!
//! Every connection tells its certificate, every request its headers; [`Gate::identify`] makes a
//! principal of them by one look-up. `running` calls [`Gate::round`] twice a second: it reads
//! changed files again, ends tokens, and wakes open streams, whose [`Lease`] looks again.
//!
//! Invariant: nothing is remembered of an earlier decision. What is removed from the registry
//! counts for the next request, on whatever connection it comes.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use hyper::header::{AUTHORIZATION, HeaderMap};
use tokio::sync::{Semaphore, watch};

use super::attempts::Attempts;
use super::audit::AuditLog;
use super::certificate::Fingerprint;
use super::directory::{SecurityDirectory, SecurityError};
use super::key::{self, StoredKey};
use super::principal::{Needs, Principal, Unknown, decide};
use super::registry::Lookup;
use super::tokens::{Granted, InUse, Tokens};

/// Keys that are verified at a time: each takes 19 MiB.
const VERIFIED_AT_ONCE: usize = 2;

/// Most characters of what a text gives as the id of its key: more than any key has.
const ID_CHARS_MAX: usize = 64;

/// What a connection proves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) peer: std::net::SocketAddr,
    pub(crate) certificate: Option<Fingerprint>,
}

impl Caller {
    /// A connection in plain text, which proves nothing.
    pub(crate) fn unproven(peer: std::net::SocketAddr) -> Caller {
        Caller {
            peer,
            certificate: None,
        }
    }
}

/// See the file head.
#[derive(Debug)]
pub(crate) enum Gate {
    /// Everybody may do everything.
    Open(Arc<Principal>),
    /// Certificates and tokens.
    Secured(Box<Secured>),
}

/// The state of a secured server.
#[derive(Debug)]
pub(crate) struct Secured {
    pub(crate) directory: SecurityDirectory,
    pub(crate) audit: AuditLog,
    lookup: RwLock<Arc<Lookup>>,
    tokens: Tokens,
    verifying: Semaphore,
    looked: Mutex<Looked>,
    /// Moves when somebody may less than before.
    changed: watch::Sender<u64>,
}

/// What the last round saw.
#[derive(Debug)]
struct Looked {
    /// Of the files; `None` for one that could not be read, so that the next round tries again.
    stamp: [Option<(SystemTime, u64)>; 2],
    at: SystemTime,
}

impl Gate {
    /// The gate of a secured server.
    pub(crate) fn secured(directory: SecurityDirectory) -> Result<Gate, SecurityError> {
        let path = directory.audit_path();
        let audit =
            AuditLog::open(path.clone()).map_err(|source| SecurityError::File { path, source })?;
        let stamp = directory.stamp();
        let lookup = Lookup::new(&directory.registry()?)?;
        Ok(Gate::Secured(Box::new(Secured {
            directory,
            audit,
            lookup: RwLock::new(Arc::new(lookup)),
            tokens: Tokens::new(Instant::now()),
            verifying: Semaphore::new(VERIFIED_AT_ONCE),
            looked: Mutex::new(Looked {
                stamp,
                at: SystemTime::now(),
            }),
            changed: watch::Sender::new(0),
        })))
    }

    pub(crate) fn as_secured(&self) -> Option<&Secured> {
        match self {
            Gate::Open(_) => None,
            Gate::Secured(secured) => Some(secured),
        }
    }

    /// Who comes with a request. A token goes before a certificate, and is used by this.
    pub(crate) fn identify(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<Arc<Principal>, Unknown> {
        self.find(caller, headers, Tokens::find)
    }

    /// Who it is that came earlier, when the server asks for itself.
    fn identify_again(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<Arc<Principal>, Unknown> {
        self.find(caller, headers, Tokens::peek)
    }

    fn find(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        of_token: fn(&Tokens, &str, Instant) -> Option<Arc<Principal>>,
    ) -> Result<Arc<Principal>, Unknown> {
        let secured = match self {
            Gate::Open(everybody) => return Ok(everybody.clone()),
            Gate::Secured(secured) => secured,
        };
        if let Some(token) = bearer(headers) {
            let found = of_token(&secured.tokens, token, Instant::now());
            return found.ok_or(Unknown::Invalid);
        }
        let certificate = caller.certificate.ok_or(Unknown::Nobody)?;
        let lookup = secured.lookup();
        let holder = lookup.certificates.get(&certificate);
        let holder = holder.ok_or(Unknown::Certificate)?;
        match holder.counts(SystemTime::now()) {
            true => Ok(holder.principal.clone()),
            false => Err(Unknown::Certificate),
        }
    }

    /// Looks at the files, and ends what is over.
    /// With `force`, whatever their dates say.
    pub(crate) fn round(&self, force: bool) -> Round {
        let secured = self.as_secured();
        secured.map_or(Round::default(), |secured| secured.round(force))
    }
}

/// What became of a text that was offered as a key.
#[derive(Debug)]
pub(crate) enum Exchanged {
    Granted(Granted),
    /// It is not a key that is registered.
    Refused,
    /// There were too many wrong ones: it was not looked at.
    Wait(Duration),
}

/// What a round found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// The server's certificate may be another one.
    pub(crate) is_new_certificate: bool,
}

/// The token that a request carries.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Secured {
    fn lookup(&self) -> Arc<Lookup> {
        self.lookup
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Exchanges the text of a key for a token. Failures are counted before the next one that
    /// waits is verified, so that at most one more than the limit of them is looked at, however
    /// many come at the same time.
    pub(crate) async fn exchange(
        &self,
        text: &str,
        from: IpAddr,
        attempts: &Attempts,
    ) -> Result<Exchanged, SecurityError> {
        // The id of the key, which is no secret.
        let id = text.split('_').nth(1).unwrap_or("");
        let id: String = id.chars().take(ID_CHARS_MAX).collect();
        let wait = || attempts.wait(from, &id, Instant::now());
        let refused = || {
            attempts.failed(from, &id, Instant::now());
            Ok(Exchanged::Refused)
        };
        if let Some(wait) = wait() {
            return Ok(Exchanged::Wait(wait));
        }
        let Some((key, secret)) = key::parts(text) else {
            return refused();
        };
        let found = self.lookup().keys.get(key).cloned();
        let Ok(_place) = self.verifying.acquire().await else {
            return refused();
        };
        // Others may have failed while this one waited for its place.
        if let Some(wait) = wait() {
            return Ok(Exchanged::Wait(wait));
        }
        let secret = secret.to_owned();
        let verified = tokio::task::spawn_blocking(move || match found {
            Some((stored, principal)) => stored.accepts(&secret).then_some((stored.id, principal)),
            None => {
                StoredKey::refuse(&secret);
                None
            }
        });
        match verified.await.ok().flatten() {
            Some((id, principal)) => {
                let granted = self.tokens.grant(&id, principal, Instant::now());
                granted.map(Exchanged::Granted)
            }
            None => refused(),
        }
    }

    /// Renews the token of a request.
    pub(crate) fn renew(&self, headers: &HeaderMap) -> Option<Result<Granted, SecurityError>> {
        self.tokens.renew(bearer(headers)?, Instant::now())
    }

    /// Ends the token of a request, and the streams opened with it.
    pub(crate) fn end(&self, headers: &HeaderMap) -> bool {
        let ended = bearer(headers).is_some_and(|token| self.tokens.end(token));
        if ended {
            self.wake();
        }
        ended
    }

    /// Ends all tokens of a key.
    pub(crate) fn end_of_key(&self, id: &str) -> usize {
        let ended = self.tokens.end_of_key(id);
        self.wake();
        ended
    }

    fn wake(&self) {
        self.changed.send_modify(|generation| *generation += 1);
    }

    /// See [`Gate::round`].
    fn round(&self, force: bool) -> Round {
        let (stamp, now) = (self.directory.stamp(), SystemTime::now());
        let before = {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *looked, Looked { stamp, at: now })
        };
        let is_new_registry = force || before.stamp[0] != stamp[0];
        if is_new_registry {
            match self
                .directory
                .registry()
                .and_then(|registry| Lookup::new(&registry))
            {
                Ok(lookup) => {
                    let mut place = self.lookup.write().unwrap_or_else(PoisonError::into_inner);
                    *place = Arc::new(lookup);
                }
                Err(error) => {
                    self.look_again(0);
                    tracing::error!(%error, "who was registered before still is");
                }
            }
        }
        let lookup = self.lookup();
        let of_key = |id: &str| lookup.keys.get(id).map(|(_, principal)| principal.clone());
        let ended = self.tokens.sweep(Instant::now(), of_key);
        let mut holders = lookup.certificates.values();
        let is_over = holders.any(|holder| holder.counts(before.at) && !holder.counts(now));
        if is_new_registry || ended > 0 || is_over {
            self.wake();
        }
        // What could not be written is told in the log of the server, and tried again.
        if let Err(error) = self.audit.settle(Instant::now()) {
            tracing::error!(%error, "the audit log cannot be written");
        }
        Round {
            is_new_certificate: force || before.stamp[1] != stamp[1],
        }
    }

    /// Has the server's certificate read again in the next round: it could not be used.
    pub(crate) fn retry_certificate(&self) {
        self.look_again(1);
    }

    fn look_again(&self, file: usize) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.stamp[file] = None;
    }
}

/// How long a stream may go on: as long as the request that opened it would be let in.
/// While it is there, the token of that request is in use.
pub(crate) struct Lease {
    shared: Arc<crate::shared::Shared>,
    caller: Caller,
    headers: HeaderMap,
    needs: Needs,
    database: Option<String>,
    _token: Option<InUse>,
}

impl Lease {
    /// `None` on a server that authenticates nobody: nothing ends a stream there.
    pub(crate) fn new(
        shared: &Arc<crate::shared::Shared>,
        caller: Caller,
        headers: &HeaderMap,
        needs: Needs,
        database: Option<String>,
    ) -> Option<Lease> {
        let secured = shared.gate.as_secured()?;
        let held = bearer(headers).and_then(|token| secured.tokens.hold(token, Instant::now()));
        // Of all headers only the one with the token matters.
        let authorization = headers.get(AUTHORIZATION).cloned();
        let headers = authorization.map(|value| (AUTHORIZATION, value));
        let headers = headers.into_iter().collect();
        Some(Lease {
            shared: shared.clone(),
            caller,
            headers,
            needs,
            database,
            _token: held,
        })
    }

    /// Resolves when whoever opened the stream may not read it any more.
    pub(crate) async fn ended(self) {
        let Some(secured) = self.shared.gate.as_secured() else {
            return std::future::pending().await;
        };
        let mut changed = secured.changed.subscribe();
        loop {
            let principal = self.shared.gate.identify_again(&self.caller, &self.headers);
            let principal = principal.as_deref().map_err(|unknown| *unknown);
            if decide(principal, self.needs, self.database.as_deref()).is_err()
                || changed.changed().await.is_err()
            {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
