//! Commands about the connection itself.

use std::sync::atomic::Ordering;

use super::call::Call;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::net::Message;
use crate::session::ReplyMode;

use Handler::{Session, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "ping",
        -1,
        "f",
        (0, 0, 0),
        Session(ping),
        "Answers PONG, or the argument",
    ),
    row(
        "echo",
        2,
        "f",
        (0, 0, 0),
        Session(echo),
        "Answers the argument",
    ),
    row(
        "select",
        2,
        "f",
        (0, 0, 0),
        Session(select),
        "Chooses the database",
    ),
    row(
        "auth",
        -2,
        "fs",
        (0, 0, 0),
        Session(auth),
        "Gives the password",
    ),
    row(
        "hello",
        -1,
        "fs",
        (0, 0, 0),
        Session(hello),
        "Chooses RESP2 or RESP3",
    ),
    row(
        "quit",
        -1,
        "fsu",
        (0, 0, 0),
        Session(quit),
        "Closes the connection",
    ),
    row(
        "reset",
        1,
        "fsu",
        (0, 0, 0),
        Whole(reset),
        "Makes the connection like a new one",
    ),
    row(
        "client",
        -2,
        "s",
        (0, 0, 0),
        Session(client),
        "About clients",
    ),
];

fn ping(call: &mut Call<'_>) -> Outcome {
    if call.len() > 2 {
        return Err(call.wrong_count());
    }
    let argument = call.args.get(1).copied();
    if call.session.subscriptions() > 0 && !call.out.is_resp3 {
        call.out.array(2);
        call.out.text("pong");
        call.out.bulk(argument.unwrap_or_default());
        return Ok(());
    }
    match argument {
        Some(text) => call.out.bulk(text),
        None => call.out.simple("PONG"),
    }
    Ok(())
}

fn echo(call: &mut Call<'_>) -> Outcome {
    call.out.bulk(call.args[1]);
    Ok(())
}

fn select(call: &mut Call<'_>) -> Outcome {
    let database = super::keys::database(call, 1);
    let invalid = |failure| match failure {
        Failure::NotInteger => Failure::other("invalid DB index"),
        other => other,
    };
    call.session.database = database.map_err(invalid)?;
    call.session.note();
    call.out.ok();
    Ok(())
}

/// Compares in a time that does not tell how much was right.
fn is_password(expected: &str, given: &[u8]) -> bool {
    let digest = |text: &[u8]| blake2b_simd::blake2b(text);
    // Hashes compare in constant time.
    digest(expected.as_bytes()) == digest(given)
}

fn check_password(call: &mut Call<'_>, user: &[u8], password: &[u8]) -> Outcome {
    let expected = call.shared.settings.password();
    let is_right =
        user == b"default" && expected.is_none_or(|expected| is_password(&expected, password));
    if !is_right {
        return Err(Failure::coded(
            "WRONGPASS invalid username-password pair or user is disabled.",
        ));
    }
    call.session.is_authenticated = true;
    Ok(())
}

fn auth(call: &mut Call<'_>) -> Outcome {
    let (user, password) = match call.args {
        [_, password] => {
            if call.shared.settings.password().is_none() {
                return Err(Failure::other(
                    "AUTH <password> called without any password configured for the default \
                     user. Are you sure your configuration is correct?",
                ));
            }
            (b"default".as_slice(), *password)
        }
        [_, user, password] => (*user, *password),
        _ => return Err(Failure::Syntax),
    };
    check_password(call, user, password)?;
    call.out.ok();
    Ok(())
}

/// Longest name that a client may give itself or its library.
const NAME_BYTES_MAX: usize = 256;

fn check_name(name: &[u8], what: &str) -> Outcome {
    if name.len() > NAME_BYTES_MAX {
        return Err(Failure::other(format!(
            "{what} cannot be longer than {NAME_BYTES_MAX} bytes."
        )));
    }
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(Failure::other(format!(
        "{what} cannot contain spaces, newlines or special characters."
    )))
}

