//! Collapsed Gibbs sampling of the tokens of one document: each gets a topic given those of all other tokens.
//!
//! Rows have a multiple of [`LANES`] numbers; those beyond the topics have no weight. Topics are chosen lane by lane,
//! whatever the registers' width, so every processor gives the same bits.

use pulp::NullaryFnOnce;

use super::{bag::LANES, dispatch};

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
    indices: Vec<[f64; LANES]>,
}

impl Scratch {
    fn resize(&mut self, width: usize) {
        self.factors.resize(width, [0.0; LANES]);
        self.sums.resize(width, [0.0; LANES]);
        if self.indices.len() != width {
            self.indices.resize(width, [0.0; LANES]);
            let all = self.indices.as_flattened_mut().iter_mut();
            all.enumerate().for_each(|(k, index)| *index = k as f64);
        }
    }
}

/// Draws the topic of every token given all others, one after another (maths §10.9):
/// p(k) ∝ (n_dk + α_k)(n_wk + β)/(n_k + Vβ), the token itself not counted.
pub fn sweep(counts: &mut Counts<'_>, tokens: &mut Tokens<'_>, scratch: &mut Scratch) {
    scratch.resize(counts.alpha.len() / LANES);
    dispatch(Sweep {
        counts,
        tokens,
        scratch,
    });
}

/// The conditional probabilities that [`sweep`] draws from, of a token of `word` that was in topic `old` and is
/// still counted there, for laws.
pub fn conditional(
    counts: &Counts<'_>,
    document: &[f64],
    (word, old): (usize, usize),
    out: &mut [f64],
) {
    let width = counts.alpha.len() / LANES;
    let mut scratch = Scratch::default();
    scratch.resize(width);
    let state = State {
        alpha: counts.alpha,
        beta: counts.beta,
        beta_total: counts.beta_total,
    };
    for (k, factor) in scratch.factors.as_flattened_mut().iter_mut().enumerate() {
        *factor = state.factor(k, document[k], counts.totals[k]);
    }
    let row = &counts.words.as_chunks::<LANES>().0[word * width..][..width];
    let last = cumulate(&mut scratch, row, counts.beta, old);
    let own = state.own(old, document[old], counts.totals[old], row);
    let total = sum(last) + own;
    for (k, out) in out.iter_mut().enumerate() {
        let (block, lane) = (k / LANES, k % LANES);
        let before = match block {
            0 => 0.0,
            _ => scratch.sums[block - 1][lane],
        };
        let weight = if k == old {
            own
        } else {
            scratch.sums[block][lane] - before
        };
        *out = weight / total;
    }
}

/// The priors.
#[derive(Clone, Copy)]
struct State<'a> {
    alpha: &'a [f64],
    beta: f64,
    beta_total: f64,
}

impl State<'_> {
    /// What all words have in common.
    #[inline(always)]
    fn factor(self, k: usize, document: f64, total: f64) -> f64 {
        (document + self.alpha[k]) / (total + self.beta_total)
    }

    /// The weight of the topic that a token was in, without it.
    #[inline(always)]
    fn own(self, old: usize, document: f64, total: f64, row: &[[f32; LANES]]) -> f64 {
        let word = f64::from(row.as_flattened()[old]) - 1.0 + self.beta;
        self.factor(old, document - 1.0, total - 1.0) * word
    }
}

/// Writes running sums of the weights down each lane, that of topic `old` left out, and returns the last.
#[inline(always)]
fn cumulate(scratch: &mut Scratch, row: &[[f32; LANES]], beta: f64, old: usize) -> [f64; LANES] {
    let (old, row) = (old as f64, row.as_flattened());
    // One loop for the weights and one for the sums: together, compilers make narrow vectors of them.
    let sums = scratch.sums.as_flattened_mut();
    let factors = &scratch.factors.as_flattened()[..sums.len()];
    let indices = &scratch.indices.as_flattened()[..sums.len()];
    let row = &row[..sums.len()];
    for k in 0..sums.len() {
        let weight = factors[k] * (f64::from(row[k]) + beta);
        sums[k] = if indices[k] == old { 0.0 } else { weight };
    }
    let mut sum = [0.0; LANES];
    for sums in &mut scratch.sums {
        for l in 0..LANES {
            sum[l] += sums[l];
        }
        *sums = sum;
    }
    sum
}

