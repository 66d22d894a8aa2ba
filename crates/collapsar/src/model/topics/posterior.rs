//! The topics: a Dirichlet over the vocabulary for each, prior plus statistics.

use rayon::prelude::*;

use collapsar_core::kernel::gamma::digamma_in_place;
use collapsar_core::special::{digamma, ln_gamma, trigamma};
use collapsar_core::{Error, Potential, Result};

/// $C(\tau)$ of `topics` Dirichlets with the same symmetric prior; statistics word by word.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    pub(super) topics: usize,
    pub(super) vocabulary: usize,
    pub(super) beta: f64,
}

/// Words that a thread takes at a time.
const SHARE: usize = 64;

impl Posterior {
    /// The sum over words of each topic's statistics.
    pub(super) fn totals(&self, statistics: &[f64]) -> Vec<f64> {
        let mut totals = vec![0.0; self.topics];
        for row in statistics.chunks(self.topics) {
            for (total, x) in totals.iter_mut().zip(row) {
                *total += x;
            }
        }
        totals
    }

    pub(super) fn with_beta(&self, beta: f64) -> Self {
        Self {
            beta,
            ..self.clone()
        }
    }
}

impl Potential for Posterior {
    fn dim(&self) -> usize {
        self.topics * self.vocabulary
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let prior = self.beta * self.vocabulary as f64;
        let totals = self.totals(at);
        if let Some(topic) = totals.iter().position(|total| !total.is_finite()) {
            return Err(Error::Domain {
                block: format!("topic {topic}"),
                found: totals[topic].to_string(),
                expected: "finite counts",
            });
        }
        let of_totals: Vec<f64> = totals.iter().map(|total| digamma(prior + total)).collect();
        let parts: Vec<f64> = gradient
            .par_chunks_mut(SHARE * self.topics)
            .zip(at.par_chunks(SHARE * self.topics))
            .map(|(gradient, at)| {
                for (g, x) in gradient.iter_mut().zip(at) {
                    *g = self.beta + x;
                }
                let value = digamma_in_place(gradient);
                for row in gradient.chunks_mut(self.topics) {
                    for (g, total) in row.iter_mut().zip(&of_totals) {
                        *g -= total;
                    }
                }
                value
            })
            .collect();
        let words: f64 = parts.iter().sum();
        let prior_words = self.dim() as f64 * ln_gamma(self.beta);
        let of_topics: f64 = totals
            .iter()
            .map(|total| ln_gamma(prior) - ln_gamma(prior + total))
            .sum();
        Ok(words - prior_words + of_topics)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let prior = self.beta * self.vocabulary as f64;
        let sums = self.totals(along);
        let common: Vec<f64> = self
            .totals(at)
            .iter()
            .zip(&sums)
            .map(|(total, sum)| trigamma(prior + total) * sum)
            .collect();
        out.par_chunks_mut(self.topics)
            .zip(at.par_chunks(self.topics))
            .zip(along.par_chunks(self.topics))
            .with_min_len(SHARE)
            .for_each(|((out, at), along)| {
                for k in 0..self.topics {
                    out[k] = trigamma(self.beta + at[k]) * along[k] - common[k];
                }
            });
        Ok(())
    }
}
