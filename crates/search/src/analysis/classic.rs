//! Words of the standard analyzer: the classic grammar of Lucene, which keeps part numbers,
//! versions, hosts and addresses in one piece.
//!
//! Called by `tokens`. At each place the longest of these is the word; of equally long ones the
//! first:
//!
//! | Kind | Grammar | Token |
//! |---|---|---|
//! | plain | `ALPHANUM` | as it is |
//! | apostrophe | `ALPHA ("'" ALPHA)+` | without `'s` at its end |
//! | acronym | `LETTER "." (LETTER ".")+` | without dots |
//! | company | `ALPHA ("&" or "@") ALPHA` | as it is |
//! | email | `ALPHANUM ([._-] ALPHANUM)* "@" ALPHANUM ([.-] ALPHANUM)+` | as it is |
//! | host | `ALPHANUM ("." ALPHANUM)+`, also with a dot behind each | without a dot at its end |
//! | number | `ALPHANUM` twice or more, `_-/.,` between, every second with a digit | as it is |
//! | ideograph | one character of Chinese or Japanese | as it is |
//!
//! Invariants:
//! - What the standard library or the grammar has no word for divides words: marks, symbols,
//!   U+2019, U+00AD.
//! - Time is linear in the text: what is looked at in vain is not looked at again.
//!
//! Threads: pure functions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex_syntax::hir::{Class as HirClass, ClassUnicode, HirKind};

/// Kinds of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    /// Stands within Thai words, though it is no letter.
    Thai,
    /// A word by itself.
    Ideograph,
    Other,
}

impl Class {
    #[inline]
    fn of(c: char) -> Class {
        match c {
            'a'..='z' | 'A'..='Z' => Class::Letter,
            '0'..='9' => Class::Digit,
            '\0'..='\u{7f}' => Class::Other,
            // Those beyond 16 bits the grammar does not know; they are as their kind.
            '\u{3040}'..='\u{312f}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3300}'..='\u{337f}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff65}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}' => Class::Ideograph,
            _ if is_in(&LETTERS, c) => Class::Letter,
            _ if is_in(&DIGITS, c) => Class::Digit,
            '\u{e00}'..='\u{e59}' => Class::Thai,
            _ => Class::Other,
        }
    }

    fn is_alphanumeric(self) -> bool {
        matches!(self, Class::Letter | Class::Digit | Class::Thai)
    }
}

static LETTERS: LazyLock<Option<ClassUnicode>> = LazyLock::new(|| category(r"\p{L}"));
static DIGITS: LazyLock<Option<ClassUnicode>> = LazyLock::new(|| category(r"\p{Nd}"));

fn category(pattern: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(pattern).ok()?.into_kind() {
        HirKind::Class(HirClass::Unicode(class)) => Some(class),
        _ => None,
    }
}

fn is_in(class: &Option<ClassUnicode>, c: char) -> bool {
    let ranges = class.as_ref().map_or(&[][..], ClassUnicode::ranges);
    let at = ranges.partition_point(|range| range.end() < c);
    ranges.get(at).is_some_and(|range| range.start() <= c)
}

/// Calls `visit` with where each word stands, and the token it is, not folded.
pub(super) fn words<'t>(text: &'t str, visit: &mut dyn FnMut(Range<usize>, Cow<'t, str>)) {
    let mut scan = Scan {
        text,
        no_email_until: 0,
    };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let (end, kind) = match Class::of(c) {
            Class::Other => {
                at += c.len_utf8();
                continue;
            }
            Class::Ideograph => (at + c.len_utf8(), Kind::Plain),
            _ => scan.longest(at),
        };
        visit(at..end, kind.token(&text[at..end]));
        at = end;
    }
}

/// What becomes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Apostrophe,
    Acronym,
    DottedHost,
}

impl Kind {
    fn token(self, word: &str) -> Cow<'_, str> {
        match self {
            Kind::Plain => word.into(),
            Kind::Apostrophe => {
                let owner = word.strip_suffix("'s").or(word.strip_suffix("'S"));
                owner.unwrap_or(word).into()
            }
            Kind::Acronym => word.replace('.', "").into(),
            Kind::DottedHost => word.strip_suffix('.').unwrap_or(word).into(),
        }
    }
}

struct Scan<'t> {
    text: &'t str,
    /// No address begins before this place.
    no_email_until: usize,
}

