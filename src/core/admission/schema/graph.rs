//! The schemas of a schema as a graph: who stands in whom, and where references lead.
//!
//! Every walk here keeps its own stack, because its depth is a stranger's choice.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::core::admission::{Violation, ViolationCode};
use crate::core::json_schema::{Resolver, judges_same_value, subschemas};
use crate::core::policy::AdmissionPolicy;

/// Longest chain of schemas that judge the same value, references followed: the compiler recurses along it.
const CHAIN: usize = 64;

/// One schema.
pub struct Node<'s> {
    /// JSON pointer from the root.
    pub pointer: String,
    pub schema: &'s Value,
    edges: Vec<Edge>,
}

/// From a schema to one within it or one it refers to.
struct Edge {
    to: usize,
    kind: EdgeKind,
}

#[derive(Clone, Copy, PartialEq)]
enum EdgeKind {
    /// The other judges the same value.
    SameValue,
    /// The other judges a part of the value.
    Part,
    /// The other judges nothing until it is referred to.
    Definition,
}

impl EdgeKind {
    fn of(keyword: &str) -> Self {
        match keyword {
            "$defs" | "definitions" => Self::Definition,
            keyword if judges_same_value(keyword) => Self::SameValue,
            _ => Self::Part,
        }
    }
}

/// A reference as written, before it is known where it leads.
struct Reference<'s> {
    from: usize,
    keyword: &'s str,
    text: &'s str,
}

/// All schemas of a schema, the root first.
pub struct Graph<'s> {
    pub nodes: Vec<Node<'s>>,
    dangling: Vec<(String, &'static str)>,
}

/// A limit that is passed so far that nothing more is looked at.
pub struct TooComplex {
    pub pointer: String,
    pub description: String,
    pub accepted: String,
}

impl<'s> Graph<'s> {
    /// Walks a schema and all that its references reach.
    pub fn of(root: &'s Value, policy: &AdmissionPolicy) -> Result<Self, TooComplex> {
        let mut graph = Self { nodes: Vec::new(), dangling: Vec::new() };
        let mut known = BTreeMap::new();
        let mut references = Vec::new();
        let resolver = Resolver::new(root);
        graph.walk(String::new(), root, policy, &mut known, &mut references)?;
        // A reference may lead to a place where no keyword puts a schema; what stands there is then one too.
        while let Some(reference) = references.pop() {
            let at = format!("{}/{}", graph.nodes[reference.from].pointer, reference.keyword);
            if !reference.text.starts_with('#') {
                graph.dangling.push((at, "is not local"));
                continue;
            }
            let Some(target) = resolver.resolve(reference.text) else {
                graph.dangling.push((at, "leads nowhere"));
                continue;
            };
            if !target.is_object() && !target.is_boolean() {
                graph.dangling.push((at, "leads to something that is no schema"));
                continue;
            }
            let to = match known.get(&address(target)) {
                Some(&to) => to,
                None => graph.walk(reference.text[1..].to_owned(), target, policy, &mut known, &mut references)?,
            };
            graph.nodes[reference.from].edges.push(Edge { to, kind: EdgeKind::SameValue });
        }
        Ok(graph)
    }

    /// Adds a schema and all within it; returns its place.
    fn walk(
        &mut self,
        pointer: String,
        schema: &'s Value,
        policy: &AdmissionPolicy,
        known: &mut BTreeMap<usize, usize>,
        references: &mut Vec<Reference<'s>>,
    ) -> Result<usize, TooComplex> {
        let first = self.nodes.len();
        let mut open = vec![(pointer, schema, 1, None)];
        while let Some((pointer, schema, depth, parent)) = open.pop() {
            let place = self.nodes.len();
            if let Some((parent, kind)) = parent {
                let parent: &mut Node<'_> = &mut self.nodes[parent];
                parent.edges.push(Edge { to: place, kind });
            }
            if depth > policy.schema_depth {
                return Err(TooComplex {
                    pointer,
                    description: "nested too deep".into(),
                    accepted: format!("at most {} levels", policy.schema_depth),
                });
            }
            if place >= policy.schema_nodes as usize {
                return Err(TooComplex {
                    pointer: String::new(),
                    description: "too many nodes".into(),
                    accepted: format!("at most {} nodes", policy.schema_nodes),
                });
            }
            known.insert(address(schema), place);
            if let Value::Object(map) = schema {
                for keyword in ["$ref", "$dynamicRef"] {
                    if let Some(text) = map.get(keyword).and_then(Value::as_str) {
                        references.push(Reference { from: place, keyword, text });
                    }
                }
                for sub in subschemas(map).into_iter().rev() {
                    let below = format!("{pointer}{}", sub.pointer);
                    open.push((below, sub.schema, depth + 1, Some((place, EdgeKind::of(sub.keyword)))));
                }
            }
            self.nodes.push(Node { pointer, schema, edges: Vec::new() });
        }
        Ok(first)
    }

