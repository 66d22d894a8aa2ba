//! Diagnostics of chains and weights: against ArviZ, where the truth is known, and for anything that may be given.

use std::f64::consts::{FRAC_PI_2, LN_2, PI, TAU};

use collapsar_core::diagnostics::{
    ChainSummary, ImportanceWeights, ess_bulk, ess_quantile, ess_tail, k_hat_threshold, mcse_mean,
    mcse_quantile, mcse_sd, r_hat,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Open01, StandardNormal, StudentT};
use serde_json::Value;

/// The generator of `tests/data/peers/make.py`.
struct Generator(u64);

impl Generator {
    fn uniform(&mut self) -> f64 {
        let product = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = product.wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) * 2.0_f64.powi(-53)
    }

    fn normal(&mut self) -> f64 {
        (0..12).fold(0.0, |total, _| total + self.uniform()) - 6.0
    }
}

type Chains = Vec<Vec<f64>>;

fn autoregression(seed: u64, chains: usize, draws: usize, rho: f64) -> Chains {
    let mut generator = Generator(seed);
    let mut chain = || {
        let mut x = 0.0;
        let mut next = || {
            x = rho * x + generator.normal();
            x
        };
        (0..draws).map(|_| next()).collect()
    };
    (0..chains).map(|_| chain()).collect()
}

fn mapped(chains: Chains, f: impl Fn(usize, f64) -> f64) -> Chains {
    let chains = chains.into_iter().enumerate();
    chains
        .map(|(c, chain)| chain.into_iter().map(|x| f(c, x)).collect())
        .collect()
}

fn slices(chains: &Chains) -> Vec<&[f64]> {
    chains.iter().map(Vec::as_slice).collect()
}

fn peer_chains() -> Vec<(&'static str, Chains)> {
    let only = |which, c, changed, x| if c == which { changed } else { x };
    vec![
        ("independent", autoregression(1, 4, 250, 0.0)),
        ("correlated", autoregression(2, 4, 250, 0.75)),
        ("slow", autoregression(3, 4, 250, 0.984_375)),
        ("alternating", autoregression(4, 4, 250, -0.5)),
        (
            "shifted",
            mapped(autoregression(5, 4, 250, 0.5), |c, x| {
                only(2, c, x + 2.0, x)
            }),
        ),
        (
            "widened",
            mapped(autoregression(6, 4, 250, 0.5), |c, x| {
                only(1, c, x * 4.0, x)
            }),
        ),
        ("odd", autoregression(7, 4, 251, 0.5)),
        ("one chain", autoregression(8, 1, 400, 0.5)),
        ("many", autoregression(9, 16, 60, 0.5)),
        ("short", autoregression(10, 4, 11, 0.25)),
        (
            "labels",
            mapped(autoregression(11, 4, 250, 0.5), |_, x| x.floor()),
        ),
        (
            "two labels",
            mapped(autoregression(12, 4, 250, 0.5), |_, x| {
                f64::from(u8::from(x > 0.75))
            }),
        ),
        (
            "stuck",
            autoregression(13, 4, 25, 0.0)
                .iter()
                .map(|chain| chain.iter().flat_map(|x| [*x; 10]).collect())
                .collect(),
        ),
        (
            "far away",
            mapped(autoregression(14, 4, 250, 0.5), |_, x| x + 2.0_f64.powi(20)),
        ),
    ]
}

fn peer() -> Value {
    serde_json::from_str(include_str!("data/peers/arviz.json")).expect("a file of JSON")
}

/// The error relative to the larger of `size` and what is expected.
fn assert_close(name: &str, found: Option<f64>, expected: &Value, size: f64) {
    // The worst of the cases below differ by 1e-12, but far from zero by 1e-11: there ArviZ rounds the means of chains.
    const TOLERANCE: f64 = 1e-10;
    let (Some(found), Some(expected)) = (found, expected.as_f64()) else {
        panic!("{name}: {found:?}, not {expected}");
    };
    let within = TOLERANCE * expected.abs().max(size);
    assert!(
        (found - expected).abs() <= within,
        "{name}: {found}, not {expected}"
    );
}

