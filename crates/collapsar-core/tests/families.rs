//! Every family obeys the laws, at random points with tiny and huge priors.

use collapsar_core::family::{
    Categorical, Dirichlet, Family, Gamma, Gaussian, GaussianGamma, GaussianGammaOrdinary,
    GaussianOrdinary, NormalGamma, NormalGammaOrdinary, NormalWishart, NormalWishartOrdinary,
    PolyaGamma, Positive, StickBreaking, TruncatedNormal,
};
use collapsar_core::laws::family::conforms;
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
        let scales = vec(magnitude(-3.0, 3.0), family.groups);
        (
            vec(-3.0..3.0, d),
            magnitude(-3.0, 6.0),
            magnitude(-1.0, 6.0),
            scales,
        )
            .prop_map(move |(mean, mean_precision, degrees_of_freedom, scales)| {
                let unit = |d: usize| (scales[d / family.size] / mean_precision).sqrt();
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

fn wishart() -> impl Strategy<Value = (NormalWishart, NormalWishartOrdinary)> {
    (1..=4_usize).prop_flat_map(|d| {
        let freedom = magnitude(-0.3, 6.0).prop_map(move |extra| d as f64 - 1.0 + extra);
        (freedom, scale_matrix(d)).prop_map(move |(degrees_of_freedom, scale)| {
            let ordinary = NormalWishartOrdinary {
                means: vec![],
                mean_precisions: vec![],
                degrees_of_freedom,
                scale,
            };
            (NormalWishart::wishart(d), ordinary)
        })
    })
}

/// A few scalars, some of whose pairs are coupled, with precisions of any size that are just
/// diagonally dominant, and means in units of the standard deviations.
fn gaussian() -> impl Strategy<Value = (Vec<(u32, u32)>, GaussianOrdinary)> {
    let pair = (any::<bool>(), -1.0..1.0_f64);
    (1..=5_usize).prop_flat_map(move |n| {
        let all = (0..n as u32).flat_map(move |i| (i + 1..n as u32).map(move |j| (i, j)));
        let all: Vec<(u32, u32)> = all.collect();
        let means = vec(-3.0..3.0, n);
        let extra = vec(0.1..1.0, n);
        let couplings = vec(pair.clone(), all.len());
        (means, extra, couplings, vec(magnitude(-2.0, 2.0), n)).prop_map(
            move |(means, extra, couplings, units)| {
                let kept = all.iter().zip(&couplings).filter(|(_, coupled)| coupled.0);
                let (pairs, couplings): (Vec<_>, Vec<_>) =
                    kept.map(|(pair, coupled)| (*pair, coupled.1)).unzip();
                let mut precisions = extra;
                for (&(i, j), c) in pairs.iter().zip(&couplings) {
                    precisions[i as usize] += c.abs();
                    precisions[j as usize] += c.abs();
                }
                // Each scalar in a unit of its own.
                let unit = |i: u32| units[i as usize];
                let scaled = couplings.iter().zip(&pairs);
                let couplings = scaled.map(|(c, &(i, j))| c / unit(i) / unit(j)).collect();
                let scaled = precisions.iter().zip(&units);
                let precisions = scaled.map(|(p, unit)| p / unit / unit).collect();
                let mean = means.iter().zip(&units).map(|(m, unit)| m * unit).collect();
                let ordinary = GaussianOrdinary {
                    mean,
                    precisions,
                    couplings,
                };
                (pairs, ordinary)
            },
        )
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

    #[test]
    fn gamma(shape in magnitude(-3.0, 8.0), rate in magnitude(-4.0, 4.0), seed: u64) {
        conforms(&Gamma, &[shape, rate], seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn wishart_matrices((family, ordinary) in wishart(), seed: u64) {
        let natural = family.natural(&ordinary).expect("drawn inside the domain");
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn sparse_gaussian((pairs, ordinary) in gaussian(), seed: u64) {
        let family = Gaussian::new(ordinary.mean.len(), &pairs);
        let natural = family.natural(&ordinary).expect("drawn inside the domain");
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn sparse_gaussian_with_a_precision(
        (pairs, field) in gaussian(),
        shape in magnitude(-1.0, 5.0),
        rate in magnitude(-1.0, 5.0),
        seed: u64,
    ) {
        let family = GaussianGamma::new(field.mean.len(), &pairs);
        let ordinary = GaussianGammaOrdinary { shape, rate, field };
        let natural = family.natural(&ordinary).expect("drawn inside the domain");
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }

    // In units of the width between the bounds, or of the deviation where one is infinite.
    #[test]
    fn truncated_normal(
        (low, centre, precision) in (-3.0..3.0, -8.0..8.0, -20.0..20.0_f64),
        width in magnitude(-1.0, 1.0),
        bounds in 0..3_u8,
        seed: u64,
    ) {
        let (lower, upper) = match bounds {
            0 => (low, low + width),
            1 => (low, f64::INFINITY),
            _ => (f64::NEG_INFINITY, low),
        };
        let precision = if bounds == 0 { precision } else { precision.abs().max(0.01) };
        let family = TruncatedNormal::new(lower, upper).expect("bounds in order");
        let natural = [precision * centre, precision];
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn polya_gamma(shape in 1..=9_u32, tilt in magnitude(-3.0, 2.0), seed: u64) {
        let family = PolyaGamma::new(0.5 * f64::from(shape)).expect("positive");
        conforms(&family, &[0.5 * tilt * tilt], seed).map_err(TestCaseError::fail)?;
    }

    // Bounds of any kind, and statistics that are there or not.
    #[test]
    fn positive(
        (a, b, c, d) in (-5.0..5.0_f64, magnitude(-3.0, 3.0), magnitude(-3.0, 3.0), magnitude(-1.0, 1.0)),
        (low, width) in (magnitude(-2.0, 1.0), magnitude(-1.0, 1.0)),
        kind in 0..6_u8,
        seed: u64,
    ) {
        let all = Positive::new(0.0, f64::INFINITY).expect("bounds in order");
        let above = Positive::new(low, f64::INFINITY).expect("bounds in order");
        let between = Positive::new(low, low + width).expect("bounds in order");
        let (family, natural) = match kind {
            0 => (all, [a.abs() + 0.05, b, 0.0, 0.0]),
            1 => (all.with_inverse(), [a, b, c, 0.0]),
            2 => (all.with_square(), [a, b, 0.0, d]),
            3 => (above, [a, b, 0.0, 0.0]),
            4 => (between.with_inverse(), [a, b, c, 0.0]),
            _ => (between.with_inverse().with_square(), [a, b, c, d]),
        };
        conforms(&family, &natural, seed).map_err(TestCaseError::fail)?;
    }
}
