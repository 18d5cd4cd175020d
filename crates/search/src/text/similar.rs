//! Similar terms among ordered ones: which are, and how far the others may be passed.
//!
//! Called by the reader for `fuzzy` and `~`. The edits between the beginning of a text and all
//! beginnings of the term are bits (Wu and Manber 1992): for each number of edits, which
//! beginnings of the term are no more apart. The bits are kept for each character of the text
//! before, so what a text shares with it is not looked at again. When too
//! many edits are needed, they say with which character a similar text could go on. Beyond
//! `EDITS_MAX` edits nearly no text can be passed, so texts are compared one by one.
//!
//! Invariants:
//! - Similar is what [`Fuzzy::matches`] says.
//! - No similar text lies between one that is beyond and where to go on.
//!
//! Threads: one owner.

use super::fuzzy::Fuzzy;

/// Characters of a term that have a bit, one more bit than there are. Of longer terms it is only
/// found where texts begin like them; those texts are compared as a whole.
const CHARS_MAX: usize = 63;

/// Most edits that have rows of bits; memory would be edits times characters beyond.
const EDITS_MAX: u32 = 16;

/// What a text is to a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness<'c> {
    /// It is similar.
    Similar,
    /// It is not.
    Different,
    /// It is not, nor is any text between it and this one; `None`: any that follows.
    Beyond(Option<&'c [u8]>),
}

/// Compares one term with texts that ascend by bytes.
pub(crate) struct Comparison<'f> {
    fuzzy: &'f Fuzzy,
    /// Characters that have a bit.
    term: Vec<char>,
    /// Where a character stands in the term.
    ascii: Box<[u64; 128]>,
    others: Vec<(char, u64)>,
    /// The bits that mean something.
    all: u64,
    /// The bit of the whole of a long term: once set it stays.
    lasting: u64,
    /// The beginning of the text before that was compared, and the bytes of each beginning of it.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// For each beginning of the text, the empty one first, and each number of edits: the
    /// beginnings of the term, by their lengths, that are no more edits apart.
    rows: Vec<u64>,
    width: usize,
    target: Vec<u8>,
}

impl<'f> Comparison<'f> {
    pub(crate) fn new(fuzzy: &'f Fuzzy) -> Comparison<'f> {
        let term: Vec<char> = fuzzy.term.chars().take(CHARS_MAX).collect();
        let mut ascii = Box::new([0; 128]);
        let mut others: Vec<(char, u64)> = Vec::new();
        for (at, &c) in term.iter().enumerate() {
            let place = 1 << at;
            if let Some(places) = ascii.get_mut(c as usize) {
                *places |= place;
            } else if let Some((_, places)) = others.iter_mut().find(|(other, _)| *other == c) {
                *places |= place;
            } else {
                others.push((c, place));
            }
        }
        let is_long = fuzzy.term.chars().nth(CHARS_MAX).is_some();
        let edits = fuzzy.edits.min(EDITS_MAX) as usize;
        let lowest = |count: usize| u64::MAX >> (64 - count.clamp(1, 64));
        let all = lowest(term.len() + 1);
        Comparison {
            all,
            lasting: if is_long { 1 << term.len() } else { 0 },
            rows: (0..=edits).map(|edits| lowest(edits + 1) & all).collect(),
            width: edits + 1,
            fuzzy,
            term,
            ascii,
            others,
            text: Vec::new(),
            ends: vec![0],
            target: Vec::new(),
        }
    }

    /// What `text` is to the term. What it ends with that is no UTF-8 does not count.
    pub(crate) fn compare(&mut self, text: &[u8]) -> Likeness<'_> {
        if self.fuzzy.edits > EDITS_MAX {
            return match self.fuzzy.matches(&String::from_utf8_lossy(text)) {
                true => Likeness::Similar,
                false => Likeness::Different,
            };
        }
        let shared = shared_len(&self.text, text);
        while self.len_bytes() > shared {
            self.pop();
        }
        let mut rest = &text[self.len_bytes()..];
        while let Some((c, len)) = first_char(rest) {
            let (first, behind) = rest.split_at(len);
            self.text.extend_from_slice(first);
            self.push(c);
            if self.rows.last() == Some(&0) {
                return Likeness::Beyond(self.go_on());
            }
            rest = behind;
        }
        let whole = 1 << self.term.len();
        let is_near = self.rows.last().is_some_and(|row| row & whole != 0);
        // Near by edits; the length of the text counts, too.
        let is_similar = is_near && self.fuzzy.matches(&String::from_utf8_lossy(&self.text));
        match is_similar {
            true => Likeness::Similar,
            false => Likeness::Different,
        }
    }

