//! Collapsed Gibbs sampling of the tokens of one document: each gets a topic given those of all other tokens.
//!
//! Rows have a multiple of [`LANES`] numbers; those beyond the topics have no weight. Topics are chosen lane by lane,
//! whatever the registers' width, so every processor gives the same bits.

use pulp::{Arch, NullaryFnOnce};

use super::bag::LANES;

/// What all tokens have in common: how often each word and each topic is seen, and the priors.
#[derive(Debug)]
pub struct Counts<'a> {
    /// Tokens of each word in each topic: a padded row for each word. Whole numbers below 2^24.
    pub words: &'a mut [f32],
    /// Tokens of each topic, padded.
    pub totals: &'a mut [f64],
    /// The prior of the documents' proportions, padded with zeros.
    pub alpha: &'a [f64],
    /// The prior of a word.
    pub beta: f64,
    /// The prior of all words together.
    pub beta_total: f64,
}

/// The tokens of a document, those of a word together.
#[derive(Debug)]
pub struct Tokens<'a> {
    /// The word of each entry.
    pub words: &'a [u32],
    /// How many tokens each entry has.
    pub counts: &'a [u32],
    /// The topic of each token.
    pub topics: &'a mut [u16],
    /// Tokens of the document in each topic, padded.
    pub document: &'a mut [f64],
    /// A number from 0 to 1 for each token, which decides its topic.
    pub uniforms: &'a [f64],
}

/// Room for what a sweep computes.
#[derive(Debug, Default)]
pub struct Scratch {
    factors: Vec<[f64; LANES]>,
    sums: Vec<[f64; LANES]>,
}

/// Draws the topic of every token given all others, one after another (maths §10.9):
/// p(k) ∝ (n_dk + α_k)(n_wk + β)/(n_k + Vβ), the token itself not counted.
pub fn sweep(counts: &mut Counts<'_>, tokens: &mut Tokens<'_>, scratch: &mut Scratch) {
    let width = counts.alpha.len() / LANES;
    scratch.factors.resize(width, [0.0; LANES]);
    scratch.sums.resize(width, [0.0; LANES]);
    Arch::new().dispatch(Sweep {
        counts,
        tokens,
        factors: &mut scratch.factors[..width],
        sums: &mut scratch.sums[..width],
    });
}

/// The conditional probabilities that [`sweep`] draws from, of a word in a document, for laws.
pub fn conditional(counts: &Counts<'_>, document: &[f64], word: usize, out: &mut [f64]) {
    let width = counts.alpha.len() / LANES;
    let mut factors = vec![[0.0; LANES]; width];
    let mut sums = factors.clone();
    for (k, factor) in factors.as_flattened_mut().iter_mut().enumerate() {
        *factor = (document[k] + counts.alpha[k]) / (counts.totals[k] + counts.beta_total);
    }
    let row = &counts.words.as_chunks::<LANES>().0[word * width..][..width];
    let last = cumulate(&factors, row, counts.beta, &mut sums);
    let total: f64 = last.iter().sum();
    for (k, out) in out.iter_mut().enumerate() {
        let (block, lane) = (k / LANES, k % LANES);
        let before = if block == 0 {
            0.0
        } else {
            sums[block - 1][lane]
        };
        *out = (sums[block][lane] - before) / total;
    }
}

struct Sweep<'a, 'b, 'c> {
    counts: &'a mut Counts<'b>,
    tokens: &'a mut Tokens<'c>,
    factors: &'a mut [[f64; LANES]],
    sums: &'a mut [[f64; LANES]],
}

/// Writes running sums of the weights down each lane, and returns the last.
#[inline(always)]
fn cumulate(
    factors: &[[f64; LANES]],
    row: &[[f32; LANES]],
    beta: f64,
    sums: &mut [[f64; LANES]],
) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for ((factor, row), sums) in factors.iter().zip(row).zip(sums) {
        for l in 0..LANES {
            sum[l] += factor[l] * (f64::from(row[l]) + beta);
        }
        *sums = sum;
    }
    sum
}

