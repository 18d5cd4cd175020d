//! A program with the realm of JavaScript that it was compiled in.
//!
//! The realm is made at the first run and serves many. Between runs nothing of a script is left:
//! what scripts find is frozen, and globals they made are removed (`prelude.js`). After an error
//! that ended the script from outside (memory, steps, time) the realm is thrown away, and one that
//! keeps much memory as well: the next run makes another.
//!
//! Invariant: a realm is made and run within turns (`turns`); between them it keeps its program and
//! at most [`LEFT_BYTES_MAX`].
//!
//! Threads: one; a machine stays on the thread that first ran it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use jackdaw_document::{Builder, DocumentBuf, Limits, METADATA, Parser, Value};
use rquickjs::context::EvalOptions;
use rquickjs::function::{Func, Function};
use rquickjs::{Context, Ctx, Error, Exception, Object, Persistent, Runtime};

use crate::error::{BoxError, ScriptError};
use crate::functions;
use crate::host::{HOST, Host, HostError};
use crate::input::Argument;
use crate::limits::ScriptLimits;
use crate::memory::MemoryCount;
use crate::program::{Compiled, Positions, Program};
use crate::restore::{Inexact, may_hold_inexact, restore, restore_metadata};
use crate::turns::{self, Lane};

const PRELUDE: &str = include_str!("prelude.js");
/// Name of the program in places that the engine tells.
const FILE_NAME: &str = "program";
/// Steps between two looks at the limits: a constant of the engine.
const STEPS_A_LOOK: u64 = 10_000;

/// Characters or elements that a built-in function gets through in the time of a step.
const LENGTH_A_STEP: u64 = 64;

/// What runs may leave in a realm, beside the program that was compiled there.
const LEFT_BYTES_MAX: usize = 1 << 20;

/// Functions that go to the host as they are, beside those that the prelude shapes.
const HOST_FUNCTIONS: &[&str] = &[
    "archived.archiveAt",
    "archived.unarchive",
    "attachments",
    "cmpxchg",
    "counter",
    "counterNamesFor",
    "counterRaw",
    "createField",
    "createSpatialField",
    "deleteCounter",
    "getRevisionsBinEntries",
    "hasTimeseries",
    "include",
    "includes.cmpxchg",
    "includes.document",
    "includes.revisions",
    "incrementCounter",
    "timeSeriesNamesFor",
];

/// What a run is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The first document, as the script left it.
    Document,
    /// What the program returned.
    Value,
}

/// What a run left.
#[derive(Clone, Debug)]
pub struct Output {
    /// The document or value. Of a document, everything but `@metadata`.
    pub value: DocumentBuf,
    /// The document's `@metadata`, when it has one.
    pub metadata: Option<DocumentBuf>,
    /// What `output()` was given, as text.
    pub printed: Vec<String>,
}

/// See the file head.
pub struct Machine {
    program: Program,
    limits: ScriptLimits,
    realm: Option<Realm>,
}

/// A realm with the compiled program.
struct Realm {
    // Before the context: values go before the realm they live in.
    run: Persistent<Function<'static>>,
    program: Persistent<Function<'static>>,
    context: Context,
    budget: Rc<Budget>,
    positions: Positions,
    memory: MemoryCount,
    /// What it took when the program was compiled.
    compiled_bytes: usize,
}

/// What the engine's callbacks share with the machine.
#[derive(Default)]
pub(crate) struct Budget {
    steps_left: Cell<u64>,
    cause: Cell<Cause>,
    failure: Cell<Option<BoxError>>,
    /// Of everything that came into the present run.
    inexact: RefCell<Inexact>,
}

/// Why the engine was told to stop.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Cause {
    #[default]
    None,
    Steps,
    Time,
}