    fn len_bytes(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) {
        self.ends.pop();
        self.rows.truncate(self.rows.len() - self.width);
        self.text.truncate(self.len_bytes());
    }

    /// Adds the rows of one more character, whose bytes are there.
    fn push(&mut self, c: char) {
        let places = self.places_of(c);
        let last = self.rows.len() - self.width;
        let mut row = (self.rows[last] & places) << 1 | self.rows[last] & self.lasting;
        self.rows.push(row);
        for edits in 1..self.width {
            let (fewer, same) = (self.rows[last + edits - 1], self.rows[last + edits]);
            let replaced_or_removed = (fewer | row) << 1;
            row = (same & places) << 1 | same & self.lasting | fewer | replaced_or_removed;
            row &= self.all;
            self.rows.push(row);
        }
        self.ends.push(self.text.len());
    }

    #[inline]
    fn places_of(&self, c: char) -> u64 {
        if let Some(places) = self.ascii.get(c as usize) {
            return *places;
        }
        let other = self.others.iter().find(|(other, _)| *other == c);
        other.map_or(0, |(_, places)| *places)
    }

    /// The least text behind all that begin like the one so far, of which the last character is
    /// one too many, with which a similar one can begin.
    fn go_on(&mut self) -> Option<&[u8]> {
        loop {
            let end = self.len_bytes();
            self.target.clear();
            self.target.extend_from_slice(&self.text[..end]);
            if self.ends.len() == 1 {
                return None;
            }
            self.pop();
            let start = self.len_bytes();
            let last = self.rows.len() - self.width;
            let has_edit_left = self.rows[last..].iter().rev().nth(1).copied().unwrap_or(0) != 0;
            if has_edit_left || self.rows[self.rows.len() - 1] & self.lasting != 0 {
                // Any character will do: the next one.
                let at = self.target.iter().rposition(|byte| *byte != u8::MAX);
                self.target.truncate(at.map_or(0, |at| at + 1));
                *self.target.last_mut()? += 1;
                return Some(&self.target);
            }
            let Some(c) = self.next_char(start) else {
                continue;
            };
            self.target.truncate(start);
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            self.target.extend_from_slice(bytes);
            return Some(&self.target);
        }
    }

    /// Without an edit left: the least character behind the one that is in `target` from `start`
    /// on, with which a text can go on.
    fn next_char(&self, start: usize) -> Option<char> {
        let (passed, _) = first_char(&self.target[start..])?;
        let mut wanted = self.rows[self.rows.len() - 1];
        let mut next: Option<char> = None;
        while wanted != 0 {
            let at = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            if let Some(&c) = self.term.get(at)
                && c > passed
                && next.is_none_or(|next| c < next)
            {
                next = Some(c);
            }
        }
        next
    }
}

/// Number of bytes that both begin with.
fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().zip(b);
    pairs.take_while(|(a, b)| a == b).count()
}

