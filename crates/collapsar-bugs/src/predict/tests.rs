//! Draws have the moments of textbooks, and wrong parameters are named.

use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use collapsar::elementary::Elementary;

const DRAWS: usize = 20_000;
type Parameters = Vec<Vec<f64>>;

/// Means and variances in JAGS's parameters, by textbook formulas.
#[test]
fn draws_have_their_moments() {
    let of = |parameters: &[f64]| parameters.iter().map(|&p| vec![p]).collect::<Vec<_>>();
    let cases: [(Distribution, Parameters, f64, f64); 23] = [
        (Distribution::Normal, vec![vec![1.0], vec![4.0]], 1.0, 0.25),
        (Distribution::Gamma, vec![vec![3.0], vec![2.0]], 1.5, 0.75),
        (Distribution::Exponential, vec![vec![2.0]], 0.5, 0.25),
        (Distribution::ChiSquared, vec![vec![5.0]], 5.0, 10.0),
        (Distribution::Beta, vec![vec![2.0], vec![3.0]], 0.4, 0.04),
        (
            Distribution::Uniform,
            vec![vec![-1.0], vec![3.0]],
            1.0,
            16.0 / 12.0,
        ),
        (
            Distribution::Categorical,
            vec![vec![2.0, 1.0, 1.0]],
            1.75,
            0.6875,
        ),
        (Distribution::Bernoulli, vec![vec![0.3]], 0.3, 0.21),
        (
            Distribution::Binomial,
            vec![vec![0.3], vec![50.0]],
            15.0,
            10.5,
        ),
        (Distribution::Poisson, vec![vec![37.5]], 37.5, 37.5),
        (Distribution::Poisson, vec![vec![0.0]], 0.0, 0.0),
        (
            Distribution::NegativeBinomial,
            vec![vec![0.25], vec![3.0]],
            9.0,
            36.0,
        ),
        // Γ(1 + 1/2) / λ^(1/2) and (Γ(2) − Γ(1.5)²) / λ.
        (
            Distribution::Weibull,
            vec![vec![2.0], vec![4.0]],
            0.886_226_925_452_758 / 2.0,
            (1.0 - std::f64::consts::FRAC_PI_4) / 4.0,
        ),
        (Distribution::Wishart, vec![vec![2.0], vec![3.0]], 1.5, 1.5),
        (Distribution::StudentT, of(&[1.0, 4.0, 12.0]), 1.0, 0.3),
        (Distribution::Laplace, of(&[1.0, 2.0]), 1.0, 0.5),
        (
            Distribution::Logistic,
            of(&[1.0, 2.0]),
            1.0,
            std::f64::consts::PI.powi(2) / 12.0,
        ),
        // e^{μ + σ²/2}, and its square times e^{σ²} - 1.
        (
            Distribution::LogNormal,
            of(&[0.5, 4.0]),
            0.625_f64.exp_(),
            1.25_f64.exp_() * 0.25_f64.exp_m1_(),
        ),
        // The root of a gamma variable: (2/√π) / 2, and (3/2 - 4/π) / 4.
        (
            Distribution::GeneralisedGamma,
            of(&[1.5, 2.0, 2.0]),
            0.564_189_583_547_756,
            0.375 - std::f64::consts::FRAC_1_PI,
        ),
        // αc/(α - 1), αc²/((α - 1)²(α - 2)).
        (Distribution::Pareto, of(&[7.0, 3.0]), 3.5, 0.35),
        // m/(m - 2), 2m²(n + m - 2)/(n(m - 2)²(m - 4)).
        (
            Distribution::F,
            of(&[5.0, 22.0]),
            1.1,
            2.0 * 484.0 * 25.0 / (5.0 * 400.0 * 18.0),
        ),
        (
            Distribution::NoncentralChiSquared,
            of(&[3.0, 4.0]),
            7.0,
            22.0,
        ),
        // n = 10, p = 0.4, 1/(a + b + 1) = 1/6: np(1 - p)(1 + 9/6).
        (Distribution::BetaBinomial, of(&[2.0, 3.0, 10.0]), 4.0, 6.0),
    ];
    for (of, parameters, mean, variance) in cases {
        let fixed = Fixed::new(of, &parameters, 1).unwrap().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut sums = [0.0; 2];
        for _ in 0..DRAWS {
            let mut x = [0.0];
            fixed.draw(&mut rng, &mut x);
            sums[0] += x[0];
            sums[1] += (x[0] - mean).powi(2);
        }
        let [found, spread] = sums.map(|sum| sum / DRAWS as f64);
        // Five standard errors of a mean; variances of heavy tails vary by more.
        let error = 5.0 * (variance / DRAWS as f64).sqrt() + 1e-12;
        assert!((found - mean).abs() <= error, "{of:?}: {found} for {mean}");
        let near = (spread - variance).abs() <= 0.1 * variance + 1e-12;
        assert!(near, "{of:?}: {spread} for {variance}");
    }
}

#[test]
fn vectors_have_their_moments() {
    let cases: [(Distribution, Parameters, [f64; 2], f64); 3] = [
        // The inverse of [2 1; 1 1] is [1 -1; -1 2].
        (
            Distribution::MultivariateNormal,
            vec![vec![1.0, -1.0], vec![2.0, 1.0, 1.0, 1.0]],
            [1.0, -1.0],
            -1.0,
        ),
        // Covariances −ab/(s²(s + 1)) and −npq.
        (
            Distribution::Dirichlet,
            vec![vec![1.0, 3.0]],
            [0.25, 0.75],
            -3.0 / 80.0,
        ),
        (
            Distribution::Multinomial,
            vec![vec![1.0, 4.0], vec![10.0]],
            [2.0, 8.0],
            -1.6,
        ),
    ];
    for (of, parameters, means, covariance) in cases {
        let fixed = Fixed::new(of, &parameters, 2).unwrap().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut sums = [0.0; 3];
        for _ in 0..DRAWS {
            let mut x = [0.0; 2];
            fixed.draw(&mut rng, &mut x);
            sums[0] += x[0];
            sums[1] += x[1];
            sums[2] += (x[0] - means[0]) * (x[1] - means[1]);
        }
        let found = sums.map(|sum| sum / DRAWS as f64);
        for (found, expected) in found.iter().zip([means[0], means[1], covariance]) {
            let near = (found - expected).abs() <= 0.05 * expected.abs();
            assert!(near, "{of:?}: {found} for {expected}");
        }
    }
}

#[test]
fn wrong_parameters_are_named() {
    let refused = |of: Distribution, p: &[Vec<f64>]| Fixed::new(of, p, 1).unwrap_err();
    let found = refused(Distribution::Normal, &[vec![0.0], vec![-1.0]]);
    assert_eq!((found.argument, found.expected), (1, "a positive number"));
    assert_eq!(refused(Distribution::Bernoulli, &[vec![1.5]]).argument, 0);
    assert_eq!(
        refused(Distribution::Binomial, &[vec![0.5], vec![1.5]]).argument,
        1
    );
    assert_eq!(
        refused(Distribution::Gamma, &[vec![1.0, 2.0], vec![1.0]]).found,
        "2 numbers"
    );
}