impl Scan<'_> {
    /// The end and the kind of the longest word from `at` on, where a letter or digit stands.
    fn longest(&mut self, at: usize) -> (usize, Kind) {
        let end = self.alphanumeric(at);
        // All longer kinds go on with one of these.
        match self.byte(end) {
            Some(b'\'' | b'.' | b'&' | b'@' | b'_' | b'-' | b'/' | b',') => {}
            _ => return (end, Kind::Plain),
        }
        let mut best = (end, Kind::Plain);
        let longer = [
            (self.apostrophe(at), Kind::Apostrophe),
            (self.acronym(at), Kind::Acronym),
            (self.company(at), Kind::Plain),
            (self.email(at), Kind::Plain),
            (self.host(at, false), Kind::Plain),
            (self.number(at), Kind::Plain),
            (self.host(at, true), Kind::DottedHost),
        ];
        for (end, kind) in longer {
            if let Some(end) = end
                && end > best.0
            {
                best = (end, kind);
            }
        }
        best
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The end of the characters from `at` on that are of a kind.
    fn run(&self, at: usize, is_part: impl Fn(Class) -> bool) -> usize {
        let rest = &self.text[at..];
        let len = rest.find(|c| !is_part(Class::of(c)));
        at + len.unwrap_or(rest.len())
    }

    fn alphanumeric(&self, at: usize) -> usize {
        self.run(at, Class::is_alphanumeric)
    }

    fn letters(&self, at: usize) -> usize {
        self.run(at, |class| class == Class::Letter)
    }

    /// The end of the run that follows one of `separators` at `at`.
    fn next(&self, at: usize, separators: &[u8], is_letters: bool) -> Option<usize> {
        self.byte(at).filter(|byte| separators.contains(byte))?;
        let end = match is_letters {
            true => self.letters(at + 1),
            false => self.alphanumeric(at + 1),
        };
        (end > at + 1).then_some(end)
    }

    fn apostrophe(&self, at: usize) -> Option<usize> {
        let first = self.letters(at);
        let mut end = first;
        while end > at
            && let Some(next) = self.next(end, b"'", true)
        {
            end = next;
        }
        (end > first).then_some(end)
    }

    fn acronym(&self, at: usize) -> Option<usize> {
        let (mut end, mut letters) = (at, 0);
        while let Some(c) = self.text[end..].chars().next()
            && Class::of(c) == Class::Letter
            && self.byte(end + c.len_utf8()) == Some(b'.')
        {
            end += c.len_utf8() + 1;
            letters += 1;
        }
        (letters > 1).then_some(end)
    }

    fn company(&self, at: usize) -> Option<usize> {
        let end = self.letters(at);
        if end == at {
            return None;
        }
        self.next(end, b"&@", true)
    }

    fn email(&mut self, at: usize) -> Option<usize> {
        if at < self.no_email_until {
            return None;
        }
        let mut end = self.alphanumeric(at);
        while let Some(next) = self.next(end, b"._-", false) {
            end = next;
        }
        // All that begins within these parts comes to the same end.
        self.no_email_until = end;
        let first = self.next(end, b"@", false)?;
        let mut end = first;
        while let Some(next) = self.next(end, b".-", false) {
            end = next;
        }
        (end > first).then_some(end)
    }

    /// Parts with dots between them, or with one behind each.
    fn host(&self, at: usize, is_dotted: bool) -> Option<usize> {
        let first = self.alphanumeric(at);
        let (mut end, mut before) = (first, at);
        while let Some(next) = self.next(end, b".", false) {
            (before, end) = (end, next);
        }
        match is_dotted {
            false => (end > first).then_some(end),
            // The last part needs its dot too, or the word ends with the dot before it.
            true if self.byte(end) == Some(b'.') => (end > first).then_some(end + 1),
            true => (before > first).then_some(before + 1),
        }
    }

    fn number(&self, at: usize) -> Option<usize> {
        let (mut start, mut end) = (at, self.alphanumeric(at));
        // Ends of the words whose first, third, ... part has a digit, and of those whose second.
        let mut ends = [None, None];
        let mut is_open = [true, true];
        let mut parts = 0_usize;
        loop {
            let mut has_digit = false;
            for c in self.text[start..end].chars() {
                match Class::of(c) {
                    Class::Digit => has_digit = true,
                    Class::Thai => {
                        has_digit = false;
                        break;
                    }
                    _ => {}
                }
            }
            if !has_digit {
                is_open[parts % 2] = false;
            }
            parts += 1;
            for (found, is_open) in ends.iter_mut().zip(is_open) {
                if is_open && parts > 1 {
                    *found = Some(end);
                }
            }
            if is_open == [false, false] {
                break;
            }
            let Some(next) = self.next(end, b"_-/.,", false) else {
                break;
            };
            (start, end) = (end + 1, next);
        }
        ends.into_iter().flatten().max()
    }
}
