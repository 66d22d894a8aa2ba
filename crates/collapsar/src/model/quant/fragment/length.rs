//! The distribution of fragment lengths: given, or learned from pairs.
//!
//! Learned, it is a mean of three distributions: a smoothed histogram with the weight of the
//! fragments seen, a log-normal distribution fitted to them with the weight of [`FIT`] fragments,
//! and an even one with the weight of one. So a hundred pairs give BitSeq's log-normal
//! distribution, a hundred thousand the histogram that salmon uses, and nothing changes abruptly
//! in between; a length never seen is as unlikely as the number of fragments can tell.
//!
//! A transcript has no fragments longer than itself, so short transcripts make fragments seem
//! short. Every fragment seen on a transcript of length L stands for 1/P(L) of them, those longer
//! than L having gone unseen; the histogram holds the expected number of those too, which is EM
//! for truncated data, smoothed at each round.

use collapsar_core::elementary::Elementary;
use collapsar_core::vector::add;

/// The weight of the log-normal fit, in fragments.
const FIT: f64 = 200.0;
/// The weight of the even distribution, in fragments.
const EVEN: f64 = 1.0;
/// The weight of the even distribution in a given one, so that no length is impossible.
const GIVEN_EVEN: f64 = 1e-6;
/// What is thought before any fragment is seen, and with single reads for good: mean and sd.
///
/// The mean is salmon's. Its sd of 25 is narrower than libraries are (62 in the airway reads),
/// and with single reads would all but forbid those near a transcript's end.
const PRIOR: (f64, f64) = (250.0, 60.0);
/// The weight of this thought in the fit, in fragments.
const PRIOR_WEIGHT: f64 = 5.0;
/// A transcript that holds fewer than this fraction of the lengths says little about them, and EM
/// would converge slowly for its sake.
const HOLDS: f64 = 0.1;
/// Rounds of EM, at most, and the change in probability at which it ends.
const ROUNDS: usize = 100;
const CHANGE: f64 = 1e-7;

/// Probabilities of the fragment lengths from 1 to the longest, none of them 0.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthDistribution {
    /// p(l), from l = 0, which has none.
    probability: Vec<f64>,
    /// Sums of p(k) and of k p(k) over k ≤ l.
    below: Vec<f64>,
    moment: Vec<f64>,
}

impl LengthDistribution {
    fn new(mut probability: Vec<f64>) -> Self {
        normalise(&mut probability);
        let (mut sum, mut first) = (0.0, 0.0);
        let sums = probability.iter().enumerate().map(|(l, p)| {
            sum += p;
            first += l as f64 * p;
            (sum, first)
        });
        let (below, moment) = sums.unzip();
        Self {
            probability,
            below,
            moment,
        }
    }

    /// A normal distribution, cut at 1 and `longest`.
    pub(super) fn given(mean: f64, sd: f64, longest: u32) -> Self {
        let exponent = |l: usize| -0.5 * ((l as f64 - mean) / sd).powi(2);
        let mut probability = exponential(longest as usize, exponent);
        for p in &mut probability[1..] {
            *p += GIVEN_EVEN / f64::from(longest);
        }
        Self::new(probability)
    }

    /// p(length), 0 beyond the longest.
    pub fn probability(&self, length: u32) -> f64 {
        *self.probability.get(length as usize).unwrap_or(&0.0)
    }

    /// The probability of at most this length.
    pub fn below(&self, length: u32) -> f64 {
        self.below[length.min(self.longest()) as usize]
    }

    /// The mean of the lengths up to this one, 0 where there are none.
    pub(super) fn mean_below(&self, length: u32) -> f64 {
        match length.min(self.longest()) as usize {
            0 => 0.0,
            l => self.moment[l] / self.below[l],
        }
    }

    /// The shortest length that those up to `within` do not exceed with at least this probability.
    pub(super) fn quantile(&self, probability: f64, within: u32) -> u32 {
        let within = within.min(self.longest());
        let sought = probability * self.below(within);
        let found = self.below.partition_point(|&below| below < sought);
        (found as u32).clamp(1, within.max(1))
    }

    /// The longest length that has a probability.
    pub fn longest(&self) -> u32 {
        self.probability.len() as u32 - 1
    }

    /// The mean length.
    pub fn mean(&self) -> f64 {
        self.mean_below(self.longest())
    }

