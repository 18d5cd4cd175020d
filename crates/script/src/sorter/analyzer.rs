//! Analyzers: classes of C# that put tokenizers and filters of Lucene together.
//!
//! [`compile`] reads a class with the sorters' parser and follows its `TokenStream` from the reader
//! to what it returns. The outcome is the names of the classes in their order, with the numbers
//! they are given: `WhitespaceTokenizer LowerCaseFilter LengthFilter(2,20)`. Which of them exist,
//! the caller knows.
//!
//! Invariants:
//! - Nothing is run. Whatever is no tokenizer, filter or number is refused with line and column.

use std::collections::BTreeMap;

use super::parser::{Parser, Read, Refusal, refuse};
use super::tree::{Class, Expr, ExprKind, Given, Member, MemberKind, Statement, StatementKind};
use crate::index::CompileError;
use crate::limits::ScriptLimits;

/// Analyzers that a class may derive from or use, and their steps.
const KNOWN: &[(&str, &str)] = &[
    (
        "StandardAnalyzer",
        "StandardTokenizer StandardFilter LowerCaseFilter StopFilter",
    ),
    (
        "RavenStandardAnalyzer",
        "StandardTokenizer StandardFilter LowerCaseFilter StopFilter",
    ),
    ("StopAnalyzer", "LowerCaseTokenizer StopFilter"),
    ("SimpleAnalyzer", "LowerCaseTokenizer"),
    ("WhitespaceAnalyzer", "WhitespaceTokenizer"),
    ("KeywordAnalyzer", "KeywordTokenizer"),
    (
        "LowerCaseKeywordAnalyzer",
        "KeywordTokenizer LowerCaseFilter",
    ),
];

/// The methods that give tokens.
const METHODS: [&str; 2] = ["TokenStream", "ReusableTokenStream"];

/// Numbers of classes that take two and are given none.
const DEFAULT_NUMBERS: (i64, i64) = (1, 2);

/// Why an analyzer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzerError {
    /// There is no class of the analyzer's name.
    #[error("Could not find type '{0}' in given assembly.")]
    NoType(String),
    /// The class is no analyzer.
    #[error("Could not create new analyzer instance '{0}' for field: @compile")]
    NoAnalyzer(String),
    /// The source is not C#, or C# that is not understood.
    #[error("({},{}): {}", .0.position.0, .0.position.1, .0.message)]
    Source(CompileError),
}

/// The steps of the class `name` of `code`, separated by spaces.
///
/// # Errors
/// See [`AnalyzerError`].
pub fn compile(name: &str, code: &str) -> Result<String, AnalyzerError> {
    let limit_bytes = ScriptLimits::default().text_bytes_max;
    if code.len() > limit_bytes {
        let message = format!(
            "error: the source is {} bytes long; the limit is {limit_bytes}",
            code.len()
        );
        return Err(AnalyzerError::Source(CompileError::new(
            message,
            "",
            (1, 1),
        )));
    }
    let refused = |refusal: Refusal| AnalyzerError::Source(refusal.placed(code));
    let parsed = Parser::new(code, 0, code.len());
    let classes = parsed.and_then(|parser| parser.deriving().classes());
    let classes = classes.map_err(refused)?;
    let class = classes.iter().find(|class| class.name == name);
    let class = class.ok_or_else(|| AnalyzerError::NoType(name.to_owned()))?;
    let Some(base) = &class.base else {
        return Err(AnalyzerError::NoAnalyzer(name.to_owned()));
    };
    let base = match base.name.as_str() {
        "Analyzer" => None,
        base_name => match known(base_name) {
            Some(steps) => Some(steps),
            None => {
                let message = format!("error: the class '{base_name}' is no analyzer known here");
                return Err(refused(Refusal::At(base.at, message)));
            }
        },
    };
    steps_of(class, base).map_err(refused)
}

fn known(name: &str) -> Option<Vec<String>> {
    let found = KNOWN.iter().find(|(known, _)| *known == name)?;
    Some(found.1.split(' ').map(str::to_owned).collect())
}

/// What an expression stands for.
#[derive(Clone, Debug)]
enum Made {
    /// The text.
    Reader,
    /// Tokens of it.
    Stream(Vec<String>),
    /// An analyzer.
    Analyzer(Vec<String>),
    Number(i64),
    Flag(bool),
    /// English stop words.
    StopWords,
    /// The name of the field, or a version of Lucene.
    Label,
}

