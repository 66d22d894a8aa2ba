//! R-hat, effective sample sizes and Monte Carlo standard errors of draws from chains.

use super::halves::Halves;
use super::ranks::{Ordered, folded, median, normal_scores, quantile, sorted};
use crate::family::Marginal;

/// Φ(-1) and Φ(1): an interval of one standard error to either side.
const ONE_SIGMA: [f64; 2] = [0.158_655_253_931_457_05, 0.841_344_746_068_543];

/// Draws a chain needs for halves that have a variance.
const FEWEST: usize = 4;

/// What chains tell of one quantity.
///
/// Never NaN: what cannot be told is `None`. That is everything but mean and standard deviation where all draws are
/// equal (nobody can tell a constant from chains that are stuck), R-hat for fewer than 4 draws a chain, and effective sizes
/// and errors for fewer than 10.
///
/// ```
/// use collapsar_core::diagnostics::ChainSummary;
/// let chain = |seed: u32| (1..=100).map(move |i| f64::from((seed + i * i) % 101)).collect::<Vec<_>>();
/// let (a, b) = (chain(3), chain(58));
/// let summary = ChainSummary::of(&[&a, &b]).expect("chains of finite draws");
/// assert!(summary.r_hat.is_some_and(|r_hat| r_hat < 1.05));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainSummary {
    /// The mean of all draws.
    pub mean: f64,
    /// The standard deviation of all draws.
    pub sd: f64,
    /// [`r_hat`].
    pub r_hat: Option<f64>,
    /// [`ess_bulk`].
    pub ess_bulk: Option<f64>,
    /// [`ess_tail`].
    pub ess_tail: Option<f64>,
    /// [`mcse_mean`].
    pub mcse_mean: Option<f64>,
    /// [`mcse_sd`].
    pub mcse_sd: Option<f64>,
}

impl ChainSummary {
    /// Summarises chains of equal length. `None` where lengths differ, a draw is not finite or there are fewer than two.
    pub fn of(chains: &[&[f64]]) -> Option<Self> {
        Some(Self::with_quantiles(chains, |_| ())?.0)
    }

    /// As [`ChainSummary::of`], with what `read` makes of the quantiles of all draws, R's type 7, which are sorted anyway.
    pub fn with_quantiles<T>(
        chains: &[&[f64]],
        read: impl FnOnce(&dyn Fn(f64) -> f64) -> T,
    ) -> Option<(Self, T)> {
        let mut draws = Draws::new(chains)?;
        let quantiles = read(&|probability| quantile(&draws.sorted, probability));
        let scores = draws.scores();
        let (r_hat, ess_bulk) = scores.map_or((None, None), |of| (of.r_hat(), of.ess()));
        let summary = Self {
            mean: draws.mean_as_drawn(),
            sd: (draws.variance.sqrt() * draws.scale).min(f64::MAX),
            r_hat: draws.r_hat(r_hat),
            ess_bulk,
            ess_tail: draws.ess_tail(),
            mcse_mean: draws.mcse_mean(),
            mcse_sd: draws.mcse_sd(),
        };
        Some((summary, quantiles))
    }
}

/// $\hat R$: the larger of those of normal scores and of folded normal scores, over split chains.
///
/// Above 1.01 chains do not agree yet (Vehtari21). One chain is compared with itself, half with half. Infinite where no
/// half moves and they differ.
pub fn r_hat(chains: &[&[f64]]) -> Option<f64> {
    let mut draws = Draws::new(chains)?;
    let of_scores = draws.scores().and_then(|scores| scores.r_hat());
    draws.r_hat(of_scores)
}

/// The bulk effective sample size: that of the mean of normal scores.
///
/// Below 100 a chain neither it nor R-hat is reliable (Vehtari21); the same holds for [`ess_tail`].
pub fn ess_bulk(chains: &[&[f64]]) -> Option<f64> {
    Draws::new(chains)?.scores()?.ess()
}

/// The effective sample size of the mean of the draws themselves.
pub fn ess_mean(chains: &[&[f64]]) -> Option<f64> {
    Draws::new(chains)?.ess_mean()
}