/// A realm with its limits, the budget of its first run, which begins, and what memory it has.
pub(crate) fn realm(
    limits: &ScriptLimits,
) -> Result<(Context, Rc<Budget>, MemoryCount), ScriptError> {
    let memory = |_| ScriptError::Memory {
        limit_bytes: limits.memory_bytes_max,
    };
    let budget = Rc::new(Budget::default());
    let count = MemoryCount::new(Rc::clone(&budget));
    let runtime = Runtime::new_with_alloc(count.clone()).map_err(memory)?;
    runtime.set_memory_limit(limits.memory_bytes_max);
    runtime.set_max_stack_size(limits.stack_bytes_max);
    let watched = Rc::clone(&budget);
    runtime.set_interrupt_handler(Some(Box::new(move || watched.is_used_up())));
    let context = Context::full(&runtime).map_err(memory)?;
    budget.begin(limits.steps_max);
    Ok((context, budget, count))
}

impl Machine {
    /// Of `program`, which its first run compiles.
    #[must_use]
    pub fn new(program: &Program, limits: &ScriptLimits) -> Machine {
        Machine {
            program: program.clone(),
            limits: *limits,
            realm: None,
        }
    }

    /// What it runs.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the program, once it is its turn. The first argument is its `this`; `parameters` are
    /// `args`, and each is `$name` too.
    ///
    /// # Errors
    /// See [`ScriptError`]. At the first run, and after an error that ended one from outside, also
    /// that the program is no JavaScript or too long, or its realm does not fit into its memory.
    pub fn run(
        &mut self,
        host: &mut dyn Host,
        arguments: &[Argument<'_>],
        parameters: Option<Value<'_>>,
        wanted: Wanted,
    ) -> Result<Output, ScriptError> {
        let memory_bytes = self.limits.memory_bytes_max;
        let _turn = turns::wait(host.lane(), memory_bytes, &mut || host.is_over())?;
        host.begin();
        let mut realm = match self.realm.take() {
            Some(realm) => realm,
            None => Realm::new(&self.program, &self.limits)?,
        };
        let outcome = realm.run(host, arguments, parameters, wanted, &self.limits);
        let is_ended_from_outside = match &outcome {
            Ok(_) | Err(ScriptError::Thrown { .. } | ScriptError::Result(_)) => false,
            Err(_) => true,
        };
        self.realm = Some(realm).filter(|realm| !is_ended_from_outside && realm.is_tidy());
        outcome
    }

    /// Compiles the program for its first run, once it is its turn.
    ///
    /// # Errors
    /// As [`Machine::run`], about the text of the program.
    pub fn prepare(&mut self, lane: Lane) -> Result<(), ScriptError> {
        if self.realm.is_none() {
            let memory_bytes = self.limits.memory_bytes_max;
            let _turn = turns::wait(lane, memory_bytes, &mut || false)?;
            self.realm = Some(Realm::new(&self.program, &self.limits)?);
        }
        Ok(())
    }

    /// Whether the next run finds the program compiled.
    pub(crate) fn is_ready(&self) -> bool {
        self.realm.is_some()
    }
}

/// Refuses a program that does not compile. Takes the time of compiling it, and makes a realm.
///
/// # Errors
/// See [`ScriptError`]: those of [`Machine::run`] about the text of the program.
pub fn check(program: &Program, limits: &ScriptLimits) -> Result<(), ScriptError> {
    Machine::new(program, limits).prepare(Lane::Reads)
}

impl Realm {
    fn new(program: &Program, limits: &ScriptLimits) -> Result<Realm, ScriptError> {
        program.check(limits)?;
        let (context, budget, memory) = realm(limits)?;
        let (run, compiled, positions) = context.with(|ctx| {
            let prelude = open_prelude(&ctx, &budget);
            let prelude = prelude.map_err(|error| thrown(&ctx, error, &budget, limits, None))?;
            compile(&ctx, &prelude, program, &budget, limits)
        })?;
        Ok(Realm {
            run,
            program: compiled,
            context,
            budget,
            positions,
            compiled_bytes: memory.bytes(),
            memory,
        })
    }

