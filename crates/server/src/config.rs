//! Limits and addresses of the server, with defaults that are safe on a shared machine.
//!
//! Filled in by `cli` or a test and handed to `Server::start`; never changed afterwards.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::auth::SecurityDirectory;
use crate::log_control::LogControl;

/// Where the server listens unless told otherwise: only this machine can reach it.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// Largest request body unless told otherwise.
const BODY_BYTES_MAX: usize = 64 << 20;
/// A body may take this part of the memory, and all of them together the same: what is made of a
/// body while it is stored takes up to sixteen times as much.
const BODY_PART_OF_MEMORY: u64 = 64;
/// Smallest limit of bodies, however little memory there is.
const BODY_BYTES_MIN: usize = 1 << 20;

/// Memory for which there is one connection: one that is idle takes a sixth of it, and one that is
/// sending a head or a body, as far as that is not counted elsewhere, a third.
const MEMORY_OF_CONNECTION: u64 = 128 << 10;
/// Least connections, however little memory there is.
const CONNECTIONS_MIN: usize = 256;
/// One address may take this part of the connections.
const ADDRESS_PART_OF_CONNECTIONS: usize = 8;

/// Open databases at which others are closed, unless said otherwise: each reserves address space.
const OPEN_DATABASES_LIMIT: usize = 2_000;
/// Memory for which there is one open database beyond those that stay open: it takes about a MiB
/// after it was written, and all of them shall leave most of the memory to others.
const MEMORY_OF_OPEN_DATABASE: u64 = 16 << 20;
/// Memory for which there is one that stays open.
const MEMORY_OF_RESTING_DATABASE: u64 = 4 << 20;

/// Largest head of a request unless told otherwise.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// A head may take this part of the memory, because every connection may be sending one.
const HEAD_PART_OF_MEMORY: u64 = 1 << 16;
/// Smallest limit of heads, however little memory there is.
const HEAD_BYTES_MIN: usize = 16 << 10;

/// When response bodies are compressed for clients that accept gzip or zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Never.
    Off,
    /// Only for clients on other machines: on loopback, copying is cheaper than compressing.
    Remote,
    /// For every client that asks.
    On,
}