/// The tail effective sample size: the smaller of [`ess_quantile`] at 5% and at 95%.
pub fn ess_tail(chains: &[&[f64]]) -> Option<f64> {
    Draws::new(chains)?.ess_tail()
}

/// The effective sample size of a quantile: that of the mean of the indicator $x \le q$.
///
/// Where the quantile is the largest draw, as it may be among labels, all draws are that or less; then $x < q$ stands
/// in for it.
pub fn ess_quantile(chains: &[&[f64]], probability: f64) -> Option<f64> {
    Draws::new(chains)?.ess_quantile(probability)
}

/// The Monte Carlo standard error of the mean, $\mathrm{sd} / \sqrt{S_{\mathrm{eff}}}$ with the effective sample size
/// of the draws themselves.
pub fn mcse_mean(chains: &[&[f64]]) -> Option<f64> {
    Draws::new(chains)?.mcse_mean()
}

/// The Monte Carlo standard error of the standard deviation, by the delta method from that of the mean of
/// $(x - \bar x)^2$; right for other than normal draws too. `None` also where all draws are equally far from the mean.
pub fn mcse_sd(chains: &[&[f64]]) -> Option<f64> {
    Draws::new(chains)?.mcse_sd()
}

/// The Monte Carlo standard error of a quantile (Vehtari21, section 4.4): half the distance between the draws at
/// which a beta distribution with the effective counts below and above has probabilities $\Phi(\pm 1)$.
pub fn mcse_quantile(chains: &[&[f64]], probability: f64) -> Option<f64> {
    let mut draws = Draws::new(chains)?;
    let ess = draws.ess_quantile(probability)?;
    let beta = Marginal::Beta {
        a: ess * probability + 1.0,
        b: ess * (1.0 - probability) + 1.0,
    };
    let size = draws.sorted.len();
    let [low, high] = ONE_SIGMA.map(|p| beta.quantile(p) * size as f64 - 1.0);
    let low = draws.sorted[low.max(0.0).floor() as usize].0;
    let high = draws.sorted[(high.max(0.0).ceil() as usize).min(size - 1)].0;
    Some(0.5 * high - 0.5 * low)
}

/// Draws that are finite, as they are and in order.
struct Draws {
    /// Draws a chain.
    length: usize,
    /// All draws in increasing order, each with its place in the chains one after another.
    sorted: Vec<Ordered>,
    /// The first draw; what is far from zero would lose digits in sums.
    origin: f64,
    /// A power of two next to the largest draw; what is not divided by it may overflow in squares.
    scale: f64,
    /// The draws from the origin on, over the scale, with mean and variance.
    moved: Vec<f64>,
    mean: f64,
    variance: f64,
    /// Functions of the draws in their places, and the same less the means of halves: buffers.
    values: Vec<f64>,
    centred: Vec<f64>,
}

impl Draws {
    fn new(chains: &[&[f64]]) -> Option<Self> {
        let length = chains.first()?.len();
        let all = chains.concat();
        let equal = chains.iter().all(|chain| chain.len() == length);
        if !equal || all.len() < 2 || !all.iter().all(|x| x.is_finite()) {
            return None;
        }
        let scale = power_below(all.iter().fold(0.0, |largest, x| x.abs().max(largest)));
        let origin = all[0];
        let moved: Vec<f64> = all.iter().map(|x| x / scale - origin / scale).collect();
        let size = moved.len() as f64;
        let mean = moved.iter().sum::<f64>() / size;
        let squares: f64 = moved.iter().map(|x| (x - mean).powi(2)).sum();
        Some(Self {
            length,
            sorted: sorted(&all),
            origin,
            scale,
            moved,
            mean,
            variance: squares / (size - 1.0),
            // No longer needed as they are.
            values: all,
            centred: vec![],
        })
    }

    fn least_and_largest(&self) -> (f64, f64) {
        (self.sorted[0].0, self.sorted[self.sorted.len() - 1].0)
    }