/// The steps of a class.
fn steps_of(class: &Class, base: Option<Vec<String>>) -> Read<String> {
    let mut maker = Maker {
        base,
        names: BTreeMap::new(),
    };
    let mut made: Option<Vec<String>> = None;
    for member in &class.members {
        match &member.kind {
            MemberKind::Constructor(_, body) if body.is_empty() => {}
            MemberKind::Field(Some(value)) => {
                let value = maker.made(value)?;
                maker.names.insert(member.name.clone(), value);
            }
            MemberKind::Method(..) if METHODS.contains(&member.name.as_str()) => {}
            _ => {
                let message = format!(
                    "error: '{}' is not understood in an analyzer, which has TokenStream and \
                     fields of numbers",
                    member.name
                );
                return refuse(member.at, message);
            }
        }
    }
    for member in &class.members {
        if let MemberKind::Method(parameters, body) = &member.kind {
            let [field, reader] = parameters.as_slice() else {
                return refuse(member.at, "error: it takes a field's name and a reader");
            };
            let mut maker = maker.clone();
            maker.names.insert(field.name.clone(), Made::Label);
            maker.names.insert(reader.name.clone(), Made::Reader);
            let steps = maker.method(member, body)?;
            if made.as_ref().is_some_and(|other| *other != steps) {
                let message = "error: both methods have to give the same tokens here";
                return refuse(member.at, message);
            }
            made = Some(steps);
        }
    }
    match made.or(maker.base) {
        Some(steps) => Ok(steps.join(" ")),
        None => refuse(
            class.at,
            format!(
                "error CS0534: '{}' does not implement inherited abstract member \
                 'Analyzer.TokenStream(string, TextReader)'",
                class.name
            ),
        ),
    }
}

/// Follows a method.
#[derive(Clone)]
struct Maker {
    /// What the base class gives.
    base: Option<Vec<String>>,
    names: BTreeMap<String, Made>,
}

impl Maker {
    fn method(&mut self, member: &Member, body: &[Statement]) -> Read<Vec<String>> {
        for statement in body {
            match &statement.kind {
                StatementKind::Local(_, _, locals) => {
                    for (name, value, at) in locals {
                        if let Some(value) = value {
                            let value = self.made(value)?;
                            self.names.insert(name.clone(), value);
                        } else if self.names.remove(name).is_some() {
                            return refuse(*at, format!("error CS0128: '{name}' is known"));
                        }
                    }
                }
                StatementKind::Expression(expression) => self.assign(expression)?,
                StatementKind::Return(Some(value)) => {
                    return match self.made(value)? {
                        Made::Stream(steps) => Ok(steps),
                        _ => refuse(value.at, "error: this is no stream of tokens"),
                    };
                }
                StatementKind::Empty => {}
                _ => {
                    let message = "error: an analyzer only makes tokenizers and filters here";
                    return refuse(statement.at, message);
                }
            }
        }
        refuse(member.at, "error CS0161: not all code paths return a value")
    }

    fn assign(&mut self, expression: &Expr) -> Read<()> {
        if let ExprKind::Assign("", target, value) = expression.kind.as_ref()
            && let ExprKind::Name(name) = target.kind.as_ref()
        {
            let value = self.made(value)?;
            self.names.insert(name.clone(), value);
            return Ok(());
        }
        refuse(
            expression.at,
            "error: an analyzer only makes tokenizers and filters here",
        )
    }

    fn made(&self, expression: &Expr) -> Read<Made> {
        let at = expression.at;
        match expression.kind.as_ref() {
            ExprKind::Int(number) | ExprKind::Long(number) => Ok(Made::Number(*number)),
            ExprKind::Bool(flag) => Ok(Made::Flag(*flag)),
            ExprKind::Name(name) => match self.names.get(name) {
                Some(made) => Ok(made.clone()),
                None => refuse(at, format!("error: '{name}' is not understood here")),
            },
            ExprKind::Member(_, name)
                if ["ENGLISH_STOP_WORDS_SET", "STOP_WORDS_SET"].contains(&name.as_str()) =>
            {
                Ok(Made::StopWords)
            }
            ExprKind::Member(_, name) if name.starts_with("LUCENE_") => Ok(Made::Label),
            ExprKind::Member(owner, name) if matches!(*owner.kind, ExprKind::This) => {
                match self.names.get(name) {
                    Some(made) => Ok(made.clone()),
                    None => refuse(at, format!("error: '{name}' is not understood here")),
                }
            }
            ExprKind::Call(callee, given) => self.called(callee, given, at),
            ExprKind::New(class, given, values) if values.is_empty() => {
                let given = self.given(given, at)?;
                match known(&class.name) {
                    Some(steps) => Ok(Made::Analyzer(steps)),
                    None => step(&class.name, &given, at),
                }
            }
            _ => refuse(at, "error: this is not understood in an analyzer"),
        }
    }

