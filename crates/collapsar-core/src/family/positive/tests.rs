use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

// By quad of mpmath 1.3.0 with 40 digits; the mean of 1/x is 0 where it is no statistic.
const TABLE: &str = include_str!("table.txt");

#[test]
fn moments_match_mpmath() {
    let mut rows = 0;
    for line in TABLE.lines().skip(1) {
        let row: Vec<f64> = (line.split(' '))
            .map(|field| field.parse().expect("a number"))
            .collect();
        let mut family = Positive::new(row[0], row[1])
            .expect("bounds in order")
            .with_square();
        if row[9] != 0.0 {
            family = family.with_inverse();
        }
        let natural = &row[2..6];
        let mut gradient = [0.0; 4];
        let value = family
            .value_and_gradient(natural, &mut gradient)
            .expect("inside");
        assert!(family.contains(natural), "{line}");
        assert_eq!(family.value(natural).expect("inside"), value, "{line}");
        let mut product = [0.0; 4];
        (family.hessian_product(natural, &[1.0, 0.0, 0.0, 0.0], &mut product)).expect("inside");
        let found = [
            value,
            gradient[0],
            -gradient[1],
            -gradient[2],
            -2.0 * gradient[3],
            product[0],
        ];
        for (place, (f, e)) in found.iter().zip(&row[6..]).enumerate() {
            // 192 terms, and the rounding of the top's place where the density is narrow.
            assert!(
                (f - e).abs() <= 3e-12 * e.abs().max(1e-3),
                "{line}: {place}: {f} {e}"
            );
        }
        rows += 1;
    }
    assert!(rows > 12);
}

/// Without bounds and other statistics it is a gamma variable.
#[test]
fn a_gamma_variable_is_one_of_these() {
    use crate::family::Gamma;
    let family = Positive::new(0.0, f64::INFINITY).expect("bounds in order");
    for (a, b) in [(0.01, 2.0), (1.0, 1e-5), (33.0, 7.0), (1e7, 1e3)] {
        let (mut four, mut two) = ([0.0; 4], [0.0; 2]);
        let found = family
            .value_and_gradient(&[a, b, 0.0, 0.0], &mut four)
            .expect("inside");
        let expected = Gamma.value_and_gradient(&[a, b], &mut two).expect("inside");
        // Relative to the parts of the value, which cancel where shapes are large.
        let size = 1.0 + a * (1.0 + a.ln().abs() + b.ln().abs());
        assert!(
            (found - expected).abs() < 1e-14 * size,
            "{found} {expected}"
        );
        for (four, two) in four.iter().zip(&two) {
            assert!(
                (four - two).abs() < 1e-12 * two.abs().max(1.0),
                "{four} {two}"
            );
        }
        let (mean, variance) = family
            .moments_of_power(&[a, b, 0.0, 0.0], 1.0)
            .expect("inside");
        assert!((mean * b / a - 1.0).abs() < 1e-8 && (variance * b * b / a - 1.0).abs() < 1e-7);
    }
}

#[test]
fn quantiles_and_powers_are_those_of_draws() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let all = (0.0, f64::INFINITY);
    for ((lower, upper), natural) in [
        (all, [2.5, 3.0, 0.0, 0.0]),
        (all, [0.3, 1.0, 0.0, 0.0]),
        ((1e-4, f64::INFINITY), [-0.5, 2.0, 0.0, 0.0]),
        ((0.2, 0.9), [-0.5, 0.0, 0.0, 0.0]),
        (all, [-1.5, 0.2, 3.0, 0.0]),
        (all, [0.0, 0.0, 0.0, 2.0]),
        ((0.0, 1.0), [40.0, 2.0, 0.0, 0.0]),
        ((5.0, 9.0), [1.0, 30.0, 0.0, 0.0]),
    ] {
        let family = Positive::new(lower, upper).expect("bounds in order");
        let family = family.with_inverse().with_square();
        let count = 10_000;
        let mut draws: Vec<f64> = (0..count)
            .map(|_| family.sample(&natural, &mut rng).expect("inside").exp())
            .collect();
        draws.sort_by(f64::total_cmp);
        for p in [0.01, 0.3, 0.5, 0.9] {
            let quantile = family.quantile(&natural, p).expect("inside");
            let below = draws.partition_point(|x| *x <= quantile) as f64 / f64::from(count);
            let error = (p * (1.0 - p) / f64::from(count)).sqrt();
            assert!((below - p).abs() < 4.5 * error, "{natural:?}: {below} {p}");
        }
        let (mean, variance) = family.moments_of_power(&natural, -0.5).expect("inside");
        if variance.is_finite() {
            let found = draws.iter().map(|x| x.powf(-0.5)).sum::<f64>() / f64::from(count);
            let error = (variance / f64::from(count)).sqrt();
            assert!(
                (found - mean).abs() < 5.0 * error,
                "{natural:?}: {found} {mean} ± {error}"
            );
        }
    }
}

