//! Addresses as people write them: `localhost:8080` and `:8080` to listen on, servers without
//! `http://`.
//!
//! Called by the parser of arguments, so that mistakes are wrong usage and name the argument.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Host of a server that is named by its port alone.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Host that a secured server listens on when only a port is named.
const EVERY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The address to listen on: `HOST:PORT`, or `:PORT` for 127.0.0.1. Names of hosts are resolved;
/// IPv4 is preferred, as in the default address.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    resolve(text, LOOPBACK)
}

/// The same for a secured server: `:PORT` listens on every IPv4 address.
pub(crate) fn listen_secured(text: &str) -> Result<SocketAddr, String> {
    resolve(text, EVERY)
}

fn resolve(text: &str, host_of_port: IpAddr) -> Result<SocketAddr, String> {
    if let Some((_, rest)) = text.split_once("://") {
        return Err(format!(
            "an address to listen on has no scheme: write {rest}"
        ));
    }
    let (host, port) = split(text)?;
    let port = port.ok_or_else(|| match text.parse::<u16>() {
        Ok(port) => format!("it names no host: write :{port}, or HOST:{port}"),
        Err(_) => format!("it names no port: write {text}:8080, for example"),
    })?;
    if host.is_empty() {
        return Ok(SocketAddr::new(host_of_port, port));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Ok(SocketAddr::new(address, port));
    }
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|error| format!("cannot find the host {host:?}: {error}"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    let first = found.first().copied();
    first.ok_or_else(|| format!("the host {host:?} has no address"))
}

/// The address of a server: `http://HOST:PORT`, the same without `http://`, or `:PORT` of this
/// machine. Text that cannot be one is refused.
pub(crate) fn server(text: &str) -> Result<String, String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let is_known =
        |scheme: &str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    if let Some(scheme) = scheme.filter(|scheme| !is_known(scheme)) {
        return Err(format!(
            "servers are reached by http:// or https://, not by {scheme}://"
        ));
    }
    if rest.contains(['?', '#']) {
        return Err("the address of a server has no query: it ends with the port".to_owned());
    }
    let authority = rest.split('/').next().unwrap_or_default();
    // A name and a password may stand before the host.
    let place = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = split(place)?;
    match (host, scheme, port) {
        ("", None, Some(_)) => Ok(format!("{LOOPBACK}{text}")),
        ("", _, _) => Err("it names no host, as http://127.0.0.1:8080 does".to_owned()),
        (_, None, None) if text.parse::<u16>().is_ok() => Err(format!(
            "it names no host: write :{text} for a server of this machine"
        )),
        _ => Ok(text.to_owned()),
    }
}

/// A server's address with its scheme: `https://` where the connection has to be secured, else
/// `http://`, unless the address names one.
pub(crate) fn with_scheme(address: &str, is_secured: bool) -> Cow<'_, str> {
    match (address.contains("://"), is_secured) {
        (true, _) => Cow::Borrowed(address),
        (false, true) => Cow::Owned(format!("https://{address}")),
        (false, false) => Cow::Owned(format!("http://{address}")),
    }
}

/// Splits `HOST:PORT`; either may be missing, not both.
fn split(text: &str) -> Result<(&str, Option<u16>), String> {
    if text.is_empty() {
        return Err("it is empty: write HOST:PORT, such as 127.0.0.1:8080".to_owned());
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("an address has no blanks".to_owned());
    }
    let is_bare = !text.starts_with('[') && text.matches(':').count() > 1;
    if is_bare {
        return Err("an IPv6 address is in brackets: write [::1]:8080, for example".to_owned());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']').unwrap_or_default();
        let is_address = inner.parse::<Ipv6Addr>().is_ok();
        if !is_address {
            return Err(format!("{host} is no IPv6 address in brackets"));
        }
    }
    let port = port.map(|port| {
        let number = port.parse::<u16>();
        number.map_err(|_| format!("{port:?} is no port: ports are 0 to 65535"))
    });
    Ok((host, port.transpose()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_takes_host_and_port_or_port() {
        for (text, address) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            (":0", "127.0.0.1:0"),
            ("[::1]:8080", "[::1]:8080"),
            ("0.0.0.0:65535", "0.0.0.0:65535"),
        ] {
            assert_eq!(listen(text).unwrap().to_string(), address, "{text}");
        }
        let every = listen_secured(":8443").unwrap();
        assert_eq!(every.to_string(), "0.0.0.0:8443");
    }

    #[test]
    fn listen_names_what_is_missing_or_wrong() {
        for (text, part) in [
            ("", "it is empty"),
            ("8080", "write :8080"),
            ("localhost", "write localhost:8080"),
            ("::1", "write [::1]:8080"),
            ("::1:8080", "write [::1]:8080"),
            ("[::1]", "no port"),
            ("[x]:80", "no IPv6 address"),
            ("[::1:80", "no IPv6 address"),
            ("localhost:", "0 to 65535"),
            ("localhost:65536", "0 to 65535"),
            ("localhost:-1", "0 to 65535"),
            ("localhost:http", "0 to 65535"),
            (":", "0 to 65535"),
            ("a b:80", "no blanks"),
            ("http://localhost:8080", "write localhost:8080"),
        ] {
            let error = listen(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn servers_need_no_scheme() {
        for (text, is_secured, address) in [
            ("http://db:8080", false, "http://db:8080"),
            ("HTTPS://db:8443/", false, "HTTPS://db:8443/"),
            ("http://db", true, "http://db"),
            ("127.0.0.1:8080", false, "http://127.0.0.1:8080"),
            ("localhost", false, "http://localhost"),
            ("[::1]:8080", false, "http://[::1]:8080"),
            (":8080", false, "http://127.0.0.1:8080"),
            ("db.example.com:8443", true, "https://db.example.com:8443"),
            ("db:80/behind/proxy", false, "http://db:80/behind/proxy"),
        ] {
            let server = server(text).unwrap();
            assert_eq!(with_scheme(&server, is_secured), address, "{text}");
        }
    }

    #[test]
    fn servers_that_cannot_be_are_refused() {
        for (text, part) in [
            ("", "it is empty"),
            ("http://", "it is empty"),
            ("http://:8080", "no host"),
            ("8080", "write :8080"),
            ("ftp://db:8080", "not by ftp://"),
            ("db:99999", "0 to 65535"),
            ("http://db:port", "0 to 65535"),
            ("::1", "in brackets"),
            ("http://db:80?x=1", "no query"),
            ("my server:80", "no blanks"),
        ] {
            let error = server(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
