//! A socket whose writes may not stall: a client that takes none of its answer for too long loses
//! the connection.
//!
//! `listener` puts every connection into one. hyper bounds how long a head may take, and `body` how
//! long a body; this bounds the reading of answers, whoever wrote them.
//!
//! The deadline is an entry of the runtime's timer wheel, made when a write first has to wait; a
//! connection that is idle, or whose client keeps up, has none.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// See the file head.
pub(super) struct Stalling<S> {
    stream: S,
    limit: Duration,
    /// Runs while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Stalling<S> {
        Stalling {
            stream,
            limit,
            deadline: None,
        }
    }

    /// Starts the deadline when a write waits, ends it when one is done.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        if deadline.as_mut().poll(context).is_ready() {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the client reads no answer");
            return Poll::Ready(Err(error));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[test]
    fn a_write_that_nobody_reads_fails_in_time() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(8);
            let mut stalling = Stalling::new(near, Duration::from_millis(20));
            stalling.write_all(b"12345678").await.unwrap();
            let failed = stalling.write_all(b"9").await.unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
            let mut taken = [0; 8];
            tokio::io::AsyncReadExt::read_exact(&mut far, &mut taken)
                .await
                .unwrap();
            assert_eq!(&taken, b"12345678");
        });
    }
}