/// Bounds, parameters and whether 1/x is a statistic, of those in the table that are not too narrow for differences.
fn wide_rows() -> Vec<(Positive, [f64; 4])> {
    let mut rows = vec![];
    for line in TABLE.lines().skip(1) {
        let row: Vec<f64> = (line.split(' '))
            .map(|field| field.parse().expect("a number"))
            .collect();
        let mut family = Positive::new(row[0], row[1]).expect("bounds in order");
        if row[9] != 0.0 {
            family = family.with_inverse();
        }
        if (0.01..20.0).contains(&row[11]) {
            rows.push((family.with_square(), [row[2], row[3], row[4], row[5]]));
        }
    }
    assert!(rows.len() > 4, "{}", rows.len());
    rows
}

#[test]
fn hessian_products_are_differences_of_gradients() {
    for (family, natural) in wide_rows() {
        let gradient = |at: [f64; 4]| {
            let mut gradient = [0.0; 4];
            let value = family.value_and_gradient(&at, &mut gradient);
            value.ok().map(|_| gradient)
        };
        for place in 0..4 {
            let mut along = [0.0; 4];
            along[place] = 1.0;
            let mut product = [0.0; 4];
            (family.hessian_product(&natural, &along, &mut product)).expect("inside");
            let size = natural[place].abs();
            let step = if size > 0.0 { 1e-4 * size } else { 1e-6 };
            let shifted = [-1.0, 1.0].map(|sign| {
                let mut at = natural;
                at[place] += sign * step;
                gradient(at)
            });
            // A parameter may be at the end of its domain.
            let [Some(below), Some(above)] = shifted else {
                continue;
            };
            for k in 0..4 {
                let slope = (above[k] - below[k]) / (2.0 * step);
                let rounding = 100.0 * f64::EPSILON * above[k].abs() / step;
                let near = 1e-6 * (slope.abs() + product[k].abs()) + 1e-7 + rounding;
                assert!(
                    (slope - product[k]).abs() < near,
                    "{natural:?}: {place} {k}: {slope} {}",
                    product[k]
                );
            }
        }
    }
}