    fn run(
        &mut self,
        host: &mut dyn Host,
        arguments: &[Argument<'_>],
        parameters: Option<Value<'_>>,
        wanted: Wanted,
        limits: &ScriptLimits,
    ) -> Result<Output, ScriptError> {
        let mut text = b"{\"v\":[".to_vec();
        for (slot, argument) in arguments.iter().enumerate() {
            if slot > 0 {
                text.push(b',');
            }
            argument.write(&mut text);
        }
        text.extend_from_slice(b"],\"p\":");
        match parameters {
            Some(parameters) => parameters.write_json(&mut text),
            None => text.extend_from_slice(b"null"),
        }
        text.push(b'}');
        let text = String::from_utf8(text).map_err(|error| unstorable(&error.to_string()))?;
        let mut inexact = Inexact::default();
        for argument in arguments {
            argument.for_each_value(&mut |value| inexact.note(value));
        }
        if let Some(parameters) = parameters {
            inexact.note(parameters);
        }
        self.budget.inexact.replace(inexact);
        let left = self.call(host, text, wanted == Wanted::Document, limits)?;
        read_output(
            &left,
            arguments.first(),
            &self.budget.inexact.borrow(),
            wanted,
        )
    }

    fn call(
        &self,
        host: &mut dyn Host,
        text: String,
        is_patch: bool,
        limits: &ScriptLimits,
    ) -> Result<String, ScriptError> {
        let budget = &self.budget;
        budget.begin(limits.steps_max);
        let (run, program) = (self.run.clone(), self.program.clone());
        let outcome = HOST.set(host, || {
            self.context.with(|ctx| {
                let run = run.restore(&ctx).and_then(|run| {
                    let program = program.restore(&ctx)?;
                    run.call::<_, String>((program, is_patch, text))
                });
                run.map_err(|error| thrown(&ctx, error, budget, limits, Some(&self.positions)))
            })
        });
        match budget.failure() {
            Some(failure) => Err(ScriptError::Host(failure)),
            None => outcome,
        }
    }

    /// Whether runs left little, once what refers to itself in circles is gone.
    fn is_tidy(&self) -> bool {
        let bytes_max = self.compiled_bytes + LEFT_BYTES_MAX;
        if self.memory.bytes() > bytes_max {
            self.context.runtime().run_gc();
        }
        self.memory.bytes() <= bytes_max
    }
}

impl Budget {
    /// A run begins.
    pub(crate) fn begin(&self, steps_max: u64) {
        self.steps_left.set(steps_max);
        self.cause.set(Cause::None);
        self.failure.set(None);
    }

    /// The host failed.
    pub(crate) fn fail(&self, error: BoxError) {
        self.failure.set(Some(error));
    }

    /// Why the host failed, when it did.
    pub(crate) fn failure(&self) -> Option<BoxError> {
        self.failure.take()
    }

    /// Asked by the engine each [`STEPS_A_LOOK`] steps.
    pub(crate) fn is_used_up(&self) -> bool {
        let left = self.steps_left.get();
        if left < STEPS_A_LOOK {
            self.cause.set(Cause::Steps);
            return true;
        }
        self.steps_left.set(left - STEPS_A_LOOK);
        let is_over = HOST.is_set() && HOST.with(|host| host.is_over());
        if is_over {
            self.cause.set(Cause::Time);
        }
        is_over
    }
}

impl Budget {
    /// Whether the time of the present run is up.
    pub(crate) fn is_out_of_time(&self) -> bool {
        if self.cause.get() == Cause::None && HOST.is_set() && HOST.with(|host| host.is_over()) {
            self.cause.set(Cause::Time);
        }
        self.cause.get() == Cause::Time
    }

    /// Takes the steps of a built-in function over something so long; false when there are not
    /// enough left, or the time is up. The engine then stops the script at its next look.
    pub(crate) fn is_charged(&self, length: f64) -> bool {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "lengths are not negative, and a cast of anything else saturates"
        )]
        let steps = length as u64 / LENGTH_A_STEP;
        let left = self.steps_left.get();
        self.steps_left.set(left.saturating_sub(steps));
        if left < steps {
            self.cause.set(Cause::Steps);
            return false;
        }
        let is_over = HOST.is_set() && HOST.with(|host| host.is_over());
        if is_over {
            self.steps_left.set(0);
            self.cause.set(Cause::Time);
        }
        !is_over
    }
}

