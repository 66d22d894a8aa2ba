use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;

/// A hundred thousand pairs of a stream by ours and by `rand_distr`: the same bits are taken, and numbers differ by rounding.
fn same_stream<A: Distribution<f64>, B: Distribution<f64>>(what: &str, ours: &A, theirs: &B) {
    let mut rngs = [1, 1].map(ChaCha8Rng::seed_from_u64);
    for i in 0..100_000 {
        let (a, b) = (ours.sample(&mut rngs[0]), theirs.sample(&mut rngs[1]));
        // Where the tail begins is known to 16 digits; from there to the top an error of the layers' ends grows to 1e-11.
        assert!(
            (a - b).abs() <= 1e-9 * b.abs(),
            "{what}, draw {i}: {a:e} and {b:e}"
        );
    }
    assert_eq!(rngs[0], rngs[1], "{what}");
}

#[test]
fn streams_are_those_of_rand_distr() {
    same_stream("normal", &StandardNormal, &rand_distr::StandardNormal);
    same_stream("exponential", &Exp1, &rand_distr::Exp1);
    for shape in [0.01, 0.3, 0.999, 1.0, 1.5, 20.0, 1e6] {
        let theirs = rand_distr::Gamma::new(shape, 3.0).unwrap();
        same_stream("gamma", &Gamma::new(shape, 3.0).unwrap(), &theirs);
        let theirs = rand_distr::ChiSquared::new(shape).unwrap();
        same_stream("chi-squared", &ChiSquared::new(shape).unwrap(), &theirs);
    }
}

/// Mean, variance and distribution function of draws, by their probabilities, at four standard errors.
fn matches(what: &str, draws: &[f64], cdf: impl Fn(f64) -> f64, at: &[f64]) {
    let n = draws.len() as f64;
    for &x in at {
        let share = draws.iter().filter(|d| **d <= x).count() as f64 / n;
        let p = cdf(x);
        let error = (p * (1.0 - p) / n).sqrt();
        assert!(
            (share - p).abs() <= 4.0 * error + 1e-12,
            "{what}: {share} of draws are at most {x}, {p} expected"
        );
    }
}

#[test]
fn counts_have_their_distribution() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    // Few and many trials, rare, even and common successes, inversion and rejection.
    for (n, p) in [
        (1, 0.3),
        (7, 0.5),
        (20, 0.97),
        (25, 0.5),
        (40, 0.3),
        (300, 0.04),
        (1000, 0.7),
        (1_000_000, 1e-6),
        (5_000_000, 0.4),
    ] {
        let binomial = Binomial::new(n, p).unwrap();
        let draws: Vec<f64> = (0..100_000)
            .map(|_| binomial.sample(&mut rng) as f64)
            .collect();
        assert!(draws.iter().all(|d| (0.0..=n as f64).contains(d)));
        let (n, mean) = (n as f64, n as f64 * p);
        let step = (mean * (1.0 - p)).sqrt().max(0.5);
        let at: Vec<f64> = [-2.5, -1.5, -0.7, 0.0, 0.4, 1.0, 2.0, 3.0]
            .map(|z| (mean + z * step).floor())
            .into_iter()
            .filter(|k| *k >= 0.0 && *k < n)
            .collect();
        // P(X ≤ k) = I_{1−p}(n − k, k + 1)
        let cdf = |k: f64| crate::special::beta_cdf(n - k, k + 1.0, 1.0 - p);
        matches(&format!("{n} trials at {p}"), &draws, cdf, &at);
    }
    for rate in [0.01, 0.7, 9.9, 10.1, 25.0, 400.0, 1e6] {
        let poisson = Poisson::new(rate).unwrap();
        let draws: Vec<f64> = (0..100_000).map(|_| poisson.sample(&mut rng)).collect();
        let at: Vec<f64> = [-2.5, -1.5, -0.7, 0.0, 0.4, 1.0, 2.0, 3.0]
            .map(|z| (rate + z * rate.sqrt()).floor())
            .into_iter()
            .filter(|k| *k >= 0.0)
            .collect();
        // P(X ≤ k) = Q(k + 1, λ)
        let cdf = |k: f64| crate::special::gamma_tails(k + 1.0, rate).1;
        matches(&format!("rate {rate}"), &draws, cdf, &at);
    }
}

#[test]
fn shares_have_their_distribution() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for (a, b) in [(0.2, 0.3), (0.5, 4.0), (1.0, 1.0), (30.0, 2.0)] {
        let beta = Beta::new(a, b).unwrap();
        let draws: Vec<f64> = (0..100_000).map(|_| beta.sample(&mut rng)).collect();
        let cdf = |x: f64| crate::special::beta_cdf(a, b, x);
        matches(
            &format!("beta {a} {b}"),
            &draws,
            cdf,
            &[0.001, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999],
        );
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for bad in [0.0, -1.0, f64::NAN] {
        assert!(Gamma::new(bad, 1.0).is_err() && Gamma::new(1.0, bad).is_err());
        assert!(ChiSquared::new(bad).is_err() && Poisson::new(bad).is_err());
        assert!(Beta::new(bad, 1.0).is_err() && Beta::new(1.0, bad).is_err());
    }
    assert!(Poisson::new(f64::INFINITY).is_err());
    assert!(
        [-0.1, 1.1, f64::NAN]
            .iter()
            .all(|p| Binomial::new(3, *p).is_err())
    );
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    assert_eq!(Binomial::new(0, 0.3).unwrap().sample(&mut rng), 0);
    assert_eq!(Binomial::new(3, 0.0).unwrap().sample(&mut rng), 0);
    assert_eq!(
        Binomial::new(u64::MAX, 1.0).unwrap().sample(&mut rng),
        u64::MAX
    );
    assert_eq!(
        Gamma::new(f64::INFINITY, 1.0).unwrap().sample(&mut rng),
        f64::INFINITY
    );
}