#[test]
fn quantiles_have_their_probability_below_them() {
    for (family, natural) in wide_rows() {
        let ln_mass = family.value(&natural).expect("inside");
        let quantile = |p: f64| family.quantile(&natural, p).expect("inside").ln();
        let density = |w: f64| {
            let mut statistics = [0.0; 4];
            family.statistics(&w, &mut statistics);
            let sum: f64 = statistics.iter().zip(&natural).map(|(s, n)| s * n).sum();
            (sum - ln_mass).exp()
        };
        let ends = [1e-9, 0.02, 0.3, 0.6, 0.97];
        for pair in ends.windows(2) {
            // Simpson's rule in ln x.
            let (from, to) = (quantile(pair[0]), quantile(pair[1]));
            let step = (to - from) / 2000.0;
            let weight = |i: u32| match i {
                0 | 2000 => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let parts = (0..=2000).map(|i| weight(i) * density(from + f64::from(i) * step));
            let found = parts.sum::<f64>() * step / 3.0;
            let expected = pair[1] - pair[0];
            assert!(
                (found - expected).abs() < 1e-7,
                "{natural:?}: {found} {expected}"
            );
        }
    }
}

#[test]
fn powers_of_what_hardly_varies() {
    // A gamma variable of shape n and rate n: E x^p = Γ(n + p) / Γ(n) n^-p.
    let all = Positive::new(0.0, f64::INFINITY).expect("bounds in order");
    for (n, power) in [(1e8, -0.5), (1e8, 2.0), (1e6, 0.5)] {
        let (mean, variance) = (all.moments_of_power(&[n, n, 0.0, 0.0], power)).expect("inside");
        // To the second order in 1/n, and the delta method.
        let expected = 1.0 + power * (power - 1.0) / (2.0 * n);
        assert!((mean - expected).abs() < 1e-11, "{mean} {expected}");
        let spread = power * power / n;
        assert!(
            (variance / spread - 1.0).abs() < 10.0 / n.sqrt(),
            "{variance} {spread}"
        );
    }
}

#[test]
fn parameters_outside_the_domain_are_errors() {
    assert!(Positive::new(1.0, 1.0).is_err() && Positive::new(-1.0, 1.0).is_err());
    let all = Positive::new(0.0, f64::INFINITY).expect("bounds in order");
    for bad in [
        &[1.0, 0.0, 0.0, 0.0][..],
        &[-1.0, 1.0, 0.0, 0.0],
        &[1.0, -1.0, 0.0, 0.0],
        &[f64::NAN, 1.0, 0.0, 0.0],
        &[1.0, 1.0],
    ] {
        assert!(
            all.value_and_gradient(bad, &mut [0.0; 4]).is_err(),
            "{bad:?}"
        );
        assert!(!all.contains(bad), "{bad:?}");
    }
    let (_, variance) = all
        .moments_of_power(&[0.8, 1.0, 0.0, 0.0], -0.5)
        .expect("inside");
    assert_eq!(variance, f64::INFINITY);
    assert_eq!(
        all.natural(&[0.0, 1.0, 0.0, 0.0])
            .expect_err("flat")
            .to_string(),
        "positive block: the parameters are [0.0, 1.0, 0.0, 0.0], expected a density that falls towards 0 and infinity"
    );
}

// By quad of mpmath with 30 digits: E for e^{-c x^q}, S for (1 + s x^q)^{-w}.
const TAILS: &str = include_str!("tails.txt");

fn tailed(row: &[&str]) -> (Positive, [f64; 4]) {
    let number = |place: usize| -> f64 { row[place].parse().expect("a number") };
    let tail = match row[6] {
        "E" => Tail::Exponential {
            rate: number(7),
            power: number(9),
        },
        _ => Tail::Student {
            weight: number(7),
            scale: number(8),
            power: number(9),
        },
    };
    let family = Positive::new(number(0), number(1)).expect("bounds in order");
    let family = family.with_inverse().with_square().with_tail(tail);
    (family.expect("a tail"), [2, 3, 4, 5].map(number))
}

#[test]
fn tails_match_mpmath() {
    let mut rows = 0;
    for line in TAILS.lines().skip(1) {
        let row: Vec<&str> = line.split(' ').collect();
        let (family, natural) = tailed(&row);
        let mut gradient = [0.0; 4];
        let value = family
            .value_and_gradient(&natural, &mut gradient)
            .expect("inside");
        let mut product = [0.0; 4];
        (family.hessian_product(&natural, &[1.0, 0.0, 0.0, 0.0], &mut product)).expect("inside");
        let found = [value, gradient[0], -gradient[1], product[0]];
        for (place, (f, e)) in found.iter().zip(&row[10..]).enumerate() {
            let e: f64 = e.parse().expect("a number");
            // As without tails.
            assert!(
                (f - e).abs() <= 3e-12 * e.abs().max(1e-3),
                "{line}: {place}: {f} {e}"
            );
        }
        rows += 1;
    }
    assert!(rows > 10);
}

/// The covariance of a power with the statistics is the slope of its mean.
#[test]
fn powers_answer_to_parameters() {
    for line in TAILS.lines().skip(1).take(4) {
        let row: Vec<&str> = line.split(' ').collect();
        let (family, mut natural) = tailed(&row);
        natural[0] += 4.0;
        natural[2] += 0.1;
        let found = family.covariance_of_power(&natural, -0.5).expect("inside");
        for place in 0..4 {
            let step = 1e-4
                * if natural[place] == 0.0 {
                    1.0
                } else {
                    natural[place]
                };
            // To one side, as a parameter may be at the end of its domain.
            let shifted = [0.0, 1.0, 2.0].map(|times| {
                let mut at = natural;
                at[place] += times * step;
                family.moments_of_power(&at, -0.5).expect("inside").0
            });
            let slope = (-1.5 * shifted[0] + 2.0 * shifted[1] - 0.5 * shifted[2]) / step;
            let near = 1e-5 * (slope.abs() + found[place].abs()) + 1e-9;
            assert!(
                (slope - found[place]).abs() < near,
                "{line}: {place}: {slope} {found:?}"
            );
        }
    }
}

/// Quantiles and draws agree where there is a tail.
#[test]
fn draws_follow_tails() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for line in TAILS.lines().skip(1) {
        let row: Vec<&str> = line.split(' ').collect();
        let (family, natural) = tailed(&row);
        let count = 8_000;
        let draws: Vec<f64> = (0..count)
            .map(|_| family.sample(&natural, &mut rng).expect("inside").exp())
            .collect();
        for p in [0.05, 0.5, 0.95] {
            let quantile = family.quantile(&natural, p).expect("inside");
            let below = draws.iter().filter(|x| **x <= quantile).count() as f64;
            let error = (p * (1.0 - p) / f64::from(count)).sqrt();
            let away = below / f64::from(count) - p;
            assert!(away.abs() < 4.5 * error, "{line}: {p} {away}");
        }
    }
}