/// The first character and its bytes; `None` at the end, or where the end is in a character.
#[inline]
fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    match bytes.first() {
        Some(byte) if byte.is_ascii() => Some((char::from(*byte), 1)),
        _ => {
            let chunk = bytes[..bytes.len().min(4)].utf8_chunks().next()?;
            match chunk.valid().chars().next() {
                Some(c) => Some((c, c.len_utf8())),
                None if chunk.invalid().len() == bytes.len() => None,
                None => Some((char::REPLACEMENT_CHARACTER, chunk.invalid().len())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is similar among `texts`, found as the reader finds it, and how many were looked at.
    fn found<'t>(fuzzy: &Fuzzy, texts: &'t [String]) -> (Vec<&'t str>, usize) {
        let mut comparison = Comparison::new(fuzzy);
        let (mut at, mut looked_at) = (0, 0);
        let mut similar = Vec::new();
        while let Some(text) = texts.get(at) {
            looked_at += 1;
            at += 1;
            match comparison.compare(text.as_bytes()) {
                Likeness::Similar => similar.push(&text[..]),
                Likeness::Different => {}
                Likeness::Beyond(None) => break,
                Likeness::Beyond(Some(target)) => {
                    assert!(target > text.as_bytes(), "{fuzzy:?} {text}");
                    at = texts.partition_point(|text| text.as_bytes() < target);
                }
            }
        }
        (similar, looked_at)
    }

    fn assert_found(fuzzy: &Fuzzy, texts: &[String]) {
        let all = texts.iter().map(String::as_str);
        let expected: Vec<&str> = all.filter(|text| fuzzy.matches(text)).collect();
        assert_eq!(found(fuzzy, texts).0, expected, "{fuzzy:?}");
    }

    fn of(term: &str, edits: u32) -> Fuzzy {
        Fuzzy::within(term, edits)
    }

    /// All texts of few letters, one of them of two bytes.
    fn all_texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        for len in 1..=6_u32 {
            for code in 0..3_usize.pow(len) {
                let letter = |at| ['a', 'b', '\u{e4}'][code / 3_usize.pow(at) % 3];
                texts.push((0..len).map(letter).collect());
            }
        }
        texts.sort_unstable();
        texts
    }

    #[test]
    fn texts_in_order_are_compared_like_single_ones() {
        let texts = all_texts();
        for term in [
            "",
            "a",
            "ab",
            "abba",
            "b\u{e4}a",
            "aaaa",
            "ab\u{e4}ba",
            "xab",
        ] {
            for edits in 0..5 {
                assert_found(&of(term, edits), &texts);
            }
            for similarity in [0.0, 0.2, 0.34, 0.5, 0.7, 0.99] {
                assert_found(&Fuzzy::new(term, similarity), &texts);
            }
        }
    }

    #[test]
    fn most_texts_are_passed_unseen() {
        let texts = all_texts();
        let (_, looked_at) = found(&of("abbaba", 1), &texts);
        assert!(looked_at < texts.len() / 5, "{looked_at} texts");
    }

    #[test]
    fn long_terms_are_compared_as_a_whole() {
        for len in [62, 63, 64, 65, 130] {
            let term = "abc".repeat(len / 3 + 1);
            let term = &term[..len];
            let mut texts = vec![term.to_owned(), term[1..].to_owned(), format!("{term}x")];
            for at in [0, 20, 61, 62, 63, 64, 129] {
                if at + 1 < len {
                    let mut bytes = term.as_bytes().to_vec();
                    bytes.swap(at, at + 1);
                    texts.push(String::from_utf8(bytes.clone()).unwrap());
                    bytes.remove(at);
                    texts.push(String::from_utf8(bytes).unwrap());
                }
            }
            texts.sort_unstable();
            for edits in [0, 1, 2, 3, EDITS_MAX, EDITS_MAX + 1, u32::MAX] {
                assert_found(&of(term, edits), &texts);
            }
            assert_found(&Fuzzy::new(term, 0.3), &texts);
        }
    }

    #[test]
    fn what_is_no_utf_8_is_passed() {
        let fuzzy = of("ab", 1);
        let mut comparison = Comparison::new(&fuzzy);
        let texts: [&[u8]; 5] = [b"a\xc3", b"ab\xff", b"\xc3(b", b"\xff", b"\xff\xff\xffa"];
        for text in texts {
            if let Likeness::Beyond(Some(target)) = comparison.compare(text) {
                assert!(target > text, "{text:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_texts_are_compared_like_single_ones(
            mut texts in prop::collection::vec("[a-d\u{e4}\u{1f600}]{0,9}", 1..60),
            term in "[a-d\u{e4}\u{1f600}]{0,9}",
            edits in 0..6_u32,
        ) {
            texts.sort_unstable();
            texts.dedup();
            assert_found(&of(&term, edits), &texts);
        }
    }
}
