//! JSON Patch (RFC 6902): a list of operations on one document.
//!
//! Called by `store::patch`. All operations happen or none. The document is turned into a tree of
//! owned nodes, changed, and turned back; recursion is bounded by the depth of documents.

use std::cmp::Ordering;

use jackdaw_document::{Builder, DocumentBuf, Value, compare};

/// A value that can be changed.
#[derive(Clone, Debug)]
enum Node {
    /// A value that is no container, as a document.
    Scalar(DocumentBuf),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// What `document` is after `operations`, an array of RFC 6902 or an object with it.
///
/// # Errors
/// A sentence about the first operation that could not be carried out.
pub(crate) fn apply(document: Value<'_>, operations: Value<'_>) -> Result<DocumentBuf, String> {
    let list = operations.get("Operations").unwrap_or(operations);
    let list = list
        .as_array()
        .ok_or("The operations of a JSON patch must be an array")?;
    let mut root = Node::read(document);
    for operation in list.iter() {
        carry_out(&mut root, operation)?;
    }
    root.finish()
}

fn carry_out(root: &mut Node, operation: Value<'_>) -> Result<(), String> {
    let text = |name: &str| operation.get(name).and_then(|value| value.as_str());
    let kind = text("op").ok_or("An operation of a JSON patch needs 'op'")?;
    let path = text("path").ok_or("An operation of a JSON patch needs 'path'")?;
    let value = || {
        let value = operation.get("value").map(Node::read);
        value.ok_or_else(|| format!("The operation '{kind}' of '{path}' needs 'value'"))
    };
    let from = || text("from").ok_or_else(|| format!("The operation '{kind}' needs 'from'"));
    match kind.to_ascii_lowercase().as_str() {
        "add" => add(root, path, value()?),
        "remove" => remove(root, path).map(drop),
        "replace" => {
            *find(root, path)? = value()?;
            Ok(())
        }
        "copy" => {
            let copied = find(root, from()?)?.clone();
            add(root, path, copied)
        }
        "move" => {
            let from = from()?;
            if path.starts_with(&format!("{from}/")) {
                return Err(format!("'{from}' cannot move into itself, to '{path}'"));
            }
            let moved = remove(root, from)?;
            add(root, path, moved)
        }
        "test" => {
            let expected = value()?.finish()?;
            let found = find(root, path)?.clone().finish()?;
            match compare(&found.root(), &expected.root()) {
                Ordering::Equal => Ok(()),
                _ => Err(format!(
                    "The current value '{}' of '{path}' is not equal to the test value '{}'",
                    found.root().to_json(),
                    expected.root().to_json()
                )),
            }
        }
        _ => Err(format!("There is no operation '{kind}' in JSON patches")),
    }
}

impl Node {
    fn read(value: Value<'_>) -> Node {
        match value {
            Value::Array(array) => Node::Array(array.iter().map(Node::read).collect()),
            Value::Object(object) => Node::Object(
                object
                    .iter()
                    .map(|(name, value)| (name.to_owned(), Node::read(value)))
                    .collect(),
            ),
            scalar => {
                let mut builder = Builder::new();
                builder.value(scalar);
                Node::Scalar(builder.finish().expect("a scalar is a complete document"))
            }
        }
    }

    fn write(&self, builder: &mut Builder) {
        match self {
            Node::Scalar(scalar) => {
                builder.value(scalar.root());
            }
            Node::Array(list) => {
                builder.begin_array();
                list.iter().for_each(|node| node.write(builder));
                builder.end_array();
            }
            Node::Object(fields) => {
                builder.begin_object();
                for (name, node) in fields {
                    builder.key(name);
                    node.write(builder);
                }
                builder.end_object();
            }
        }
    }

    fn finish(self) -> Result<DocumentBuf, String> {
        let mut builder = Builder::new();
        self.write(&mut builder);
        builder.finish().map_err(|error| error.to_string())
    }
}

/// Steps of a JSON pointer (RFC 6901); none for the whole document.
fn steps(path: &str) -> Result<Vec<String>, String> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = path.strip_prefix('/') else {
        return Err(format!("The path '{path}' must begin with '/'"));
    };
    let unescaped = |step: &str| step.replace("~1", "/").replace("~0", "~");
    Ok(rest.split('/').map(unescaped).collect())
}

/// A position in an array of `len` elements; `-` is the one behind the last.
fn position(step: &str, len: usize) -> Option<usize> {
    if step == "-" {
        return Some(len);
    }
    let is_plain = step == "0" || (!step.starts_with('0') && !step.starts_with('+'));
    step.parse().ok().filter(|_| is_plain)
}

fn find<'n>(root: &'n mut Node, path: &str) -> Result<&'n mut Node, String> {
    let steps = steps(path)?;
    walk(root, &steps, path)
}

fn walk<'n>(root: &'n mut Node, steps: &[String], path: &str) -> Result<&'n mut Node, String> {
    let mut node = root;
    for step in steps {
        let next = match node {
            Node::Object(fields) => fields
                .iter_mut()
                .find(|(name, _)| name == step)
                .map(|(_, node)| node),
            Node::Array(list) => position(step, list.len()).and_then(|at| list.get_mut(at)),
            Node::Scalar(_) => None,
        };
        node = next.ok_or_else(|| unreachable_target(step, path))?;
    }
    Ok(node)
}