// By quad of mpmath 1.3.0 with 30 digits, means of x and 1/x by incomplete gamma and Bessel functions with 60, the variance at 1e6 by an
// asymptotic series with 150.
const EXTREMES: &str = include_str!("extremes.txt");

/// Bounds of 1e-300 and 1e300, tails of a gamma variable, shapes of either sign: to 1e-11.
#[test]
fn extreme_parameters_match_mpmath() {
    for line in EXTREMES.lines().skip(1) {
        let row: Vec<f64> = (line.split(' '))
            .map(|field| field.parse().expect("a number"))
            .collect();
        let family = Positive::new(row[0], row[1]).expect("bounds in order");
        let family = family.with_inverse();
        let natural = &row[2..6];
        let mut gradient = [0.0; 4];
        let value = family
            .value_and_gradient(natural, &mut gradient)
            .expect("inside");
        let (mean, variance) = family.moments_of_logarithm(natural).expect("inside");
        assert_eq!(mean, gradient[0], "{line}");
        let found = [value, mean, -gradient[1], -gradient[2], variance];
        for (place, (f, e)) in found.iter().zip(&row[6..]).enumerate() {
            // Logarithms are rounded where numbers are far from one, the rest is the rule's.
            let size = if place < 2 { e.abs().max(1.0) } else { e.abs() };
            // Not a number where nearly all of a mean is beyond what is integrated.
            let near = (f - e).abs() <= 1e-11 * size;
            assert!(near || e.is_nan(), "{line}: {place}: {f} {e}");
        }
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let count = 2_000;
        let mut sum = 0.0;
        for _ in 0..count {
            let draw = family.sample(natural, &mut rng).expect("inside");
            let inside = row[0].ln() <= draw && draw <= row[1].ln();
            assert!(inside, "{line}: {draw}");
            sum += (draw - mean) / variance.sqrt();
        }
        let error = sum.abs() / f64::from(count).sqrt();
        assert!(error < 4.5, "{line}: {error} standard errors");
    }
}

#[test]
fn bounds_with_nothing_between_them_are_refused() {
    for (lower, upper) in [
        (1.0, 1.0),
        (2.0, 1.0),
        (0.0, 0.0),
        (f64::INFINITY, f64::INFINITY),
        (f64::NAN, 1.0),
        (0.0, f64::NAN),
    ] {
        let refused = Positive::new(lower, upper).expect_err("empty").to_string();
        let expected = format!(
            "positive block: the bounds are {lower} and {upper}, expected a lower bound of 0 or more, below the upper one"
        );
        assert_eq!(refused, expected);
    }
}

#[test]
fn what_was_given_is_what_is_there() {
    let plain = Positive::new(0.5, 4.0).expect("bounds in order");
    assert_eq!((plain.bounds(), plain.dim()), ((0.5, 4.0), 4));
    assert!(!plain.has_inverse() && !plain.has_square());
    let all = plain.with_inverse().with_square();
    assert!(all.has_inverse() && all.has_square());
    let natural = [0.3, 2.0, 0.1, 0.4];
    assert_eq!(all.ordinary(&natural).expect("inside"), natural);
    let mut statistics = [f64::NAN; 4];
    all.statistics(&2.0, &mut statistics);
    assert_eq!(statistics, [2.0, -2.0_f64.exp(), -(-2.0_f64).exp(), -2.0]);
    plain.statistics(&2.0, &mut statistics);
    assert_eq!(statistics, [2.0, -2.0_f64.exp(), 0.0, 0.0]);
    for (rate, power) in [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, f64::NAN)] {
        assert!(plain.with_tail(Tail::Exponential { rate, power }).is_err());
    }
    // Each end by itself: a density that does not fall there.
    let unbounded = Positive::new(0.0, f64::INFINITY).expect("bounds in order");
    for bad in [[1.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0]] {
        assert!(unbounded.natural(&bad).is_err(), "{bad:?}");
    }
    for bad in [
        [1.0, -1.0, 0.0, 0.0],
        [1.0, 1.0, -1.0, 0.0],
        [1.0, 1.0, 0.0, -1.0],
    ] {
        assert!(all.natural(&bad).is_err(), "{bad:?}");
    }
}
