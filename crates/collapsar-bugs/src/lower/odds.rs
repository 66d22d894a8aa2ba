//! Decides which probabilities are counted in log odds: those of which a line in the fit reads the logit.

use std::collections::BTreeSet;

use crate::elaborate::{Elaborated, Line};
use crate::syntax::ast::{Expr, Node};

/// Arrays of which `logit(p)` is read by something that a stochastic line depends on.
pub(super) fn arrays_in_odds(model: &Elaborated) -> BTreeSet<usize> {
    let arrays = |expr: &Expr| -> Vec<usize> {
        let references = expr.references().into_iter();
        references
            .filter_map(|name| model.find(&name.name.text))
            .collect()
    };
    // Arrays that stochastic lines depend on, through computed lines.
    let mut read: BTreeSet<usize> = BTreeSet::new();
    let mut kept: Vec<bool> = model.lines.iter().map(Line::stochastic).collect();
    let mut last = usize::MAX;
    while read.len() != last {
        last = read.len();
        for (line, kept) in model.lines.iter().zip(&mut kept) {
            *kept |= read.contains(&line.array);
            if *kept {
                read.extend(line.relation.expressions().flat_map(arrays));
            }
        }
    }
    let mut found = BTreeSet::new();
    for (line, _) in model.lines.iter().zip(&kept).filter(|(_, kept)| **kept) {
        for expr in line.relation.expressions() {
            logits(expr, &mut |of| found.extend(model.find(of)));
        }
    }
    found
}

/// Visits the names of all that a logit is taken of.
fn logits(expr: &Expr, visit: &mut impl FnMut(&str)) {
    if let Node::Call {
        function,
        arguments,
    } = &expr.node
        && let ("logit", [argument]) = (function.text.as_str(), arguments.as_slice())
        && let Node::Reference(reference) = &argument.node
    {
        visit(&reference.name.text);
    }
    for part in expr.parts() {
        logits(part, visit);
    }
}
