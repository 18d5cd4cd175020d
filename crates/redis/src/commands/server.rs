//! Commands about the server: settings, commands, slow ones, time.

use super::call::Call;
use super::{Handler, Known, Spec, all, find, information, row};
use crate::failure::{Failure, Outcome};
use crate::glob;
use crate::number::parse_integer;

use Handler::{Session, Whole};

pub(super) const SPECS: &[Spec] = &[
    row(
        "info",
        -1,
        "",
        (0, 0, 0),
        Whole(information::info),
        "Facts and figures of the server",
    ),
    row(
        "config",
        -2,
        "a",
        (0, 0, 0),
        Session(config),
        "Reads and changes settings",
    ),
    row(
        "command",
        -1,
        "",
        (0, 0, 0),
        Session(command),
        "About commands",
    ),
    row(
        "time",
        1,
        "f",
        (0, 0, 0),
        Session(time),
        "The time of the server",
    ),
    row(
        "slowlog",
        -2,
        "a",
        (0, 0, 0),
        Session(slow),
        "Commands that took long",
    ),
    row(
        "latency",
        -2,
        "a",
        (0, 0, 0),
        Session(latency),
        "When commands took long",
    ),
    row(
        "acl",
        -2,
        "a",
        (0, 0, 0),
        Session(acl),
        "The one user that there is",
    ),
    row(
        "function",
        -2,
        "",
        (0, 0, 0),
        Session(function),
        "There are no functions; says so",
    ),
    row(
        "lastsave",
        1,
        "f",
        (0, 0, 0),
        Session(last_save),
        "When everything was durable last",
    ),
    row(
        "wait",
        3,
        "",
        (0, 0, 0),
        Session(wait),
        "Replicas that have the writes: none",
    ),
];

