//! What the other posteriors say of the same numbers, beside the one that results are of: for a picture of all.

use collapsar::Point;
use collapsar_bugs::{Posterior, Quantity, Summary};

use super::ModelRun;
use super::posterior::{PRODUCTS, affordable};
use crate::verdict::PosteriorKind;

/// Numbers, and sizes of models, beyond which nobody looks at so many intervals.
const NUMBERS: usize = 1000;
const SIZE: usize = 100_000;

impl ModelRun {
    /// Mean field, and linear response where it costs little, where the results are of another; what cannot be computed is
    /// left out.
    pub(super) fn beside(
        &self,
        point: &Point,
        quantities: &[Quantity],
        kind: PosteriorKind,
    ) -> Vec<(PosteriorKind, Vec<Summary>)> {
        let compiled = &self.compiled;
        let large = quantities.len() > NUMBERS || compiled.size() > SIZE;
        if large || self.enumerated.is_some() || kind == PosteriorKind::MeanField {
            return vec![];
        }
        let response = (kind == PosteriorKind::Exact
            && compiled.response_cost(PRODUCTS) <= affordable(compiled))
        .then(|| compiled.linear_response(point).ok())
        .flatten();
        let variational = compiled.variational_posterior(point);
        let of = |response| {
            let posterior = Posterior {
                prepared: &self.prepared,
                variational: &variational,
                response,
                weighted: None,
                seed: self.request.climb.seed,
            };
            let (rows, _) = posterior.summaries(quantities).ok()?;
            Some(rows)
        };
        let mean_field = of(None).map(|rows| (PosteriorKind::MeanField, rows));
        let linear = response.as_ref().and_then(|response| of(Some(response)));
        let linear = linear.map(|rows| (PosteriorKind::LinearResponse, rows));
        mean_field.into_iter().chain(linear).collect()
    }
}