    /// The standard deviation of the lengths.
    pub fn sd(&self) -> f64 {
        let mean = self.mean();
        let squares = self.probability.iter().enumerate();
        let variance: f64 = squares.map(|(l, p)| p * (l as f64 - mean).powi(2)).sum();
        variance.sqrt()
    }
}

/// The expected number of places of a fragment on a transcript,
///
/// $$\sum_{l \le L} \frac{p(l)}{\sum_{k \le L} p(k)} (L - l + 1) = L + 1 - \mathrm E[l \mid l \le L].$$
///
/// A fragment as long as its transcript has one place, hence the $+1$ that BitSeq leaves out: with
/// it the number is at least 1, and it is the sum that normalises the places of the likelihood.
/// The condition $l \le L$, as in salmon, keeps transcripts shorter than most fragments from
/// having none; on those shorter than all the lengths seen, lengths are even, and it is half of
/// their length.
pub fn effective_length(length: u32, lengths: &LengthDistribution) -> f64 {
    (f64::from(length) + 1.0 - lengths.mean_below(length)).max(1.0)
}

/// Fragment lengths as seen on transcripts.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// By length, on transcripts that can hold any.
    free: Vec<f64>,
    /// Length, the transcript's length, weight, on the others.
    cut: Vec<(u32, u32, f64)>,
}

impl Seen {
    pub(super) fn new(longest: u32) -> Self {
        Self {
            free: vec![0.0; longest as usize + 1],
            cut: vec![],
        }
    }

    /// Counts a length from 1 to the longest, seen on a transcript of length `room`.
    pub(super) fn add(&mut self, length: u32, room: u32, weight: f64) {
        if room as usize + 1 >= self.free.len() {
            self.free[length as usize] += weight;
        } else {
            self.cut.push((length, room, weight));
        }
    }

    /// The distribution that the lengths were drawn from.
    pub(super) fn learn(&self) -> LengthDistribution {
        let mut counts = self.free.clone();
        for &(length, _, weight) in &self.cut {
            counts[length as usize] += weight;
        }
        let mut learned = LengthDistribution::new(estimate(&counts, counts.iter().sum()));
        counts.copy_from_slice(&self.free);
        let mut rooms = vec![0.0; counts.len()];
        for &(length, room, weight) in &self.cut {
            if learned.below(room) >= HOLDS {
                counts[length as usize] += weight;
                rooms[room as usize] += weight;
            }
        }
        let seen = counts.iter().sum();
        for _ in 0..ROUNDS {
            let mut full = counts.clone();
            // Fragments unseen for each one of length l: one over P(L), for all L < l.
            let mut unseen = 0.0;
            for l in 1..full.len() {
                full[l] += unseen * learned.probability[l];
                unseen += rooms[l] / learned.below[l];
            }
            let next = LengthDistribution::new(estimate(&full, seen));
            let pairs = next.probability.iter().zip(&learned.probability);
            let change: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
            learned = next;
            if change < CHANGE {
                break;
            }
        }
        learned
    }
}

/// The blend of histogram, fit and even distribution for `counts` that `seen` fragments made.
fn estimate(counts: &[f64], seen: f64) -> Vec<f64> {
    let longest = counts.len() - 1;
    let mut blend: Vec<f64> = fitted(counts, seen).iter().map(|p| p * FIT).collect();
    if seen > 0.0 {
        let mut smooth = smoothed(counts, seen);
        normalise(&mut smooth);
        add(&mut blend, seen, &smooth);
    }
    for p in &mut blend[1..] {
        *p = (*p + EVEN / longest as f64) / (FIT + EVEN + seen);
    }
    blend
}

/// The log-normal distribution of the lengths, on the whole numbers.
fn fitted(counts: &[f64], seen: f64) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    let scale = if total > 0.0 { seen / total } else { 0.0 };
    let log = |l: usize| (l as f64).ln_();
    // Mean and variance of the logs: of the prior, and as if it were PRIOR_WEIGHT fragments.
    let prior_variance = (PRIOR.1 / PRIOR.0).powi(2).ln_1p_();
    let prior_mean = PRIOR.0.ln_() - 0.5 * prior_variance;
    let weight = PRIOR_WEIGHT + seen;
    let sum: f64 = (1..counts.len()).map(|l| counts[l] * log(l)).sum();
    let mean = (PRIOR_WEIGHT * prior_mean + scale * sum) / weight;
    let square = |l: usize| counts[l] * (log(l) - mean).powi(2);
    let squares: f64 = (1..counts.len()).map(square).sum();
    let prior_square = prior_variance + (prior_mean - mean).powi(2);
    let variance = (PRIOR_WEIGHT * prior_square + scale * squares) / weight;
    let exponent = |l: usize| -0.5 * (log(l) - mean).powi(2) / variance - log(l);
    exponential(counts.len() - 1, exponent)
}

