//! Decides what is computed before loops are unrolled: numbers from data alone, which ranges may need, as in `N <- length(y)`.

use super::Elaborated;
use super::evaluate::{Mode, Scope};
use crate::syntax::ast::{Expr, Kind, Statement};

impl Elaborated {
    /// Computes lines outside of loops that give a bare name what data say.
    pub(super) fn foresee(&mut self, statements: &[Statement]) {
        let mut pending: Vec<(&str, &Expr)> = vec![];
        for statement in statements {
            if let Statement::Relation(relation) = statement
                && let Kind::Deterministic { link: None, value } = &relation.kind
                && relation.target.indices.is_none()
                && self.find(&relation.target.name.text).is_none()
            {
                pending.push((&relation.target.name.text, value));
            }
        }
        loop {
            let before = pending.len();
            pending.retain(|(name, value)| {
                let computed = Scope::new(self, Mode::Shape).evaluate(value).ok();
                let numbers = computed.and_then(|of| Some((of.numbers()?, of.dims)));
                let Some((numbers, dims)) = numbers else {
                    return true;
                };
                let dims = if dims.is_empty() { vec![1] } else { dims };
                self.foreseen(name, numbers, dims);
                false
            });
            if pending.len() == before {
                return;
            }
        }
    }
}