/// Where definitions differ: ArviZ has no R-hat of one chain; it says that an indicator that is true of all draws has as
/// many effective draws as there are, where ours is that of draws below the largest.
#[test]
fn chains_agree_with_arviz() {
    let peer = peer();
    for (name, chains) in peer_chains() {
        let chains = slices(&chains);
        let expected = &peer["chains"][name];
        let summary = ChainSummary::of(&chains).expect("finite draws");
        let sd = summary.sd;
        let check = |what: &str, found, size| {
            assert_close(&format!("{name}, {what}"), found, &expected[what], size);
        };
        check("mean", Some(summary.mean), sd);
        check("sd", Some(sd), 0.0);
        if name == "one chain" {
            assert!(expected["r_hat"].is_null() && summary.r_hat.is_some_and(|r| r < 1.05));
        } else {
            check("r_hat", summary.r_hat, 0.0);
        }
        check("ess_bulk", summary.ess_bulk, 0.0);
        check("ess_tail", summary.ess_tail, 0.0);
        check("mcse_mean", summary.mcse_mean, 0.0);
        check("mcse_sd", summary.mcse_sd, 0.0);
        for (i, probability) in [0.05, 0.5, 0.9].into_iter().enumerate() {
            let at = format!("{name}, quantile {probability}");
            let (ess, mcse) = (&expected["ess_quantile"][i], &expected["mcse_quantile"][i]);
            assert_close(&at, mcse_quantile(&chains, probability), mcse, 0.0);
            let found = ess_quantile(&chains, probability);
            if name == "two labels" && probability == 0.9 {
                assert_eq!(ess.as_f64(), Some(1000.0));
                assert_eq!(found, ess_quantile(&chains, 0.05));
            } else {
                assert_close(&at, found, ess, 0.0);
            }
        }
    }
}

fn peer_weights() -> Vec<(String, Vec<f64>)> {
    let made = |seed, count, f: &dyn Fn(&mut Generator) -> f64| -> Vec<f64> {
        let mut generator = Generator(seed);
        (0..count).map(|_| f(&mut generator)).collect()
    };
    let paretos = [(20, 0.1), (21, 0.4), (22, 0.8), (23, 1.5)];
    let mut all: Vec<(String, Vec<f64>)> = paretos
        .iter()
        .map(|&(seed, k)| {
            let ln_weights = made(seed, 1000, &|g| -k * g.uniform().ln());
            (format!("pareto {k}"), ln_weights)
        })
        .collect();
    let others = [
        ("wider", made(30, 500, &|g| 0.125 * g.normal().powi(2))),
        (
            "narrower",
            made(31, 2000, &|g| -0.5 * g.normal().powi(2) - 700.0),
        ),
        ("few", made(32, 25, &|g| g.normal())),
        (
            "rounded",
            made(33, 400, &|g| (4.0 * g.normal()).floor() / 4.0),
        ),
        ("far apart", made(34, 300, &|g| 100.0 * g.normal())),
    ];
    all.extend(others.map(|(name, weights)| (name.to_owned(), weights)));
    all
}

#[test]
fn weights_agree_with_arviz() {
    let peer = peer();
    for (name, ln_weights) in peer_weights() {
        let expected = &peer["weights"][&name];
        let found = ImportanceWeights::smooth(&ln_weights).expect("finite weights");
        let largest = found.ln_weights.iter().copied().reduce(f64::max);
        let check = |what: &str, found, size| {
            assert_close(&format!("{name}, {what}"), found, &expected[what], size);
        };
        check("k_hat", found.k_hat, 0.0);
        // Logarithms near zero: their absolute error is the relative one of weights.
        check("largest", largest, 1.0);
        check("ess", Some(found.ess), 0.0);
        check("ln_mean", Some(found.ln_mean), 1.0);
        check("mcse_ln_mean", Some(found.mcse_ln_mean), 0.0);
    }
}

/// Chains of an autoregression from its stationary distribution on.
fn stationary(seed: u64, chains: usize, draws: usize, rho: f64) -> Chains {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut chain = || {
        let mut x = normal();
        let mut next = || {
            x = rho * x + (1.0 - rho * rho).sqrt() * normal();
            x
        };
        (0..draws).map(|_| next()).collect()
    };
    (0..chains).map(|_| chain()).collect()
}

