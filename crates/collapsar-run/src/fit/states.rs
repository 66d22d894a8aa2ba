//! What is known of numbers where labels are enumerated: the fits of their states, mixed by their probabilities
//! (maths §10.6).

use std::ops::Range;

use collapsar::Point;
use collapsar::elementary::Elementary;
use collapsar::family::pick;
use collapsar::graph::LinearResponse;
use collapsar_bugs::{ChainStates, MixedPosterior, Posterior, Quantity};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::posterior::{WEIGHTS, affordable};
use super::{Enumerated, EnumeratedLabel, ModelResult, ModelRun};
use crate::error::Result;
use crate::verdict::{PosteriorKind, Signs};

/// States that are likelier than this say how far all may be trusted.
const LIKELY: f64 = 0.01;
/// Odd, so that seeds of states differ.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;
/// Marks the streams of random numbers that chains begin with.
const BEGIN: u64 = 1 << 43;

/// The larger of two numbers that may not be known.
fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).max_by(f64::total_cmp)
}

impl Enumerated {
    /// What chains need where labels are enumerated: each begins at a draw of the fit of a state, which comes up as often
    /// as it is likely.
    pub(super) fn chain_states<'a>(
        &'a self,
        point: &Point,
        (chains, seed): (usize, u64),
    ) -> Result<ChainStates<'a>> {
        let states = self.at(point)?;
        let mut begin = vec![];
        for chain in 0..chains {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(BEGIN + chain as u64);
            let state = pick(&states.probabilities, 1.0, &mut rng);
            let compiled = &self.states[state].compiled;
            let variational = compiled.variational_posterior(&states.points[state]);
            let mut numbers = vec![0.0; variational.len()];
            variational.draw(&mut rng, &mut numbers)?;
            begin.push(numbers);
        }
        let models = self.states.iter().zip(states.points);
        Ok(ChainStates {
            labels: self.labels.iter().map(EnumeratedLabel::variable).collect(),
            on_grid: self.labels.iter().map(|label| label.on_grid).collect(),
            models: models
                .map(|(state, fit)| (&state.compiled, state.states.as_slice(), fit))
                .collect(),
            begin,
        })
    }
}

impl ModelRun {
    /// What is known of quantities.
    pub(super) fn result_of_states(
        &self,
        of: &Enumerated,
        point: &Point,
        quantities: &[Quantity],
    ) -> Result<ModelResult> {
        let seed = self.request.climb.seed;
        let mut signs = self.weights_of_states(of, point)?;
        // Given each state all else is integrated out.
        signs.exact = of.messages() == 0;
        let (kind, rows, draws) = self.mixed(of, point, seed, |mixed| {
            let found = mixed.summaries(quantities);
            let (rows, draws) = found.map_err(|refusal| self.source.no_answer(refusal))?;
            let mut kind = PosteriorKind::LinearResponse;
            let mut grown = (0.0, 0.0);
            for (probability, posterior) in &mixed.parts {
                let Some(response) = posterior.response else {
                    kind = PosteriorKind::MeanField;
                    continue;
                };
                if *probability < LIKELY {
                    continue;
                }
                let missing = response.missing_information()?;
                signs.missing_information = larger(signs.missing_information, Some(missing));
                let growth = posterior.variance_growth()?;
                let growth = growth.and_then(|of| of.values().copied().max_by(f64::total_cmp));
                if let Some(growth) = growth {
                    // The mean, as improbable states have few draws.
                    grown.0 += probability * growth;
                    grown.1 += probability;
                }
            }
            signs.variance_growth = (grown.1 > 0.0).then(|| grown.0 / grown.1);
            Ok((kind, rows, draws))
        })?;
        Ok(ModelResult {
            kind,
            rows,
            draws,
            chains: None,
            signs,
        })
    }

    /// Draws at a point: for each quantity those of the range.
    pub(super) fn draws_of_states(
        &self,
        of: &Enumerated,
        point: &Point,
        quantities: &[Quantity],
        (seed, draws): (u64, Range<usize>),
    ) -> Result<Vec<Vec<f64>>> {
        self.mixed(of, point, seed, |mixed| {
            let draws = mixed.draws(quantities, draws);
            draws.map_err(|refusal| self.source.no_answer(refusal))
        })
    }

    /// Lets `ask` ask the fits of all states that matter.
    fn mixed<T>(
        &self,
        of: &Enumerated,
        point: &Point,
        seed: u64,
        ask: impl FnOnce(&MixedPosterior<'_>) -> Result<T>,
    ) -> Result<T> {
        let states = of.at(point)?;
        let kept = states.kept();
        let fit = |state: usize| (&of.states[state].compiled, &states.points[state]);
        let variationals: Vec<_> = (kept.iter())
            .map(|&(state, _)| {
                let (compiled, point) = fit(state);
                compiled.variational_posterior(point)
            })
            .collect();
        let mut responses: Vec<Option<LinearResponse>> = vec![];
        for &(state, _) in &kept {
            let (compiled, point) = fit(state);
            responses.push(self.response(compiled, point, kept.len()).0);
        }
        let parts = kept.iter().zip(&variationals).zip(&responses);
        let parts = parts.map(|(((state, probability), variational), response)| {
            let posterior = Posterior {
                prepared: &self.prepared,
                variational,
                response: response.as_ref(),
                weighted: None,
                share: *probability,
                // Of its own: errors of the same draws would add up over states.
                seed: seed.wrapping_add((*state as u64 + 1).wrapping_mul(APART)),
            };
            (*probability, posterior)
        });
        ask(&MixedPosterior {
            parts: parts.collect(),
            labels: of.marginals(&states).collect(),
            seed,
        })
    }

    /// What weights of draws of q(θ | k) q(k) say.
    pub(super) fn weights_of_states(&self, of: &Enumerated, point: &Point) -> Result<Signs> {
        let states = of.at(point)?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.climb.seed);
        let mut drawn = vec![];
        for (state, probability) in states.kept() {
            let compiled = &of.states[state].compiled;
            if compiled.size().saturating_mul(WEIGHTS) > affordable(compiled) {
                return Ok(Signs::default());
            }
            // In proportion, and one at least.
            let count = (probability * WEIGHTS as f64).ceil() as usize;
            let weights = compiled.ln_weights(&states.points[state], count, &mut rng)?;
            drawn.push(weights);
        }
        // maths §10.6: against the share of draws that are of a state.
        let all = drawn.iter().map(Vec::len).sum::<usize>() as f64;
        let weights = drawn.iter().flat_map(|of| {
            let share = (of.len() as f64 / all).ln_();
            of.iter().map(move |weight| weight - share)
        });
        Ok(Signs::of_weights(&weights.collect::<Vec<_>>()))
    }
}
