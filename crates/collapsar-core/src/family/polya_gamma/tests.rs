use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn of(shape: f64, r: f64) -> [f64; 3] {
    let family = PolyaGamma::new(shape).expect("positive");
    let value = family.value_and_gradient(&[r], &mut [0.0]);
    let (mean, variance) = family.mean_and_variance(&[r]).expect("inside");
    [value.expect("inside"), mean, variance]
}

// By mpmath 1.3.0 with 60 digits: c, then -ln cosh(c/2), tanh(c/2)/(2c) and (sinh c - c)/(4c³cosh²(c/2)).
const TABLE: &str = include_str!("table.txt");

/// From c = 0 to 1e6, also where c² is negative: to a few roundings.
#[test]
fn moments_match_mpmath() {
    let mut rows = 0;
    for line in TABLE.lines().skip(1) {
        let row: Vec<f64> = (line.split(' '))
            .map(|field| field.parse().expect("a number"))
            .collect();
        for shape in [1.0, 0.3, 1e5, 1e-12] {
            for (found, expected) in of(shape, 0.5 * row[0]).iter().zip(&row[1..]) {
                let expected = shape * expected;
                // The closed form of the variance loses two digits at most where the series ends.
                assert!(
                    (found - expected).abs() <= 2e-14 * expected.abs(),
                    "c² = {}, b = {shape}: {found:e} {expected:e}",
                    row[0]
                );
            }
        }
        rows += 1;
    }
    assert!(rows > 15);
}

/// E e^{-tω} of draws is what the log-partition function says, for shapes and tilts of every method: not the first two
/// moments alone.
#[test]
fn draws_have_the_laplace_transform() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for (b, c) in [
        (1.0, 0.0),
        (1.0, 0.7),
        (1.0, 3.0),
        (1.0, 40.0),
        (2.0, 1.0),
        (7.0, 0.2),
        (1.2, 0.0),
        (1.5, 1.3),
        (1.9, 6.0),
        (3.7, 0.5),
        (0.4, 0.0),
        (0.9, 2.0),
        (25.5, 12.0),
        (400.0, 0.3),
        (3000.0, 45.0),
        (1e-3, 0.0),
        (1e-3, 20.0),
    ] {
        let family = PolyaGamma::new(b).expect("positive");
        let r = 0.5 * c * c;
        let (mean, _) = family.mean_and_variance(&[r]).expect("inside");
        let count = 20_000;
        let draws: Vec<f64> = (0..count)
            .map(|_| family.sample(&[r], &mut rng).expect("inside"))
            .collect();
        assert!(draws.iter().all(|draw| *draw > 0.0 && draw.is_finite()));
        for t in [0.3, 1.0, 4.0] {
            let t = t / mean;
            let exact = |r: f64| of(b, r)[0];
            let [first, second] = [1.0, 2.0].map(|k| (exact(r + k * t) - exact(r)).exp());
            let found = draws.iter().map(|x| (-t * x).exp()).sum::<f64>() / f64::from(count);
            let error = ((second - first * first) / f64::from(count)).sqrt();
            assert!(
                (found - first).abs() < 4.5 * error,
                "b = {b}, c = {c}: {found} {first} ± {error}"
            );
        }
    }
}

/// Sums of gamma variables have the mean and the cumulant function of the variable, but for a part in 1e8 of the fourth cumulant.
#[test]
fn series_have_the_cumulant_function() {
    for (b, c) in [
        (10.5, 0.0),
        (21.0, 0.0),
        (1e5, 0.0),
        (10.5, 1.0),
        (10.5, 3.0),
        (10.5, 12.0),
        (21.0, 3.0),
        (30.5, 1.0),
        (350.5, 1.0),
        (50.0, 12.0),
        (400.0, 30.0),
        (1e5, 1.0),
        (1e5, 40.0),
    ] {
        let series = draw::Series::new(b, c);
        let (r, unit) = (0.5 * c * c, unit(0.5 * c * c));
        let [least, shape, scale] = series.rest;
        let mean = series.weights.iter().sum::<f64>() + (least + shape * scale) / b;
        assert!(
            least > 0.0 && (mean - unit.mean).abs() < 1e-12 * mean,
            "b = {b}, c = {c}: {mean} {}",
            unit.mean
        );
        for deviations in [-2.0, -0.5, 0.5, 3.0, 8.0] {
            let t = deviations / (b * unit.variance).sqrt();
            let exact = of(b, r + t)[0] - of(b, r)[0] + t * b * unit.mean;
            let drawn = series.weights.iter().map(|w| b * (t * w - (t * w).ln_1p()));
            // The mean of all is subtracted, the number of the rest with it.
            let [_, shape, scale] = series.rest;
            let found = drawn.sum::<f64>() + shape * (t * scale - (t * scale).ln_1p());
            // Values of order b cancel.
            let rounding = 1e-15 * b * (1.0 + c);
            assert!(
                (found - exact).abs() < 1e-8 / 24.0 * deviations.powi(4) + rounding,
                "b = {b}, c = {c}, {deviations}: {found} {exact}"
            );
        }
    }
}

