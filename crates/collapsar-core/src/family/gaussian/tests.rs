//! The sparse Gaussian against a dense twin, a Kalman smoother and the clock.

use nalgebra::{Cholesky, DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A random positive definite matrix on the pattern: diagonally dominant, but only just, so that
/// scalars far from each other are correlated too.
fn random_natural(family: &Gaussian, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let n = family.scalars();
    let mut natural: Vec<f64> = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
    let couplings: Vec<f64> = (0..family.pairs().len())
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    let mut diagonal: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..0.5)).collect();
    for (&(i, j), c) in family.pairs().iter().zip(&couplings) {
        diagonal[i as usize] += c.abs();
        diagonal[j as usize] += c.abs();
    }
    natural.extend(diagonal);
    natural.extend(couplings);
    natural
}

fn dense(family: &Gaussian, vector: &[f64]) -> (DVector<f64>, DMatrix<f64>) {
    let [shifts, precisions, couplings] = family.parts(vector);
    let mut matrix = DMatrix::from_diagonal(&DVector::from_row_slice(precisions));
    for (&(i, j), c) in family.pairs().iter().zip(couplings) {
        matrix[(i as usize, j as usize)] = *c;
        matrix[(j as usize, i as usize)] = *c;
    }
    (DVector::from_row_slice(shifts), matrix)
}

/// Value, mean of the statistics and Hessian product by dense matrices: with m = Σh,
/// δΣ = -Σ δΛ Σ and δm = Σ(δh - δΛ m).
fn twin(family: &Gaussian, natural: &[f64], along: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let (h, precision) = dense(family, natural);
    let (dh, dprecision) = dense(family, along);
    let cholesky = Cholesky::new(precision).expect("positive definite");
    let covariance = cholesky.inverse();
    let mean = &covariance * &h;
    let n = family.scalars();
    let ln_determinant: f64 = cholesky.l().diagonal().iter().map(|d| 2.0 * d.ln()).sum();
    let value = 0.5 * (n as f64 * TAU.ln() - ln_determinant + h.dot(&mean));
    let dcovariance = -(&covariance * &dprecision * &covariance);
    let dmean = &covariance * (dh - dprecision * &mean);
    let (mut gradient, mut product): (Vec<f64>, Vec<f64>) = (
        mean.iter().copied().collect(),
        dmean.iter().copied().collect(),
    );
    let diagonal = (0..n).map(|i| (i, i, 0.5));
    let pairs = family.pairs().iter();
    let pairs = pairs.map(|&(i, j)| (i as usize, j as usize, 1.0));
    for (i, j, factor) in diagonal.chain(pairs) {
        gradient.push(-factor * (covariance[(i, j)] + mean[i] * mean[j]));
        let change = dmean[i] * mean[j] + mean[i] * dmean[j];
        product.push(-factor * (dcovariance[(i, j)] + change));
    }
    (value, gradient, product)
}

fn assert_close(what: &str, found: &[f64], expected: &[f64]) {
    let size = expected.iter().fold(1.0_f64, |a, x| a.max(x.abs()));
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        // Condition numbers of hundreds at most, on sums of a few dozen terms.
        assert!((f - e).abs() < 1e-11 * size, "{what} {k}: {f} {e}");
    }
}

fn agrees_with_twin(family: &Gaussian, rng: &mut ChaCha8Rng) {
    let natural = random_natural(family, rng);
    let along: Vec<f64> = natural
        .iter()
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    let (value, gradient, product) = twin(family, &natural, &along);
    let mut found = vec![f64::NAN; family.dim()];
    let at = family.value_and_gradient(&natural, &mut found);
    assert_close("value", &[at.expect("in the domain")], &[value]);
    assert_close("gradient", &found, &gradient);
    family
        .hessian_product(&natural, &along, &mut found)
        .expect("in the domain");
    assert_close("product", &found, &product);
    let (mean, variances) = family.marginals(&natural).expect("in the domain");
    let (_, precision) = dense(family, &natural);
    let covariance = precision.try_inverse().expect("invertible");
    assert_close("mean", &mean, &gradient[..mean.len()]);
    assert_close("variance", &variances, covariance.diagonal().as_slice());
    assert_close(
        "value alone",
        &[family.value(&natural).expect("inside")],
        &[value],
    );
    let scalar = rng.random_range(0..mean.len());
    let mut unit = vec![0.0; family.dim()];
    unit[scalar] = 1.0;
    let sampler = family.sampler(&natural).expect("inside");
    sampler.covariances(family.pairs(), scalar, &mut found);
    assert_close("covariances", &found, &twin(family, &natural, &unit).2);
}

