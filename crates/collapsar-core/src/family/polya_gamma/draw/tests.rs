//! What draws are made of: terms, bounds and masses against quadrature, decisions against sums.

use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The integral from a to b, by Simpson's rule in the logarithm.
fn integral(a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
    let parts = 4000_u32;
    let step = (b / a).ln() / f64::from(parts);
    let term = |k: u32| {
        let x = a * (f64::from(k) * step).exp();
        let weight = match k {
            k if k == 0 || k == parts => 1.0,
            k if k % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * x * f(x)
    };
    (0..=parts).map(term).sum::<f64>() * step / 3.0
}

/// Signed terms, added up.
fn alternating(term: impl Fn(u32) -> f64) -> f64 {
    (0..60)
        .map(|n| if n % 2 == 0 { term(n) } else { -term(n) })
        .sum()
}

fn tilt(z: f64, x: f64) -> f64 {
    (-0.5 * z * z * x).exp()
}

// By mpmath 1.3.0 with 50 digits.
#[test]
fn logarithms_of_the_normal_cdf() {
    for (x, expected) in [
        (-5.0, -15.064_998_393_988_725),
        (-29.5, -439.429_474_609_150_25),
    ] {
        let found = ln_normal_cdf(x);
        assert!((found - expected).abs() < 1e-9, "{x}: {found} {expected}");
    }
}

/// Both series are the density of four times PG(h, 0), whose Laplace transform is cosh(z)^{-h}: to the rule's 1e-9.
#[test]
fn terms_add_up_to_the_density() {
    for z in [0.0, 0.8, 3.0_f64] {
        let density = |x: f64| alternating(|n| OneTerms::at(x).get(n)) * tilt(z, x);
        // In two parts, as the series differ by rounding where they meet.
        let found = integral(1e-3, TURN, density) + integral(TURN, 60.0, density);
        assert!((found - z.cosh().recip()).abs() < 1e-9, "z = {z}: {found}");
        for h in [1.0, 1.3, 1.8, 2.0] {
            let of = Between::new(h, z);
            let density = |x: f64| alternating(|n| of.term(n, x)) * tilt(z, x);
            let found = integral(1e-3, 60.0, density);
            let expected = z.cosh().powf(-h);
            assert!((found - expected).abs() < 1e-9, "h = {h}, z = {z}: {found}");
        }
    }
}

/// The side on which a draw begins has the share of the bound's mass.
#[test]
fn sides_have_their_masses() {
    for z in [0.0, 0.8, 3.0, 9.0] {
        let share = |turn: f64, bound: &dyn Fn(f64) -> f64| {
            let left = integral(1e-3, turn, |x| bound(x) * tilt(z, x));
            // From just beyond, where the other bound holds.
            let right = integral(turn * (1.0 + 1e-14), 80.0, |x| bound(x) * tilt(z, x));
            right / (left + right)
        };
        let (found, expected) = (One::new(z).right, share(TURN, &|x| OneTerms::at(x).get(0)));
        assert!((found - expected).abs() < 1e-9, "{z}: {found} {expected}");
        for h in [1.1, 1.5, 2.0] {
            let of = Between::new(h, z);
            let (found, expected) = (of.right, share(of.turn, &|x| of.bound(x)));
            assert!(
                (found - expected).abs() < 1e-9,
                "{h} {z}: {found} {expected}"
            );
        }
    }
}

/// What is decided term by term is what all terms say.
#[test]
fn decisions_are_those_of_the_sum() {
    for x in [0.05, 0.3, 0.6, 0.64, 0.65, 0.9, 1.4, 2.5] {
        let share = alternating(|n| OneTerms::at(x).get(n)) / OneTerms::at(x).get(0);
        assert!(share > 0.9 && share <= 1.0, "{x}: {share}");
        assert!(
            one_accepts(x, share - 1e-10) && !one_accepts(x, share + 1e-10),
            "{x}"
        );
        for h in [1.1, 1.5, 2.0] {
            let of = Between::new(h, 0.5);
            let share = alternating(|n| of.term(n, x)) / of.bound(x);
            assert!(share > 0.0 && share <= 1.0 + 1e-12, "{h} {x}: {share}");
            assert!(of.accepts(x, share - 1e-10), "{h} {x}");
            assert!(!of.accepts(x, share + 1e-10), "{h} {x}");
        }
    }
}

/// The sum of what is not drawn, against more of its terms.
#[test]
fn tails_of_the_series() {
    for (count, s) in [(5.0, 0.0), (12.0, 0.3), (17.0, 2.0), (60.0, 8.0)] {
        let last = 200_000_u32;
        let term = |k: u32| ((count + f64::from(k) + 0.5).powi(2) + s * s).powi(-3);
        let rest = (count + f64::from(last)).powi(-5) / 5.0;
        let exact = (0..last).rev().map(term).sum::<f64>() + rest;
        let found = sixth_powers(count, s);
        // The first correction that is left out: 127/154828800 of the seventh derivative.
        let left_out = 127.0 / 154_828_800.0 * 3_991_680.0 * count.powi(-13);
        assert!(
            (found - exact).abs() < 1.1 * left_out + 1e-12 * exact,
            "{count} {s}: {found} {exact}"
        );
    }
}

/// Proposals beyond the turn are those of a gamma variable there.
#[test]
fn proposals_beyond_the_turn() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for (h, z) in [(1.1, 0.0), (2.0, 0.0), (1.6, 0.9), (2.0, 4.0)] {
        let of = Between::new(h, z);
        let bound = |x: f64| of.bound(x) * tilt(z, x);
        let from = of.turn * (1.0 + 1e-14);
        let moment = |power: i32| integral(from, 80.0, |x| bound(x) * (x - of.turn).powi(power));
        let mass = moment(0);
        let [first, second, fourth] = [1, 2, 4].map(|power| moment(power) / mass);
        let count = 40_000;
        let mut sums = [0.0; 2];
        for _ in 0..count {
            let away = of.beyond(&mut rng) - of.turn;
            assert!(away >= 0.0, "{h} {z}: {away}");
            sums[0] += away / f64::from(count);
            sums[1] += away * away / f64::from(count);
        }
        let count = f64::from(count);
        let errors = [
            (second - first * first) / count,
            (fourth - second * second) / count,
        ];
        for ((found, expected), error) in sums.iter().zip([first, second]).zip(errors) {
            let error = error.sqrt();
            assert!(
                (found - expected).abs() < 4.5 * error,
                "{h} {z}: {found} {expected} ± {error}"
            );
        }
    }
}