    /// Rounding must not put the mean outside the draws, nor beyond the largest number.
    fn mean_as_drawn(&self) -> f64 {
        let (least, largest) = self.least_and_largest();
        ((self.origin / self.scale + self.mean) * self.scale).clamp(least, largest)
    }

    /// Whether halves have something to tell: enough draws, not all equal.
    fn varies(&self) -> bool {
        let (least, largest) = self.least_and_largest();
        self.length >= FEWEST && least < largest
    }

    /// The halves of the values in the buffer.
    fn halves(&mut self) -> Option<Halves<'_>> {
        let varies = self.varies();
        varies.then(|| Halves::of(&self.values, self.length, &mut self.centred))
    }

    fn scores(&mut self) -> Option<Halves<'_>> {
        if !self.varies() {
            return None;
        }
        scores(&self.sorted, self.length, &mut self.values);
        Some(Halves::of(
            &self.values,
            2 * (self.length / 2),
            &mut self.centred,
        ))
    }

    /// R-hat, given that of the scores.
    fn r_hat(&mut self, of_scores: Option<f64>) -> Option<f64> {
        if !self.varies() {
            return None;
        }
        let folded = folded(&self.sorted, median(&self.sorted));
        scores(&folded, self.length, &mut self.values);
        // Folded draws that are all equal, as those of two labels, have none.
        let folded = Halves::of(&self.values, 2 * (self.length / 2), &mut self.centred).r_hat();
        of_scores.into_iter().chain(folded).reduce(f64::max)
    }

    fn ess_tail(&mut self) -> Option<f64> {
        let sizes = [0.05, 0.95].map(|probability| self.ess_quantile(probability));
        sizes.into_iter().flatten().reduce(f64::min)
    }

    fn ess_quantile(&mut self, probability: f64) -> Option<f64> {
        if !(probability > 0.0 && probability < 1.0) {
            return None;
        }
        let limit = quantile(&self.sorted, probability);
        // How many draws count, from the least on.
        let mut count = self.sorted.partition_point(|&(x, _)| x <= limit);
        if count == self.sorted.len() {
            count = self.sorted.partition_point(|&(x, _)| x < limit);
        }
        self.values.clear();
        self.values.resize(self.sorted.len(), 0.0);
        for &(_, place) in &self.sorted[..count] {
            self.values[place] = 1.0;
        }
        self.halves()?.ess()
    }

    fn ess_mean(&mut self) -> Option<f64> {
        let varies = self.varies();
        let halves = varies.then(|| Halves::of(&self.moved, self.length, &mut self.centred));
        halves?.ess()
    }

    fn mcse_mean(&mut self) -> Option<f64> {
        let ess = self.ess_mean()?;
        Some((self.variance / ess).sqrt() * self.scale)
    }

    fn mcse_sd(&mut self) -> Option<f64> {
        let middle = self.mean;
        let squares = self.moved.iter().map(|x| (x - middle).powi(2));
        self.values.clear();
        self.values.extend(squares);
        let squares = &self.values;
        let size = squares.len() as f64;
        let mean = squares.iter().sum::<f64>() / size;
        let spread = squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / size;
        let ess = self.halves()?.ess()?;
        // The variance of the sd is that of the variance, over four variances.
        Some(0.5 * (spread / ess / mean).sqrt() * self.scale)
    }
}

/// Writes the normal scores of draws in order, chains of `length` one after another. Those in the middle of a chain, which
/// no half has, have no rank either.
fn scores(sorted: &[Ordered], length: usize, out: &mut Vec<f64>) {
    if length.is_multiple_of(2) {
        return normal_scores(sorted, out);
    }
    let half = length / 2;
    let ranked = sorted.iter().filter(|draw| draw.1 % length != half);
    let moved = |&(x, place): &Ordered| {
        let before = place / length + usize::from(place % length > half);
        (x, place - before)
    };
    normal_scores(&ranked.map(moved).collect::<Vec<_>>(), out);
}

/// The power of two that is at most `x` and more than half of it, or the smallest normal one.
fn power_below(x: f64) -> f64 {
    let exponent_alone = f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000);
    exponent_alone.max(f64::MIN_POSITIVE)
}
