//! The token that an API key was exchanged for, and when a new one is due.
//!
//! Used by `transport`, which makes the exchange.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

/// A token is not used so shortly before it ends: the request has to arrive in time.
const SLACK: Duration = Duration::from_secs(30);
/// A token is exchanged for a new one after this time at the latest, whatever the server says.
const KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);

/// An API key with its present token, shared by all clones of a transport.
#[derive(Clone)]
pub(crate) struct ApiKey {
    text: Arc<str>,
    token: Arc<Mutex<Option<Token>>>,
}

struct Token {
    text: Arc<str>,
    ends: Instant,
    idle: Duration,
    used: Instant,
}

/// What a server hands out.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Granted {
    token: String,
    expires_in_sec: u64,
    idle_in_sec: u64,
}

impl ApiKey {
    pub(crate) fn new(text: &str) -> ApiKey {
        ApiKey {
            text: text.into(),
            token: Arc::default(),
        }
    }

    /// The body of the request for a token.
    pub(crate) fn exchange_body(&self) -> String {
        serde_json::json!({ "ApiKey": &*self.text }).to_string()
    }

    /// The token, when there is one that has not ended by now.
    pub(crate) fn token(&self, now: Instant) -> Option<Arc<str>> {
        let mut place = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let token = place.as_mut()?;
        if now + SLACK >= token.ends || now + SLACK >= token.used + token.idle {
            return None;
        }
        token.used = now;
        Some(token.text.clone())
    }

    /// Keeps what was handed out for a request made at `now`.
    pub(crate) fn keep(&self, granted: Granted, now: Instant) -> Arc<str> {
        let text: Arc<str> = granted.token.into();
        let token = Token {
            text: text.clone(),
            ends: now + Duration::from_secs(granted.expires_in_sec).min(KEPT_MAX),
            idle: Duration::from_secs(granted.idle_in_sec),
            used: now,
        };
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        text
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ApiKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_used_until_it_is_old_or_was_idle_for_too_long() {
        let (key, start) = (ApiKey::new("jdk_1_x"), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let granted = || Granted {
            token: "t".to_owned(),
            expires_in_sec: 2_000,
            idle_in_sec: 900,
        };
        assert!(key.token(start).is_none());
        assert_eq!(&*key.keep(granted(), start), "t");
        assert!(key.token(at(800)).is_some() && key.token(at(1_600)).is_some());
        assert!(key.token(at(1_980)).is_none(), "it ends at 2,000 s");
        key.keep(granted(), start);
        assert!(key.token(at(880)).is_none(), "it was idle");
    }
}