/// Evaluates the prelude; gives the object with its functions.
fn open_prelude<'js>(ctx: &Ctx<'js>, budget: &Rc<Budget>) -> rquickjs::Result<Object<'js>> {
    let open: Function<'js> = ctx.eval(PRELUDE)?;
    let (charged, budget) = (Rc::clone(budget), Rc::clone(budget));
    let host = move |ctx: Ctx<'_>, name: String, arguments: String| -> rquickjs::Result<String> {
        ask_host(&name, &arguments, &budget.inexact).map_err(|error| match error {
            HostError::Refused(message) => Exception::throw_message(&ctx, &message),
            HostError::Failed(error) => {
                let message = error.to_string();
                budget.fail(error);
                Exception::throw_message(&ctx, &message)
            }
        })
    };
    let charge = move |ctx: Ctx<'_>, length: f64| -> rquickjs::Result<()> {
        match charged.is_charged(length) {
            true => Ok(()),
            false => Err(Exception::throw_message(&ctx, "too many steps")),
        }
    };
    open.call((
        Func::from(host),
        [HOST_FUNCTIONS, &functions::NAMES].concat(),
        Func::from(charge),
    ))
}

fn ask_host(name: &str, arguments: &str, inexact: &RefCell<Inexact>) -> Result<String, HostError> {
    let refused = |error: &dyn std::error::Error| HostError::Refused(error.to_string());
    let mut parser = Parser::new(Limits::default());
    let parsed = parser
        .parse(arguments.as_bytes())
        .map_err(|e| refused(&e))?;
    let mut builder = Builder::new();
    let restored;
    let mut root = parsed.root();
    if !inexact.borrow().is_empty() {
        restore(root, None, &inexact.borrow(), false, &mut builder);
        restored = builder.finish().map_err(|e| refused(&e))?;
        root = restored.root();
    }
    let array = root.as_array().ok_or_else(|| HostError::unserved(name))?;
    if let Some(answer) = functions::call(name, array) {
        return answer.map(|json| String::from_utf8_lossy(&json).into_owned());
    }
    if !HOST.is_set() {
        return Err(HostError::Refused(format!(
            "{name}() works inside a run only"
        )));
    }
    let answer = HOST.with(|host| host.call(name, array))?;
    if may_hold_inexact(&answer)
        && let Ok(answer) = DocumentBuf::from_json(&answer, &Limits::default())
    {
        inexact.borrow_mut().note(answer.root());
    }
    String::from_utf8(answer).map_err(|error| HostError::Failed(Box::new(error)))
}

type Ready = (
    Persistent<Function<'static>>,
    Persistent<Function<'static>>,
    Positions,
);

/// Compiles the program softened, or as written when that is no JavaScript.
fn compile<'js>(
    ctx: &Ctx<'js>,
    prelude: &Object<'js>,
    program: &Program,
    budget: &Budget,
    limits: &ScriptLimits,
) -> Result<Ready, ScriptError> {
    let failed =
        |error, positions: Option<&Positions>| thrown(ctx, error, budget, limits, positions);
    let function = |name: &str| {
        prelude
            .get::<_, Function<'js>>(name)
            .map_err(|e| failed(e, None))
    };
    let prepared = function("prepare")?.call::<_, ()>((program.names(),));
    prepared.map_err(|error| failed(error, None))?;
    let softened = program.compile(true);
    let (compiled, positions) = match evaluate(ctx, &softened) {
        Ok(compiled) => (compiled, softened.into_positions()),
        Err(_) => {
            // The error is of the softened text; the one of the text as written counts.
            let _ = ctx.catch();
            let plain = program.compile(false);
            let compiled = evaluate(ctx, &plain);
            let compiled =
                compiled.map_err(|error| as_syntax(failed(error, Some(plain.positions()))))?;
            (compiled, plain.into_positions())
        }
    };
    function("seal")?
        .call::<_, ()>((program.is_closed(),))
        .map_err(|error| failed(error, None))?;
    let run = function("run")?;
    Ok((
        Persistent::save(ctx, run),
        Persistent::save(ctx, compiled),
        positions,
    ))
}

fn evaluate<'js>(ctx: &Ctx<'js>, compiled: &Compiled) -> rquickjs::Result<Function<'js>> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(FILE_NAME.to_owned());
    ctx.eval_with_options(compiled.text.as_str(), options)
}

