//! Fast ways against plain ones: formulas as they are written in the documentation of the module.

use super::halves::{Halves, lagged_product};
use super::pareto::GeneralisedPareto;
use super::ranks::{normal_scores, sorted};
use super::{ess_bulk, ess_tail, mcse_mean, r_hat};
use crate::family::Marginal;

/// Fractions of multiples of irrational numbers, in a walk that forgets half of its place with each step.
fn walk(seed: f64, length: usize, levels: f64) -> Vec<f64> {
    let mut x = 0.0;
    let next = |i: usize| {
        x = 0.5 * x + (seed + 0.618_033_988_749_895 * (i * i) as f64).fract() - 0.5;
        (x * levels).round() / levels
    };
    (0..length).map(next).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let centre = mean(x);
    x.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (x.len() - 1) as f64
}

fn split(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let half = chains[0].len() / 2;
    let halves = chains
        .iter()
        .flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]]);
    halves.map(<[f64]>::to_vec).collect()
}

fn plain_scores(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all = chains.concat();
    let score = |x: &f64| {
        let less = all.iter().filter(|y| *y < x).count() as f64;
        let equal = all.iter().filter(|y| *y == x).count() as f64;
        let rank = less + 0.5 * (equal + 1.0);
        let normal = Marginal::Normal { mean: 0.0, sd: 1.0 };
        normal.quantile((rank - 0.375) / (all.len() as f64 + 0.25))
    };
    let chains = chains.iter();
    chains.map(|x| x.iter().map(score).collect()).collect()
}

fn plain_r_hat(halves: &[Vec<f64>]) -> f64 {
    let n = halves[0].len() as f64;
    let means: Vec<f64> = halves.iter().map(|x| mean(x)).collect();
    let variances: Vec<f64> = halves.iter().map(|x| variance(x)).collect();
    let within = mean(&variances);
    (((n - 1.0) / n * within + variance(&means)) / within).sqrt()
}

/// All autocorrelations, then all pairs, then the sequence.
fn plain_ess(halves: &[Vec<f64>]) -> f64 {
    let n = halves[0].len();
    let means: Vec<f64> = halves.iter().map(|x| mean(x)).collect();
    let variances: Vec<f64> = halves.iter().map(|x| variance(x)).collect();
    let within = mean(&variances);
    let total = (n as f64 - 1.0) / n as f64 * within + variance(&means);
    let covariance = |x: &Vec<f64>, lag: usize| {
        let centre = mean(x);
        let products = (0..n - lag).map(|i| (x[i] - centre) * (x[i + lag] - centre));
        products.sum::<f64>() / n as f64
    };
    let mut correlations = vec![1.0];
    for lag in 1..n {
        let covariances: Vec<f64> = halves.iter().map(|x| covariance(x, lag)).collect();
        correlations.push(1.0 - (within - mean(&covariances)) / total);
    }
    let mut pairs: Vec<f64> = correlations
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[a, b]| a + b)
        .collect();
    // No lag beyond the last but one pair: the sequence needs a pair to end with.
    pairs.truncate((n - 1) / 2);
    let count = pairs.iter().position(|pair| *pair <= 0.0);
    let count = count.unwrap_or(pairs.len() - 1);
    for k in 1..count {
        pairs[k] = pairs[k].min(pairs[k - 1]);
    }
    let even = correlations[2 * count];
    let last = if pairs[count] < 0.0 {
        even.max(0.0)
    } else {
        even
    };
    let size = (n * halves.len()) as f64;
    let time = 2.0 * pairs[..count].iter().sum::<f64>() - 1.0 + last;
    size / time.max(1.0 / size.log10())
}

/// The order of sums differs; 1e-10 is far above what that makes of them and far below what a wrong term would.
fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.expect("draws that vary");
    assert!(
        (found / expected - 1.0).abs() < 1e-10,
        "{found}, not {expected}"
    );
}

