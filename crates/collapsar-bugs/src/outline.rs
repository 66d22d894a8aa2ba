//! Decides what a model looks like from its text: a node for each array, its plates, and its parents.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::Data;
use crate::syntax::ast::{Expr, Kind, Program, Relation, Span, Statement};

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
            loops: vec![],
        };
        reader.statements(&program.data);
        for node in &mut reader.nodes {
            node.given = node.line.take().is_some();
        }
        reader.edges.clear();
        reader.statements(&program.model);
        reader.finish(data)
    }

    /// The parents of a node.
    pub fn parents(&self, node: usize) -> impl Iterator<Item = &Node> {
        let parents = (self.edges.iter()).filter(move |(_, child)| *child == node);
        parents.map(|(parent, _)| &self.nodes[*parent])
    }
}

/// What is known of an array so far.
struct Found {
    name: String,
    /// The line that says most of it.
    line: Option<Line>,
    /// Whether the block `data` computes it.
    given: bool,
}

/// A line: stochastic ones and those in more loops say more.
#[derive(PartialEq)]
struct Line {
    distribution: Option<String>,
    plates: Vec<String>,
}

struct Reader<'a> {
    source: &'a str,
    nodes: Vec<Found>,
    places: BTreeMap<String, usize>,
    edges: BTreeSet<(usize, usize)>,
    /// Counters of the loops that are open, with the loops' texts.
    loops: Vec<(String, String)>,
}

impl Reader<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::For { index, range, body } => {
                    let text = format!("{} in {}", index.text, self.text(range.span));
                    self.loops.push((index.text.clone(), text));
                    self.statements(body);
                    self.loops.pop();
                }
                Statement::Relation(relation) => self.relation(relation),
            }
        }
    }

    fn relation(&mut self, relation: &Relation) {
        let child = self.place(&relation.target.name.text);
        let distribution = match &relation.kind {
            Kind::Stochastic { distribution, .. } => Some(distribution.text.clone()),
            Kind::Deterministic { .. } => None,
        };
        for parent in relation.expressions().flat_map(Expr::references) {
            let name = &parent.name.text;
            if self.loops.iter().all(|(counter, _)| counter != name) {
                let parent = self.place(name);
                self.edges.insert((parent, child));
            }
        }
        let line = Line {
            distribution,
            plates: self.loops.iter().map(|(_, text)| text.clone()).collect(),
        };
        let weight = |line: &Line| (line.distribution.is_some(), line.plates.len());
        let before = &mut self.nodes[child].line;
        if before
            .as_ref()
            .is_none_or(|before| weight(before) < weight(&line))
        {
            *before = Some(line);
        }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.nodes.push(Found {
            name: name.to_owned(),
            line: None,
            given: false,
        });
        self.places.insert(name.to_owned(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn text(&self, span: Span) -> String {
        let text = self.source.get(span.start as usize..span.end as usize);
        let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
        words.join(" ")
    }

    fn finish(self, data: &Data) -> Outline {
        let stochastic = |found: &Found| {
            let line = found.line.as_ref();
            line.is_some_and(|line| line.distribution.is_some())
        };
        let mut random: Vec<bool> = self.nodes.iter().map(stochastic).collect();
        // Cycles are not this file's to refuse, so that it goes on until nothing changes.
        loop {
            let more = (self.edges.iter()).find(|(parent, child)| {
                random[*parent] && !random[*child] && self.nodes[*child].line.is_some()
            });
            let Some((_, child)) = more else { break };
            random[*child] = true;
        }
        let nodes = self.nodes.into_iter().zip(random).map(|(found, random)| {
            let given = found.given || has_numbers(data, &found.name);
            let stochastic = stochastic(&found);
            let partly = stochastic && !found.given && lacks_numbers(data, &found.name);
            let (distribution, plates) = found
                .line
                .map_or((None, vec![]), |line| (line.distribution, line.plates));
            Node {
                name: found.name,
                kind: match (stochastic, given, random) {
                    (true, true, _) => NodeKind::Observed,
                    (true, false, _) => NodeKind::Unknown,
                    (false, _, true) => NodeKind::Computed,
                    (false, _, false) => NodeKind::Constant,
                },
                plates,
                distribution,
                partly,
            }
        });
        Outline {
            nodes: nodes.collect(),
            edges: self.edges.into_iter().collect(),
        }
    }
}

fn has_numbers(data: &Data, name: &str) -> bool {
    let dense = data.arrays.get(name);
    dense.is_some_and(|array| array.values.iter().any(|value| !value.is_nan()))
        || data.sparse.contains_key(name)
}

/// Whether data are given of which some are missing.
fn lacks_numbers(data: &Data, name: &str) -> bool {
    let missing = |values: &[f64]| values.iter().filter(|value| value.is_nan()).count();
    let dense = data.arrays.get(name).map(|array| array.values.as_slice());
    dense.is_some_and(|values| (1..values.len()).contains(&missing(values)))
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
