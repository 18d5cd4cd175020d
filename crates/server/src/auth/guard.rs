//! Which names of this server a request may use, and which web pages may change something.
//!
//! `http::dispatch` asks before anything else. A page of another site can make a browser send
//! requests here, by a name of its own that leads to this machine (DNS rebinding), or plainly
//! across sites. The first is told by `Host`, the second by `Origin` and `Sec-Fetch-Site`, which
//! pages cannot forge. Programs that are no browsers send neither of the two and are not concerned.

use std::net::IpAddr;

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, ORIGIN, REFERER, USER_AGENT};
use hyper::{StatusCode, Version};

use crate::wire::{WireError, kind};

/// Names that may stand in `Host`, besides addresses and `localhost`. Lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    hosts: Vec<String>,
}

impl Guard {
    pub(crate) fn new(hosts: impl IntoIterator<Item = String>) -> Guard {
        let lower = |host: String| host.to_ascii_lowercase();
        Guard {
            hosts: hosts.into_iter().map(lower).collect(),
        }
    }

    /// Whether a request may use the name it came by.
    pub(crate) fn check_host(
        &self,
        version: Version,
        uri: &hyper::Uri,
        headers: &HeaderMap,
    ) -> Result<(), WireError> {
        let mut all = headers.get_all(HOST).iter();
        let (first, second) = (all.next(), all.next());
        let bad = |what: &str| Err(WireError::new(kind::BAD_REQUEST, what));
        if second.is_some() {
            return bad("A request has one Host header, and this one has several.");
        }
        // HTTP/2 names the host in the address of the request.
        let host = match (first.map(|value| value.to_str()), uri.host()) {
            (Some(Ok(host)), _) => name_of(host),
            (Some(Err(_)), _) => return bad("The Host header is not text."),
            (None, Some(host)) => host,
            (None, None) if version == Version::HTTP_10 => return Ok(()),
            (None, None) => return bad("A request of HTTP/1.1 needs a Host header."),
        };
        if self.knows(host) {
            return Ok(());
        }
        let message = format!(
            "This server is not known as '{host}'. Use its address, or start it with \
             --public-host {host}."
        );
        let error = WireError::new(kind::BAD_REQUEST, message);
        Err(error.with_status(StatusCode::MISDIRECTED_REQUEST))
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host.ends_with(".localhost")
            || address.parse::<IpAddr>().is_ok()
            || self.hosts.iter().any(|known| is_named(known, &host))
    }
}

/// Whether a name is meant by one that is known, which may begin with `*.`.
fn is_named(known: &str, host: &str) -> bool {
    match known.strip_prefix("*.") {
        Some(parent) => host.split_once('.').is_some_and(|(_, rest)| rest == parent),
        None => known == host,
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// What a request carries, as far as it matters for pages of other sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// A body of JSON.
    Json,
    /// No body: a link or an image can send it, and browsers name its page less often.
    Nothing,
    Other,
}

/// Refuses what a page of another site made a browser send. `authority` is the host in the address
/// of the request, which HTTP/2 has instead of the header; `changes` says that the request may
/// change something or opens a web socket.
pub(crate) fn check_origin(
    headers: &HeaderMap,
    authority: Option<&str>,
    changes: bool,
    sent: Sent,
) -> Result<(), WireError> {
    if !changes {
        return Ok(());
    }
    let text = |name: &hyper::header::HeaderName| {
        headers.get(name).map(|value| value.to_str().unwrap_or(""))
    };
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    let is_foreign_site = site.is_some_and(|site| site != b"same-origin" && site != b"none");
    let is_foreign = |page: &str| {
        let host = page.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or("");
        let own = text(&HOST).or(authority);
        !own.is_some_and(|own| own.eq_ignore_ascii_case(host))
    };
    let is_foreign_origin = text(&ORIGIN).is_some_and(is_foreign);
    let is_browser = text(&USER_AGENT).is_some_and(|agent| agent.starts_with("Mozilla/"));
    // Without encryption, browsers name neither site nor origin of what a link or an image asks
    // for. A page may hide its address, and Studio does not.
    let is_unnamed = sent == Sent::Nothing && site.is_none() && !headers.contains_key(ORIGIN);
    let is_foreign_link = is_unnamed && text(&REFERER).map_or(is_browser, is_foreign);
    if is_foreign_site || is_foreign_origin || is_foreign_link {
        let message = "A page of another site may not change anything here.";
        return Err(WireError::new(kind::AUTHORIZATION, message));
    }
    // What a form can send across sites without asking, by a browser too old to name its page.
    // Programs may: RavenDB's client for Node.js does.
    let is_plain = text(&CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/plain"));
    if sent == Sent::Json && is_plain && is_browser {
        let message = "A body of text/plain is not taken from a browser; send application/json.";
        let error = WireError::new(kind::NOT_SUPPORTED, message);
        return Err(error.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_names_of_this_server_are_taken() {
        let guard = Guard::new(["DB.example".to_owned(), "*.wild.example".to_owned()]);
        let uri = hyper::Uri::from_static("/x");
        let status = |host: &str| {
            let headers = headers(&[("host", host)]);
            let checked = guard.check_host(Version::HTTP_11, &uri, &headers);
            checked.map_err(|error| error.status.as_u16())
        };
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "a.localhost",
            "127.0.0.1:1",
            "[::1]:8080",
            "10.1.2.3",
            "db.example:443",
            "db.example.",
            "a.wild.example",
        ] {
            assert_eq!(status(host), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "db.example.evil",
            "wild.example",
            "a.b.wild.example",
            "",
        ] {
            assert_eq!(status(host), Err(421), "{host}");
        }
        let twice = headers(&[("host", "localhost"), ("host", "localhost")]);
        assert!(guard.check_host(Version::HTTP_11, &uri, &twice).is_err());
        let none = HeaderMap::new();
        assert!(guard.check_host(Version::HTTP_11, &uri, &none).is_err());
        assert!(guard.check_host(Version::HTTP_10, &uri, &none).is_ok());
    }

    #[test]
    fn pages_of_other_sites_change_nothing() {
        let own = ("host", "127.0.0.1:8080");
        let may = |pairs: &[(&'static str, &str)]| {
            check_origin(&headers(pairs), None, true, Sent::Json).is_ok()
        };
        assert!(may(&[own]));
        assert!(may(&[own, ("origin", "http://127.0.0.1:8080")]));
        assert!(may(&[own, ("sec-fetch-site", "same-origin")]));
        let named = headers(&[("origin", "https://db.example:8443")]);
        assert!(check_origin(&named, Some("db.example:8443"), true, Sent::Json).is_ok());
        assert!(check_origin(&named, Some("db.example:1"), true, Sent::Json).is_err());
        assert!(may(&[
            own,
            ("sec-fetch-site", "none"),
            ("content-type", "application/json")
        ]));
        for foreign in [
            ("origin", "http://evil.example"),
            ("origin", "http://127.0.0.1:3000"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert!(!may(&[own, foreign]), "{foreign:?}");
            assert!(check_origin(&headers(&[own, foreign]), None, false, Sent::Other).is_ok());
        }
        let plain = ("content-type", "text/plain;charset=UTF-8");
        assert!(!may(&[own, plain, ("user-agent", "Mozilla/5.0 (X11)")]));
        assert!(may(&[own, plain, ("user-agent", "node")]));
        assert!(may(&[own, plain]));
    }
}