/// An error while compiling is one of the text.
fn as_syntax(error: ScriptError) -> ScriptError {
    match error {
        ScriptError::Thrown { message, place } => {
            let (line, column) = place.unwrap_or((1, 1));
            ScriptError::Syntax {
                message,
                line,
                column,
            }
        }
        other => other,
    }
}

/// What the engine threw, as an error of ours.
pub(crate) fn thrown(
    ctx: &Ctx<'_>,
    error: Error,
    budget: &Budget,
    limits: &ScriptLimits,
    positions: Option<&Positions>,
) -> ScriptError {
    let value = ctx.catch();
    match budget.cause.get() {
        Cause::Steps => {
            return ScriptError::Steps {
                limit: limits.steps_max,
            };
        }
        Cause::Time => return ScriptError::Time,
        Cause::None => {}
    }
    let limit_bytes = limits.memory_bytes_max;
    if !error.is_exception() {
        return match error {
            Error::Allocation => ScriptError::Memory { limit_bytes },
            other => unstorable(&other.to_string()),
        };
    }
    let Some(exception) = value.as_object().cloned().and_then(Exception::from_object) else {
        let message = match value.as_string().map(|text| text.to_string()) {
            Some(Ok(text)) => text,
            _ => match ctx.json_stringify(value.clone()) {
                Ok(Some(text)) => text.to_string().unwrap_or_default(),
                // Without memory even the error may be missing.
                _ => return ScriptError::Memory { limit_bytes },
            },
        };
        if value.is_null() {
            return ScriptError::Memory { limit_bytes };
        }
        return ScriptError::Thrown {
            message,
            place: None,
        };
    };
    let message = exception.message().unwrap_or_default();
    match message.as_str() {
        "out of memory" => return ScriptError::Memory { limit_bytes },
        "Maximum call stack size exceeded" | "stack overflow" => return ScriptError::Stack,
        _ => {}
    }
    let stack = exception.stack().unwrap_or_default();
    let place = place_in(&stack).map(|(line, column)| match positions {
        Some(positions) => positions.original(line, column),
        None => (line, column),
    });
    let name = exception.as_object().get::<_, String>("name");
    let message = match name.ok().filter(|name| name != "Error" && !name.is_empty()) {
        Some(name) => format!("{name}: {message}"),
        None => message,
    };
    ScriptError::Thrown { message, place }
}

/// The innermost place of the program in a stack of the engine: `program:2:5`.
fn place_in(stack: &str) -> Option<(u32, u32)> {
    let at = stack.find(&format!("{FILE_NAME}:"))?;
    let mut numbers = stack[at + FILE_NAME.len() + 1..]
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse);
    let line = numbers.next()?.ok()?;
    let column = numbers.next().and_then(Result::ok).unwrap_or(1);
    Some((line, column))
}

#[cold]
fn unstorable(why: &str) -> ScriptError {
    ScriptError::Result(why.to_owned())
}

/// Turns what the prelude wrote into documents.
fn read_output(
    left: &str,
    first: Option<&Argument<'_>>,
    inexact: &Inexact,
    wanted: Wanted,
) -> Result<Output, ScriptError> {
    let mut parser = Parser::new(Limits::default());
    let parsed = parser.parse(left.as_bytes());
    let root = parsed
        .map_err(|error| unstorable(&error.to_string()))?
        .root();
    let result = root.get("r").unwrap_or(Value::Null);
    let printed = root.get("o").and_then(|printed| printed.as_array());
    let printed = printed.into_iter().flat_map(|printed| printed.iter());
    let printed = printed.filter_map(|text| text.as_str().map(str::to_owned));
    let mut builder = Builder::new();
    let finish = |builder: &mut Builder| {
        let finished = builder.finish();
        finished.map_err(|error| unstorable(&error.to_string()))
    };
    let (original, original_metadata) = match first {
        Some(Argument::Document(document)) if wanted == Wanted::Document => {
            (Some(document.body), document.metadata)
        }
        _ => (None, None),
    };
    let is_patch = wanted == Wanted::Document;
    if original.is_none() && inexact.is_empty() && !is_patch {
        builder.value(result);
    } else {
        restore(result, original, inexact, is_patch, &mut builder);
    }
    let value = finish(&mut builder)?;
    let metadata = result.get(METADATA).filter(|_| is_patch);
    let metadata = metadata.and_then(|metadata| metadata.as_object());
    let metadata = metadata.map(|metadata| {
        restore_metadata(metadata, original_metadata, inexact, &mut builder);
        finish(&mut builder)
    });
    Ok(Output {
        value,
        metadata: metadata.transpose()?,
        printed: printed.collect(),
    })
}

