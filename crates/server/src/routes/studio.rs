//! Studio's files, held in the binary.
//!
//! The build of `studio/` puts them into `studio/dist`; when that was not built, a page that says
//! so stands in (see `build.rs`). Names under `assets/` carry a hash of their content and may be
//! cached for ever; everything else is asked for again with its `ETag`. A path without extension is
//! a view of Studio, which its start page shows.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, IF_NONE_MATCH, LOCATION};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::http::{Call, Outcome, Reply, STUDIO_POLICY};

#[derive(RustEmbed)]
#[folder = "../../studio/dist"]
struct Assets;

const START_PAGE: &str = "index.html";
const ETAG_BYTES: usize = 16;

/// `GET /`
pub(crate) fn redirect(_call: &Call) -> Outcome {
    Ok(Reply::empty(StatusCode::FOUND).with(LOCATION, "/studio/"))
}

/// `GET /studio/$`
pub(crate) fn asset(call: &Call) -> Outcome {
    let path = call.part(0);
    if let Some(file) = Assets::get(&path) {
        return Ok(serve(call, &path, file));
    }
    let name = path.rsplit('/').next().unwrap_or("");
    if name.contains('.') {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    }
    Ok(start_page(call))
}

/// `GET /favicon.ico`
pub(crate) fn favicon(call: &Call) -> Outcome {
    let names = ["favicon.ico", "favicon.svg", "favicon.png"];
    let icon = names
        .iter()
        .find_map(|name| Some((name, Assets::get(name)?)));
    Ok(icon.map_or_else(
        || Reply::empty(StatusCode::NOT_FOUND),
        |(name, file)| serve(call, name, file),
    ))
}

fn start_page(call: &Call) -> Reply {
    match Assets::get(START_PAGE) {
        Some(file) => serve(call, START_PAGE, file),
        None => Reply::empty(StatusCode::NOT_FOUND),
    }
}

fn serve(call: &Call, path: &str, file: EmbeddedFile) -> Reply {
    let hash = file.metadata.sha256_hash();
    let etag: String = hash[..ETAG_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let for_ever = path.starts_with("assets/");
    let cache = if for_ever {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    if call.unquoted(&IF_NONE_MATCH) == Some(etag.as_str()) {
        return Reply::empty(StatusCode::NOT_MODIFIED)
            .with_etag(&etag)
            .with(CACHE_CONTROL, cache);
    }
    let body = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    let content_type = HeaderValue::from_str(&content_type(file.metadata.mimetype()))
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    Reply::bytes(StatusCode::OK, content_type, body)
        .with_etag(&etag)
        .with(CACHE_CONTROL, cache)
        .with(CONTENT_SECURITY_POLICY, STUDIO_POLICY)
}

fn content_type(mime: &str) -> String {
    let text = mime.starts_with("text/") || mime == "application/json";
    if text {
        format!("{mime}; charset=utf-8")
    } else {
        mime.to_owned()
    }
}
