//! Decides which data a model never mentions, and what they may have been meant for.

use std::collections::BTreeSet;

use crate::data::Data;
use crate::model::Model;
use crate::syntax::ast::{Expr, Statement};

impl Model {
    /// Names in the data that the text never mentions, each with one of the text that is like it
    /// and that the data lack.
    pub fn unused(&self, data: &Data) -> Vec<(String, Option<String>)> {
        let mut mentioned = BTreeSet::new();
        let mut expressions: Vec<&Expr> = vec![];
        for variable in &self.program.vars {
            mentioned.insert(variable.name.text.as_str());
            expressions.extend(&variable.dims);
        }
        let blocks = [&self.program.data, &self.program.model].into_iter();
        for (_, statement) in blocks.flat_map(|block| Statement::all(block)) {
            match statement {
                Statement::For { range, .. } => expressions.push(range),
                Statement::Relation(relation) => {
                    mentioned.insert(&relation.target.name.text);
                    expressions.extend(relation.target.indices().chain(relation.expressions()));
                }
            }
        }
        let references = expressions.into_iter().flat_map(Expr::references);
        mentioned.extend(references.map(|reference| reference.name.text.as_str()));
        let given = || data.arrays.keys().chain(data.sparse.keys());
        let lacking: Vec<&str> = (mentioned.iter().copied())
            .filter(|name| given().all(|given| given != name))
            .collect();
        let unused = given().filter(|name| !mentioned.contains(name.as_str()));
        let with = |name: &String| (name.clone(), like(name, lacking.iter().copied()));
        unused.map(with).collect()
    }
}

/// The one of these names that may have been meant.
pub(crate) fn like<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = names.map(|other| (distance(name, other), other));
    let near = near.filter(|(distance, other)| 2 * distance < name.len().max(other.len()));
    let nearest = near.filter(|(distance, _)| *distance <= 2).min();
    nearest.map(|(_, other)| other.to_owned())
}

/// Letters to change, add or leave out; capitals, dots and underscores count as no change.
fn distance(a: &str, b: &str) -> usize {
    let plain = |text: &str| -> Vec<u8> {
        let letters = text.bytes().filter(|byte| !b"._".contains(byte));
        letters.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let (a, b) = (plain(a), plain(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use crate::data::{Array, Data};
    use crate::model::Model;

    #[test]
    fn data_that_nothing_mentions_are_named() {
        let text = "var K; data { u <- 2*v }
            model { for (i in 1:N) { y[i] ~ dnorm(x.bar[g[i]], u) T(low,) } }";
        let mut data = Data::default();
        for name in ["N", "y", "v", "g", "K", "low", "xbar", "Y2", "age"] {
            data.arrays.insert(name.into(), Array::scalar(1.0));
        }
        let unused = Model::parse(text).unwrap().unused(&data);
        let like = |name: &str, other: Option<&str>| (name.to_owned(), other.map(str::to_owned));
        // Y2 is like y, which is there.
        let expected = [
            like("Y2", None),
            like("age", None),
            like("xbar", Some("x.bar")),
        ];
        assert_eq!(unused, expected);
    }

    #[test]
    fn distances() {
        assert_eq!(super::distance("alpha.c", "AlphaC"), 0);
        assert_eq!(super::distance("kitten", "sitting"), 3);
        assert_eq!(super::distance("", "ab"), 2);
    }
}
