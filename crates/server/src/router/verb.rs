//! The request methods that routes know, and sets of them.
//!
//! Used by `router::trie` as array positions, and by the dispatcher to decide whether a request
//! carries a body. `RESET` is not a standard method: clients send it to rebuild an index.

/// A request method that some route may accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// `PUT`.
    Put,
    /// `POST`.
    Post,
    /// `DELETE`; carries a body on some routes.
    Delete,
    /// `PATCH`; carries a body.
    Patch,
    /// `OPTIONS`.
    Options,
    /// `RESET`, the non-standard method that rebuilds an index.
    Reset,
}

impl Verb {
    /// Number of methods: the width of the table behind each path.
    pub(crate) const COUNT: usize = 8;

    /// Every method, in the order of its position.
    pub const ALL: [Verb; Verb::COUNT] = [
        Verb::Get,
        Verb::Head,
        Verb::Put,
        Verb::Post,
        Verb::Delete,
        Verb::Patch,
        Verb::Options,
        Verb::Reset,
    ];

    /// Reads a method name, which is case-sensitive in HTTP. `None` for any other method.
    #[must_use]
    pub fn parse(name: &str) -> Option<Verb> {
        Some(match name.as_bytes() {
            b"GET" => Verb::Get,
            b"HEAD" => Verb::Head,
            b"PUT" => Verb::Put,
            b"POST" => Verb::Post,
            b"DELETE" => Verb::Delete,
            b"PATCH" => Verb::Patch,
            b"OPTIONS" => Verb::Options,
            b"RESET" => Verb::Reset,
            _ => return None,
        })
    }

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Head => "HEAD",
            Verb::Put => "PUT",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
            Verb::Patch => "PATCH",
            Verb::Options => "OPTIONS",
            Verb::Reset => "RESET",
        }
    }

    /// Whether the dispatcher reads a body for this method.
    #[must_use]
    pub fn has_body(self) -> bool {
        !matches!(self, Verb::Get | Verb::Head | Verb::Options)
    }

    pub(crate) fn slot(self) -> usize {
        self as usize
    }
}

/// A set of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verbs(u8);

impl Verbs {
    /// The set of the given methods.
    #[must_use]
    pub const fn of(verbs: &[Verb]) -> Verbs {
        let mut bits = 0;
        let mut slot = 0;
        while slot < verbs.len() {
            bits |= 1 << (verbs[slot] as u8);
            slot += 1;
        }
        Verbs(bits)
    }

    /// Whether `verb` is in the set.
    #[must_use]
    pub const fn contains(self, verb: Verb) -> bool {
        self.0 & (1 << (verb as u8)) != 0
    }

    /// The methods of the set, in the order of [`Verb::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL
            .into_iter()
            .filter(move |verb| self.contains(*verb))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_sets_hold_what_they_were_given() {
        for verb in Verb::ALL {
            assert_eq!(Verb::parse(verb.name()), Some(verb));
        }
        assert_eq!(Verb::parse("get"), None);
        assert_eq!(Verb::parse("BREW"), None);
        let set = Verbs::of(&[Verb::Put, Verb::Get]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Verb::Get, Verb::Put]);
    }
}