    fn given(&self, given: &[Given], at: usize) -> Read<Vec<Made>> {
        let given = given.iter().map(|one| match one {
            Given::Value(value) => self.made(value),
            _ => refuse(at, "error: this is not understood in an analyzer"),
        });
        given.collect()
    }

    /// `base.TokenStream(field, reader)`, or that of another analyzer.
    fn called(&self, callee: &Expr, given: &[Given], at: usize) -> Read<Made> {
        if let ExprKind::Member(owner, name) = callee.kind.as_ref()
            && METHODS.contains(&name.as_str())
        {
            let steps = match owner.kind.as_ref() {
                ExprKind::Name(name) if name == "base" => self.base.clone(),
                _ => match self.made(owner)? {
                    Made::Analyzer(steps) => Some(steps),
                    _ => None,
                },
            };
            let given = self.given(given, at)?;
            if let (Some(steps), [Made::Label, Made::Reader]) = (steps, given.as_slice()) {
                return Ok(Made::Stream(steps));
            }
        }
        refuse(at, "error: this call is not understood in an analyzer")
    }
}

/// A tokenizer of a reader, or a filter of a stream.
fn step(name: &str, given: &[Made], at: usize) -> Read<Made> {
    let wrong = |what: &str| {
        refuse(
            at,
            format!("error: the class '{name}' {what} in an analyzer"),
        )
    };
    let mut steps: Option<Vec<String>> = None;
    let mut numbers = Vec::new();
    let (mut has_words, mut flags) = (false, Vec::new());
    for one in given {
        match one {
            Made::Reader if steps.is_none() => steps = Some(Vec::new()),
            Made::Stream(behind) if steps.is_none() => steps = Some(behind.clone()),
            Made::Number(number) => numbers.push(*number),
            Made::Flag(flag) => flags.push((steps.is_some(), *flag)),
            Made::StopWords if !has_words => has_words = true,
            Made::Label => {}
            _ => return wrong("is given what is not understood"),
        }
    }
    let Some(mut steps) = steps else {
        return wrong("is not understood");
    };
    // Positions that stop words leave are none here; letters of another case would be other words.
    let is_plain = match name {
        "StopFilter" => has_words && flags.iter().all(|(is_behind, flag)| !is_behind || !flag),
        _ => !has_words && flags.is_empty(),
    };
    if !is_plain {
        return wrong("is given what is not understood");
    }
    let numbers = match (name, numbers.as_slice()) {
        ("NGramTokenizer" | "NGramTokenFilter", []) => Some(DEFAULT_NUMBERS),
        (_, []) => None,
        (_, [least, most]) => Some((*least, *most)),
        _ => return wrong("is given what is not understood"),
    };
    steps.push(match numbers {
        Some((least, most)) => format!("{name}({least},{most})"),
        None => name.to_owned(),
    });
    Ok(Made::Stream(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(base: &str, members: &str) -> String {
        format!(
            "using System.IO;\nusing Lucene.Net.Analysis;\nnamespace My.Own\n{{\n\
             public class Mine : {base}\n{{\n{members}\n}}\n}}"
        )
    }

    /// A class whose `TokenStream` has this body.
    fn streaming(body: &str) -> String {
        class(
            "Analyzer",
            &format!(
                "public override TokenStream TokenStream(string fieldName, TextReader reader)\n\
                 {{ {body} }}"
            ),
        )
    }

    #[test]
    fn chains_are_read_from_the_inside_out() {
        for (body, expected) in [
            (
                "return new WhitespaceTokenizer(reader);",
                "WhitespaceTokenizer",
            ),
            (
                "return new LowerCaseFilter(new WhitespaceTokenizer(reader));",
                "WhitespaceTokenizer LowerCaseFilter",
            ),
            (
                "TokenStream s = new StandardTokenizer(Lucene.Net.Util.Version.LUCENE_30, reader); \
                 s = new StandardFilter(s); s = new LowerCaseFilter(s); \
                 return new StopFilter(false, s, StopAnalyzer.ENGLISH_STOP_WORDS_SET);",
                "StandardTokenizer StandardFilter LowerCaseFilter StopFilter",
            ),
            (
                "var t = new KeywordTokenizer(reader); TokenStream r = new LengthFilter(t, 2, 20); \
                 return r;",
                "KeywordTokenizer LengthFilter(2,20)",
            ),
            (
                "return new NGramTokenizer(reader, 3, 4);",
                "NGramTokenizer(3,4)",
            ),
            ("return new NGramTokenizer(reader);", "NGramTokenizer(1,2)"),
            (
                "return new ASCIIFoldingFilter(new WhitespaceAnalyzer().TokenStream(fieldName, \
                 reader));",
                "WhitespaceTokenizer ASCIIFoldingFilter",
            ),
            // Whether a class exists is for the caller.
            (
                "return new PorterStemFilter(new LowerCaseTokenizer(reader));",
                "LowerCaseTokenizer PorterStemFilter",
            ),
        ] {
            let steps = compile("Mine", &streaming(body));
            assert_eq!(steps.as_deref(), Ok(expected), "{body}");
        }
    }

    #[test]
    fn analyzers_derive_from_known_ones() {
        let standard = "StandardTokenizer StandardFilter LowerCaseFilter StopFilter";
        let constructor = "public Mine() : base(Lucene.Net.Util.Version.LUCENE_30) {}";
        let code = class("StandardAnalyzer", constructor);
        assert_eq!(compile("Mine", &code).as_deref(), Ok(standard));
        let members = format!(
            "{constructor}\nprivate const int Least = 2; private readonly int most = 5;\n\
             public override TokenStream TokenStream(string f, TextReader r) => \
             new LengthFilter(new ASCIIFoldingFilter(base.TokenStream(f, r)), Least, this.most);\n\
             public override TokenStream ReusableTokenStream(string f, TextReader r) => \
             new LengthFilter(new ASCIIFoldingFilter(base.TokenStream(f, r)), 2, 5);"
        );
        let code = class("Lucene.Net.Analysis.Standard.StandardAnalyzer", &members);
        let expected = format!("{standard} ASCIIFoldingFilter LengthFilter(2,5)");
        assert_eq!(compile("Mine", &code), Ok(expected));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        let reader = "new WhitespaceTokenizer(reader)";
        for (body, part) in [
            (
                "System.IO.File.Delete(\"x\"); return null;",
                "only makes tokenizers",
            ),
            (
                &format!("if (true) {{ return {reader}; }} return null;"),
                "only makes",
            ),
            ("return null;", "not understood"),
            ("return reader;", "no stream"),
            ("return new Own();", "'Own' is not understood"),
            (
                "return new LowerCaseFilter(nope);",
                "'nope' is not understood",
            ),
            (
                &format!("return new StopFilter(true, {reader}, StopFilter.MakeStopSet(\"x\"));"),
                "call is not understood",
            ),
            (
                &format!(
                    "return new StopFilter(true, {reader}, StopAnalyzer.ENGLISH_STOP_WORDS_SET, \
                     true);"
                ),
                "'StopFilter' is given",
            ),
            (
                &format!("return new LengthFilter({reader}, 1, 2, 3);"),
                "'LengthFilter' is given",
            ),
            (
                &format!("return new LowerCaseFilter({reader}, {reader});"),
                "is given",
            ),
            ("", "CS0161"),
        ] {
            let code = streaming(body);
            match compile("Mine", &code) {
                Err(AnalyzerError::Source(error)) => {
                    assert!(error.message.contains(part), "{body}: {}", error.message);
                    assert!(error.position.0 >= 5, "{body}: {:?}", error.position);
                }
                other => panic!("{body}: {other:?}"),
            }
        }
        let refusal = |name: &str, code: &str| compile(name, code).unwrap_err().to_string();
        assert_eq!(
            refusal("Other", &streaming("return null;")),
            "Could not find type 'Other' in given assembly."
        );
        assert_eq!(
            refusal("Sub", "public class Sub { }"),
            "Could not create new analyzer instance 'Sub' for field: @compile"
        );
        assert_eq!(
            refusal("S", "class X {"),
            "(1,10): error CS1513: } expected"
        );
        let missing = refusal("Mine", &class("Analyzer", ""));
        assert!(missing.contains("CS0534"), "{missing}");
        let own = refusal("Mine", &class("MyBase", ""));
        assert!(own.contains("'MyBase' is no analyzer"), "{own}");
        let more = class("StandardAnalyzer", "public int Count() { return 1; }");
        assert!(refusal("Mine", &more).contains("'Count' is not understood"));
    }
}