/// The autocorrelation time of an autoregression is (1 + ρ) / (1 - ρ). With 4 × 10,000 draws its estimate has a relative
/// error of a few per cent: 15% are more than three of its standard deviations.
#[test]
fn effective_sizes_of_autoregressions_are_known() {
    for (seed, rho) in [(1, 0.0), (2, 0.5), (3, 0.9), (4, -0.3)] {
        let chains = stationary(seed, 4, 10_000, rho);
        let summary = ChainSummary::of(&slices(&chains)).expect("finite draws");
        let size = 40_000.0;
        let expected = size * (1.0 - rho) / (1.0 + rho);
        let bulk = summary.ess_bulk.expect("draws that vary");
        assert!((bulk / expected - 1.0).abs() < 0.15, "{rho}: {bulk}");
        assert!(summary.r_hat.is_some_and(|r_hat| r_hat < 1.01), "{rho}");
        let mcse = summary.mcse_mean.expect("draws that vary");
        assert!((mcse * expected.sqrt() - 1.0).abs() < 0.15, "{rho}: {mcse}");
        if rho == 0.0 {
            // Of independent normal draws: sd / √(2 S); of the median √(π / 2 S).
            let mcse = summary.mcse_sd.expect("draws that vary");
            assert!((mcse * (2.0 * size).sqrt() - 1.0).abs() < 0.1, "{mcse}");
            let mcse = mcse_quantile(&slices(&chains), 0.5).expect("draws that vary");
            let expected = (FRAC_PI_2 / size).sqrt();
            assert!((mcse / expected - 1.0).abs() < 0.15, "{mcse}");
            let tail = summary.ess_tail.expect("draws that vary");
            assert!((tail / size - 1.0).abs() < 0.15, "{tail}");
        }
    }
}

#[test]
fn chains_that_differ_are_found() {
    let chains = stationary(5, 4, 1000, 0.3);
    let r_hat_with = |f: &dyn Fn(usize, usize, f64) -> f64| {
        let changed: Chains = chains
            .iter()
            .enumerate()
            .map(|(c, chain)| chain.iter().enumerate().map(|(i, x)| f(c, i, *x)).collect())
            .collect();
        r_hat(&slices(&changed)).expect("draws that vary")
    };
    assert!(r_hat_with(&|_, _, x| x) < 1.01);
    assert!(r_hat_with(&|c, _, x| if c == 0 { x + 1.0 } else { x }) > 1.05);
    assert!(r_hat_with(&|c, _, x| if c == 0 { 3.0 * x } else { x }) > 1.05);
    // All chains drift alike: only halves tell.
    assert!(r_hat_with(&|_, i, x| x + i as f64 / 500.0) > 1.05);
    // Ranks do not see monotone changes.
    let bulk = ess_bulk(&slices(&mapped(chains.clone(), |_, x| x.exp())));
    assert_eq!(bulk, ess_bulk(&slices(&chains)));
}

#[test]
fn constant_few_and_infinite_draws() {
    let constant = vec![vec![0.1; 100]; 4];
    let summary = ChainSummary::of(&slices(&constant)).expect("finite draws");
    let untold = ChainSummary {
        mean: 0.1,
        sd: 0.0,
        r_hat: None,
        ess_bulk: None,
        ess_tail: None,
        mcse_mean: None,
        mcse_sd: None,
    };
    assert_eq!(summary, untold);
    assert_eq!(mcse_quantile(&slices(&constant), 0.5), None);

    // Each chain at a place of its own: nothing moves, so no number of draws is enough.
    let apart: Chains = [0.1, 0.1, 0.7, 0.9].map(|x| vec![x; 100]).into();
    let summary = ChainSummary::of(&slices(&apart)).expect("finite draws");
    assert_eq!(summary.r_hat, Some(f64::INFINITY));
    assert!(summary.ess_bulk.is_some_and(|ess| ess < 8.0));

    // Three draws a chain are too few for R-hat, nine for effective sizes.
    let few = |draws| ChainSummary::of(&slices(&stationary(6, 4, draws, 0.0))).expect("draws");
    assert_eq!((few(3).r_hat, few(3).ess_bulk), (None, None));
    assert!(few(4).r_hat.is_some() && few(9).ess_bulk.is_none() && few(9).mcse_mean.is_none());
    let ten = few(10);
    assert!(ten.ess_bulk.is_some() && ten.ess_tail.is_some() && ten.mcse_sd.is_some());

    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut chains = stationary(7, 2, 20, 0.0);
        chains[1][3] = wrong;
        assert_eq!(ChainSummary::of(&slices(&chains)), None);
        assert_eq!(ess_tail(&slices(&chains)), None);
    }
    assert_eq!(ChainSummary::of(&[]), None);
    assert_eq!(ChainSummary::of(&[&[], &[]]), None);
    assert_eq!(ChainSummary::of(&[&[1.0]]), None);
    assert_eq!(ChainSummary::of(&[&[1.0, 2.0], &[1.0]]), None);
    assert_eq!(ess_quantile(&slices(&stationary(8, 2, 20, 0.0)), 1.0), None);
}