/// Configuration of one server. Start from [`ServerConfig::default`] and change what differs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Address to listen on; port 0 picks a free one, which `Running::address` then tells.
    pub listen: SocketAddr,
    /// Address for subscriptions over TCP; without it a free port of the address of `listen`,
    /// which clients ask for over HTTP.
    pub tcp_listen: Option<SocketAddr>,
    /// Open connections of subscriptions; further ones wait in the listen queue.
    pub tcp_connections_max: usize,
    /// Open connections of subscriptions from one address; further ones are closed at once.
    /// Loopback is exempt.
    pub tcp_connections_of_address_max: usize,
    /// Accept an address that other machines can reach although traffic is neither encrypted nor
    /// authenticated. Refused by default.
    pub allow_unprotected_public: bool,
    /// Serve over TLS, to those who are registered here alone. `None`: to everybody, in plain text.
    pub security: Option<SecurityDirectory>,
    /// Names of this server that may stand in `Host`, besides addresses, `localhost` and the names
    /// of the certificate. `*.` at the start stands for one label.
    pub public_hosts: Vec<String>,
    /// Largest request body in bytes, before and after decompression. Beyond it: 413.
    pub body_bytes_max: usize,
    /// Bytes of request bodies that are in memory at a time, small ones left out. Those that need
    /// more wait. As many bytes again are shared out to pieces of long answers, which get smaller
    /// where there are many; what answers have in memory beyond pieces may take four times as much.
    pub bodies_bytes_max: usize,
    /// How long a body waits for memory. Beyond it: 503.
    pub bodies_wait_max: Duration,
    /// How long an element of a bulk insert waits for others, to be stored together.
    pub batch_wait_max: Duration,
    /// Largest attachment in bytes, which is stored while it arrives. Beyond it: 413.
    pub attachment_bytes_max: u64,
    /// Largest head of a request (line and headers) in bytes. Beyond it: 431.
    pub head_bytes_max: usize,
    /// Most headers in a request. Beyond it: 431.
    pub header_count_max: usize,
    /// How long the handshake of TLS may take.
    pub handshake_timeout: Duration,
    /// How long a request head may take from its first byte to its last.
    pub head_timeout: Duration,
    /// How long a connection may be idle before the first byte of a request, and how long a web
    /// socket may leave pings without an answer.
    pub idle_timeout: Duration,
    /// How long a client may pause while sending a body, or while reading an answer.
    pub stall_timeout: Duration,
    /// Open connections, web sockets included; further ones wait in the listen queue. One of
    /// HTTP/2, which carries many requests at a time, counts for sixteen.
    pub connections_max: usize,
    /// Threads for queries and other long reads; further ones queue.
    pub blocking_threads_max: usize,
    /// Requests for data that wait for one of those threads; further ones are answered with 503.
    pub waiting_requests_max: usize,
    /// Open connections from one address, counted as those of all are; further ones are closed at
    /// once. Loopback is exempt.
    pub connections_of_address_max: usize,
    /// Loopback is not exempt: for a server behind a proxy on its own machine.
    pub counts_loopback: bool,
    /// How long `Running::stop` waits for requests under way.
    pub drain_timeout: Duration,
    /// Compression of responses.
    pub compression: Compression,
    /// Time between two signs of life on a quiet stream.
    pub heartbeat: Duration,
    /// Time between two measurements of `/jackdaw/live`.
    pub live_period: Duration,
    /// Bytes of data files that are read again each second to find rot; 0 reads none.
    pub scrub_bytes_per_second: u64,
    /// Time without a request after which a database that nothing uses is closed until the next
    /// one; `None`: never.
    pub idle_close: Option<Duration>,
    /// Open databases beyond which those unused longest are closed sooner, after ten seconds.
    pub open_databases_max: usize,
    /// Open databases at which opening another one first closes one that nothing uses.
    pub open_databases_limit: usize,
    /// Directories of the server's machine below which backups may be made; the first is that of
    /// relative names. None: no backups over HTTP.
    pub backup_directories: Vec<PathBuf>,
    /// The databases are in memory: there is nothing to back up or to read again.
    pub is_in_memory: bool,
    /// Gives back memory that the allocator keeps for the calling thread. Called by the threads
    /// that serve connections when they have nothing to do, each at most every two seconds, and by
    /// those that made a long answer which shared little memory with others; it may take
    /// milliseconds and must not wait for anything.
    pub give_back_memory: Option<fn()>,
    /// The log of the process. `None`: its level cannot be changed over HTTP.
    pub log: Option<LogControl>,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: DEFAULT_LISTEN,
            tcp_listen: None,
            tcp_connections_max: 1_024,
            tcp_connections_of_address_max: 256,
            allow_unprotected_public: false,
            security: None,
            public_hosts: Vec::new(),
            body_bytes_max: BODY_BYTES_MAX,
            bodies_bytes_max: 1 << 30,
            bodies_wait_max: Duration::from_secs(10),
            batch_wait_max: Duration::from_secs(1),
            attachment_bytes_max: 2 << 30,
            head_bytes_max: HEAD_BYTES_MAX,
            header_count_max: 100,
            handshake_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(10),
            // Client libraries keep idle connections for about a minute before they reuse them.
            idle_timeout: Duration::from_secs(150),
            stall_timeout: Duration::from_secs(60),
            connections_max: 16_384,
            blocking_threads_max: 64,
            waiting_requests_max: 4_096,
            connections_of_address_max: 1_000,
            counts_loopback: false,
            drain_timeout: Duration::from_secs(10),
            compression: Compression::On,
            heartbeat: Duration::from_secs(15),
            live_period: Duration::from_secs(1),
            scrub_bytes_per_second: 4 << 20,
            idle_close: Some(Duration::from_secs(15 * 60)),
            open_databases_max: 128,
            open_databases_limit: OPEN_DATABASES_LIMIT,
            backup_directories: Vec::new(),
            is_in_memory: false,
            give_back_memory: None,
            log: None,
        }
    }
}

impl ServerConfig {
    /// Bounds bodies, heads and connections by the memory that the server may take.
    #[must_use]
    pub fn for_memory(mut self, memory_bytes: u64) -> ServerConfig {
        let part = usize::try_from(memory_bytes / BODY_PART_OF_MEMORY).unwrap_or(usize::MAX);
        self.bodies_bytes_max = part.max(BODY_BYTES_MIN).min(self.bodies_bytes_max);
        self.body_bytes_max = self.body_bytes_max.min(self.bodies_bytes_max);
        let head = usize::try_from(memory_bytes / HEAD_PART_OF_MEMORY).unwrap_or(usize::MAX);
        self.head_bytes_max = head.max(HEAD_BYTES_MIN).min(self.head_bytes_max);
        let count = usize::try_from(memory_bytes / MEMORY_OF_CONNECTION).unwrap_or(usize::MAX);
        self.connections_max = count.max(CONNECTIONS_MIN).min(self.connections_max);
        let part = |of: u64| usize::try_from(memory_bytes / of).unwrap_or(usize::MAX);
        let open_max = part(MEMORY_OF_RESTING_DATABASE).max(1);
        self.open_databases_max = open_max.min(self.open_databases_max);
        let open_limit = part(MEMORY_OF_OPEN_DATABASE).min(self.open_databases_limit);
        self.open_databases_limit = open_limit.max(self.open_databases_max);
        let of_address = self.connections_max / ADDRESS_PART_OF_CONNECTIONS;
        self.connections_of_address_max = of_address.min(self.connections_of_address_max);
        self
    }
}
