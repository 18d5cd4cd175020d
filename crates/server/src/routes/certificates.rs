//! Certificates over the wire: who is asking, who is registered, and changing that.
//!
//! What clients call is RavenDB's: `/certificates/whoami` and `/admin/certificates`. An operator
//! manages users and operators; only a cluster administrator makes, changes or removes another one.

use std::io::{Cursor, Write};

use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use serde_json::{Value, json};
use zip::CompressionMethod::Stored;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::auth::{
    CLIENT_DAYS, Clearance, Grant, Issued, Secured, SecurityError, StoredCertificate, from_base64,
    grant_from_json,
};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// `GET /certificates/whoami`
pub(super) fn who_am_i(call: &Call) -> Outcome {
    let Ok(principal) = &call.principal else {
        return Ok(Reply::value(&json!({})));
    };
    let permissions: serde_json::Map<String, Value> = principal
        .databases()
        .map(|(database, access)| (database.to_owned(), access.name().into()))
        .collect();
    Ok(Reply::value(&json!({
        "Name": principal.name,
        "SecurityClearance": principal.clearance.name(),
        "Permissions": permissions,
    })))
}

/// `GET /admin/certificates?thumbprint=&name=&metadataOnly=&start=&pageSize=`
pub(super) fn list(call: &Call) -> Outcome {
    let query = call.query();
    let registry = secured(call)?
        .directory
        .registry()
        .map_err(|error| failed(&error))?;
    let (thumbprint, name) = (query.filled("thumbprint"), query.filled("name"));
    let is_wanted = |one: &&StoredCertificate| {
        thumbprint
            .as_ref()
            .is_none_or(|wanted| one.thumbprint.eq_ignore_ascii_case(wanted))
            && name.as_ref().is_none_or(|wanted| one.name == **wanted)
    };
    let number = |name: &str| {
        query
            .number(name)
            .and_then(|number| usize::try_from(number).ok())
    };
    let page = registry.certificates.iter().filter(is_wanted);
    let page = page
        .skip(number("start").unwrap_or(0))
        .take(number("pageSize").unwrap_or(1024));
    let results: Vec<Value> = page
        .map(|one| described(one, query.flag("metadataOnly")))
        .collect();
    if results.is_empty() && thumbprint.is_some() {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    }
    Ok(Reply::value(&json!({ "Results": results })))
}

fn described(one: &StoredCertificate, without_bytes: bool) -> Value {
    let mut value = json!({
        "Name": one.name,
        "Thumbprint": one.thumbprint,
        "SecurityClearance": one.grant.security_clearance,
        "Permissions": one.grant.permissions,
        "NotBefore": one.not_before,
        "NotAfter": one.not_after,
        "PublicKeyPinningHash": one.public_key_pinning_hash,
        "CollectionPrimaryKey": "",
        "CollectionSecondaryKeys": [],
    });
    if !without_bytes {
        value["Certificate"] = one.certificate.clone().into();
    }
    value
}

/// `POST /admin/certificates` with `{Name, SecurityClearance, Permissions}`: makes one, and answers
/// with an archive of the certificate and its key.
pub(super) fn create(call: &Call) -> Outcome {
    let (body, name, grant) = read(call)?;
    let days = body["NotAfterInDays"]
        .as_u64()
        .and_then(|days| u32::try_from(days).ok());
    let directory = &secured(call)?.directory;
    let issued = directory.issue_client(&name, grant, days.unwrap_or(CLIENT_DAYS));
    let issued = issued.map_err(|error| failed(&error))?;
    call.shared.secure_round(true);
    let archive = archive(&name, &issued).ok_or_else(|| {
        WireError::new(
            kind::UNEXPECTED,
            "The archive of the certificate could not be made.",
        )
    })?;
    let reply = Reply::bytes(
        StatusCode::OK,
        HeaderValue::from_static("application/octet-stream"),
        archive.into(),
    );
    Ok(reply.with(
        CONTENT_DISPOSITION,
        "attachment; filename=\"certificate.zip\"",
    ))
}

fn archive(name: &str, issued: &Issued) -> Option<Vec<u8>> {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let stem: String = name.chars().filter(is_plain).collect();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(Stored)
        .unix_permissions(0o600);
    let both = format!("{}{}", issued.key, issued.certificate);
    let files = [
        ("crt", &issued.certificate),
        ("key", &issued.key),
        ("pem", &both),
    ];
    for (extension, text) in files {
        zip.start_file(format!("{stem}.{extension}"), options)
            .ok()?;
        zip.write_all(text.as_bytes()).ok()?;
    }
    Some(zip.finish().ok()?.into_inner())
}