#[cfg(test)]
mod tests {
    use jackdaw_document::Array;

    use super::*;

    struct Alone;

    impl Host for Alone {
        fn call(&mut self, function: &str, _: Array<'_>) -> Result<Vec<u8>, HostError> {
            Err(HostError::unserved(function))
        }

        fn is_over(&mut self) -> bool {
            false
        }
    }

    fn run(machine: &mut Machine, argument: Value<'_>) -> Result<Output, ScriptError> {
        let arguments = [Argument::Value(argument)];
        machine.run(&mut Alone, &arguments, None, Wanted::Value)
    }

    /// What runs left beside the program.
    fn left_bytes(machine: &Machine) -> usize {
        let realm = machine.realm.as_ref();
        realm.map_or(0, |realm| {
            realm.memory.bytes().saturating_sub(realm.compiled_bytes)
        })
    }

    fn machine(script: &str) -> Machine {
        Machine::new(&Program::patch(script), &ScriptLimits::default())
    }

    #[test]
    fn circles_that_a_run_leaves_are_gone_before_the_next() {
        // Made by a function that is charged, by steps, of what was given, and by one expression.
        let given = "x".repeat(6 << 20);
        for script in [
            "let a = { s: 'x'.repeat(6 << 20) }; a.a = a",
            "for (let i = 0; i < 40000; i++) { let a = { b: [1, 2, 3, 4] }; a.a = a }",
            "let a = { s: this + '!' }; a.a = a",
            "let a = { b: new Uint8Array(8 << 20) }; a.a = a",
        ] {
            let mut machine = machine(script);
            for _ in 0..3 {
                run(&mut machine, Value::String(&given)).expect(script);
                assert!(left_bytes(&machine) <= LEFT_BYTES_MAX, "{script}");
            }
        }
    }

    #[test]
    fn runs_share_a_realm_also_after_an_error_of_the_script() {
        let mut machine = machine("if (this.length) { throw 'no' } return 1");
        run(&mut machine, Value::String("")).expect("a run");
        let realm = |machine: &Machine| {
            machine
                .realm
                .as_ref()
                .map(|realm| Rc::as_ptr(&realm.budget))
        };
        let first = realm(&machine);
        assert!(first.is_some());
        for argument in ["", "thrown", ""] {
            let _ = run(&mut machine, Value::String(argument));
            assert_eq!(realm(&machine), first);
        }
    }

    #[test]
    fn memory_is_counted_to_the_byte() {
        let limits = ScriptLimits::default();
        let (context, _budget, memory) = realm(&limits).expect("memory");
        let counted = || (memory.bytes(), context.runtime().memory_usage().malloc_size);
        let (before, told_before) = counted();
        let text = "globalThis.a = new Uint8Array(3 << 20)";
        context
            .with(|ctx| ctx.eval::<(), _>(text))
            .expect("it fits");
        let (after, told_after) = counted();
        let told = usize::try_from(told_after - told_before).expect("more");
        assert!(told >= 3 << 20 && (after - before).abs_diff(told) < 1 << 10);
        drop(context);
        assert_eq!(memory.bytes(), 0);
    }

    #[test]
    fn a_realm_whose_run_was_ended_from_outside_is_replaced() {
        let mut machine = machine("if (this.length) { for (;;) {} } return 1");
        let outcome = run(&mut machine, Value::String("on"));
        assert!(matches!(outcome, Err(ScriptError::Steps { .. })));
        assert!(machine.realm.is_none());
        assert!(run(&mut machine, Value::String("")).is_ok());
    }
}