#[test]
fn chains_match_plain_formulas() {
    for (length, levels) in [(10, 1e6), (11, 1e6), (64, 1e6), (101, 4.0), (200, 1.0)] {
        let chains = [0.1, 0.45, 0.7].map(|seed| walk(seed, length, levels));
        let slices = chains.each_ref().map(Vec::as_slice);
        let mut sorted = chains.concat();
        sorted.sort_by(f64::total_cmp);
        let median = 0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]);
        let folded = chains
            .each_ref()
            .map(|chain| chain.iter().map(|x| (x - median).abs()).collect());
        let scores = plain_scores(&split(&chains));
        let folded = plain_scores(&split(&folded));
        assert_close(
            r_hat(&slices),
            plain_r_hat(&scores).max(plain_r_hat(&folded)),
        );
        assert_close(ess_bulk(&slices), plain_ess(&scores));
        let error = (variance(&sorted) / plain_ess(&split(&chains))).sqrt();
        assert_close(mcse_mean(&slices), error);
        let sizes = [0.05, 0.95].map(|probability| {
            let at = probability * (sorted.len() - 1) as f64;
            let below = sorted[at as usize];
            let limit = below + at.fract() * (sorted[at as usize + 1] - below);
            let largest = sorted[sorted.len() - 1];
            let counts = |x: f64| x < limit || (x == limit && limit < largest);
            let indicator = |x: &f64| f64::from(u8::from(counts(*x)));
            let indicators = chains
                .each_ref()
                .map(|chain| chain.iter().map(indicator).collect());
            plain_ess(&split(&indicators))
        });
        assert_close(ess_tail(&slices), sizes[0].min(sizes[1]));
    }
}

#[test]
fn lags_match_plain_sums() {
    for length in [1, 7, 8, 40, 61] {
        let x = walk(0.3, length, 1e9);
        for lag in 0..length {
            let plain: f64 = (lag..length).map(|i| x[i] * x[i - lag]).sum();
            // Sums of at most 61 products below one.
            assert!((lagged_product(&x, lag) - plain).abs() < 1e-13);
        }
    }
}

#[test]
fn scores_follow_ranks() {
    let mut scores = vec![];
    normal_scores(&sorted(&[3.0, -1.0, 3.0, 0.0, -0.0]), &mut scores);
    // Ranks 4½, 1, 4½, 2½, 2½ of 5.
    let normal = Marginal::Normal { mean: 0.0, sd: 1.0 };
    let expected = [4.5, 1.0, 4.5, 2.5, 2.5].map(|rank| normal.quantile((rank - 0.375) / 5.25));
    for (found, expected) in scores.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-14);
    }
}

#[test]
fn halves_that_do_not_move_have_no_variance() {
    // 0.1 and its sums are rounded.
    let values = [[0.1; 20], [0.3; 20]].concat();
    assert_eq!(
        Halves::of(&values, 20, &mut vec![]).r_hat(),
        Some(f64::INFINITY)
    );
    assert_eq!(Halves::of(&[0.1; 40], 20, &mut vec![]).r_hat(), None);
    assert_eq!(Halves::of(&[0.1; 40], 20, &mut vec![]).ess(), None);
}

/// Quantiles have their probabilities, and the fit of quantiles finds their distribution but for its prior.
#[test]
fn pareto_fits_are_those_of_their_quantiles() {
    for k in [-0.4, 0.0, 0.3, 0.9] {
        let truth = GeneralisedPareto { k, sigma: 2.0 };
        let cdf = |x: f64| {
            let ratio = k * x / truth.sigma;
            if k == 0.0 {
                -(-x / truth.sigma).exp_m1()
            } else {
                -(-ratio.ln_1p() / k).exp_m1()
            }
        };
        let size = 4000;
        let quantiles: Vec<f64> = (0..size)
            .map(|z| (f64::from(z) + 0.5) / f64::from(size))
            .inspect(|p| assert!((cdf(truth.quantile(*p)) - p).abs() < 1e-12))
            .map(|p| truth.quantile(p))
            .collect();
        let fitted = GeneralisedPareto::fit(&quantiles);
        // Evenly spaced quantiles are no sample; what they leave out at the end is of this order.
        assert!((fitted.k - k).abs() < 0.01, "{k}: {}", fitted.k);
        assert!(
            (fitted.sigma / truth.sigma - 1.0).abs() < 0.01,
            "{k}: {}",
            fitted.sigma
        );
    }
}
