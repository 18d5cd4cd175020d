//! Circles of imports inside a crate: files that reach each other through the paths they name.
//!
//! An edge runs from a file to the file that defines what it names: `crate::`, `super::` and
//! `self::` paths, child modules, and imported modules. Re-exports are followed to the
//! definition and are no edges themselves, so a table of contents joins no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::Measure;
use super::rust_text::{self, Token};
use crate::repository::TextFile;

/// Re-exports followed for one path; bounds circles of re-exports.
const REEXPORTS_MAX: usize = 16;

/// A module that has a file.
#[derive(Debug, Default)]
struct Module {
    file: String,
    /// Modules declared with a `mod` line, in order.
    children: Vec<String>,
    /// Names of the items that the file defines.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths named outside of imports, absolute or relative to the module.
    paths: Vec<Vec<String>>,
    /// Words outside of imports.
    words: BTreeSet<String>,
}

/// One name that a `use` brings in.
#[derive(Debug)]
struct Import {
    /// The name in this module; `*` for everything.
    name: String,
    path: Vec<String>,
    is_reexport: bool,
}

/// The modules of a crate by their paths; the root's path is empty.
type Modules = BTreeMap<Vec<String>, Module>;

/// Files in the largest circle, and which they are; then the circle of top-level modules, and the
/// imports that run up in the order of the root's `mod` lines.
pub(crate) fn measure(files: &[&TextFile]) -> Measure {
    let modules = modules(files);
    let edges = edges(&modules);
    let circle = largest_circle(&edges);
    let mut details: Vec<String> = circle.iter().map(|p| modules[*p].file.clone()).collect();
    let top = top_level(&edges);
    let names: Vec<&str> = largest_circle(&top).iter().map(|p| p[0].as_str()).collect();
    if !names.is_empty() {
        details.push(format!(
            "{} top-level modules: {}",
            names.len(),
            names.join(" ")
        ));
    }
    let order = modules.get(&[][..]).map_or(&[][..], |root| &root.children);
    let position = |path: &[String]| order.iter().position(|name| *name == path[0]);
    for (from, targets) in &top {
        for to in targets.iter().filter(|to| position(to) > position(from)) {
            details.push(format!("up: {} imports {}", from[0], to[0]));
        }
    }
    Measure {
        figure: circle.len(),
        details,
    }
}

/// Reads the modules of a crate from its root down.
fn modules(files: &[&TextFile]) -> Modules {
    let mut modules = Modules::new();
    let find = |end: &str| files.iter().find(|f| f.path.ends_with(end));
    let Some(root) = find("/src/lib.rs").or_else(|| find("/src/main.rs")) else {
        return modules;
    };
    let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut pending = vec![(Vec::new(), *root)];
    while let Some((path, file)) = pending.pop() {
        let module = Reader::read(file, &path);
        for child in &module.children {
            let mut child_path: Vec<String> = path.clone();
            child_path.push(child.clone());
            let stem = format!("{folder}/{}", child_path.join("/"));
            let names = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
            if let Some(file) = files.iter().find(|f| names.contains(&f.path)) {
                pending.push((child_path, *file));
            }
        }
        modules.insert(path, module);
    }
    modules
}

/// Reads one file into a [`Module`].
struct Reader<'a> {
    tokens: Vec<Token>,
    path: &'a [String],
    /// Modules written inside the file that are open here, and where each ends.
    inline: Vec<(String, usize)>,
    module: Module,
}

