//! Decides what a model looks like from its text: a node for each array, its plates, and its parents.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::Data;
use crate::syntax::ast::{Expr, Kind, Loops, Name, Program, Relation, Span, Statement};

/// A model as a picture would show it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// Arrays, in the order in which the text names them.
    pub nodes: Vec<Node>,
    /// From a parent to its child, by places in `nodes`, each once.
    pub edges: Vec<(usize, usize)>,
}

/// One array, or one scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The loops that its line stands in, such as `n in 1:N`, the outermost first.
    pub plates: Vec<String>,
    /// The distribution of a stochastic line.
    pub distribution: Option<String>,
    /// Whether it is observed, but for some elements that the data lack.
    pub partly: bool,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A stochastic line whose values are data, at least in part.
    Observed,
    /// A stochastic line without data.
    Unknown,
    /// A deterministic line that depends on stochastic ones.
    Computed,
    /// What depends on none: data that no line defines, and lines that hold nothing else.
    Constant,
}

impl Outline {
    pub(crate) fn new(program: &Program, source: &str, data: &Data) -> Self {
        let mut reader = Reader {
            source,
            nodes: vec![],
            places: BTreeMap::new(),
            edges: BTreeSet::new(),
        };
        reader.statements(&program.data);
        let mut given = vec![];
        for node in &mut reader.nodes {
            given.push(node.kind != NodeKind::Constant);
            *node = Node::constant(&node.name);
        }
        reader.edges.clear();
        reader.statements(&program.model);
        given.resize(reader.nodes.len(), false);
        reader.finish(&given, data)
    }

    /// The parents of a node.
    pub fn parents(&self, node: usize) -> impl Iterator<Item = &Node> {
        let parents = (self.edges.iter()).filter(move |(_, child)| *child == node);
        parents.map(|(parent, _)| &self.nodes[*parent])
    }
}

impl Node {
    /// What no line defines.
    fn constant(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: NodeKind::Constant,
            plates: vec![],
            distribution: None,
            partly: false,
        }
    }
}

struct Reader<'a> {
    source: &'a str,
    /// Each as the line that says most of it: unknown if that is stochastic, else computed.
    nodes: Vec<Node>,
    places: BTreeMap<String, usize>,
    edges: BTreeSet<(usize, usize)>,
}

impl Reader<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        for (loops, statement) in Statement::all(statements) {
            if let Statement::Relation(relation) = statement {
                self.relation(relation, &loops);
            }
        }
    }

    fn relation(&mut self, relation: &Relation, loops: &Loops) {
        let child = self.place(&relation.target.name.text);
        for parent in relation.expressions().flat_map(Expr::references) {
            if loops.iter().all(|(counter, _)| **counter != parent.name) {
                let parent = self.place(&parent.name.text);
                self.edges.insert((parent, child));
            }
        }
        let plate = |(counter, range): &(&Name, &Expr)| {
            format!("{} in {}", counter.text, self.text(range.span))
        };
        let plates: Vec<String> = loops.iter().map(plate).collect();
        let (kind, distribution) = match &relation.kind {
            Kind::Stochastic { distribution, .. } => {
                (NodeKind::Unknown, Some(distribution.text.clone()))
            }
            Kind::Deterministic { .. } => (NodeKind::Computed, None),
        };
        // Stochastic lines and those in more loops say more.
        let node = &mut self.nodes[child];
        let before = (node.distribution.is_some(), node.plates.len());
        if node.kind == NodeKind::Constant || before < (distribution.is_some(), plates.len()) {
            (node.kind, node.distribution, node.plates) = (kind, distribution, plates);
        }
    }

    fn place(&mut self, name: &str) -> usize {
        let next = self.nodes.len();
        let place = *self.places.entry(name.to_owned()).or_insert(next);
        if place == next {
            self.nodes.push(Node::constant(name));
        }
        place
    }

    fn text(&self, span: Span) -> String {
        let words: Vec<&str> = span.of(self.source).split_whitespace().collect();
        words.join(" ")
    }

    /// The outline, with what is `given` by the block `data` and by the data observed.
    fn finish(self, given: &[bool], data: &Data) -> Outline {
        let mut nodes = self.nodes;
        let stochastic = |node: &Node| node.kind == NodeKind::Unknown;
        let mut random: Vec<bool> = nodes.iter().map(stochastic).collect();
        // Cycles are not this file's to refuse, so that it goes on until nothing changes.
        while let Some((_, child)) = (self.edges.iter()).find(|(parent, child)| {
            random[*parent] && !random[*child] && nodes[*child].kind != NodeKind::Constant
        }) {
            random[*child] = true;
        }
        for ((node, random), given) in nodes.iter_mut().zip(random).zip(given) {
            let (any, missing) = numbers(data, &node.name);
            node.partly = stochastic(node) && !given && missing;
            node.kind = match node.kind {
                NodeKind::Unknown if *given || any => NodeKind::Observed,
                NodeKind::Computed if !random => NodeKind::Constant,
                kind => kind,
            };
        }
        Outline {
            nodes,
            edges: self.edges.into_iter().collect(),
        }
    }
}