/// Probabilities of the lengths from 1 to `longest`, in proportion to exponentials.
fn exponential(longest: usize, exponent: impl Fn(usize) -> f64) -> Vec<f64> {
    // Relative to the likeliest length, as all densities underflow for a small sd.
    let largest = (1..=longest).map(&exponent).fold(f64::MIN, f64::max);
    let mut probability = vec![0.0; longest + 1];
    for l in 1..=longest {
        probability[l] = (exponent(l) - largest).exp_();
    }
    normalise(&mut probability);
    probability
}

/// A Gaussian kernel with Silverman's width, at least that of salmon's binomial one (sd 1).
fn smoothed(counts: &[f64], seen: f64) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    let (mut mean, mut squares) = (0.0, 0.0);
    for (l, count) in counts.iter().enumerate() {
        mean += l as f64 * count / total;
        squares += (l as f64).powi(2) * count / total;
    }
    let sd = (squares - mean * mean).max(0.0).sqrt();
    let quantile = |probability: f64| {
        let mut sum = 0.0;
        let reached = counts.iter().position(|count| {
            sum += count;
            sum >= probability * total
        });
        reached.unwrap_or(0) as f64
    };
    // The quartiles keep a few misplaced pairs from making it wide.
    let spread = sd.min((quantile(0.75) - quantile(0.25)) / 1.34);
    let width = (0.9 * spread * seen.powf_(-0.2)).max(1.0);
    let reach = (4.0 * width).ceil() as usize;
    let kernel: Vec<f64> = (0..=reach)
        .map(|offset| (-0.5 * (offset as f64 / width).powi(2)).exp_())
        .collect();
    let mut smooth = vec![0.0; counts.len()];
    for (l, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        let from = l.saturating_sub(reach).max(1);
        let to = (l + reach).min(counts.len() - 1);
        for near in from..=to {
            smooth[near] += count * kernel[near.abs_diff(l)];
        }
    }
    smooth
}