/// Labels that are nearly always the largest have a tail too, which the indicator of ArviZ does not see.
#[test]
fn rare_labels_have_tails() {
    let chains = mapped(stationary(9, 4, 1000, 0.5), |_, x| {
        f64::from(u8::from(x > -2.0))
    });
    let summary = ChainSummary::of(&slices(&chains)).expect("finite draws");
    assert!(summary.ess_tail.is_some_and(|ess| ess < 4000.0));
    assert!(summary.r_hat.is_some_and(|r_hat| r_hat < 1.02));
}

/// The same draws in other units have the same diagnostics, up to the ends of what numbers can hold.
#[test]
fn units_do_not_matter() {
    let chains = stationary(10, 4, 100, 0.5);
    let plain = ChainSummary::of(&slices(&chains)).expect("finite draws");
    for exponent in [-1000, -300, 300, 1000] {
        let unit = 2.0_f64.powi(exponent);
        let scaled = mapped(chains.clone(), |_, x| x * unit);
        let found = ChainSummary::of(&slices(&scaled)).expect("finite draws");
        let expected = ChainSummary {
            mean: plain.mean * unit,
            sd: plain.sd * unit,
            mcse_mean: plain.mcse_mean.map(|x| x * unit),
            mcse_sd: plain.mcse_sd.map(|x| x * unit),
            ..plain
        };
        assert_eq!(found, expected);
    }
}

/// Of M tail weights the standard error of k-hat is about (1 + k) / √M, here below 0.06; three of them.
#[test]
fn k_hat_of_pareto_weights_is_known() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for k in [-0.5, 0.0, 0.2, 0.5, 0.7, 1.0] {
        let mut weight = || {
            let u: f64 = Open01.sample(&mut rng);
            let excess = if k == 0.0 {
                -u.ln()
            } else {
                (-k * u.ln()).exp_m1() / k
            };
            (1.0 + excess).ln()
        };
        let ln_weights: Vec<f64> = (0..100_000).map(|_| weight()).collect();
        let weights = ImportanceWeights::smooth(&ln_weights).expect("finite weights");
        let k_hat = weights.k_hat.expect("a tail");
        assert!((k_hat - k).abs() < 0.18, "{k}: {k_hat}");
    }
}

/// A normal proposal for a t target has weights with k = 1, but finite samples show less: at 10,000 draws in one dimension,
/// of the same width and three degrees, ArviZ's k-hat is 0.68 with a standard deviation of 0.09 over seeds. Half as wide in
/// four dimensions it is 0.85 with one of 0.11; a mean of ten is then 0.7 or less by four standard errors only.
#[test]
fn k_hat_tells_which_proposal_is_good() {
    const SIZE: usize = 10_000;
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let ln_normal = |x: f64, sd: f64| -0.5 * (x / sd).powi(2) - (sd * TAU.sqrt()).ln();
    // The density of t with three degrees: 2 / (π √3 (1 + x²/3)²).
    let ln_t = |x: f64| (2.0 / (PI * 3.0_f64.sqrt())).ln() - 2.0 * (x * x / 3.0).ln_1p();
    let student = StudentT::new(3.0).expect("positive degrees");
    let wide: Vec<f64> = (0..SIZE)
        .map(|_| student.sample(&mut rng))
        .map(|x| ln_normal(x, 1.0) - ln_t(x))
        .collect();
    let wide = ImportanceWeights::smooth(&wide).expect("finite weights");
    assert!(wide.k_hat.is_some_and(|k_hat| k_hat < 0.5));
    // Both densities are normalised; four standard errors.
    assert!(wide.ln_mean.abs() < 4.0 * wide.mcse_ln_mean);
    assert!(wide.mcse_ln_mean < 0.02 && wide.ess > 0.5 * SIZE as f64);

    let mut ratio = || {
        let z: f64 = StandardNormal.sample(&mut rng);
        ln_t(0.5 * z) - ln_normal(0.5 * z, 0.5)
    };
    let mut narrow = || {
        let ln_weights = (0..SIZE).map(|_| (0..4).map(|_| ratio()).sum());
        let weights = ImportanceWeights::smooth(&ln_weights.collect::<Vec<_>>());
        weights.expect("finite weights").k_hat.expect("a tail")
    };
    let mean = (0..10).map(|_| narrow()).sum::<f64>() / 10.0;
    assert!(mean > k_hat_threshold(SIZE), "{mean}");
}