#[test]
fn random_patterns_agree_with_dense_matrices() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..150 {
        let n = rng.random_range(1..40_u32);
        let density = rng.random_range(0.0..0.3);
        let mut pairs = Vec::new();
        for i in 0..n {
            for j in i + 1..n {
                if rng.random_bool(density) {
                    // Any order of the two, and some twice.
                    pairs.push(if rng.random() { (i, j) } else { (j, i) });
                    if rng.random() {
                        pairs.push((i, j));
                    }
                }
            }
        }
        agrees_with_twin(&Gaussian::new(n as usize, &pairs), &mut rng);
    }
}

#[test]
fn special_patterns_agree_with_dense_matrices() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let chain = |n: u32| (1..n).map(|i| (i - 1, i)).collect::<Vec<_>>();
    let arrow = |n: u32| (1..n).map(|i| (0, i)).collect::<Vec<_>>();
    let full = |n: u32| {
        let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        pairs.collect::<Vec<_>>()
    };
    // Two chains, a clique and scalars on their own.
    let mut apart = chain(6);
    apart.extend(chain(5).iter().map(|(i, j)| (i + 10, j + 10)));
    apart.extend(full(4).iter().map(|(i, j)| (i + 20, j + 20)));
    for (n, pairs) in [
        (1, vec![]),
        (5, vec![]),
        (30, chain(30)),
        (60, arrow(60)),
        (25, full(25)),
        (28, apart),
    ] {
        agrees_with_twin(&Gaussian::new(n, &pairs), &mut rng);
    }
}

/// States x_t = f x_{t-1} + N(0, q) from x_0 ~ N(m, p), seen as y_t = x_t + N(0, r).
#[test]
fn a_chain_is_a_kalman_smoother() {
    let (f, q, r, m, p) = (0.9, 0.3, 0.7, 0.5, 2.0);
    let seen = [1.2, -0.3, 0.8, 2.5, 1.9, -1.0, 0.1];
    let n = seen.len();

    // Forward: the filter, and the evidence by its predictions. Backward: Rauch, Tung, Striebel.
    let (mut mean, mut variance) = (vec![0.0; n], vec![0.0; n]);
    let mut evidence = 0.0;
    let (mut before, mut spread) = (m, p);
    for t in 0..n {
        if t > 0 {
            before = f * mean[t - 1];
            spread = f * f * variance[t - 1] + q;
        }
        let total: f64 = spread + r;
        let surprise = seen[t] - before;
        evidence -= 0.5 * ((TAU * total).ln() + surprise * surprise / total);
        mean[t] = before + spread / total * surprise;
        variance[t] = spread * r / total;
    }
    let mut covariance = vec![0.0; n - 1];
    for t in (0..n - 1).rev() {
        let ahead = f * f * variance[t] + q;
        let gain = f * variance[t] / ahead;
        covariance[t] = gain * variance[t + 1];
        mean[t] += gain * (mean[t + 1] - f * mean[t]);
        variance[t] += gain * gain * (variance[t + 1] - ahead);
    }

    let pairs: Vec<_> = (1..n as u32).map(|t| (t - 1, t)).collect();
    let family = Gaussian::new(n, &pairs);
    let mut natural = vec![0.0; family.dim()];
    natural[0] = m / p;
    natural[n] = 1.0 / p;
    for t in 0..n {
        natural[t] += seen[t] / r;
        natural[n + t] += 1.0 / r;
        if t + 1 < n {
            natural[n + t] += f * f / q;
            natural[n + t + 1] += 1.0 / q;
            natural[2 * n + t] -= f / q;
        }
    }
    let mut gradient = vec![0.0; family.dim()];
    let value = family.value_and_gradient(&natural, &mut gradient);
    let (found_mean, found_variance) = family.marginals(&natural).expect("in the domain");
    assert_close("mean", &found_mean, &mean);
    assert_close("variance", &found_variance, &variance);
    for t in 0..n - 1 {
        let found = -gradient[2 * n + t] - mean[t] * mean[t + 1];
        assert_close("covariance", &[found], &[covariance[t]]);
    }
    // The evidence is the log-partition function and the constants of all densities.
    let squares: f64 = seen.iter().map(|y| y * y / r).sum::<f64>() + m * m / p;
    let logs = n as f64 * (TAU * r).ln() + (n - 1) as f64 * (TAU * q).ln() + (TAU * p).ln();
    let found = value.expect("in the domain") - 0.5 * (squares + logs);
    assert_close("evidence", &[found], &[evidence]);
}