/// The inverse Gaussian variable of large tilts: its mean and variance, also where the shape is next to nothing.
#[test]
fn large_tilts_are_inverse_gaussian() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for (b, c) in [
        (0.5, 40.0),
        (0.01, 1e6),
        (1.0, 35.0),
        (1.7, 1e6),
        (12.0, 40.0),
    ] {
        // Of shape λ = b²/4 and mean μ = b/(2c).
        let (mean, shape) = (0.5 * b / c, 0.25 * b * b);
        let count = 40_000;
        let (mut first, mut inverse) = (0.0, 0.0);
        for _ in 0..count {
            let x = draw(b, c, &mut rng) / mean;
            first += x / f64::from(count);
            inverse += 1.0 / x / f64::from(count);
        }
        // E x = 1, E 1/x = 1 + μ/λ in units of the mean, with variances μ/λ and μ/λ + 2 (μ/λ)².
        let ratio = mean / shape;
        let count = f64::from(count);
        let errors = [ratio / count, (ratio + 2.0 * ratio * ratio) / count].map(f64::sqrt);
        assert!((first - 1.0).abs() < 4.5 * errors[0], "{b} {c}: {first}");
        assert!(
            (inverse - 1.0 - ratio).abs() < 4.5 * errors[1],
            "{b} {c}: {inverse} {ratio}"
        );
    }
    for b in [1e-300, 5e-324] {
        let x = draw(b, 1e6, &mut rng);
        assert!(x >= 0.0 && x.is_finite(), "{b}: {x}");
    }
}