fn config(call: &mut Call<'_>) -> Outcome {
    match (call.lower(1).as_str(), call.len()) {
        ("get", 3..) => {
            let patterns = &call.args[2..];
            let mut all = call.shared.settings.all();
            all.retain(|(name, _)| {
                let mut patterns = patterns.iter();
                patterns.any(|pattern| glob::matches_with(pattern, name.as_bytes(), true))
            });
            call.out.map(all.len());
            for (name, value) in all {
                call.out.text(name);
                call.out.text(&value);
            }
        }
        ("set", 4..) if call.len().is_multiple_of(2) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let pairs = call.args[2..].chunks_exact(2);
            let changes: Vec<(String, String)> = pairs
                .map(|pair| (text(pair[0]).to_lowercase(), text(pair[1])))
                .collect();
            if let Err((name, why)) = call.shared.settings.set(&changes) {
                return Err(Failure::other(match why.as_str() {
                    "unknown" => {
                        format!("Unknown option or number of arguments for CONFIG SET - '{name}'")
                    }
                    why => {
                        format!("CONFIG SET failed (possibly related to argument '{name}') - {why}")
                    }
                }));
            }
            if changes.iter().any(|(name, _)| name == "maxmemory") {
                // The next command meets the new budget, however little there is.
                call.shared.read_space().tell_used();
            }
            call.out.ok();
        }
        ("resetstat", 2) => {
            call.shared.reset_statistics();
            call.out.ok();
        }
        ("rewrite", 2) => {
            return Err(Failure::other(
                "The server is running without a config file",
            ));
        }
        ("help", _) => {
            let lines = [
                "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "GET <pattern>",
                "    Settings that match.",
                "SET <directive> <value>",
                "    Changes a setting until the server stops.",
                "RESETSTAT",
                "    Sets the counts of INFO to zero.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn command(call: &mut Call<'_>) -> Outcome {
    if call.len() == 1 {
        call.out.array(all().len());
        all().iter().for_each(|known| describe(call, known));
        return Ok(());
    }
    match (call.lower(1).as_str(), call.len()) {
        ("count", 2) => call.out.count(all().len()),
        ("info", _) => {
            let named = chosen(call, 2);
            call.out.array(named.len());
            for known in named {
                match known {
                    Some(known) => describe(call, known),
                    None => call.out.null_array(),
                }
            }
        }
        ("docs", _) => {
            let named: Vec<&Known> = chosen(call, 2).into_iter().flatten().collect();
            call.out.map(named.len());
            for known in named {
                call.out.text(known.spec.name);
                call.out.map(3);
                call.out.text("summary");
                call.out.text(known.spec.summary);
                call.out.text("since");
                call.out.text("1.0.0");
                call.out.text("group");
                call.out.text(known.group);
            }
        }
        ("list", 2) => {
            call.out.array(all().len());
            all()
                .iter()
                .for_each(|known| call.out.text(known.spec.name));
        }
        ("list", 5) if call.is(2, "FILTERBY") => {
            let wanted = call.lower(4);
            let is_listed = |known: &&Known| match call.lower(3).as_str() {
                "pattern" => crate::glob::matches(wanted.as_bytes(), known.spec.name.as_bytes()),
                "aclcat" => wanted == known.group.replace('-', ""),
                // There are no modules.
                _ => false,
            };
            let names: Vec<&str> = all()
                .iter()
                .filter(is_listed)
                .map(|k| k.spec.name)
                .collect();
            if !matches!(call.lower(3).as_str(), "pattern" | "aclcat" | "module") {
                return Err(Failure::Syntax);
            }
            call.out.array(names.len());
            names.iter().for_each(|name| call.out.text(name));
        }
        ("list", 3..) => return Err(Failure::Syntax),
        ("getkeys", 3..) => return key_positions(call),
        ("help", _) => {
            let lines = [
                "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "(no subcommand)",
                "    All commands.",
                "COUNT | LIST | INFO [<name> ...] | DOCS [<name> ...] | GETKEYS <command>",
                "    How many there are, their names, what they are, their keys.",
                "LIST FILTERBY (PATTERN <pattern> | ACLCAT <category> | MODULE <name>)",
                "    Some of the names.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

/// Commands that say how many keys they have, with the position of that number. The keys follow it.
const COUNTED_KEYS: &[(&str, usize)] = &[
    ("blmpop", 2),
    ("bzmpop", 2),
    ("lmpop", 1),
    ("sintercard", 1),
    ("zdiff", 1),
    ("zdiffstore", 2),
    ("zinter", 1),
    ("zintercard", 1),
    ("zinterstore", 2),
    ("zmpop", 1),
    ("zunion", 1),
    ("zunionstore", 2),
];

fn counted_keys_at(known: &Known) -> Option<usize> {
    let found = COUNTED_KEYS
        .iter()
        .find(|(name, _)| *name == known.spec.name);
    found.map(|&(_, position)| position)
}

fn chosen(call: &Call<'_>, from: usize) -> Vec<Option<&'static Known>> {
    if call.len() == from {
        return all().iter().map(Some).collect();
    }
    call.args[from..].iter().map(|name| find(name)).collect()
}

fn describe(call: &mut Call<'_>, known: &Known) {
    let spec = known.spec;
    let (first, last, step) = spec.keys;
    let names = [
        ('r', "readonly"),
        ('w', "write"),
        ('m', "denyoom"),
        ('f', "fast"),
        ('b', "blocking"),
        ('p', "pubsub"),
        ('a', "admin"),
        ('s', "no_auth"),
    ];
    let mut flags: Vec<&str> = names
        .iter()
        .filter(|(letter, _)| spec.has(*letter))
        .map(|(_, name)| *name)
        .collect();
    if counted_keys_at(known).is_some() {
        flags.push("movablekeys");
    }
    call.out.array(10);
    call.out.text(spec.name);
    call.out.integer(i64::from(spec.arity));
    call.out.set(flags.len());
    flags.iter().for_each(|flag| call.out.simple(flag));
    for position in [first, last, step] {
        call.out.integer(i64::from(position));
    }
    call.out.set(1);
    call.out
        .simple(&format!("@{}", known.group.replace('-', "")));
    for _ in 0..3 {
        call.out.array(0);
    }
}

fn key_positions(call: &mut Call<'_>) -> Outcome {
    let args = &call.args[2..];
    let known = find(args[0]).ok_or_else(|| Failure::other("Invalid command specified"))?;
    let arity = i64::from(known.spec.arity);
    let words = i64::try_from(args.len()).unwrap_or(i64::MAX);
    if arity > 0 && words != arity || words < arity.abs() {
        return Err(Failure::other(
            "Invalid number of arguments specified for command",
        ));
    }
    let (first, last, step) = known.spec.keys;
    let counted_at = counted_keys_at(known);
    if first == 0 && counted_at.is_none() {
        return Err(Failure::other("The command has no key arguments"));
    }
    let mut keys: Vec<&[u8]> = Vec::new();
    if first > 0 {
        let last = match last < 0 {
            true => words + i64::from(last),
            false => i64::from(last),
        };
        let positions = (i64::from(first)..=last).step_by(usize::from(step.unsigned_abs()));
        let key = |position| args.get(usize::try_from(position).ok()?).copied();
        keys.extend(positions.filter_map(key));
    }
    if let Some(position) = counted_at {
        let invalid = || Failure::other("Invalid arguments specified for command");
        let count = args.get(position).and_then(|text| parse_integer(text));
        let count = count.and_then(|count| usize::try_from(count).ok());
        let counted = count.filter(|&count| count > 0).and_then(|count| {
            let from = position + 1;
            args.get(from..from.checked_add(count)?)
        });
        keys.extend(counted.ok_or_else(invalid)?);
    }
    call.out.array(keys.len());
    keys.iter().for_each(|key| call.out.bulk(key));
    Ok(())
}

fn time(call: &mut Call<'_>) -> Outcome {
    let micros = call.shared.unix_micros();
    call.out.array(2);
    call.out.text(&(micros / 1_000_000).to_string());
    call.out.text(&(micros % 1_000_000).to_string());
    Ok(())
}

fn slow(call: &mut Call<'_>) -> Outcome {
    match (call.lower(1).as_str(), call.len()) {
        ("get", 2 | 3) => {
            let count = if call.len() == 3 {
                call.integer(2)?
            } else {
                10
            };
            if count < -1 {
                return Err(Failure::other(
                    "count should be greater than or equal to -1",
                ));
            }
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let commands = call.shared.slow.newest(count);
            call.out.array(commands.len());
            for command in commands {
                call.out.array(6);
                call.out.integer(command.id.cast_signed());
                call.out.integer(command.unix_seconds.cast_signed());
                call.out.integer(command.micros.cast_signed());
                call.out.array(command.args.len());
                command
                    .args
                    .iter()
                    .for_each(|argument| call.out.bulk(argument));
                call.out.text(&command.peer);
                call.out.bulk(&command.name);
            }
        }
        ("len", 2) => call.out.count(call.shared.slow.len()),
        ("reset", 2) => {
            call.shared.slow.reset();
            call.out.ok();
        }
        ("help", _) => {
            let lines = [
                "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "GET [<count>] | LEN | RESET",
                "    Commands that took longer than slowlog-log-slower-than microseconds.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn latency(call: &mut Call<'_>) -> Outcome {
    let (samples, longest) = call.shared.slow.latencies();
    match (call.lower(1).as_str(), call.len()) {
        ("latest", 2) => match samples.first() {
            None => call.out.array(0),
            Some(&(second, millis)) => {
                call.out.array(1);
                call.out.array(4);
                call.out.text("command");
                for number in [second, millis, longest] {
                    call.out.integer(number.cast_signed());
                }
            }
        },
        ("history", 3) => {
            let samples = if call.is(2, "command") {
                samples
            } else {
                Vec::new()
            };
            call.out.array(samples.len());
            for (second, millis) in samples.into_iter().rev() {
                call.out.array(2);
                call.out.integer(second.cast_signed());
                call.out.integer(millis.cast_signed());
            }
        }
        ("reset", _) => {
            let had_some = call.shared.slow.reset_latencies();
            call.out.flag(had_some);
        }
        ("help", _) => {
            let lines = [
                "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                "LATEST | HISTORY command | RESET",
                "    Commands that took latency-monitor-threshold milliseconds or longer.",
                "HELP",
                "    Print this help.",
            ];
            return super::help(call, &lines);
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn acl(call: &mut Call<'_>) -> Outcome {
    match (call.lower(1).as_str(), call.len()) {
        ("whoami", 2) => call.out.text("default"),
        ("users", 2) => {
            call.out.array(1);
            call.out.text("default");
        }
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn function(call: &mut Call<'_>) -> Outcome {
    match call.lower(1).as_str() {
        "list" => call.out.array(0),
        "flush" => call.out.ok(),
        _ => return Err(super::unknown_subcommand(call)),
    }
    Ok(())
}

fn last_save(call: &mut Call<'_>) -> Outcome {
    call.out.integer((call.now / 1000).cast_signed());
    Ok(())
}

fn wait(call: &mut Call<'_>) -> Outcome {
    call.integer(1)?;
    call.integer(2)?;
    call.out.integer(0);
    Ok(())
}
