//! Accepting connections, on the first loop, and spreading them over all.

use std::io::{self, Write};

use mio::net::{TcpListener, TcpStream};

use crate::shared::Shared;

/// Connections accepted before others are served.
const ACCEPTED_AT_ONCE: usize = 128;

/// Accepts what waits. `own` takes the connections of this loop; `true` when more may wait.
pub(super) fn accept(
    listener: &TcpListener,
    shared: &Shared,
    mut own: impl FnMut(TcpStream),
) -> bool {
    for _ in 0..ACCEPTED_AT_ONCE {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                // The files may be used up for a while; the next tick tries again.
                tracing::warn!(%error, "cannot accept a connection for Redis");
                return false;
            }
        };
        if shared.clients.len() >= shared.settings.clients_max() {
            refuse(stream, shared);
            continue;
        }
        match shared.next_thread() {
            0 => own(stream),
            thread => {
                if let Some(inbox) = shared.inboxes().get(thread) {
                    inbox.send_connection(stream);
                }
            }
        }
    }
    true
}

/// Says why, as far as that can be said without waiting.
pub(super) fn refuse(mut stream: TcpStream, shared: &Shared) {
    use std::sync::atomic::Ordering;
    shared.clients.refused.fetch_add(1, Ordering::Relaxed);
    let _ = stream.write(b"-ERR max number of clients reached\r\n");
}