    /// Adds the violations of references: where they lead, whether they end, and how much they multiply.
    pub fn check_references(&self, field: &str, policy: &AdmissionPolicy, violations: &mut Vec<Violation>) {
        let accepted = r##"a reference within this schema, such as "#/$defs/name""##;
        let before = violations.len();
        for (at, description) in &self.dangling {
            let at = format!("{field}{at}");
            violations.push(Violation::new(at, ViolationCode::BadReference, *description, accepted));
        }
        for node in &self.nodes[1..] {
            // A base of its own would make `#` mean something else below it.
            if node.schema.get("$id").is_some_and(Value::is_string) {
                let at = format!("{field}{}/$id", node.pointer);
                let description = "changes what references below it mean";
                violations.push(Violation::new(at, ViolationCode::BadReference, description, "$id at the root only"));
            }
        }
        if violations.len() > before {
            return;
        }
        match self.longest_chain() {
            Err(place) => violations.push(Violation::new(
                format!("{field}{}", self.nodes[place].pointer),
                ViolationCode::BadReference,
                "refers only to itself",
                "references that come to an end",
            )),
            Ok((place, length)) if length > CHAIN => violations.push(Violation::new(
                format!("{field}{}", self.nodes[place].pointer),
                ViolationCode::TooComplex,
                format!("a chain of {length} references and combinations"),
                format!("at most {CHAIN} in a row"),
            )),
            Ok(_) => {
                if self.expands_beyond(policy.schema_expansion as usize) {
                    violations.push(Violation::new(
                        field,
                        ViolationCode::TooComplex,
                        "too large once references are followed",
                        format!("at most {} nodes with references followed", policy.schema_expansion),
                    ));
                }
            }
        }
    }

    /// Returns where the longest chain of schemas judging one value begins and its length, or a node on a circle of
    /// them: such a circle says nothing and never ends.
    fn longest_chain(&self) -> Result<(usize, usize), usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done(usize),
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut longest = (0, 0);
        for start in 0..self.nodes.len() {
            let mut stack = vec![start];
            while let Some(&place) = stack.last() {
                let next =
                    self.nodes[place].edges.iter().filter(|edge| edge.kind == EdgeKind::SameValue).map(|edge| edge.to);
                match marks[place] {
                    Mark::New => {
                        marks[place] = Mark::Open;
                        for to in next {
                            match marks[to] {
                                Mark::Open => return Err(to),
                                Mark::New => stack.push(to),
                                Mark::Done(_) => {}
                            }
                        }
                    }
                    Mark::Open => {
                        let below = next.map(|to| if let Mark::Done(length) = marks[to] { length } else { 0 }).max();
                        let length = 1 + below.unwrap_or(0);
                        marks[place] = Mark::Done(length);
                        if length > longest.1 {
                            longest = (place, length);
                        }
                        stack.pop();
                    }
                    Mark::Done(_) => {
                        stack.pop();
                    }
                }
            }
        }
        Ok(longest)
    }

    /// Tells whether following every reference, up to where it comes back to a schema it stands in, visits more than
    /// `limit` nodes.
    fn expands_beyond(&self, limit: usize) -> bool {
        enum Visit {
            Enter(usize),
            Leave(usize),
        }
        let mut is_open = vec![false; self.nodes.len()];
        let mut n_visited = 0;
        let mut stack = vec![Visit::Enter(0)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Leave(place) => is_open[place] = false,
                Visit::Enter(place) => {
                    n_visited += 1;
                    if n_visited > limit {
                        return true;
                    }
                    if is_open[place] {
                        continue;
                    }
                    is_open[place] = true;
                    stack.push(Visit::Leave(place));
                    let judging = self.nodes[place].edges.iter().filter(|edge| edge.kind != EdgeKind::Definition);
                    stack.extend(judging.map(|edge| Visit::Enter(edge.to)));
                }
            }
        }
        false
    }
}

/// The address tells two equal schemas in different places apart.
fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema) as usize
}
