//! What a browser may do with an answer: headers that every answer carries.
//!
//! Called by `dispatch`. Answers are data, and a browser that opens one as a page, or in a frame of
//! another page, runs nothing of it. Studio and attachments have policies of their own.

use hyper::StatusCode;
use hyper::header::{
    CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};

/// Studio: its own files and requests; `studio/vite.config.ts` has the same for the built page.
pub(crate) const STUDIO_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// Attachments are what users stored: one that is opened as a page is of no origin.
pub(crate) const ATTACHMENT_POLICY: &str = "sandbox; default-src 'none'; style-src \
    'unsafe-inline'; img-src data:; frame-ancestors 'none'";

const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; form-action 'none'");
const NO_SNIFFING: HeaderValue = HeaderValue::from_static("nosniff");
/// For browsers that do not know `frame-ancestors`.
const NO_FRAMES: HeaderValue = HeaderValue::from_static("DENY");
/// Other sites do not learn addresses; this server needs to see that a page is its own.
const REFERRERS: HeaderValue = HeaderValue::from_static("same-origin");

/// Adds the headers to an answer with `status`; a policy that is there stays.
///
/// "Not modified" gets no policy: its headers replace those of the answer that the browser kept,
/// which has the policy of its content.
pub(super) fn guard(status: StatusCode, headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFFING);
    headers.insert(X_FRAME_OPTIONS, NO_FRAMES);
    headers.insert(REFERRER_POLICY, REFERRERS);
    if status != StatusCode::NOT_MODIFIED {
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    }
}