#[cold]
fn unreachable_target(step: &str, path: &str) -> String {
    format!("Cannot reach target location. Failed to fetch '{step}' in path '{path}'")
}

fn add(root: &mut Node, path: &str, value: Node) -> Result<(), String> {
    let steps = steps(path)?;
    let Some((last, parents)) = steps.split_last() else {
        *root = value;
        return Ok(());
    };
    match walk(root, parents, path)? {
        Node::Object(fields) => match fields.iter_mut().find(|(name, _)| name == last) {
            Some((_, node)) => *node = value,
            None => fields.push((last.clone(), value)),
        },
        Node::Array(list) => {
            let at = position(last, list.len()).filter(|at| *at <= list.len());
            list.insert(at.ok_or_else(|| unreachable_target(last, path))?, value);
        }
        Node::Scalar(_) => return Err(unreachable_target(last, path)),
    }
    Ok(())
}

fn remove(root: &mut Node, path: &str) -> Result<Node, String> {
    let steps = steps(path)?;
    let (last, parents) = steps
        .split_last()
        .ok_or("The whole document cannot be removed by a JSON patch")?;
    match walk(root, parents, path)? {
        Node::Object(fields) => {
            let at = fields.iter().position(|(name, _)| name == last);
            Ok(fields
                .remove(at.ok_or_else(|| unreachable_target(last, path))?)
                .1)
        }
        Node::Array(list) => {
            let at = position(last, list.len()).filter(|at| *at < list.len());
            Ok(list.remove(at.ok_or_else(|| unreachable_target(last, path))?))
        }
        Node::Scalar(_) => Err(unreachable_target(last, path)),
    }
}

#[cfg(test)]
mod tests {
    use jackdaw_document::Limits;

    use super::*;

    fn check(document: &str, operations: &str, expected: &str) {
        let json = |text: &str| DocumentBuf::from_json(text.as_bytes(), &Limits::default());
        let (document, operations) = (json(document).unwrap(), json(operations).unwrap());
        let text = match apply(document.root(), operations.root()) {
            Ok(patched) => patched.root().to_json(),
            Err(error) => error,
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn the_operations_of_the_standard_are_carried_out() {
        check(
            "{}",
            r#"[{"op":"add","path":"/a","value":{"b":[]}}]"#,
            r#"{"a":{"b":[]}}"#,
        );
        check(
            r#"{"a":[1,3]}"#,
            r#"[{"op":"add","path":"/a/1","value":2}]"#,
            r#"{"a":[1,2,3]}"#,
        );
        check(
            r#"{"a":[1]}"#,
            r#"[{"op":"add","path":"/a/-","value":2}]"#,
            r#"{"a":[1,2]}"#,
        );
        check(
            r#"{"a":1,"b":2}"#,
            r#"[{"op":"remove","path":"/a"}]"#,
            r#"{"b":2}"#,
        );
        check(
            r#"{"a":1.10}"#,
            r#"[{"op":"copy","from":"/a","path":"/b"}]"#,
            r#"{"a":1.10,"b":1.10}"#,
        );
        check(
            r#"{"a":{"x":1},"b":{}}"#,
            r#"[{"op":"move","from":"/a/x","path":"/b/y"}]"#,
            r#"{"a":{},"b":{"y":1}}"#,
        );
        check(
            r#"{"a/b":1,"m~n":2}"#,
            concat!(
                r#"[{"op":"replace","path":"/a~1b","value":3},"#,
                r#"{"op":"test","path":"/m~0n","value":2.0}]"#
            ),
            r#"{"a/b":3,"m~n":2}"#,
        );
        check(
            r#"{"x":1}"#,
            r#"{"Operations":[{"op":"replace","path":"/x","value":5}]}"#,
            r#"{"x":5}"#,
        );
    }

    #[test]
    fn what_cannot_be_done_is_told() {
        let unreachable = "Cannot reach target location. Failed to fetch 'nope' in path '/nope/q'";
        check("{}", r#"[{"op":"remove","path":"/nope/q"}]"#, unreachable);
        check(
            r#"{"a":[]}"#,
            r#"[{"op":"add","path":"/a/01","value":1}]"#,
            "Cannot reach target location. Failed to fetch '01' in path '/a/01'",
        );
        check(
            r#"{"a":1}"#,
            r#"[{"op":"test","path":"/a","value":2}]"#,
            "The current value '1' of '/a' is not equal to the test value '2'",
        );
        check(
            "{}",
            r#"[{"op":"frob","path":"/a"}]"#,
            "There is no operation 'frob' in JSON patches",
        );
        check(
            "{}",
            r#"[{"op":"add","path":"a","value":1}]"#,
            "The path 'a' must begin with '/'",
        );
        check(
            r#"{"a":{}}"#,
            r#"[{"op":"move","from":"/a","path":"/a/b"}]"#,
            "'/a' cannot move into itself, to '/a/b'",
        );
    }
}
