//! Softens a script, so that members of what is not there are `undefined`.
//!
//! Scripts of RavenDB rely on it: `this.Address.City` of a document without an address is no error
//! there. Where the grammar allows it, `a.b` becomes `a?.b`, `a[i]` becomes `a?.[i]` and `a.f()`
//! becomes `a?.f()`: a function that an object lacks is an error, as an undeclared one is. What is
//! assigned to, made with `new` or tagged stays as it is. Telling these apart by tokens may be
//! wrong for odd texts: the result then does not compile, and `machine` compiles the text as
//! written.

use crate::tokens::{Kind, Token, tokens};

/// A softened text.
pub(crate) struct Softened {
    pub(crate) text: String,
    /// Line and column, in `text`, of each character that was put in.
    pub(crate) inserted: Vec<(u32, u32)>,
}

/// Signs behind a chain of members that keep it as written.
const KEEPING: &[&str] = &[
    "=", "+=", "-=", "*=", "/=", "%=", "**=", "<<=", ">>=", ">>>=", "&=", "|=", "^=", "&&=", "||=",
    "??=", "++", "--", "=>",
];

/// Names of variables in `text`.
pub(crate) fn names(text: &str) -> Vec<String> {
    let list = tokens(text);
    let mut names = Vec::new();
    for (slot, token) in list.iter().enumerate() {
        let before = slot.checked_sub(1).map(|slot| &list[slot]);
        let is_member = before.is_some_and(|before| matches!(str_of(text, before), "." | "?."));
        if token.kind == Kind::Name && !is_member {
            names.push(str_of(text, token).to_owned());
        }
        if token.kind == Kind::Template {
            // What stands inside is looked at without its text being understood.
            names.extend(template_names(str_of(text, token)));
        }
    }
    names
}

/// Whether the word `function` stands in `text`, or may stand in a template.
pub(crate) fn has_function(text: &str) -> bool {
    tokens(text).iter().any(|token| match token.kind {
        Kind::Keyword => str_of(text, token) == "function",
        Kind::Template => str_of(text, token).contains("function"),
        _ => false,
    })
}

fn template_names(template: &str) -> Vec<String> {
    template
        .split("${")
        .skip(1)
        .flat_map(|part| names(part.split('}').next().unwrap_or("")))
        .collect()
}

fn str_of<'t>(text: &'t str, token: &Token) -> &'t str {
    &text[token.start..token.end]
}

/// Where the first bracket stands that closes nothing.
pub(crate) fn unopened(text: &str) -> Option<usize> {
    let chains = Chains::new(text);
    let closing = |slot: &usize| matches!(chains.sign(*slot), ")" | "]" | "}");
    let mut slots = (0..chains.tokens.len()).filter(closing);
    let slot = slots.find(|slot| chains.partners[*slot].is_none())?;
    Some(chains.tokens[slot].start)
}

/// See the file head. O(length) but for chains inside one another.
pub(crate) fn soften(text: &str) -> Softened {
    let chains = Chains::new(text);
    // Places before which text goes in.
    let mut places: Vec<(usize, &str)> = Vec::new();
    for slot in 1..chains.tokens.len() {
        let sign = chains.sign(slot);
        let insert = match sign {
            "." => "?",
            "[" => "?.",
            _ => continue,
        };
        if chains.is_suffix(slot) && chains.may_soften(slot) {
            places.push((chains.tokens[slot].start, insert));
        }
    }
    insert_all(text, &places)
}

fn insert_all(text: &str, places: &[(usize, &str)]) -> Softened {
    let mut out = String::with_capacity(text.len() + places.len() * 2);
    let mut inserted = Vec::new();
    let (mut line, mut column) = (1_u32, 1_u32);
    let mut next = places.iter().peekable();
    for (at, c) in text.char_indices() {
        while let Some((_, insert)) = next.next_if(|(place, _)| *place == at) {
            for _ in insert.chars() {
                inserted.push((line, column));
                column += 1;
            }
            out.push_str(insert);
        }
        out.push(c);
        if c == '\n' {
            line += 1;
            column = 1;
        } else {
            column += 1;
        }
    }
    Softened {
        text: out,
        inserted,
    }
}

/// Tokens with the brackets that belong together.
struct Chains<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// For each bracket, the slot of the other one.
    partners: Vec<Option<usize>>,
}

