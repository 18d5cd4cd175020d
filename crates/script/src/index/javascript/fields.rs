//! What the tokens of a map or reduce tell: its fields, the collections it loads, whether it may
//! return several entries.
//!
//! Called by `javascript` when it compiles. Nothing here decides what a program means: what cannot
//! be told is left out, or answered carefully.

use crate::tokens::{Kind, Token, tokens};

/// Names of fields in the object literals that functions return, in order.
///
/// Of literals inside one another only the outermost counts.
pub(super) fn returned(text: &str) -> Vec<String> {
    let list = Tokens::new(text);
    let mut fields: Vec<String> = Vec::new();
    let mut slot = 0;
    while slot < list.tokens.len() {
        match list.returned_literal(slot) {
            Some(open) => slot = list.literal_fields(open, &mut fields),
            None => slot += 1,
        }
    }
    fields
}

/// Collections that `load(id, 'Collection')` names, each once.
pub(super) fn loaded_collections(text: &str) -> Vec<String> {
    let list = Tokens::new(text);
    let mut collections: Vec<String> = Vec::new();
    for slot in 0..list.tokens.len() {
        let is_member = slot > 0 && matches!(list.word(slot - 1), "." | "?.");
        if is_member || list.word(slot) != "load" || list.word(slot + 1) != "(" {
            continue;
        }
        let Some(close) = list.partner(slot + 1) else {
            continue;
        };
        let is_second = list.word(close - 2) == ",";
        if let Some(name) = list.text_literal(close - 1).filter(|_| is_second)
            && !collections.contains(&name)
        {
            collections.push(name);
        }
    }
    collections
}

/// Whether a function may return something else than one object literal.
pub(super) fn may_return_several(text: &str) -> bool {
    let list = Tokens::new(text);
    let mut returns = 0;
    for slot in 0..list.tokens.len() {
        let is_return = match list.word(slot) {
            "return" => true,
            "=>" => list.word(slot + 1) != "{",
            _ => false,
        };
        if is_return {
            returns += 1;
            if list.returned_literal(slot).is_none() {
                return true;
            }
        }
    }
    returns == 0
}

struct Tokens<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    partners: Vec<Option<usize>>,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Tokens<'t> {
        let tokens = tokens(text);
        let mut partners = vec![None; tokens.len()];
        let mut open = Vec::new();
        for (slot, token) in tokens.iter().enumerate() {
            match &text[token.start..token.end] {
                _ if token.kind != Kind::Sign => {}
                "(" | "[" | "{" => open.push(slot),
                ")" | "]" | "}" => {
                    if let Some(partner) = open.pop() {
                        partners[partner] = Some(slot);
                    }
                }
                _ => {}
            }
        }
        Tokens {
            text,
            tokens,
            partners,
        }
    }

    fn word(&self, slot: usize) -> &'t str {
        let token = self.tokens.get(slot);
        token.map_or("", |token| &self.text[token.start..token.end])
    }

    fn partner(&self, slot: usize) -> Option<usize> {
        self.partners.get(slot).copied().flatten()
    }

    /// The text of a string literal without escapes.
    fn text_literal(&self, slot: usize) -> Option<String> {
        let token = self.tokens.get(slot)?;
        let word = self.word(slot);
        let quote = word.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let inside = word.strip_prefix(quote)?.strip_suffix(quote)?;
        let is_plain = token.kind == Kind::Literal && !inside.contains('\\');
        is_plain.then(|| inside.to_owned())
    }

    /// The brace of an object literal that `return` or `=>` at `slot` gives, and that nothing
    /// follows but the end of the function.
    fn returned_literal(&self, slot: usize) -> Option<usize> {
        let mut at = slot + 1;
        match self.word(slot) {
            "return" => {}
            "=>" if self.word(at) == "(" => {}
            _ => return None,
        }
        let mut brackets = 0;
        while self.word(at) == "(" {
            at += 1;
            brackets += 1;
        }
        if self.word(at) != "{" {
            return None;
        }
        let mut end = self.partner(at)? + 1;
        while brackets > 0 && self.word(end) == ")" {
            end += 1;
            brackets -= 1;
        }
        matches!(self.word(end), ";" | "}" | ")" | ",").then_some(at)
    }

    /// Appends the names of the literal that `open` opens; gives the slot behind it.
    fn literal_fields(&self, open: usize, fields: &mut Vec<String>) -> usize {
        let Some(close) = self.partner(open) else {
            return open + 1;
        };
        let mut slot = open + 1;
        let mut is_name = true;
        while slot < close {
            let word = self.word(slot);
            if let Some(end) = self.partner(slot) {
                slot = end + 1;
                is_name = false;
                continue;
            }
            if is_name && matches!(self.word(slot + 1), ":" | "," | "}") {
                let literal = self.text_literal(slot);
                let name = literal.unwrap_or_else(|| word.to_owned());
                let is_field = !name.starts_with('$') && name != "_";
                if is_field && !fields.contains(&name) {
                    fields.push(name);
                }
            }
            is_name = word == ",";
            slot += 1;
        }
        close + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_returned_literals() {
        for (text, fields) in [
            ("map('A', function (a) { return { x: a.x, y: 1 }; })", "x,y"),
            (
                "map('A', a => ({ x: f({ z: 1 }), 'y': a.y ? 1 : 2, q }))",
                "x,y,q",
            ),
            ("map('A', a => a.l.map(b => ({ x: b.x })))", "x"),
            ("map('A', a => { return ({ x: a.x }) })", "x"),
            (
                "map('A', a => { const r = []; r.push({ x: 1 }); return r; })",
                "",
            ),
            (
                "map('A', a => ({ n: a.n, _: { $value: a.n, $name: 'm' } }))",
                "n",
            ),
        ] {
            assert_eq!(returned(text).join(","), fields, "{text}");
        }
    }

    #[test]
    fn one_entry_is_promised_for_literals_only() {
        assert!(!may_return_several("map('A', a => ({ x: a.x }))"));
        assert!(!may_return_several(
            "map('A', function (a) { return { x: a.x }; })"
        ));
        assert!(may_return_several(
            "map('A', a => a.l.map(b => ({ x: b })))"
        ));
        assert!(may_return_several(
            "map('A', a => { return [{ x: 1 }, { x: 2 }]; })"
        ));
        assert!(may_return_several("map('A', f)"));
    }

    #[test]
    fn collections_of_loaded_documents_are_found() {
        let text =
            "map('A', a => ({ x: load(a.b, 'Bs').x, y: load(a.c, \"Cs\").y, z: q.load(1, 'D') }))";
        assert_eq!(loaded_collections(text), ["Bs", "Cs"]);
    }
}