/// Prints how long large blocks take; the limits are far above it, for slow machines.
#[test]
fn large_blocks_are_quick() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let n = 100_000_u32;
    let chain: Vec<_> = (1..n).map(|i| (i - 1, i)).collect();
    let tree: Vec<_> = (1..n).map(|i| (i / 2, i)).filter(|(i, j)| i < j).collect();
    let mut hub: Vec<_> = (1..n).map(|i| (0, i)).collect();
    hub.extend((2..n).map(|i| (i - 1, i)));
    // Observations in groups of about three hundred with a mean each, which share a mean.
    let groups: Vec<_> = (1..n)
        .map(|i| (if i <= 300 { 0 } else { i % 300 + 1 }, i))
        .collect();
    let dense: Vec<_> = (0..64)
        .flat_map(|i| (i + 1..64).map(move |j| (i, j)))
        .collect();
    let side = 200;
    let right = (0..side * side)
        .filter(|i| i % side > 0)
        .map(|i| (i - 1, i));
    let down = (side..side * side).map(|i| (i - side, i));
    let grid: Vec<_> = right.chain(down).collect();
    for (name, n, pairs) in [
        ("chain", n, chain),
        ("tree", n, tree),
        ("hub", n, hub),
        ("groups", n, groups),
        ("dense", 64, dense),
        ("grid", side * side, grid),
    ] {
        let start = std::time::Instant::now();
        let family = Gaussian::new(n as usize, &pairs);
        let made = start.elapsed();
        let natural = random_natural(&family, &mut rng);
        let mut out = vec![0.0; family.dim()];
        let start = std::time::Instant::now();
        let value = family.value_and_gradient(&natural, &mut out);
        let evaluated = start.elapsed();
        assert!(value.expect("in the domain").is_finite());
        let start = std::time::Instant::now();
        family
            .hessian_product(&natural, &natural, &mut out)
            .expect("in the domain");
        let product = start.elapsed();
        let entries = family.pattern.entries();
        eprintln!(
            "{name} of {n}: {entries} entries, made in {made:?}, evaluated in {evaluated:?}, product in {product:?}"
        );
        assert!(entries == pairs.len() || name == "grid", "{name}: no fill");
        assert!(made.as_secs() < 20 && evaluated.as_secs() < 10, "{name}");
    }
}

#[test]
fn pairs_are_kept_once_and_in_order() {
    let family = Gaussian::new(4, &[(2, 3), (1, 0), (0, 1), (0, 3), (2, 3)]);
    assert_eq!(family.pairs(), [(0, 1), (0, 3), (2, 3)]);
    assert_eq!(family.dim(), 11);
}

#[test]
fn parameters_outside_the_domain_are_errors() {
    let family = Gaussian::new(2, &[(0, 1)]);
    let good = [0.3, 0.4, 1.0, 1.0, 0.5];
    assert!(family.value_and_gradient(&good, &mut [0.0; 5]).is_ok());
    for (k, bad) in [
        (2, 0.0),
        (3, -1.0),
        (4, 1.0),
        (4, 2.0),
        (0, f64::NAN),
        (1, f64::INFINITY),
        (2, f64::INFINITY),
        (3, f64::NAN),
        (4, f64::NAN),
        (0, 1e200),
    ] {
        let mut natural = good;
        natural[k] = bad;
        let error = family.value_and_gradient(&natural, &mut [0.0; 5]);
        assert!(error.is_err_and(|e| e.is_recoverable()), "{k} {bad}");
        let product = family.hessian_product(&natural, &good, &mut [0.0; 5]);
        assert!(product.is_err() && family.ordinary(&natural).is_err());
    }
    assert!(
        family
            .value_and_gradient(&good[1..], &mut [0.0; 5])
            .is_err()
    );
    let indefinite = GaussianOrdinary {
        mean: vec![0.0; 2],
        precisions: vec![1.0, 1.0],
        couplings: vec![2.0],
    };
    assert_eq!(
        family.natural(&indefinite).expect_err("no").to_string(),
        "Gaussian block: the precision matrix is not positive definite at scalar 2 of 2, \
         expected a positive definite precision matrix"
    );
    // A Gaussian of nothing has no parameters to be given.
    assert!(Gaussian::new(0, &[]).ordinary(&[]).is_err());
}
