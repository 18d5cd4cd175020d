//! Publishing and subscribing.

use super::call::Call;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::session::name_bytes;

use Handler::Session;

pub(super) const SPECS: &[Spec] = &[
    row(
        "subscribe",
        -2,
        "ps",
        (0, 0, 0),
        Session(subscribe),
        "Listens to channels",
    ),
    row(
        "unsubscribe",
        -1,
        "ps",
        (0, 0, 0),
        Session(unsubscribe),
        "Stops listening to channels",
    ),
    row(
        "psubscribe",
        -2,
        "ps",
        (0, 0, 0),
        Session(subscribe_patterns),
        "Listens to channels by pattern",
    ),
    row(
        "punsubscribe",
        -1,
        "ps",
        (0, 0, 0),
        Session(unsubscribe_patterns),
        "Stops listening to patterns",
    ),
    row(
        "publish",
        3,
        "pf",
        (0, 0, 0),
        Session(publish),
        "Sends a message to a channel",
    ),
    row(
        "pubsub",
        -2,
        "p",
        (0, 0, 0),
        Session(pubsub),
        "Who listens to what",
    ),
];

/// Channels and patterns that one client may listen to.
const SUBSCRIPTIONS_MAX: usize = 65_536;

fn add(call: &mut Call<'_>, is_pattern: bool) -> Outcome {
    if call.session.subscriptions() + call.len() > SUBSCRIPTIONS_MAX {
        return Err(Failure::other("too many subscriptions on one connection"));
    }
    let (address, is_resp3) = (call.session.address, call.out.is_resp3);
    for &name in &call.args[1..] {
        let own = match is_pattern {
            true => &mut call.session.patterns,
            false => &mut call.session.channels,
        };
        if own.insert(name.into()) {
            call.session.listening_bytes += name_bytes(name);
            call.shared
                .channels
                .subscribe(name, is_pattern, address, is_resp3);
        }
        call.out.push(3);
        call.out.text(if is_pattern {
            "psubscribe"
        } else {
            "subscribe"
        });
        call.out.bulk(name);
        call.out.count(call.session.subscriptions());
    }
    call.session.note();
    Ok(())
}

fn drop_some(call: &mut Call<'_>, is_pattern: bool) -> Outcome {
    let what = if is_pattern {
        "punsubscribe"
    } else {
        "unsubscribe"
    };
    let own = match is_pattern {
        true => &call.session.patterns,
        false => &call.session.channels,
    };
    let names: Vec<Box<[u8]>> = match call.len() {
        1 => own.iter().cloned().collect(),
        _ => call.args[1..].iter().map(|&name| name.into()).collect(),
    };
    if names.is_empty() {
        call.out.push(3);
        call.out.text(what);
        call.out.null();
        call.out.count(call.session.subscriptions());
    }
    for name in names {
        let own = match is_pattern {
            true => &mut call.session.patterns,
            false => &mut call.session.channels,
        };
        if own.remove(&name) {
            call.session.listening_bytes -= name_bytes(&name);
            let address = call.session.address;
            call.shared.channels.unsubscribe(&name, is_pattern, address);
        }
        call.out.push(3);
        call.out.text(what);
        call.out.bulk(&name);
        call.out.count(call.session.subscriptions());
    }
    call.session.note();
    Ok(())
}

fn subscribe(call: &mut Call<'_>) -> Outcome {
    add(call, false)
}

fn subscribe_patterns(call: &mut Call<'_>) -> Outcome {
    add(call, true)
}

fn unsubscribe(call: &mut Call<'_>) -> Outcome {
    drop_some(call, false)
}

fn unsubscribe_patterns(call: &mut Call<'_>) -> Outcome {
    drop_some(call, true)
}

fn publish(call: &mut Call<'_>) -> Outcome {
    let (channel, message) = (call.args[1], call.args[2]);
    let count = call.shared.channels.publish(channel, message, call.shared);
    call.out.count(count);
    Ok(())
}

fn pubsub(call: &mut Call<'_>) -> Outcome {
    match (call.lower(1).as_str(), call.len()) {
        ("channels", 2 | 3) => {
            let names = call.shared.channels.names(call.args.get(2).copied());
            call.out.array(names.len());
            names.iter().for_each(|name| call.out.bulk(name));
        }
        ("numsub", _) => {
            call.out.array((call.len() - 2) * 2);
            for name in &call.args[2..] {
                call.out.bulk(name);
                call.out.count(call.shared.channels.count(name));
            }
        }
        ("numpat", 2) => call.out.count(call.shared.channels.pattern_count()),
        ("help", _) => {
            let lines = [
                "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "CHANNELS [<pattern>]",
                "    Channels that somebody listens to.",
                "NUMPAT",
                "    How many patterns somebody listens to.",
                "NUMSUB [<channel> ...]",
                "    How many listen to the channels.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}
