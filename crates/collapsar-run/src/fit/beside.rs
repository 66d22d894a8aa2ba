//! What the other posteriors say of the same numbers, beside the one that results are of: for a picture of all.

use collapsar::Point;
use collapsar_bugs::{Posterior, Quantity, Summary};

use super::ModelRun;
use super::posterior::{PRODUCTS, affordable};
use crate::verdict::PosteriorKind;

/// Numbers, and sizes of models, beyond which nobody looks at so many intervals.
const NUMBERS: usize = 1000;
const SIZE: usize = 100_000;

/// What another posterior says of each number, where it says anything.
type Other = (PosteriorKind, Vec<Option<Summary>>);

impl ModelRun {
    /// Beside exact draws mean field and, where it costs little, linear response; beside linear response what mean field has in
    /// closed form, as draws of it would cost as much as the fit. What cannot be computed is left out.
    pub(super) fn beside(
        &self,
        point: &Point,
        quantities: &[Quantity],
        kind: PosteriorKind,
    ) -> Vec<Other> {
        let compiled = &self.compiled;
        let large = quantities.len() > NUMBERS || compiled.size() > SIZE;
        if large || self.enumerated.is_some() || kind == PosteriorKind::MeanField {
            return vec![];
        }
        let variational = compiled.variational_posterior(point);
        let posterior = Posterior {
            prepared: &self.prepared,
            variational: &variational,
            response: None,
            weighted: None,
            share: 1.0,
            seed: self.request.climb.seed,
        };
        if kind == PosteriorKind::LinearResponse {
            let rows = posterior.in_closed_form(quantities).ok();
            return (rows.into_iter())
                .map(|rows| (PosteriorKind::MeanField, rows))
                .collect();
        }
        let cheap = compiled.response_cost(PRODUCTS) <= affordable(compiled);
        let response = cheap
            .then(|| compiled.linear_response(point).ok())
            .flatten();
        let linear = response.as_ref().map(|response| Posterior {
            response: Some(response),
            ..posterior
        });
        let of = |kind, posterior: Posterior<'_>| -> Option<Other> {
            let (rows, _) = posterior.summaries(quantities).ok()?;
            Some((kind, rows.into_iter().map(Some).collect()))
        };
        let mean_field = of(PosteriorKind::MeanField, posterior);
        let linear = linear.and_then(|linear| of(PosteriorKind::LinearResponse, linear));
        mean_field.into_iter().chain(linear).collect()
    }
}
