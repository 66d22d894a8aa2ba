//! The topics: a Dirichlet over the vocabulary for each, prior plus statistics.

use rayon::prelude::*;

use collapsar_core::kernel::gamma::digamma_in_place;
use collapsar_core::special::{digamma, ln_gamma, trigamma};
use collapsar_core::vector::add;
use collapsar_core::{Error, Potential, Result};

/// $C(\tau)$ of `topics` Dirichlets with the same symmetric prior; statistics word by word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Posterior {
    pub(super) topics: usize,
    pub(super) vocabulary: usize,
    pub(super) beta: f64,
}

/// Words that a thread takes at a time.
const CHUNK: usize = 64;

impl Posterior {
    pub(super) fn with_beta(self, beta: f64) -> Self {
        Self { beta, ..self }
    }
}

/// The sum of each column of a table, row after row.
pub(super) fn column_sums(table: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for row in table.chunks(columns) {
        add(&mut sums, 1.0, row);
    }
    sums
}

impl Potential for Posterior {
    fn dim(&self) -> usize {
        self.topics * self.vocabulary
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let prior = self.beta * self.vocabulary as f64;
        let totals = column_sums(at, self.topics);
        if let Some(topic) = totals.iter().position(|total| !total.is_finite()) {
            let (block, found) = (format!("topic {topic}"), totals[topic].to_string());
            return Err(Error::domain(block, found, "finite counts"));
        }
        let of_totals: Vec<f64> = totals.iter().map(|total| digamma(prior + total)).collect();
        let parts: Vec<f64> = gradient
            .par_chunks_mut(CHUNK * self.topics)
            .zip(at.par_chunks(CHUNK * self.topics))
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
        let topic = |total: &f64| ln_gamma(prior) - ln_gamma(prior + total);
        Ok(words - prior_words + totals.iter().map(topic).sum::<f64>())
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let prior = self.beta * self.vocabulary as f64;
        let [totals, sums] = [at, along].map(|table| column_sums(table, self.topics));
        let common: Vec<f64> = (totals.iter().zip(&sums))
            .map(|(total, sum)| trigamma(prior + total) * sum)
            .collect();
        out.par_chunks_mut(self.topics)
            .zip(at.par_chunks(self.topics))
            .zip(along.par_chunks(self.topics))
            .with_min_len(CHUNK)
            .for_each(|((out, at), along)| {
                for k in 0..self.topics {
                    out[k] = trigamma(self.beta + at[k]) * along[k] - common[k];
                }
            });
        Ok(())
    }
}