/// The topic at `uniform` of the way through the weights, lane after lane.
#[inline(always)]
fn choose(sums: &[[f64; LANES]], last: [f64; LANES], uniform: f64) -> usize {
    // Pairs first: a shorter chain of additions than one after another.
    let [a, b, c, d, e, f, g, h] = last;
    let total = ((a + b) + (c + d)) + ((e + f) + (g + h));
    let mut left = uniform * total;
    let mut lane = 0;
    while lane < LANES - 1 && left >= last[lane] {
        left -= last[lane];
        lane += 1;
    }
    // Rounding may lead past the end, or into a lane of padding: to its last topic with a weight.
    while lane > 0 && last[lane] <= 0.0 {
        lane -= 1;
    }
    let mut block = 0;
    while block < sums.len() - 1 && sums[block][lane] <= left {
        block += 1;
    }
    while block > 0 && sums[block][lane] <= sums[block - 1][lane] {
        block -= 1;
    }
    block * LANES + lane
}

impl NullaryFnOnce for Sweep<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            counts,
            tokens,
            factors,
            sums,
        } = self;
        let (width, beta, beta_total) = (factors.len(), counts.beta, counts.beta_total);
        let (alpha, totals, document) = (counts.alpha, &mut *counts.totals, &mut *tokens.document);
        let all = counts.words.as_chunks_mut::<LANES>().0;
        for (k, factor) in factors.as_flattened_mut().iter_mut().enumerate() {
            *factor = (document[k] + alpha[k]) / (totals[k] + beta_total);
        }
        let mut token = 0;
        for (&word, &count) in tokens.words.iter().zip(tokens.counts) {
            let row = &mut all[word as usize * width..][..width];
            for _ in 0..count {
                let old = tokens.topics[token] as usize;
                row.as_flattened_mut()[old] -= 1.0;
                document[old] -= 1.0;
                totals[old] -= 1.0;
                factors.as_flattened_mut()[old] =
                    (document[old] + alpha[old]) / (totals[old] + beta_total);
                let last = cumulate(factors, row, beta, sums);
                let new = choose(sums, last, tokens.uniforms[token]);
                row.as_flattened_mut()[new] += 1.0;
                document[new] += 1.0;
                totals[new] += 1.0;
                factors.as_flattened_mut()[new] =
                    (document[new] + alpha[new]) / (totals[new] + beta_total);
                tokens.topics[token] = new as u16;
                token += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of thirteen topics in lanes, in the order in which they are chosen.
    fn weights() -> (Vec<[f64; LANES]>, Vec<[f32; LANES]>) {
        let mut factors = vec![[0.0; LANES]; 2];
        let mut row = vec![[0.0; LANES]; 2];
        for k in 0..13 {
            factors.as_flattened_mut()[k] = 0.01 * (k as f64 + 0.5);
            row.as_flattened_mut()[k] = ((7 * k) % 5) as f32;
        }
        (factors, row)
    }

    #[test]
    fn topics_are_chosen_in_proportion_to_their_weights() {
        let (factors, row) = weights();
        let mut sums = vec![[0.0; LANES]; 2];
        let last = cumulate(&factors, &row, 0.1, &mut sums);
        let weight =
            |k: usize| factors.as_flattened()[k] * (f64::from(row.as_flattened()[k]) + 0.1);
        let total: f64 = (0..13).map(weight).sum();
        let steps = 1_000_000;
        let mut seen = [0_u32; 2 * LANES];
        for step in 0..steps {
            let uniform = (f64::from(step) + 0.5) / f64::from(steps);
            seen[choose(&sums, last, uniform)] += 1;
        }
        for (k, &seen) in seen.iter().enumerate() {
            let expected = if k < 13 { weight(k) / total } else { 0.0 };
            // An evenly spaced grid misses each share by at most a step at either end.
            assert!((f64::from(seen) / f64::from(steps) - expected).abs() <= 2e-6);
        }
    }

    #[test]
    fn the_ends_of_the_unit_interval_are_topics() {
        let (factors, row) = weights();
        let mut sums = vec![[0.0; LANES]; 2];
        let last = cumulate(&factors, &row, 0.1, &mut sums);
        for uniform in [0.0, f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0, 1.0] {
            assert!(choose(&sums, last, uniform) < 13);
        }
    }
}