/// The error of the log of the mean is what repeated estimates show.
#[test]
fn the_error_of_the_mean_weight_is_calibrated() {
    const REPEATS: usize = 200;
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    // Log-normal weights with mean one, which have all moments.
    let mut z_squared = 0.0;
    for _ in 0..REPEATS {
        let ln_weights: Vec<f64> = (0..1000)
            .map(|_| -> f64 { StandardNormal.sample(&mut rng) })
            .map(|x| 0.5 * x - 0.125)
            .collect();
        let weights = ImportanceWeights::smooth(&ln_weights).expect("finite weights");
        z_squared += (weights.ln_mean / weights.mcse_ln_mean).powi(2) / REPEATS as f64;
    }
    // A mean of 200 squares of standard normals has a standard deviation of 0.1.
    assert!((z_squared - 1.0).abs() < 0.3, "{z_squared}");
}

#[test]
fn weights_without_a_tail() {
    let smooth = |ln_weights: &[f64]| ImportanceWeights::smooth(ln_weights).expect("weights");
    let low = f64::NEG_INFINITY;
    for constant in [vec![-1e3; 100], vec![1e3; 2], vec![0.3; 21]] {
        let weights = smooth(&constant);
        let size = constant.len() as f64;
        assert_eq!(weights.k_hat, None);
        assert!((weights.ess - size).abs() < 1e-9 * size);
        // The mean of equal numbers is that number, to rounding.
        assert!((weights.ln_mean - constant[0]).abs() < 1e-12 * constant[0].abs());
        assert!(weights.mcse_ln_mean < 1e-12);
    }
    // Equal but for rounding; too few; the largest equal.
    let noisy: Vec<f64> = (0..100).map(|i| 1e-13 * f64::from(i * i % 17)).collect();
    assert_eq!(smooth(&noisy).k_hat, None);
    let few: Vec<f64> = (0..20).map(f64::from).collect();
    assert_eq!(smooth(&few).k_hat, None);
    let level: Vec<f64> = (0..100).map(|i| f64::from(i.min(50))).collect();
    assert_eq!(smooth(&level).k_hat, None);
    // One that outweighs all others; weights of zero.
    let mut one = vec![0.0; 100];
    one[7] = 30.0;
    let weights = smooth(&one);
    assert_eq!(weights.k_hat, Some(f64::INFINITY));
    assert!(weights.ess < 1.001 && weights.mcse_ln_mean > 0.99);
    let mut mostly_zero = vec![low; 100];
    mostly_zero[..50].fill(2.0);
    let weights = smooth(&mostly_zero);
    assert!((weights.ess - 50.0).abs() < 1e-9 && weights.ln_weights[99] == low);
    assert!((weights.ln_mean - (2.0 - LN_2)).abs() < 1e-12);

    for wrong in [
        vec![],
        vec![1.0],
        vec![low; 30],
        vec![0.0, f64::NAN],
        vec![0.0, f64::INFINITY],
    ] {
        assert_eq!(ImportanceWeights::smooth(&wrong), None, "{wrong:?}");
    }
    assert_eq!(k_hat_threshold(0), 0.0);
    assert!((k_hat_threshold(100) - 0.5).abs() < 1e-12 && k_hat_threshold(10_000) == 0.7);
}

/// Ties, extreme scales and ordinary numbers.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-3_i8..=3).prop_map(f64::from),
        4 => -1.0..1.0,
        2 => (-300.0..300.0, any::<bool>())
            .prop_map(|(e, minus)| 10.0_f64.powf(e) * if minus { -1.0 } else { 1.0 }),
        1 => prop::sample::select(vec![f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -0.0, 1e-310]),
    ]
}

