//! Random effects under counts: what is told by default, against quadrature.

mod common;

use collapsar::special::{ln_gamma, log_sum_exp};
use collapsar_run::fit::{ModelRequest, ModelRun, PosteriorOptions};
use collapsar_run::{PosteriorKind, Verdict};
use common::{array, data, fit, of, prepare, result, seeded};

const COUNTS: [f64; 12] = [
    2.0, 9.0, 4.0, 12.0, 7.0, 1.0, 8.0, 5.0, 14.0, 6.0, 3.0, 10.0,
];
const TRIALS: f64 = 20.0;

const TEXT: &str = "model {
  for (i in 1:12) {
    y[i] ~ dbin(p[i], 20)
    logit(p[i]) <- a + b[i]
    b[i] ~ dnorm(0, tau)
  }
  a ~ dnorm(0, 0.1)
  tau ~ dgamma(1, 0.5)
  sigma <- 1/sqrt(tau)
}";

fn run(seed: u64) -> ModelRun {
    let given = data([("y", array(&[12], &COUNTS))]);
    prepare(TEXT, given, seeded(seed))
}

/// The logarithm of the probability of a count, given a and a deviation: the effect is summed over.
fn ln_count(count: f64, a: f64, sigma: f64) -> f64 {
    let nodes = (0..=80).map(|k| 0.15 * (f64::from(k) - 40.0));
    let terms = nodes.map(|z| {
        let psi = a + sigma * z;
        count * psi - TRIALS * psi.exp().ln_1p() - 0.5 * z * z
    });
    let ln_ways = ln_gamma(TRIALS + 1.0) - ln_gamma(count + 1.0) - ln_gamma(TRIALS - count + 1.0);
    let width = 0.15 / std::f64::consts::TAU.sqrt();
    ln_ways + width.ln() + log_sum_exp(&terms.collect::<Vec<f64>>())
}

/// ln p(y), and the mean and the deviation of a and of sigma, by sums over a and ln τ.
fn exact() -> (f64, [(f64, f64); 2]) {
    let mut all = vec![];
    let (steps, widths) = ([0.05, 0.1], [60_i32, 60]);
    for i in -widths[0]..=widths[0] {
        for j in -widths[1]..=widths[1] {
            let (a, ln_tau) = (
                -0.7 + steps[0] * f64::from(i),
                1.0 + steps[1] * f64::from(j),
            );
            let sigma = (-0.5 * ln_tau).exp();
            // Gamma(1, 0.5) of τ, by the measure of ln τ.
            let prior = 0.5_f64.ln() - 0.5 * ln_tau.exp()
                + ln_tau
                + 0.5 * (0.1 / std::f64::consts::TAU).ln()
                - 0.05 * a * a;
            let counts: f64 = COUNTS.iter().map(|&y| ln_count(y, a, sigma)).sum();
            all.push((prior + counts + (steps[0] * steps[1]).ln(), [a, sigma]));
        }
    }
    let total = log_sum_exp(&all.iter().map(|(ln, _)| *ln).collect::<Vec<f64>>());
    let moments = [0, 1].map(|of| {
        let weighed = |power: &dyn Fn(f64) -> f64| -> f64 {
            all.iter()
                .map(|(ln, at)| (ln - total).exp() * power(at[of]))
                .sum()
        };
        let mean = weighed(&|x| x);
        (mean, weighed(&|x| (x - mean).powi(2)).sqrt())
    });
    (total, moments)
}

/// Mean field has the deviation of effects too small by a third and too certain; weighted draws, proposed given each of several
/// precisions, do not.
#[test]
fn effects_under_counts() {
    let (ln_evidence, [a, sigma]) = exact();
    for seed in [1, 2, 3] {
        let run = run(seed);
        let climbed = fit(&run);
        let monitored = run.monitor(&["sigma".into()]).expect("a number");
        let found = result(&run, &climbed, &monitored.quantities);
        assert_eq!(found.verdict(true), Verdict::Trust, "{:?}", found.signs);
        let (evidence, error) = found.signs.ln_evidence.expect("an estimate");
        assert!(
            (evidence - ln_evidence).abs() < 4.0 * error + 1e-3,
            "{evidence} {ln_evidence} {error}"
        );
        for (name, (mean, sd)) in [("a", a), ("sigma", sigma)] {
            let told = of(&run, &climbed, name);
            // A thousand draws of which a third counts: four errors of means. Effects of small counts have long tails, and one draw of
            // such a tail is much of a deviation.
            assert!(
                (told.mean - mean).abs() < 0.25 * sd,
                "{name} {told:?} {mean} {sd}"
            );
            assert!(
                (told.sd / sd).ln().abs() < 0.5,
                "{name} {told:?} {mean} {sd}"
            );
        }
    }
}

