//! Watching traffic: one log line for each answered request that the configuration chooses.
//!
//! Off at start, set by `routes::logs`, asked by `http::dispatch` before and after each request.
//! It lasts until the process ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

/// Which requests are logged. Empty lists choose all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrafficFilter {
    pub(crate) databases: Option<Vec<String>>,
    pub(crate) status_codes: Option<Vec<u16>>,
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) duration_ms_min: u64,
}

/// The state of watching.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    is_on: AtomicBool,
    filter: RwLock<TrafficFilter>,
}

impl Traffic {
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    pub(crate) fn filter(&self) -> TrafficFilter {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        filter.clone()
    }

    pub(crate) fn set(&self, is_on: bool, filter: TrafficFilter) {
        *self.filter.write().unwrap_or_else(PoisonError::into_inner) = filter;
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// When a request began, while requests are watched.
    pub(crate) fn begin(&self) -> Option<Instant> {
        self.is_on().then(Instant::now)
    }

    /// Logs an answered request if the filter chooses it.
    pub(crate) fn log(&self, began: Instant, method: &str, url: &str, status: u16) {
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        if filter.chooses(method, url, status, duration_ms) {
            tracing::info!(target: "traffic", method, url, status, duration_ms, "request");
        }
    }
}

impl TrafficFilter {
    fn chooses(&self, method: &str, url: &str, status: u16, duration_ms: u64) -> bool {
        fn among<T>(list: Option<&Vec<T>>, is_it: impl FnMut(&T) -> bool) -> bool {
            list.is_none_or(|list| list.is_empty() || list.iter().any(is_it))
        }
        let path = url.split('?').next().unwrap_or("");
        let rest = path.strip_prefix("/databases/");
        let raw = rest.map_or("", |rest| rest.split('/').next().unwrap_or(""));
        let database = crate::wire::decode(raw).to_lowercase();
        duration_ms >= self.duration_ms_min
            && among(self.status_codes.as_ref(), |code| *code == status)
            && among(self.methods.as_ref(), |one| {
                one.eq_ignore_ascii_case(method)
            })
            && among(self.databases.as_ref(), |one| {
                one.to_lowercase() == database
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_choose_by_every_list_that_is_not_empty() {
        let all = TrafficFilter::default();
        assert!(all.chooses("GET", "/", 200, 0));
        let some = TrafficFilter {
            databases: Some(vec!["My Db".to_owned()]),
            status_codes: Some(vec![404]),
            methods: Some(vec!["get".to_owned()]),
            duration_ms_min: 5,
        };
        let url = "/databases/my%20db/docs?id=/databases/other/";
        assert!(some.chooses("GET", url, 404, 5));
        assert!(!some.chooses("GET", url, 404, 4));
        assert!(!some.chooses("GET", url, 200, 5));
        assert!(!some.chooses("PUT", url, 404, 5));
        assert!(!some.chooses("GET", "/databases/other/docs", 404, 5));
        assert!(!some.chooses("GET", "/build/version", 404, 5));
        let empty = TrafficFilter {
            databases: Some(Vec::new()),
            ..TrafficFilter::default()
        };
        assert!(empty.chooses("GET", "/", 500, 0));
    }
}
