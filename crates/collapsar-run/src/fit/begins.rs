//! What is wrong with a model that only shows once it is evaluated: told before a climb, and by `check` as by `fit`.

use collapsar::{Collapsed, Point};
use collapsar_bugs::{Origin, Posterior, Quantity};

use super::ModelRun;
use crate::error::Result;

impl ModelRun {
    /// Refuses what a fit of these numbers would refuse: a first point outside the domain, and lines that cannot be computed
    /// there from any draw.
    pub fn check(&self, quantities: &[Quantity]) -> Result<()> {
        self.begin(quantities, true)
    }

    /// The same of lines alone: a climb tells of its first point by itself.
    pub fn check_lines(&self, quantities: &[Quantity]) -> Result<()> {
        self.begin(quantities, false)
    }

    fn begin(&self, quantities: &[Quantity], always: bool) -> Result<()> {
        let drawn = |origin: Origin| matches!(origin, Origin::Computed | Origin::Predicted);
        let drawn: Vec<Quantity> = (quantities.iter())
            .filter(|quantity| drawn(quantity.origin))
            .cloned()
            .collect();
        if drawn.is_empty() && !always {
            return Ok(());
        }
        let seed = self.request.climb.seed;
        let states = self.enumerated.as_ref().map(|of| &of.states);
        let models = states.map_or(vec![&self.compiled], |states| {
            states.iter().map(|state| &state.compiled).collect()
        });
        for (place, compiled) in models.into_iter().enumerate() {
            if place > 0 && !always {
                break;
            }
            let messages = compiled.start(seed)?;
            let mut point = Point {
                statistics: vec![0.0; messages.len()],
                gradient: vec![0.0; messages.len()],
                messages,
                ..Point::default()
            };
            compiled.evaluate(&mut point)?;
            if place == 0 && !drawn.is_empty() {
                let variational = compiled.variational_posterior(&point);
                let posterior = Posterior {
                    prepared: &self.prepared,
                    variational: &variational,
                    response: None,
                    weighted: None,
                    share: 1.0,
                    seed,
                };
                let trial = posterior.trial(&drawn);
                trial.map_err(|refusal| self.source.no_answer(refusal))?;
            }
        }
        Ok(())
    }
}
