//! Running commands: who may run what, with which locks, and what follows a change.

use std::sync::RwLockReadGuard;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Call, Handler, Known, Spec, find};
use crate::blocking;
use crate::failure::{Failure, Outcome};
use crate::keyspace::{Space, make_room};
use crate::resp::Out;
use crate::session::{Queued, ReplyMode, Session};
use crate::shared::Shared;

/// Commands that a transaction may hold.
const QUEUED_MAX: usize = 1 << 20;

/// The commands of one read, which share a moment and the space.
pub(crate) struct Batch<'s> {
    shared: &'s Shared,
    space: Option<RwLockReadGuard<'s, Space>>,
    now: u64,
    /// Commands run so far.
    pub(crate) count: u64,
}

impl<'s> Batch<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Batch<'s> {
        Batch {
            shared,
            space: None,
            now: shared.now(),
            count: 0,
        }
    }

    /// Lets go of the space, which others may want alone.
    pub(crate) fn release(&mut self) {
        self.space = None;
    }

    /// Runs a command; its reply goes into `out`.
    #[inline]
    pub(crate) fn run(&mut self, args: &[&[u8]], session: &mut Session, out: &mut Out) {
        self.count += 1;
        let mark = out.bytes.len();
        let known = find(args[0]);
        let mut call = Call {
            args,
            key_at: 0,
            hash: 0,
            now: self.now,
            out,
            session,
            shared: self.shared,
        };
        let outcome = self.checked(&mut call, known);
        let is_told = outcome.is_ok();
        if let Err(failure) = outcome {
            if let Some(known) = known {
                self.shared.failures[known.number].fetch_add(1, Ordering::Relaxed);
            }
            refuse(&mut call, mark, &failure);
        }
        if call.session.reply_mode != ReplyMode::On {
            let is_push = is_told && known.is_some_and(|known| changes_subscriptions(known.spec));
            self.silence(&mut call, mark, is_push);
        }
    }

    #[inline]
    fn checked(&mut self, call: &mut Call<'_>, known: Option<&'static Known>) -> Outcome {
        let Some(known) = known else {
            let failure = unknown(call.args);
            refuse_transaction(call);
            return Err(failure);
        };
        call.session.last_command = Some(known.number);
        if !fits(known.spec, call.len()) {
            self.reject(known);
            refuse_transaction(call);
            return Err(Failure::ArgumentCount(known.spec.name.to_owned()));
        }
        if !call.session.is_plain() {
            check_session(call, known).inspect_err(|_| self.reject(known))?;
            if call.session.transaction.is_some() && !known.spec.has('u') {
                if known.needs_memory
                    && let Err(failure) = self.make_room(call.now)
                {
                    self.reject(known);
                    refuse_transaction(call);
                    return Err(failure);
                }
                return queue(call, known).inspect_err(|_| self.reject(known));
            }
        }
        self.shared.calls[known.number].add(1);
        self.execute(call, known)
    }

    /// Counts a command that was not run.
    #[cold]
    fn reject(&self, known: &Known) {
        self.shared.rejections[known.number].fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn execute(&mut self, call: &mut Call<'_>, known: &Known) -> Outcome {
        let is_timed = known.is_timed || self.shared.settings.times_all();
        let started = is_timed.then(Instant::now);
        if known.is_write {
            self.shared.check_writable()?;
            if known.needs_memory {
                self.make_room(call.now)?;
            }
        }
        let outcome = match known.spec.handler {
            Handler::Session(handler) => {
                // It may take other locks, or hold this client up.
                self.space = None;
                handler(call)
            }
            Handler::Key(handler) => self.on_key(call, known.spec, handler),
            Handler::Either(handler, _) if call.len() == 2 => {
                self.on_key(call, known.spec, handler)
            }
            Handler::Either(_, handler) | Handler::Whole(handler) => {
                self.space = None;
                let mut space = self.shared.write_space();
                let outcome = handler(call, &mut space);
                self.shared.follow(&mut space, call.now);
                outcome
            }
        };
        if let Some(started) = started {
            self.shared.slow.note(call, started.elapsed());
        }
        outcome
    }

    #[inline]
    fn on_key(
        &mut self,
        call: &mut Call<'_>,
        spec: &Spec,
        handler: fn(&mut Call<'_>, &mut crate::keyspace::Shard) -> Outcome,
    ) -> Outcome {
        let space = self.space.get_or_insert_with(|| self.shared.read_space());
        call.key_at = usize::from(spec.keys.0.unsigned_abs());
        call.hash = space.key(0, call.args[call.key_at]).hash;
        let mut shard = space.lock(call.hash);
        let outcome = handler(call, &mut shard);
        if !shard.dirty.is_empty() {
            self.shared.record(&mut shard, &space.stored_as);
        }
        drop(shard);
        if space.totals.has_ready.load(Ordering::Relaxed) {
            self.space = None;
            let mut space = self.shared.write_space();
            self.shared.follow(&mut space, call.now);
        }
        outcome
    }

    #[inline]
    fn make_room(&mut self, now: u64) -> Outcome {
        let budget = self.shared.settings.memory();
        if budget == 0 {
            return Ok(());
        }
        let space = self.space.get_or_insert_with(|| self.shared.read_space());
        if space.used_about() <= budget {
            return Ok(());
        }
        let has_room = make_room(space, budget, self.shared.settings.policy(), now);
        if self.shared.is_durable() {
            self.space = None;
            let mut space = self.shared.write_space();
            self.shared.follow(&mut space, now);
        }
        has_room.then_some(()).ok_or(Failure::OutOfMemory)
    }

    /// Takes back a reply that the client does not want. What tells of subscriptions is no reply
    /// (`is_push`): it stays.
    fn silence(&self, call: &mut Call<'_>, mark: usize, is_push: bool) {
        let mark = if is_push { call.out.bytes.len() } else { mark };
        let is_setting = call.args[0].eq_ignore_ascii_case(b"client")
            && call.is(1, "REPLY")
            && call.is(2, "SKIP");
        match call.session.reply_mode {
            ReplyMode::SkipNext if is_setting => call.out.bytes.truncate(mark),
            ReplyMode::SkipNext => {
                call.out.bytes.truncate(mark);
                call.session.reply_mode = ReplyMode::On;
            }
            ReplyMode::Off => call.out.bytes.truncate(mark),
            ReplyMode::On => {}
        }
    }
}

/// That a transaction may begin: when one of its commands needs memory, there is some. Later
/// commands may still meet the limit, for what those before them have taken.
pub(crate) fn check_memory(call: &Call<'_>, space: &mut Space, commands: &[Queued]) -> Outcome {
    let settings = &call.shared.settings;
    let budget = settings.memory();
    let needs_memory =
        |queued: &Queued| find(queued.spec.name.as_bytes()).is_some_and(|known| known.needs_memory);
    if budget == 0 || !commands.iter().any(needs_memory) {
        return Ok(());
    }
    make_room(space, budget, settings.policy(), call.now)
        .then_some(())
        .ok_or(Failure::OutOfMemory)
}

/// Runs a command of a transaction, which holds the whole space.
pub(crate) fn run_in_transaction(call: &mut Call<'_>, space: &mut Space, spec: &Spec) {
    let mark = call.out.bytes.len();
    let outcome = match find(spec.name.as_bytes()) {
        Some(known) => {
            call.shared.calls[known.number].add(1);
            in_transaction(call, space, known)
        }
        None => Err(unknown(call.args)),
    };
    if let Err(failure) = outcome {
        refuse(call, mark, &failure);
    }
}

fn in_transaction(call: &mut Call<'_>, space: &mut Space, known: &Known) -> Outcome {
    if known.is_write {
        call.shared.check_writable()?;
        let budget = call.shared.settings.memory();
        let policy = call.shared.settings.policy();
        if known.needs_memory && budget > 0 && !make_room(space, budget, policy, call.now) {
            return Err(Failure::OutOfMemory);
        }
    }
    match known.spec.handler {
        Handler::Session(handler) => handler(call),
        Handler::Whole(handler) | Handler::Either(_, handler) => handler(call, space),
        Handler::Key(handler) => {
            call.key_at = usize::from(known.spec.keys.0.unsigned_abs());
            let key = call.key_in(space, call.key_at);
            call.hash = key.hash;
            handler(call, space.shard(key.hash))
        }
    }
}

fn fits(spec: &Spec, words: usize) -> bool {
    let arity = usize::from(spec.arity.unsigned_abs());
    if spec.arity > 0 {
        words == arity
    } else {
        words >= arity
    }
}

fn refuse(call: &mut Call<'_>, mark: usize, failure: &Failure) {
    call.out.bytes.truncate(mark);
    call.shared.errors.add(1);
    call.out.error(&failure.to_string());
}

fn refuse_transaction(call: &mut Call<'_>) {
    if let Some(transaction) = &mut call.session.transaction {
        transaction.is_refused = true;
    }
}

fn unknown(args: &[&[u8]]) -> Failure {
    let show =
        |text: &[u8]| -> String { String::from_utf8_lossy(text).chars().take(128).collect() };
    let mut text = format!(
        "unknown command '{}', with args beginning with: ",
        show(args[0])
    );
    for argument in &args[1..] {
        if text.len() > 256 {
            break;
        }
        text.push_str(&format!("'{}' ", show(argument)));
    }
    Failure::other(text)
}

/// Whether the answer of a command is a message, as those of channels are.
fn changes_subscriptions(spec: &Spec) -> bool {
    matches!(
        spec.name,
        "subscribe" | "psubscribe" | "unsubscribe" | "punsubscribe"
    )
}

/// That the client may run this now: the password, and the mode of subscribers.
fn check_session(call: &mut Call<'_>, known: &Known) -> Outcome {
    let name = known.spec.name;
    if !call.session.is_authenticated && !matches!(name, "auth" | "hello" | "quit" | "reset") {
        return Err(Failure::coded("NOAUTH Authentication required."));
    }
    let listens = call.session.subscriptions() > 0 && !call.out.is_resp3;
    let may_listen = matches!(
        name,
        "subscribe" | "psubscribe" | "unsubscribe" | "punsubscribe" | "ping" | "quit" | "reset"
    );
    if listens && !may_listen {
        return Err(Failure::other(format!(
            "Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
             are allowed in this context"
        )));
    }
    Ok(())
}

fn queue(call: &mut Call<'_>, known: &'static Known) -> Outcome {
    let limit = call.shared.settings.command_bytes_max();
    let is_listening = matches!(
        known.spec.name,
        "subscribe" | "psubscribe" | "hello" | "reset"
    );
    let Some(transaction) = &mut call.session.transaction else {
        return Ok(());
    };
    if known.is_write
        && let Err(failure) = call.shared.check_writable()
    {
        transaction.is_refused = true;
        return Err(failure);
    }
    if is_listening {
        transaction.is_refused = true;
        return Err(Failure::other("Command not allowed inside a transaction"));
    }
    let bytes: usize = call.args.iter().map(|argument| argument.len() + 32).sum();
    transaction.bytes += bytes;
    if transaction.commands.len() == QUEUED_MAX || transaction.bytes > limit {
        transaction.is_refused = true;
        transaction.commands.clear();
        return Err(Failure::other("the transaction is too long: split it"));
    }
    transaction.commands.push(Queued {
        spec: known.spec,
        args: call.args.iter().map(|&argument| argument.into()).collect(),
    });
    call.out.simple("QUEUED");
    Ok(())
}

impl Shared {
    /// What follows a change while the space is held alone: waiters are served, and storage hears
    /// of everything at once.
    pub(crate) fn follow(&self, space: &mut Space, now: u64) {
        blocking::serve_ready(space, self, now);
        self.record_all(space);
    }
}