/// How often each count from 4 to 16 is seen: a little more spread than that of coins.
const OFTEN: [usize; 13] = [1, 2, 6, 9, 13, 17, 20, 17, 13, 9, 6, 2, 1];

/// More effects than draws are proposed for: a few exact draws tell of their deviation what linear response does not.
#[test]
fn many_effects() {
    let text = "model {
      for (i in 1:116) {
        y[i] ~ dbin(p[i], 20)
        logit(p[i]) <- sigma*b[i]
        b[i] ~ dnorm(0, 1)
      }
      sigma ~ dunif(0, 3)
    }";
    let counts = (4..).zip(OFTEN);
    let counts = counts.flat_map(|(count, often)| vec![f64::from(count); often]);
    let counts: Vec<f64> = counts.collect();
    let nodes = (0..300).map(|k| 0.0025 * (f64::from(k) + 0.5));
    let weighed = nodes.map(|sigma| {
        let each = (4..).zip(OFTEN);
        let ln = each.map(|(y, often)| often as f64 * ln_count(f64::from(y), 0.0, sigma));
        (sigma, ln.sum::<f64>())
    });
    let weighed: Vec<(f64, f64)> = weighed.collect();
    let total = log_sum_exp(&weighed.iter().map(|(_, ln)| *ln).collect::<Vec<f64>>());
    let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
        (weighed.iter())
            .map(|(sigma, ln)| (ln - total).exp() * of(*sigma))
            .sum()
    };
    let mean = moment(&|x| x);
    let sd = moment(&|x| (x - mean).powi(2)).sqrt();
    let mut taken = 0;
    for seed in [1, 2, 3] {
        let request = ModelRequest {
            posterior: PosteriorOptions {
                posterior: Some(PosteriorKind::LinearResponse),
                ..PosteriorOptions::default()
            },
            ..seeded(seed)
        };
        let run = prepare(text, data([("y", array(&[116], &counts))]), request);
        let climbed = fit(&run);
        let monitored = run.monitor(&["sigma".into()]).expect("a number");
        let found = result(&run, &climbed, &monitored.quantities);
        let told = found.rows[0];
        assert_ne!(found.verdict(true), Verdict::Trust);
        taken += found.signs.taken;
        // Draws that are worth fifty at least: three errors.
        assert!(
            found.signs.taken == 0 || (told.mean - mean).abs() < 0.42 * sd,
            "{told:?} {mean} {sd}"
        );
        assert!(
            found.signs.taken == 0 || (told.sd / sd).ln().abs() < 0.3,
            "{told:?} {mean} {sd}"
        );
    }
    assert!(taken > 0);
}

/// Deviations that may be next to nothing: some draws have precisions that are too unlike to draw the rest with, and count for nothing.
#[test]
fn deviations_next_to_nothing() {
    let text = "model {
      for (i in 1:4) { z[i] ~ dnorm(b0 + b1*x[i], 1/sp); y[i] ~ dnorm(z[i], 1/sm) }
      b0 ~ dnorm(0, 0.01); b1 ~ dnorm(0, 0.01); sp ~ dunif(0, 100); sm ~ dunif(0, 100)
    }";
    let x = array(&[4], &[1.29, 1.45, 0.07, -0.76]);
    let y = array(&[4], &[-0.092, 1.031, -0.022, -0.437]);
    for seed in 0..3 {
        let given = data([("x", x.clone()), ("y", y.clone())]);
        let run = prepare(text, given, seeded(seed));
        let climbed = fit(&run);
        for name in ["b0", "sp", "z[2]"] {
            let told = of(&run, &climbed, name);
            assert!(
                told.mean.is_finite() && told.sd.is_finite(),
                "{name} {told:?}"
            );
        }
    }
}

/// Nodes of a grid at which nothing can be computed are left out.
#[test]
fn nodes_that_are_too_large() {
    let text = "model {
      for (i in 1:4) { y[i] ~ dnegbin(p[i], 1/alpha); p[i] <- 1/(1 + alpha*mu[i]); log(mu[i]) <- a + b*x[i] }
      a ~ dnorm(0, 0.01); b ~ dnorm(0, 0.01); alpha ~ dgamma(0.01, 0.01)
    }";
    let x = array(&[4], &[1.29, 1.45, 0.07, -0.76]);
    let y = array(&[4], &[4.0, 3.0, 2.0, 7.0]);
    let run = prepare(text, data([("x", x), ("y", y)]), seeded(0));
    let climbed = fit(&run);
    let told = of(&run, &climbed, "a");
    assert!((told.mean - 1.4).abs() < 0.5 && told.sd < 2.0, "{told:?}");
}