/// `PUT /admin/certificates` with `{Name, Certificate, SecurityClearance, Permissions}`
pub(super) fn register(call: &Call) -> Outcome {
    let (body, name, grant) = read(call)?;
    let bytes = body["Certificate"].as_str().and_then(from_base64);
    let bytes =
        bytes.ok_or_else(|| argument("'Certificate' has to be base64 of a certificate."))?;
    let secured = secured(call)?;
    let thumbprint = crate::auth::Facts::of_client(&bytes).map_err(|error| failed(&error))?;
    may_touch(call, secured, &thumbprint.thumbprint)?;
    let registered = secured.directory.register(&name, &bytes, grant);
    registered.map_err(|error| failed(&error))?;
    call.shared.secure_round(true);
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `POST /admin/certificates/edit` with `{Thumbprint, Name, SecurityClearance, Permissions}`
pub(super) fn edit(call: &Call) -> Outcome {
    let (body, name, grant) = read(call)?;
    let thumbprint = body["Thumbprint"].as_str().unwrap_or("");
    let secured = secured(call)?;
    may_touch(call, secured, thumbprint)?;
    let changed = secured.directory.change(|registry| {
        let missing = || SecurityError::Missing(format!("certificate {thumbprint}"));
        let found = registry.certificate(thumbprint).ok_or_else(missing)?;
        found.name = name;
        found.grant = grant;
        Ok(())
    });
    changed.map_err(|error| failed(&error))?;
    call.shared.secure_round(true);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `DELETE /admin/certificates?thumbprint=`
pub(super) fn remove(call: &Call) -> Outcome {
    let thumbprint = call.query().filled("thumbprint");
    let thumbprint = thumbprint.ok_or_else(|| WireError::missing_parameter("thumbprint"))?;
    let secured = secured(call)?;
    may_touch(call, secured, &thumbprint)?;
    match secured.directory.remove_certificate(&thumbprint) {
        // Removing what is not there is what the caller wants, too.
        Ok(()) | Err(SecurityError::Missing(_)) => {}
        Err(error) => return Err(failed(&error)),
    }
    call.shared.secure_round(true);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `POST /admin/certificates/replace-cluster-cert` with `{Certificate}`: base64 of PEM with a chain
/// and its key. New connections are served with it at once.
pub(super) fn replace_server(call: &Call) -> Outcome {
    let body: Value = parsed(call)?;
    let bytes = body["Certificate"]
        .as_str()
        .and_then(from_base64)
        .unwrap_or_default();
    let secured = secured(call)?;
    secured.directory.replace_server(&bytes).map_err(|error| {
        argument(&format!(
            "Unable to load the provided certificate: {error}. Send PEM of the chain and its key."
        ))
    })?;
    call.shared.secure_round(true);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The state of a server that authenticates.
pub(super) fn secured(call: &Call) -> Result<&Secured, WireError> {
    call.shared.gate.as_secured().ok_or_else(|| {
        argument("This server asks nobody who they are: run `jackdaw setup`, then start it again.")
    })
}

/// The body, the name in it, and what is granted, if who asks may grant so much.
pub(super) fn read(call: &Call) -> Result<(Value, String, Grant), WireError> {
    let body = parsed(call)?;
    let name = body["Name"].as_str().unwrap_or("").to_owned();
    call.objects.add(&name);
    call.objects.add(body["Thumbprint"].as_str().unwrap_or(""));
    let grant = grant_from_json(&body).map_err(|error| failed(&error))?;
    if grant.is_cluster_admin() {
        be_cluster_admin(call)?;
    }
    Ok((body, name, grant))
}

fn parsed(call: &Call) -> Result<Value, WireError> {
    serde_json::from_slice(&call.body)
        .map_err(|error| argument(&format!("The body has to be an object of JSON: {error}.")))
}

/// Whether who asks may change what is registered under a thumbprint.
fn may_touch(call: &Call, secured: &Secured, thumbprint: &str) -> Result<(), WireError> {
    let mut registry = secured
        .directory
        .registry()
        .map_err(|error| failed(&error))?;
    let found = registry.certificate(thumbprint);
    if found.is_some_and(|found| found.grant.is_cluster_admin()) {
        be_cluster_admin(call)?;
    }
    Ok(())
}

pub(super) fn be_cluster_admin(call: &Call) -> Result<(), WireError> {
    let principal = call.principal.as_ref();
    if principal.is_ok_and(|principal| principal.clearance >= Clearance::ClusterAdmin) {
        return Ok(());
    }
    let message = "Only a cluster administrator may make, change or remove another one.";
    Err(WireError::new(kind::AUTHORIZATION, message))
}

fn argument(message: &str) -> WireError {
    WireError::new(kind::ARGUMENT, message)
}

/// A failure of the files or of what was sent.
pub(super) fn failed(error: &SecurityError) -> WireError {
    match error {
        SecurityError::Argument(_) | SecurityError::Certificate(_) | SecurityError::Missing(_) => {
            argument(&error.to_string())
        }
        _ => WireError::new(kind::UNEXPECTED, error.to_string()),
    }
}
