//! Accepts TCP connections of clients and bounds their number.
//!
//! Called by `running` with a bound listener; ends when the server stops and its connections have
//! ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::session;
use crate::http::Addresses;
use crate::shared::Shared;

/// Pause after a failed `accept`: the usual reason is that file descriptors have run out.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Serves until `stop` turns true.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let config = &shared.config;
    let addresses = Addresses::new(
        config.tcp_connections_of_address_max,
        config.counts_loopback,
    );
    let places = Arc::new(Semaphore::new(shared.config.tcp_connections_max));
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await;
            let place = place.map_err(std::io::Error::other)?;
            Ok::<_, std::io::Error>((listener.accept().await?, place))
        };
        let accepted = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break,
            // At once: what ended takes memory until then, and the next connection may be far.
            Some(_) = connections.join_next() => continue,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok(((stream, peer), place)) => {
                let Some(address_place) = addresses.enter(peer.ip()) else {
                    tracing::debug!(%peer, "closed: too many connections from this address");
                    continue;
                };
                let shared = shared.clone();
                connections.spawn(async move {
                    let _places = (place, address_place);
                    session::run(shared, stream, peer).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a TCP connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
    // Each connection looks at the same flag; one that cannot send its last word is cut.
    let drain = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(shared.config.drain_timeout, drain)
        .await
        .is_err()
    {
        connections.shutdown().await;
    }
}
