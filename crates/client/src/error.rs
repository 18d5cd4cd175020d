//! Why a call failed, told by whom: the connection, the server, or the reader of the answer.

use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError, InvalidMessage};

use crate::connect::is_secured;

/// A failed call. Unless said otherwise nothing was changed on the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No usable answer came. The server may or may not have done what was asked.
    #[error("no answer from {url}: {source}. {}", advice(.url, .source))]
    Transport {
        /// Address of the call.
        url: String,
        /// What went wrong with the connection.
        source: Box<ureq::Error>,
    },
    /// No secured connection came about. The server has done nothing.
    #[error("no secured connection to {url}: {problem}")]
    Tls {
        /// Address of the call.
        url: String,
        /// What one of the two sides did not like.
        problem: TlsProblem,
    },
    /// The server wants to know who comes, and neither a certificate nor an API key was given.
    #[error(
        "the server answered 403: {message} Give a certificate with --certificate, or an API key \
         with --api-key-file"
    )]
    Anonymous {
        /// For people.
        message: String,
    },
    /// The answer stopped in the middle.
    #[error("the answer from {url} broke off: {source}")]
    BrokenOff {
        /// Address of the call.
        url: String,
        /// What went wrong with the connection.
        source: std::io::Error,
    },
    /// The server refused: it says why.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Type name of the failure, the one that other clients map to exceptions.
        kind: String,
        /// For people.
        message: String,
    },
    /// A change vector did not match: someone else was faster. Load, and try again.
    #[error("concurrency conflict: {message}")]
    Conflict {
        /// For people.
        message: String,
    },
    /// The answer is not what this client knows.
    #[error("the answer from {url} could not be read: {source}")]
    Unreadable {
        /// Address of the call.
        url: String,
        /// What serde found.
        source: serde_json::Error,
    },
    /// A value given by the caller cannot be written as JSON.
    #[error("the value cannot be written as JSON: {0}")]
    Unwritable(serde_json::Error),
}

/// Why no secured connection came about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsProblem {
    /// The server cannot be trusted.
    #[error(
        "the server's certificate is signed by an authority that is not known here: give its file \
         with --authority"
    )]
    UnknownAuthority,
    /// The server is trusted under other names.
    #[error(
        "the server's certificate is not for this name: use one that it has, or make one that has \
         this, with `jackdaw certificate server --host`"
    )]
    OtherName,
    /// The server's certificate does not count at this time.
    #[error(
        "the server's certificate has expired or is not valid yet: make a new one with `jackdaw \
         certificate server`, or set the clock of this machine"
    )]
    OtherTime,
    /// Something else than TLS answers.
    #[error("what answers does not speak TLS: write http:// if the server is not secured")]
    NotSecured,
    /// The other side ended the handshake because of the certificate given, or of none.
    #[error(
        "the server wants a certificate, or another one than that given: give it with --certificate"
    )]
    CertificateWanted,
    /// Anything else that keeps the two from talking.
    #[error("{0}")]
    Other(rustls::Error),
}

impl TlsProblem {
    /// What one side did not like before anything was asked, if it was that. A connection that
    /// breaks later is another failure: the server may have done what was asked.
    pub(crate) fn of(error: &ureq::Error) -> Option<TlsProblem> {
        let error = match error {
            ureq::Error::Rustls(error) => error,
            ureq::Error::Io(error) => error.get_ref()?.downcast_ref()?,
            _ => return None,
        };
        TlsProblem::of_handshake(error)
    }

    fn of_handshake(error: &rustls::Error) -> Option<TlsProblem> {
        use CertificateError as Bad;
        use rustls::Error::{
            AlertReceived, InvalidCertificate, InvalidMessage as Message, PeerIncompatible,
        };
        Some(match error {
            // Authorities of other servers have the same name and another key.
            InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
                TlsProblem::UnknownAuthority
            }
            InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
                TlsProblem::OtherName
            }
            InvalidCertificate(
                Bad::Expired
                | Bad::ExpiredContext { .. }
                | Bad::NotValidYet
                | Bad::NotValidYetContext { .. },
            ) => TlsProblem::OtherTime,
            Message(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => TlsProblem::NotSecured,
            AlertReceived(
                AlertDescription::CertificateRequired
                | AlertDescription::NoCertificate
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied,
            ) => TlsProblem::CertificateWanted,
            InvalidCertificate(_)
            | PeerIncompatible(_)
            | AlertReceived(
                AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion,
            ) => TlsProblem::Other(error.clone()),
            _ => return None,
        })
    }
}

/// What to do when no answer came.
fn advice(url: &str, error: &ureq::Error) -> &'static str {
    let is_cut = |error: &io::Error| {
        matches!(
            error.kind(),
            ErrorKind::UnexpectedEof
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
        )
    };
    let is_no_http = match error {
        ureq::Error::Protocol(_) => true,
        ureq::Error::Io(error) => is_cut(error),
        _ => false,
    };
    match is_no_http && !is_secured(url) {
        true => "The address begins with https:// if the server is secured",
        false => "Is the server running? Start it with `jackdaw serve`",
    }
}