impl Reader<'_> {
    fn read(file: &TextFile, path: &[String]) -> Module {
        let mut reader = Reader {
            tokens: rust_text::product_tokens(&file.text),
            path,
            inline: Vec::new(),
            module: Module {
                file: file.path.clone(),
                ..Module::default()
            },
        };
        let mut at = 0;
        while at < reader.tokens.len() {
            reader.inline.retain(|(_, end)| *end > at);
            at = reader.step(at);
        }
        reader.module
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    /// Reads what stands at `at`; returns where to go on.
    fn step(&mut self, at: usize) -> usize {
        let (word, next) = (self.word(at).to_owned(), self.word(at + 1).to_owned());
        match word.as_str() {
            "use" if next != "<" => return self.read_import(at), // `use<'a>` captures, not imports
            "mod" if self.word(at + 2) == ";" => {
                if !self.module.children.contains(&next) {
                    self.module.children.push(next);
                }
                return at + 3;
            }
            "mod" if self.word(at + 2) == "{" => {
                let end = rust_text::group_end(&self.tokens, at + 2);
                self.inline.push((next, end));
                return at + 3;
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                self.module.items.insert(next);
                return at + 1;
            }
            "(" if next == "in" && self.word(at.wrapping_sub(1)) == "pub" => {
                return rust_text::group_end(&self.tokens, at); // a visibility names no import
            }
            _ => {}
        }
        if !self.tokens[at].is_word() {
            return at + 1;
        }
        self.module.words.insert(word.clone());
        if next != "::" || self.word(at.wrapping_sub(1)) == "::" {
            return at + 1;
        }
        let mut segments = vec![word];
        let mut end = at + 1;
        while self.word(end) == "::" && self.tokens.get(end + 1).is_some_and(Token::is_word) {
            segments.push(self.word(end + 1).to_owned());
            end += 2;
        }
        let path = self.absolute(segments);
        self.module.paths.push(path);
        at + 1
    }

    fn read_import(&mut self, at: usize) -> usize {
        let before = self.word(at.wrapping_sub(1));
        let is_reexport = before == "pub" || (before == ")" && self.is_visibility(at - 1));
        let mut imports = Vec::new();
        let end = self.read_tree(at + 1, &[], &mut imports);
        for (name, path) in imports {
            let path = self.absolute(path);
            self.module.imports.push(Import {
                name,
                path,
                is_reexport,
            });
        }
        end
    }

    /// Whether the `)` at `at` ends `pub(..)`.
    fn is_visibility(&self, at: usize) -> bool {
        let open = self.tokens[..at].iter().rposition(|t| t.text == "(");
        open.is_some_and(|open| open > 0 && self.word(open - 1) == "pub")
    }

    /// Reads one tree of a `use`; returns where it ends.
    fn read_tree(
        &self,
        mut at: usize,
        prefix: &[String],
        imports: &mut Vec<(String, Vec<String>)>,
    ) -> usize {
        let mut path = prefix.to_vec();
        loop {
            match self.word(at) {
                "::" => at += 1,
                "{" => {
                    let end = rust_text::group_end(&self.tokens, at);
                    at += 1;
                    while at + 1 < end {
                        at = self.read_tree(at, &path, imports);
                        at += usize::from(self.word(at) == ",");
                    }
                    return end;
                }
                "*" => {
                    imports.push(("*".to_owned(), path));
                    return at + 1;
                }
                "as" => {
                    imports.push((self.word(at + 1).to_owned(), path));
                    return at + 2;
                }
                word if self.tokens.get(at).is_some_and(Token::is_word) => {
                    if word != "self" || path.is_empty() {
                        path.push(word.to_owned());
                    }
                    at += 1;
                }
                "," | "}" | ";" | "" => {
                    if path.is_empty() {
                        return at;
                    }
                    let name = path.last().cloned().unwrap_or_default();
                    imports.push((name, path));
                    return at;
                }
                _ => at += 1,
            }
        }
    }

    /// The path from the crate's root; paths of other crates get the module's path in front, where
    /// they lead nowhere.
    fn absolute(&self, segments: Vec<String>) -> Vec<String> {
        let inline = self.inline.iter().map(|(name, _)| name.clone());
        let mut base: Vec<String> = self.path.iter().cloned().chain(inline).collect();
        let mut rest = segments.as_slice();
        match segments.first().map_or("", String::as_str) {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            _ => base = self.path.to_vec(),
        }
        base.extend_from_slice(rest);
        base
    }
}

/// The files that each file needs, by the paths of their modules.
type Edges<'a> = BTreeMap<&'a [String], BTreeSet<&'a [String]>>;