fn hello(call: &mut Call<'_>) -> Outcome {
    let mut is_resp3 = call.out.is_resp3;
    if call.len() > 1 {
        is_resp3 = match call.integer(1) {
            Ok(2) => false,
            Ok(3) => true,
            Ok(_) => return Err(Failure::coded("NOPROTO unsupported protocol version")),
            Err(_) => {
                return Err(Failure::other(
                    "Protocol version is not an integer or out of range",
                ));
            }
        };
    }
    let mut name = None;
    let mut position = 2;
    while position < call.len() {
        let left = call.len() - position - 1;
        if call.is(position, "AUTH") && left >= 2 {
            check_password(call, call.args[position + 1], call.args[position + 2])?;
            position += 3;
        } else if call.is(position, "SETNAME") && left >= 1 {
            check_name(call.args[position + 1], "Client names")?;
            name = Some(call.args[position + 1]);
            position += 2;
        } else {
            let option = String::from_utf8_lossy(call.args[position]).into_owned();
            return Err(Failure::other(format!(
                "Syntax error in HELLO option '{option}'"
            )));
        }
    }
    if !call.session.is_authenticated {
        return Err(Failure::coded(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
             HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
             select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        call.session.info.names().name = name.into();
    }
    call.out.is_resp3 = is_resp3;
    call.session.is_resp3 = is_resp3;
    call.session.note();
    call.out.map(7);
    for (field, value) in [
        ("server", "redis"),
        ("version", super::information::REDIS_VERSION),
    ] {
        call.out.text(field);
        call.out.text(value);
    }
    call.out.text("proto");
    call.out.integer(if is_resp3 { 3 } else { 2 });
    call.out.text("id");
    let id = call.session.address.id;
    call.out.integer(id.cast_signed());
    for (field, value) in [("mode", "standalone"), ("role", "master")] {
        call.out.text(field);
        call.out.text(value);
    }
    call.out.text("modules");
    call.out.array(0);
    Ok(())
}

fn quit(call: &mut Call<'_>) -> Outcome {
    call.session.is_closing = true;
    call.out.ok();
    Ok(())
}

fn reset(call: &mut Call<'_>, space: &mut crate::keyspace::Space) -> Outcome {
    call.session.transaction = None;
    call.session.unwatch(space);
    let session = &mut *call.session;
    let address = session.address;
    call.shared
        .channels
        .leave(&session.channels, &session.patterns, address);
    session.channels.clear();
    session.patterns.clear();
    session.listening_bytes = 0;
    session.database = 0;
    session.reply_mode = ReplyMode::On;
    session.is_resp3 = false;
    session.is_authenticated = call.shared.settings.password().is_none();
    session.info.names().name = Box::default();
    session.info.is_spared.store(false, Ordering::Relaxed);
    session.note();
    call.out.is_resp3 = false;
    call.out.simple("RESET");
    Ok(())
}

fn client(call: &mut Call<'_>) -> Outcome {
    let what = call.lower(1);
    match (what.as_str(), call.len()) {
        ("id", 2) => {
            let id = call.session.address.id;
            call.out.integer(id.cast_signed());
        }
        ("getname", 2) => {
            let name = call.session.info.names().name.clone();
            match name.is_empty() {
                true => call.out.null(),
                false => call.out.bulk(&name),
            }
        }
        ("setname", 3) => {
            check_name(call.args[2], "Client names")?;
            call.session.info.names().name = call.args[2].into();
            call.out.ok();
        }
        ("setinfo", 4) => {
            let attribute = call.lower(2);
            check_name(call.args[3], &attribute)?;
            let mut names = call.session.info.names();
            match attribute.as_str() {
                "lib-name" => names.library = call.args[3].into(),
                "lib-ver" => names.library_version = call.args[3].into(),
                _ => return Err(Failure::other(format!("Unrecognized option '{attribute}'"))),
            }
            drop(names);
            call.out.ok();
        }
        ("info", 2) => {
            call.session.note();
            let line = call.session.info.line(call.now);
            call.out.verbatim(&format!("{line}\n"));
        }
        ("list", _) => return list(call),
        ("kill", 3..) => return kill(call),
        ("unblock", 3 | 4) => return unblock(call),
        ("reply", 3) => return reply(call),
        ("no-evict" | "no-touch", 3) => {
            let is_on = call.is(2, "ON");
            if !is_on && !call.is(2, "OFF") {
                return Err(Failure::Syntax);
            }
            // Every use of a key counts for its eviction: NO-TOUCH is taken and changes nothing.
            if what == "no-evict" {
                call.session.info.is_spared.store(is_on, Ordering::Relaxed);
            }
            call.out.ok();
        }
        ("getredir", 2) => call.out.integer(-1),
        ("trackinginfo", 2) => {
            call.out.map(3);
            call.out.text("flags");
            call.out.set(1);
            call.out.text("off");
            call.out.text("redirect");
            call.out.integer(-1);
            call.out.text("prefixes");
            call.out.array(0);
        }
        ("help", _) => {
            let lines = [
                "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "GETNAME | SETNAME <name> | ID | INFO | LIST [TYPE <type>] [ID <id> ...]",
                "    This client, and all of them.",
                "KILL <ip:port> | KILL [ID <id>] [ADDR <ip:port>] [LADDR <ip:port>] [TYPE <type>]",
                "     [SKIPME (yes|no)] [USER <name>]",
                "    Closes connections.",
                "UNBLOCK <id> [TIMEOUT|ERROR]",
                "    Ends the wait of a client.",
                "REPLY (ON|OFF|SKIP) | SETINFO <option> <value> | NO-EVICT (ON|OFF)",
                "    How this client is served.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn list(call: &mut Call<'_>) -> Outcome {
    call.session.note();
    let mut clients = call.shared.clients.all();
    match call.len() {
        2 => {}
        4 if call.is(2, "TYPE") => {
            let kind = call.lower(3);
            if !matches!(kind.as_str(), "normal" | "pubsub" | "master" | "replica") {
                return Err(Failure::other(format!("Unknown client type '{kind}'")));
            }
            clients.retain(|client| client.kind() == kind);
        }
        4.. if call.is(2, "ID") => {
            let mut ids = Vec::new();
            for position in 3..call.len() {
                let invalid = |_| Failure::other("Invalid client ID");
                ids.push(call.integer(position).map_err(invalid)?.cast_unsigned());
            }
            clients.retain(|client| ids.contains(&client.address.id));
        }
        _ => return Err(Failure::Syntax),
    }
    let lines = clients.iter().map(|client| client.line(call.now) + "\n");
    let text: String = lines.collect();
    call.out.verbatim(&text);
    Ok(())
}

fn kill(call: &mut Call<'_>) -> Outcome {
    let own = call.session.address.id;
    let all = call.shared.clients.all();
    if call.len() == 3 {
        let peer = String::from_utf8_lossy(call.args[2]).into_owned();
        let found = all.iter().find(|client| client.peer == peer);
        let found = found.ok_or_else(|| Failure::other("No such client"))?;
        close(call, found.address);
        call.out.ok();
        return Ok(());
    }
    if call.len() % 2 == 1 {
        return Err(Failure::Syntax);
    }
    let mut chosen = all;
    let mut skips_own = true;
    for position in (2..call.len()).step_by(2) {
        let value = String::from_utf8_lossy(call.args[position + 1]).into_owned();
        match call.lower(position).as_str() {
            "id" => {
                let id = call.integer(position + 1).ok().filter(|&id| id > 0);
                let id = id.ok_or_else(|| Failure::other("client-id should be greater than 0"))?;
                chosen.retain(|client| client.address.id == id.cast_unsigned());
            }
            "addr" => chosen.retain(|client| client.peer == value),
            "laddr" => chosen.retain(|client| client.local == value),
            "user" if value == "default" => {}
            "user" => return Err(Failure::other(format!("No such user '{value}'"))),
            "type" => {
                let kind = value.to_lowercase();
                if !matches!(
                    kind.as_str(),
                    "normal" | "pubsub" | "master" | "replica" | "slave"
                ) {
                    return Err(Failure::other(format!("Unknown client type '{value}'")));
                }
                chosen.retain(|client| client.kind() == kind);
            }
            "skipme" => {
                skips_own = match value.to_lowercase().as_str() {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(Failure::Syntax),
                }
            }
            _ => return Err(Failure::Syntax),
        }
    }
    chosen.retain(|client| !skips_own || client.address.id != own);
    for client in &chosen {
        close(call, client.address);
    }
    call.out.count(chosen.len());
    Ok(())
}

fn close(call: &mut Call<'_>, address: crate::net::Address) {
    if address == call.session.address {
        call.session.is_closing = true;
    } else {
        // The number is gone from now on, though its thread closes it a moment later.
        call.shared.clients.remove(address.id);
        call.shared.send(address, Message::Close);
    }
}

fn unblock(call: &mut Call<'_>) -> Outcome {
    let with_error = match call.len() {
        4 if call.is(3, "ERROR") => true,
        4 if !call.is(3, "TIMEOUT") => {
            return Err(Failure::other(
                "CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            ));
        }
        _ => false,
    };
    let id = call.integer(2)?.cast_unsigned();
    let client = call.shared.clients.get(id);
    let client = client.filter(|client| client.is_blocked.load(Ordering::Relaxed));
    if let Some(client) = &client {
        call.shared
            .send(client.address, Message::Unblock { with_error });
    }
    call.out.flag(client.is_some());
    Ok(())
}

fn reply(call: &mut Call<'_>) -> Outcome {
    match call.lower(2).as_str() {
        "on" => {
            call.session.reply_mode = ReplyMode::On;
            call.out.ok();
        }
        "off" => call.session.reply_mode = ReplyMode::Off,
        "skip" if call.session.reply_mode == ReplyMode::On => {
            call.session.reply_mode = ReplyMode::SkipNext;
        }
        "skip" => {}
        _ => return Err(Failure::Syntax),
    }
    Ok(())
}