/// The sum of the lanes, in the order in which [`choose`] goes through them.
#[inline(always)]
fn sum([a, b, c, d, e, f, g, h]: [f64; LANES]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The topic at `left` into the weights, lane after lane: halves of halves, since which it is cannot be foreseen.
#[inline(always)]
fn choose(sums: &[[f64; LANES]], last: [f64; LANES], mut left: f64) -> usize {
    let [a, b, c, d, e, f, g, _] = last;
    let mut lane = 0;
    let four = (a + b) + (c + d);
    let beyond = left >= four;
    left -= if beyond { four } else { 0.0 };
    lane += if beyond { 4 } else { 0 };
    let two = if beyond { e + f } else { a + b };
    let one = if beyond { (e, g) } else { (a, c) };
    let beyond = left >= two;
    left -= if beyond { two } else { 0.0 };
    lane += if beyond { 2 } else { 0 };
    let one = if beyond { one.1 } else { one.0 };
    let beyond = left >= one;
    left -= if beyond { one } else { 0.0 };
    lane += usize::from(beyond);
    let mut block = 0;
    for sums in sums {
        block += usize::from(sums[lane] <= left);
    }
    let weight = |block: usize, lane: usize| match block {
        0 => sums[0][lane],
        _ => sums[block][lane] - sums[block - 1][lane],
    };
    if block < sums.len() && weight(block, lane) > 0.0 {
        return block * LANES + lane;
    }
    // Rounding has led past the end of a lane, or into one of padding: to the last topic before it with a weight.
    for lane in (0..=lane).rev() {
        for block in (0..sums.len()).rev() {
            if weight(block, lane) > 0.0 {
                return block * LANES + lane;
            }
        }
    }
    0
}

struct Sweep<'a, 'b, 'c> {
    counts: &'a mut Counts<'b>,
    tokens: &'a mut Tokens<'c>,
    scratch: &'a mut Scratch,
}

impl NullaryFnOnce for Sweep<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            counts,
            tokens,
            scratch,
        } = self;
        let state = State {
            alpha: counts.alpha,
            beta: counts.beta,
            beta_total: counts.beta_total,
        };
        let (width, beta) = (scratch.factors.len(), counts.beta);
        let (totals, document) = (&mut *counts.totals, &mut *tokens.document);
        let all = counts.words.as_chunks_mut::<LANES>().0;
        for (k, factor) in scratch.factors.as_flattened_mut().iter_mut().enumerate() {
            *factor = state.factor(k, document[k], totals[k]);
        }
        let mut token = 0;
        for (&word, &count) in tokens.words.iter().zip(tokens.counts) {
            let row = &mut all[word as usize * width..][..width];
            for _ in 0..count {
                let old = tokens.topics[token] as usize;
                let last = cumulate(scratch, row, beta, old);
                let own = state.own(old, document[old], totals[old], row);
                let others = sum(last);
                let at = tokens.uniforms[token] * (own + others);
                // Most tokens stay, and then nothing is written. Where no other topic has a weight, all do.
                if at >= own && others > 0.0 {
                    let new = choose(&scratch.sums, last, at - own);
                    for (topic, change) in [(old, -1.0), (new, 1.0)] {
                        row.as_flattened_mut()[topic] += change as f32;
                        document[topic] += change;
                        totals[topic] += change;
                        scratch.factors.as_flattened_mut()[topic] =
                            state.factor(topic, document[topic], totals[topic]);
                    }
                    tokens.topics[token] = new as u16;
                }
                token += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of thirteen topics in lanes.
    fn weights() -> (Scratch, Vec<[f32; LANES]>) {
        let mut scratch = Scratch::default();
        scratch.resize(2);
        let mut row = vec![[0.0; LANES]; 2];
        for k in 0..13 {
            scratch.factors.as_flattened_mut()[k] = 0.01 * (k as f64 + 0.5);
            row.as_flattened_mut()[k] = ((7 * k) % 5) as f32;
        }
        (scratch, row)
    }

    #[test]
    fn topics_are_chosen_in_proportion_to_their_weights() {
        let (mut scratch, row) = weights();
        let last = cumulate(&mut scratch, &row, 0.1, 5);
        let weight = |k: usize| {
            let left_out = k == 5 || k >= 13;
            let factor = scratch.factors.as_flattened()[k];
            f64::from(u8::from(!left_out)) * factor * (f64::from(row.as_flattened()[k]) + 0.1)
        };
        let total: f64 = (0..16).map(weight).sum();
        assert!((sum(last) - total).abs() < 1e-15);
        let steps = 1_000_000;
        let mut seen = [0_u32; 2 * LANES];
        for step in 0..steps {
            let at = (f64::from(step) + 0.5) / f64::from(steps);
            seen[choose(&scratch.sums, last, at * total)] += 1;
        }
        for (k, &seen) in seen.iter().enumerate() {
            // An evenly spaced grid misses each share by at most a step at either end.
            let share = f64::from(seen) / f64::from(steps);
            assert!((share - weight(k) / total).abs() <= 2e-6);
        }
    }

    #[test]
    fn the_ends_of_the_weights_are_topics() {
        let (mut scratch, row) = weights();
        let last = cumulate(&mut scratch, &row, 0.1, 5);
        let total = sum(last);
        for at in [
            0.0,
            f64::MIN_POSITIVE,
            total * (1.0 - f64::EPSILON),
            total,
            2.0 * total,
        ] {
            let topic = choose(&scratch.sums, last, at);
            assert!(topic < 13 && topic != 5);
        }
    }
}