fn edges(modules: &Modules) -> Edges<'_> {
    let mut edges = Edges::new();
    for (path, module) in modules {
        let used = module
            .imports
            .iter()
            .filter(|i| !i.is_reexport || module.words.contains(&i.name));
        let named = used.map(|i| &i.path).chain(&module.paths);
        let targets: BTreeSet<&[String]> = named
            .filter_map(|p| resolve(modules, p, REEXPORTS_MAX))
            .filter(|target| *target != path.as_slice())
            .collect();
        edges.insert(path, targets);
    }
    edges
}

/// The module that defines what `path` names; `None` when that is no part of the crate.
fn resolve<'a>(modules: &'a Modules, path: &[String], depth: usize) -> Option<&'a [String]> {
    let mut len = 0;
    while len < path.len() && modules.contains_key(&path[..=len]) {
        len += 1;
    }
    let (home, module) = modules.get_key_value(&path[..len])?;
    let Some(name) = path.get(len) else {
        return Some(home);
    };
    if module.items.contains(name) {
        return Some(home);
    }
    let depth = depth.checked_sub(1)?;
    let follow = |import: &Import, skip: usize| {
        let mut target = import.path.clone();
        target.extend_from_slice(&path[len + skip..]);
        (target != path).then(|| resolve(modules, &target, depth))?
    };
    if let Some(import) = module.imports.iter().find(|i| i.name == *name) {
        return follow(import, 1);
    }
    let globs = module.imports.iter().filter(|i| i.name == "*");
    globs.into_iter().find_map(|import| follow(import, 0))
}

/// The edges between top-level modules.
fn top_level<'a>(edges: &Edges<'a>) -> Edges<'a> {
    let mut top = Edges::new();
    for (from, targets) in edges.iter().filter(|(from, _)| !from.is_empty()) {
        let targets = targets.iter().filter(|to| !to.is_empty());
        let targets = targets.map(|to| &to[..1]).filter(|to| to[0] != from[0]);
        top.entry(&from[..1]).or_default().extend(targets);
    }
    top
}

/// The largest set of nodes that all reach each other; empty when no two do.
fn largest_circle<'a>(edges: &Edges<'a>) -> Vec<&'a [String]> {
    let reached: Edges<'a> = edges
        .keys()
        .map(|from| (*from, reach(edges, from)))
        .collect();
    let circle_of = |from: &'a [String]| {
        let mutual = reached[from]
            .iter()
            .filter(|to| reached[*to].contains(from));
        mutual.copied().collect::<Vec<_>>()
    };
    // The first of the largest, so that the answer does not depend on the order of equals.
    let circles = edges.keys().map(|from| circle_of(from));
    circles.fold(Vec::new(), |largest, circle| {
        if circle.len() > largest.len() {
            circle
        } else {
            largest
        }
    })
}

