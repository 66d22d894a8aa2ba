//! Every family obeys the laws, at random points with tiny and huge priors.

use collapsar::family::{
    Categorical, Dirichlet, Family, NormalGamma, NormalGammaOrdinary, NormalWishart,
    NormalWishartOrdinary, StickBreaking,
};
use collapsar::laws::family::conforms;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Few cases with a fixed seed: each runs a dozen laws and takes thousands of draws, and a law
/// about draws must not fail once in a thousand runs by chance.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 48,
        rng_seed: RngSeed::Fixed(12),
        ..ProptestConfig::default()
    }
}

/// Log-uniform over powers of ten.
fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|power| 10_f64.powf(power))
}

/// L L' with a unit diagonal in L, times a size: positive definite with a condition number of
/// hundreds at most, so that what is tested is the family and not the factorisation.
fn scale_matrix(d: usize) -> impl Strategy<Value = Vec<f64>> {
    (vec(-1.0..1.0, d * d), magnitude(-3.0, 3.0)).prop_map(move |(entries, size)| {
        let lower = |i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => entries[i * d + j],
        };
        let entry = |i: usize, j: usize| (0..d).map(|k| lower(i, k) * lower(j, k)).sum::<f64>();
        (0..d * d).map(|at| size * entry(at / d, at % d)).collect()
    })
}

fn normal_wishart() -> impl Strategy<Value = (NormalWishart, NormalWishartOrdinary)> {
    (1..=4_usize, 1..=3_usize).prop_flat_map(|(d, k)| {
        // Fewer than D - 1/2 degrees of freedom give draws so nearly singular that products of
        // means and precision lose their digits.
        let freedom = magnitude(-0.3, 6.0).prop_map(move |extra| d as f64 - 1.0 + extra);
        let means = vec(vec(-3.0..3.0, d), k);
        (
            means,
            vec(magnitude(-3.0, 6.0), k),
            freedom,
            scale_matrix(d),
        )
            .prop_map(move |(means, mean_precisions, degrees_of_freedom, scale)| {
                // Means in units of the scale of the prior, so that S is not lost in Q.
                let unit = (scale[0] / mean_precisions.iter().sum::<f64>()).sqrt();
                let means = means
                    .iter()
                    .map(|m| m.iter().map(|x| x * unit).collect())
                    .collect();
                let ordinary = NormalWishartOrdinary {
                    means,
                    mean_precisions,
                    degrees_of_freedom,
                    scale,
                };
                (NormalWishart::tied(d, k), ordinary)
            })
    })
}

fn normal_gamma() -> impl Strategy<Value = (NormalGamma, NormalGammaOrdinary)> {
    (1..=4_usize, any::<bool>()).prop_flat_map(|(d, diagonal)| {
        let family = if diagonal {
            NormalGamma::diagonal(d)
        } else {
            NormalGamma::spherical(d)
        };
        let scales = vec(magnitude(-3.0, 3.0), family.groups());
        (
            vec(-3.0..3.0, d),
            magnitude(-3.0, 6.0),
            magnitude(-1.0, 6.0),
            scales,
        )
            .prop_map(move |(mean, mean_precision, degrees_of_freedom, scales)| {
                let unit = |d: usize| (scales[d / family.size()] / mean_precision).sqrt();
                let mean = mean.iter().enumerate().map(|(d, x)| x * unit(d)).collect();
                let ordinary = NormalGammaOrdinary {
                    mean,
                    mean_precision,
                    degrees_of_freedom,
                    scales,
                };
                (family, ordinary)
            })
    })
}

proptest! {
    #![proptest_config(config())]

    // Further apart, the curvature due to the improbable components is less than the rounding of
    // the value wherever the first-order model holds.
    #[test]
    fn categorical(logits in vec(-7.0..7.0, 1..=4), seed: u64) {
        conforms(&Categorical::new(logits.len()), &logits, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn dirichlet(natural in vec(magnitude(-3.0, 8.0), 1..=4), seed: u64) {
        conforms(&Dirichlet::new(natural.len()), &natural, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn stick_breaking(shapes in vec([magnitude(-3.0, 8.0), magnitude(-3.0, 8.0)], 1..=4), seed: u64) {
        let family = StickBreaking::new(shapes.len());
        conforms(&family, &shapes.concat(), seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn normal_wishart_with_shared_precision((family, ordinary) in normal_wishart(), seed: u64) {
        let natural = family.natural(&ordinary).expect("drawn inside the domain");
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn normal_gamma_in_groups((family, ordinary) in normal_gamma(), seed: u64) {
        let natural = family.natural(&ordinary).expect("drawn inside the domain");
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }
}