impl<'t> Chains<'t> {
    fn new(text: &'t str) -> Chains<'t> {
        let tokens = tokens(text);
        let mut partners = vec![None; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (slot, token) in tokens.iter().enumerate() {
            if token.kind != Kind::Sign {
                continue;
            }
            match str_of(text, token) {
                "(" | "[" | "{" => open.push(slot),
                ")" | "]" | "}" => {
                    if let Some(partner) = open.pop() {
                        partners[slot] = Some(partner);
                        partners[partner] = Some(slot);
                    }
                }
                _ => {}
            }
        }
        Chains {
            text,
            tokens,
            partners,
        }
    }

    /// The sign at `slot`; empty when there is none, or something else.
    fn sign(&self, slot: usize) -> &'t str {
        match self.tokens.get(slot) {
            Some(token) if token.kind == Kind::Sign => str_of(self.text, token),
            _ => "",
        }
    }

    fn kind(&self, slot: usize) -> Option<Kind> {
        self.tokens.get(slot).map(|token| token.kind)
    }

    fn word(&self, slot: usize) -> &'t str {
        self.tokens
            .get(slot)
            .map_or("", |token| str_of(self.text, token))
    }

    /// Whether the token in front of `slot` ends a value that a member may follow.
    fn follows_value(&self, slot: usize) -> bool {
        let Some(before) = slot.checked_sub(1) else {
            return false;
        };
        self.kind(before) == Some(Kind::Name) || matches!(self.sign(before), ")" | "]")
    }

    /// Whether the dot or bracket at `slot` takes a member of what is in front.
    fn is_suffix(&self, slot: usize) -> bool {
        if !self.follows_value(slot) {
            return false;
        }
        match self.sign(slot) {
            "." => self.kind(slot + 1) == Some(Kind::Name),
            "[" => self.partners[slot].is_some(),
            _ => false,
        }
    }

    /// Whether the chain that `slot` is part of may be read softly.
    fn may_soften(&self, slot: usize) -> bool {
        let start = self.chain_start(slot - 1);
        let before = start.checked_sub(1).map_or("", |slot| self.word(slot));
        if matches!(before, "new" | "super" | "++" | "--" | "function" | "class") {
            return false;
        }
        let end = self.chain_end(slot);
        if self.kind(end) == Some(Kind::Template) {
            return false;
        }
        let after = self.word(end);
        !KEEPING.contains(&after) && after != "of"
    }

    /// The slot where the chain begins that ends at `slot`.
    fn chain_start(&self, slot: usize) -> usize {
        let mut start = slot;
        loop {
            if matches!(self.sign(start), ")" | "]") {
                let Some(open) = self.partners[start] else {
                    return start;
                };
                start = open;
                // Brackets behind a value belong to it.
                if start > 0 && self.follows_value(start) {
                    start -= 1;
                    continue;
                }
                return start;
            }
            if start >= 2 && matches!(self.sign(start - 1), "." | "?.") {
                start -= 2;
                continue;
            }
            return start;
        }
    }

    /// The slot behind the chain that has a dot or bracket at `slot`.
    fn chain_end(&self, slot: usize) -> usize {
        let mut end = slot;
        loop {
            match self.sign(end) {
                "." | "?." if self.kind(end + 1) == Some(Kind::Name) => end += 2,
                "?." if matches!(self.sign(end + 1), "[" | "(") => end += 1,
                "[" | "(" => match self.partners[end] {
                    Some(close) => end = close + 1,
                    None => return end,
                },
                _ => return end,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, softened: &str) {
        assert_eq!(soften(text).text, softened);
    }

    #[test]
    fn members_that_are_read_are_soft() {
        check("this.q = nope.x.y", "this.q = nope?.x?.y");
        check("a.b.map(v => v.c)", "a?.b?.map(v => v?.c)");
        check("f(x).y[0].z", "f(x)?.y?.[0]?.z");
        check("if (a.b) c.d()", "if (a?.b) c?.d()");
        check("x = y ? a.b : .5", "x = y ? a?.b : .5");
        check("'a.b' + `c.d` + e.f // g.h", "'a.b' + `c.d` + e?.f // g.h");
    }

    #[test]
    fn what_is_assigned_made_or_tagged_stays() {
        for text in [
            "this.a.b = 1",
            "this.value++",
            "--a.b",
            "this.a[0] += 2",
            "new a.B(1)",
            "a.b`c`",
            "for (a.b of c) {}",
            "class A { get(x) { return 1 } }",
            "x = { f(y) { return 1 } }",
            "x = /a.b[(]/",
            "[1, 2]",
        ] {
            check(text, text);
        }
        check("a.b[c.d] = e.f", "a.b[c?.d] = e?.f");
    }

    #[test]
    fn names_are_those_of_variables() {
        assert_eq!(names("this.a = b.c + d(e)"), ["this", "b", "d", "e"]);
        assert_eq!(names("`x${y + z.w}`"), ["y", "z"]);
        assert_eq!(names("if (x) return 'y'"), ["x"]);
    }

    #[test]
    fn the_places_of_what_was_put_in_are_told() {
        assert_eq!(soften("\na.b").inserted, [(2, 2)]);
        assert_eq!(soften("a[0]").inserted, [(1, 2), (1, 3)]);
    }
}