/// The nodes that a path of one or more edges leads to.
fn reach<'a>(edges: &Edges<'a>, from: &[String]) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&'a [String]> = edges[from].iter().copied().collect();
    while let Some(node) = pending.pop() {
        if reached.insert(node) {
            pending.extend(edges[node].iter());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure_of(sources: &[(&str, &str)]) -> Measure {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: format!("crates/a/src/{path}"),
            text: (*text).to_owned(),
        };
        let files: Vec<TextFile> = sources.iter().map(file).collect();
        measure(&files.iter().collect::<Vec<_>>())
    }

    #[test]
    fn imports_in_one_direction_are_no_circle() {
        let measure = measure_of(&[
            ("lib.rs", "mod low;\nmod high;\npub use high::High;\n"),
            ("low.rs", "pub struct Low;\n"),
            ("high.rs", "use crate::low::Low;\npub struct High(Low);\n"),
        ]);
        assert_eq!(measure, Measure::default());
    }

    #[test]
    fn files_that_import_each_other_are_counted_and_named() {
        let measure = measure_of(&[
            ("lib.rs", "mod b;\nmod c;\nmod d;\nmod e;\n"),
            ("b.rs", "use crate::{c::{self, C}, e};\npub struct B;\n"),
            ("c.rs", "pub struct C;\nfn f() -> crate::d::D { g() }\n"),
            ("d.rs", "use super::b::*;\npub struct D;\n"),
            ("e.rs", "pub struct E;\n"),
        ]);
        assert_eq!(measure.figure, 3);
        let files = [
            "crates/a/src/b.rs",
            "crates/a/src/c.rs",
            "crates/a/src/d.rs",
        ];
        assert_eq!(measure.details[..3], files);
        assert!(
            measure
                .details
                .contains(&"3 top-level modules: b c d".to_owned())
        );
        assert!(measure.details.contains(&"up: b imports c".to_owned()));
        assert!(!measure.details.contains(&"up: d imports b".to_owned()));
    }

    #[test]
    fn reexports_are_followed_to_the_definition() {
        let sources = [
            ("lib.rs", "mod m;\nmod user;\n"),
            (
                "m/mod.rs",
                "mod b;\nmod c;\npub(crate) use b::B;\npub(crate) use c::*;\n",
            ),
            ("m/b.rs", "use super::C;\npub struct B;\n"),
            ("m/c.rs", "pub struct C;\n"),
            ("user.rs", "use crate::m::{B, C as Other};\n"),
        ];
        assert_eq!(measure_of(&sources).figure, 0);
        let mut circle = sources;
        circle[3].1 = "pub struct C(crate::m::B);\n";
        assert_eq!(measure_of(&circle).figure, 2);
    }

    #[test]
    fn a_parent_that_uses_its_child_and_back_is_a_circle() {
        let sources = [
            ("lib.rs", "mod m;\n"),
            ("m.rs", "mod b;\npub struct M;\nfn f() { b::go(); }\n"),
            ("m/b.rs", "use super::M;\npub fn go() {}\n"),
        ];
        assert_eq!(measure_of(&sources).figure, 2);
        let mut reexport = sources;
        reexport[1].1 = "mod b;\npub use b::go;\npub struct M;\nfn f() { go(); }\n";
        assert_eq!(measure_of(&reexport).figure, 2);
        reexport[1].1 = "mod b;\npub use b::go;\npub struct M;\n";
        assert_eq!(measure_of(&reexport).figure, 0);
    }

    #[test]
    fn imported_modules_lead_to_what_is_named_through_them() {
        let measure = measure_of(&[
            ("lib.rs", "mod m;\nmod b;\n"),
            ("m/mod.rs", "mod c;\npub use c::go;\n"),
            ("m/c.rs", "use crate::b::B;\npub fn go() {}\n"),
            ("b.rs", "use crate::m;\npub struct B;\nfn f() { m::go() }\n"),
        ]);
        assert_eq!(measure.figure, 2);
    }

    #[test]
    fn tests_literals_and_visibilities_are_no_imports() {
        let measure = measure_of(&[
            ("lib.rs", "mod b;\nmod c;\n"),
            ("b.rs", "use crate::c::C;\npub struct B;\n"),
            (
                "c.rs",
                "pub(in crate::b) struct C; // crate::b::B\nconst S: &str = \"crate::b::B\";\n\
                 #[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
            ),
        ]);
        assert_eq!(measure.figure, 0);
    }

    #[test]
    fn super_inside_an_inline_module_is_the_file_itself() {
        let measure = measure_of(&[
            ("lib.rs", "mod b;\nmod c;\nstruct C;\n"),
            (
                "b.rs",
                "use crate::c::D;\nmod inner { use super::D; use super::super::c; }\n",
            ),
            ("c.rs", "pub struct D;\n"),
        ]);
        assert_eq!(measure.figure, 0);
    }

    #[test]
    fn other_crates_and_circles_of_reexports_lead_nowhere() {
        let measure = measure_of(&[
            ("lib.rs", "mod b;\nmod c;\n"),
            (
                "b.rs",
                "pub use crate::c::*;\nuse std::fmt;\nfn f() { std::mem::take(g()); }\n",
            ),
            ("c.rs", "pub use crate::b::*;\nuse crate::b::Nothing;\n"),
        ]);
        assert_eq!(measure.figure, 0);
    }
}