/// A logistic likelihood is the mean of exponentials of quadratics (PolsonEtAl13, theorem 1), whatever the tilt.
#[test]
fn a_logistic_likelihood_is_a_mean_over_draws() {
    for (y, b, psi) in [(1.0_f64, 1.0, 0.8), (0.0, 1.0, -2.0), (3.0, 7.0, 1.1)] {
        let kappa = y - 0.5 * b;
        let exact: f64 = psi * y - b * psi.exp().ln_1p();
        let found = kappa * psi - b * std::f64::consts::LN_2 + of(b, 0.5 * psi * psi)[0];
        assert!(
            (exact - found).abs() < 1e-14 * (1.0 + exact.abs()),
            "{exact} {found}"
        );
    }
}

#[test]
fn parameters_outside_the_domain_are_errors() {
    assert!(PolyaGamma::new(0.0).is_err() && PolyaGamma::new(f64::NAN).is_err());
    let family = PolyaGamma::new(1.0).expect("positive");
    for bad in [&[f64::NAN][..], &[-5.0], &[f64::INFINITY], &[1.0, 1.0]] {
        assert!(
            family.value_and_gradient(bad, &mut [0.0]).is_err(),
            "{bad:?}"
        );
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    assert!(family.sample(&[-1.0], &mut rng).is_err());
    assert_eq!(
        family.natural(&-20.0).expect_err("too far").to_string(),
        "Pólya-Gamma block: the parameter is -10, expected a finite number above -π²/2"
    );
}

/// Draws of the largest shapes and tilts, and of a shape that is next to nothing, have the mean and the variance.
#[test]
fn extreme_draws_have_their_moments() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for (b, c) in [
        (0.3, 1e6),
        (1.0, 1e6),
        (1.5, 1e6),
        (19.0, 1e6),
        (1e5, 0.0),
        (1e5, 30.0),
        (1e5, 1e6),
    ] {
        let family = PolyaGamma::new(b).expect("positive");
        let r = 0.5 * c * c;
        let (mean, variance) = family.mean_and_variance(&[r]).expect("inside");
        let count = 4_000;
        let (mut first, mut second) = (0.0, 0.0);
        for _ in 0..count {
            let z = (family.sample(&[r], &mut rng).expect("inside") - mean) / variance.sqrt();
            first += z / f64::from(count);
            second += z * z / f64::from(count);
        }
        // Next to normal: standard errors of 1/√n and √(2/n).
        let error = f64::from(count).sqrt().recip();
        assert!(first.abs() < 4.5 * error, "b = {b}, c = {c}: {first}");
        assert!(
            (second - 1.0).abs() < 4.5 * std::f64::consts::SQRT_2 * error,
            "b = {b}, c = {c}: {second}"
        );
    }
    let family = PolyaGamma::new(1e-300).expect("positive");
    for c in [0.0, 100.0] {
        let draw = family.sample(&[0.5 * c * c], &mut rng).expect("inside");
        assert!(draw >= 0.0 && draw.is_finite(), "c = {c}: {draw}");
    }
}

#[test]
fn shapes_tilts_and_products_are_what_was_given() {
    let family = PolyaGamma::new(2.5).expect("positive");
    assert_eq!(family.shape(), 2.5);
    assert_eq!(family.ordinary(&[3.0]).expect("inside"), 6.0);
    let (mean, variance) = family.mean_and_variance(&[3.0]).expect("inside");
    let mut gradient = [0.0];
    (family.value_and_gradient(&[3.0], &mut gradient)).expect("inside");
    assert_eq!(gradient[0], -mean);
    let mut product = [0.0];
    (family.hessian_product(&[3.0], &[-4.0], &mut product)).expect("inside");
    assert_eq!(product[0], -4.0 * variance);
}