/// Whether there are data of a name, and whether some of them are missing.
fn numbers(data: &Data, name: &str) -> (bool, bool) {
    let values = data.arrays.get(name).map(|array| array.values.as_slice());
    let values = values.unwrap_or_default();
    let missing = values.iter().filter(|value| value.is_nan()).count();
    let any = missing < values.len();
    (any || data.sparse.contains_key(name), any && missing > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Array;
    use crate::model::Model;

    fn outline(source: &str, given: &[&str]) -> Outline {
        let mut data = Data::default();
        for name in given {
            let numbers = Array::vector(vec![f64::NAN, 1.0]);
            data.arrays.insert((*name).to_owned(), numbers);
        }
        Model::parse(source).unwrap().outline(&data)
    }

    fn lines(outline: &Outline) -> Vec<String> {
        let nodes = outline.nodes.iter().enumerate();
        nodes
            .map(|(place, node)| {
                let parents: Vec<&str> = outline.parents(place).map(|p| p.name.as_str()).collect();
                format!(
                    "{:?} {} {} <{}> {}",
                    node.kind,
                    node.name,
                    node.distribution.as_deref().unwrap_or("-"),
                    node.plates.join("> <"),
                    parents.join(" "),
                )
            })
            .collect()
    }

    #[test]
    fn a_mixture() {
        let outline = outline(
            "model {
                for (n in 1 :  N) {
                    z[n] ~ dcat(pi[])
                    for (d in 1:D) { y[n, d] ~ dnorm(mu[z[n], d], tau) }
                }
                sd <- 1 / sqrt(tau)
                two <- 2 * one
                tau ~ dgamma(two, 1)
            }",
            &["y", "one"],
        );
        assert_eq!(
            lines(&outline),
            [
                "Unknown z dcat <n in 1 : N> pi",
                "Constant pi - <> ",
                "Observed y dnorm <n in 1 : N> <d in 1:D> z mu tau",
                "Constant mu - <> ",
                "Unknown tau dgamma <> two",
                "Computed sd - <> tau",
                "Constant two - <> one",
                "Constant one - <> ",
            ]
        );
    }

    #[test]
    fn data_with_gaps_are_partly_observed() {
        let text =
            "model { for (i in 1:2) { x[i] ~ dnorm(m, 1) }\n y ~ dnorm(m, 1)\n m ~ dnorm(0, 1) }";
        let mut outline = outline(text, &["x"]);
        let partly = |outline: &Outline| -> Vec<bool> {
            outline.nodes.iter().map(|node| node.partly).collect()
        };
        assert_eq!(partly(&outline), [true, false, false]);
        let mut data = Data::default();
        for (name, values) in [("x", vec![1.0, 2.0]), ("y", vec![f64::NAN])] {
            data.arrays.insert(name.to_owned(), Array::vector(values));
        }
        outline = Model::parse(text).unwrap().outline(&data);
        assert_eq!(partly(&outline), [false; 3]);
    }

    #[test]
    fn arrays_of_several_lines_are_one_node() {
        let chain = outline(
            "data { u <- 2 * v }
             model {
                x[1] ~ dnorm(0, 1)
                for (t in 2:T) { x[t] ~ dnorm(x[t - 1], u) T(low, ) }
                a[1] <- 0
                for (k in 2:3) { a[k] ~ dnorm(x[k], 1) }
                u ~ dgamma(1, 1)
            }",
            &["v"],
        );
        assert_eq!(
            lines(&chain),
            [
                "Observed u dgamma <> ",
                "Constant v - <> ",
                "Unknown x dnorm <t in 2:T> u x low",
                "Constant low - <> ",
                "Unknown a dnorm <k in 2:3> x",
            ]
        );
    }

    #[test]
    fn a_cycle_does_no_harm() {
        let cycle = outline("model { a <- b\n b <- a + c\n c ~ dnorm(0, 1) }", &[]);
        assert_eq!(
            lines(&cycle),
            [
                "Computed a - <> b",
                "Computed b - <> a c",
                "Unknown c dnorm <> "
            ]
        );
    }
}