/// Divides by the sum, if there is one.
fn normalise(values: &mut [f64]) {
    let sum: f64 = values.iter().sum();
    if sum > 0.0 {
        for value in values {
            *value /= sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    use super::*;

    /// Half the sum of absolute differences.
    fn distance(found: &LengthDistribution, expected: &[f64]) -> f64 {
        let pairs = found.probability.iter().zip(expected);
        0.5 * pairs.map(|(a, b)| (a - b).abs()).sum::<f64>()
    }

    /// Lengths of two peaks, which no log-normal distribution fits.
    fn two_peaks(longest: usize) -> Vec<f64> {
        let bell = |l: usize, mean: f64, sd: f64| (-0.5 * ((l as f64 - mean) / sd).powi(2)).exp_();
        let mut p: Vec<f64> = (0..=longest)
            .map(|l| bell(l, 180.0, 25.0) + 0.5 * bell(l, 330.0, 40.0))
            .collect();
        p[0] = 0.0;
        normalise(&mut p);
        p
    }

    fn draw(p: &[f64], rng: &mut ChaCha8Rng) -> u32 {
        use rand::RngExt;
        let mut left: f64 = rng.random();
        for (l, p) in p.iter().enumerate() {
            left -= p;
            if left < 0.0 {
                return l as u32;
            }
        }
        p.len() as u32 - 1
    }

    fn learned(p: &[f64], rooms: &[u32], count: usize) -> LengthDistribution {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut seen = Seen::new(p.len() as u32 - 1);
        let mut kept = 0;
        for index in 0.. {
            let room = rooms[index % rooms.len()];
            let length = draw(p, &mut rng);
            if kept == count {
                break;
            }
            if length <= room {
                seen.add(length, room, 1.0);
                kept += 1;
            }
        }
        seen.learn()
    }

    #[test]
    fn more_fragments_learn_better() {
        let truth = two_peaks(1000);
        let errors: Vec<f64> = [0, 10, 100, 1000, 10_000, 100_000]
            .iter()
            .map(|&count| distance(&learned(&truth, &[5000], count), &truth))
            .collect();
        // Measured: 0.397 0.312 0.252 0.117 0.043 0.016.
        assert!(
            errors.windows(2).all(|pair| pair[1] < pair[0]),
            "{errors:?}"
        );
        assert!(
            errors[3] < 0.13 && errors[4] < 0.05 && errors[5] < 0.02,
            "{errors:?}"
        );
    }

    #[test]
    fn short_transcripts_do_not_shorten_the_lengths() {
        let truth = two_peaks(1000);
        // Three in four fragments come from transcripts that hold 60% to 90% of the lengths.
        let found = learned(&truth, &[200, 260, 330, 3000], 100_000);
        let mean: f64 = truth.iter().enumerate().map(|(l, p)| l as f64 * p).sum();
        assert!((found.mean() - mean).abs() < 1.5, "{} {mean}", found.mean());
        assert!(
            distance(&found, &truth) < 0.03,
            "{}",
            distance(&found, &truth)
        );
    }

    #[test]
    fn a_normal_distribution_is_recovered() {
        let normal = Normal::new(200.0_f64, 30.0).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut seen = Seen::new(1000);
        for _ in 0..50_000 {
            seen.add(normal.sample(&mut rng).round() as u32, 2000, 1.0);
        }
        let found = seen.learn();
        // Within what the fit and the even part add.
        assert!((found.mean() - 200.0).abs() < 1.0, "{}", found.mean());
        assert!((found.sd() - 30.0).abs() < 1.5, "{}", found.sd());
        let given = LengthDistribution::given(200.0, 30.0, 1000);
        assert!(distance(&found, &given.probability) < 0.02);
    }

    #[test]
    fn every_length_has_a_probability() {
        let mut one = Seen::new(1000);
        one.add(300, 300, 1.0);
        let mut same = Seen::new(1000);
        for _ in 0..5000 {
            same.add(150, 150, 1.0);
        }
        let cases = [
            Seen::new(1000).learn(),
            Seen::new(1).learn(),
            one.learn(),
            same.learn(),
            LengthDistribution::given(200.0, 1e-9, 1000),
            LengthDistribution::given(0.5, 400.0, 3000),
        ];
        for lengths in cases {
            assert!((lengths.below(u32::MAX) - 1.0).abs() < 1e-12);
            for l in 1..=lengths.longest() {
                assert!(lengths.probability(l) > 0.0);
                assert!(lengths.quantile(0.5, l) <= l);
            }
            assert!(lengths.mean().is_finite() && lengths.sd().is_finite());
            assert_eq!(lengths.probability(lengths.longest() + 1), 0.0);
        }
    }

    #[test]
    fn without_fragments_it_is_the_prior() {
        let prior = Seen::new(1000).learn();
        // The even part, 1 of 201, moves the mean by 1.2 and the sd by 4.
        assert!((prior.mean() - 250.0).abs() < 2.0, "{}", prior.mean());
        assert!((prior.sd() - 60.0).abs() < 6.0, "{}", prior.sd());
    }

    #[test]
    fn effective_lengths_by_enumeration() {
        let lengths = LengthDistribution::given(200.0, 50.0, 1000);
        for length in [1, 2, 50, 199, 200, 201, 999, 1000, 1001, 5000, 100_000] {
            let (mut places, mut total) = (0.0, 0.0);
            for l in 1..=length.min(1000) {
                places += lengths.probability(l) * f64::from(length - l + 1);
                total += lengths.probability(l);
            }
            let (found, expected) = (effective_length(length, &lengths), places / total);
            // Sums of a thousand positive terms, in another order.
            assert!(
                (found - expected).abs() < 1e-11 * f64::from(length + 1),
                "{length}"
            );
            assert!(found >= 1.0);
        }
        assert_eq!(effective_length(0, &lengths), 1.0);
        // Shorter than all likely fragments: the even part.
        let lengths = LengthDistribution::given(500.0, 5.0, 1000);
        assert!((effective_length(100, &lengths) - 50.5).abs() < 1e-6);
    }
}