fn some_chains() -> impl Strategy<Value = Chains> {
    // Mostly of one scale, as a quantity is.
    let unit = prop::sample::select(vec![1.0, 1e-300, 1e300]);
    let others = prop::sample::select(vec![0, 1, 50]);
    let size = (1_usize..=5, 0_usize..=40);
    (unit, others, size).prop_flat_map(|(unit, others, (chains, draws))| {
        let of_unit = (-3_i8..=3).prop_map(move |x| f64::from(x) * unit);
        let value = prop_oneof![50 => of_unit, others => number()];
        prop::collection::vec(prop::collection::vec(value, draws), chains)
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(16),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_chains_panic_or_give_nan(chains in some_chains(), probability in 0.0..=1.0) {
        let chains = slices(&chains);
        let quantile = [ess_quantile(&chains, probability), mcse_quantile(&chains, probability)];
        for value in quantile.into_iter().flatten() {
            prop_assert!(value >= 0.0 && value.is_finite(), "{value}");
        }
        if let Some(summary) = ChainSummary::of(&chains) {
            let all = chains.concat();
            let least = all.iter().copied().reduce(f64::min).expect("draws");
            let largest = all.iter().copied().reduce(f64::max).expect("draws");
            prop_assert!((least..=largest).contains(&summary.mean));
            prop_assert!(summary.sd >= 0.0 && summary.sd.is_finite());
            prop_assert!(summary.r_hat.is_none_or(|r_hat| r_hat > 0.5));
            let size = all.len() as f64;
            for ess in [summary.ess_bulk, summary.ess_tail].into_iter().flatten() {
                prop_assert!(ess > 0.0 && ess <= size * size.log10() * (1.0 + 1e-12), "{ess} of {size}");
            }
            for mcse in [summary.mcse_mean, summary.mcse_sd].into_iter().flatten() {
                prop_assert!(mcse >= 0.0 && mcse.is_finite(), "{mcse}");
            }
            let each = (r_hat(&chains), ess_bulk(&chains), ess_tail(&chains), mcse_mean(&chains), mcse_sd(&chains));
            let ChainSummary { r_hat, ess_bulk, ess_tail, mcse_mean, mcse_sd, .. } = summary;
            prop_assert_eq!(each, (r_hat, ess_bulk, ess_tail, mcse_mean, mcse_sd));
        } else {
            prop_assert!(chains.concat().len() < 2);
        }
    }

    #[test]
    fn no_weights_panic_or_give_nan(
        ln_weights in prop::collection::vec(
            prop_oneof![6 => number(), 2 => -800.0..800.0, 1 => Just(f64::NEG_INFINITY)],
            0..200,
        ),
        unit in prop::sample::select(vec![1.0, 1e-12, 1e3]),
    ) {
        let ln_weights: Vec<f64> = ln_weights.iter().map(|x| (x * unit).min(f64::MAX)).collect();
        let Some(weights) = ImportanceWeights::smooth(&ln_weights) else {
            let none = ln_weights.iter().all(|x| *x == f64::NEG_INFINITY);
            prop_assert!(ln_weights.len() < 2 || none);
            return Ok(());
        };
        let size = ln_weights.len() as f64;
        prop_assert!(weights.k_hat.is_none_or(|k_hat| !k_hat.is_nan()));
        prop_assert!((1.0..=size).contains(&weights.ess));
        prop_assert!(weights.mcse_ln_mean >= 0.0 && weights.mcse_ln_mean <= 1.0 + 1e-9);
        let largest = ln_weights.iter().copied().reduce(f64::max).expect("weights");
        // No smoothed weight is above the largest; rounding is relative.
        let slack = 1e-9 * largest.abs().max(1.0);
        prop_assert!(weights.ln_mean.is_finite() && weights.ln_mean <= largest + slack);
        let sum: f64 = weights.ln_weights.iter().map(|x| x.exp()).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        // Smoothing leaves the order as it is.
        for (i, j) in (0..ln_weights.len()).zip(1..ln_weights.len()) {
            if ln_weights[i] < ln_weights[j] {
                prop_assert!(weights.ln_weights[i] <= weights.ln_weights[j] + 1e-9);
            }
        }
    }
}
