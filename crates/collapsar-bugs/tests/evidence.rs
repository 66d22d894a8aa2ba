//! The bound against the exact log evidence, computed by enumeration, recursion or in closed form.

mod common;

use collapsar::graph::{Demands, Role};
use collapsar::special::{ln_beta, ln_gamma, ln_multivariate_gamma};
use common::{best_bound, climb, compiled, data, demands, prepared, put};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const LN_2PI: f64 = 1.837_877_066_409_345_6;

fn log_sum_exp(values: &[f64]) -> f64 {
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    highest + values.iter().map(|v| (v - highest).exp()).sum::<f64>().ln()
}

/// Both numbers are sums of some dozens of terms of a few nats: 1e-10 is a million roundings.
fn assert_equal(name: &str, bound: f64, evidence: f64) {
    let error = (bound - evidence).abs();
    assert!(
        error <= 1e-10 * evidence.abs().max(1.0),
        "{name}: bound {bound}, evidence {evidence}, difference {error:e}"
    );
}

/// One exact block: the bound is the evidence.
fn exact(text: &str, numbers: &str, evidence: f64) {
    let model = compiled(text, data(numbers));
    assert_equal(text, best_bound(&model), evidence);
}

/// Every state of labels with so many states each.
fn each_state(states: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut state = vec![0; states.len()];
    loop {
        visit(&state);
        let Some(place) = (0..states.len()).rfind(|&i| state[i] + 1 < states[i]) else {
            return;
        };
        state[place] += 1;
        state[place + 1..].fill(0);
    }
}

/// The evidence of labels, given the log joint of each of their states.
fn enumerate(states: &[usize], mut joint: impl FnMut(&[usize]) -> f64) -> f64 {
    let mut all = vec![];
    each_state(states, |state| all.push(joint(state)));
    log_sum_exp(&all)
}

/// ln of the Dirichlet's integral: normaliser of prior plus counts over that of the prior.
fn dirichlet(prior: &[f64], counts: &[f64]) -> f64 {
    let part = |a: &f64, n: &f64| ln_gamma(a + n) - ln_gamma(*a);
    let total: f64 = prior.iter().sum();
    let count: f64 = counts.iter().sum();
    prior
        .iter()
        .zip(counts)
        .map(|(a, n)| part(a, n))
        .sum::<f64>()
        + ln_gamma(total)
        - ln_gamma(total + count)
}

/// ln p of Poisson counts whose rate has a gamma prior.
fn gamma_poisson(shape: f64, rate: f64, counts: &[f64]) -> f64 {
    let total: f64 = counts.iter().sum();
    let n = counts.len() as f64;
    shape * rate.ln() - ln_gamma(shape) + ln_gamma(shape + total)
        - (shape + total) * (rate + n).ln()
        - counts.iter().map(|y| ln_gamma(y + 1.0)).sum::<f64>()
}

/// ln p of numbers y ~ N(x b, 1/tau), b ~ N(m, V/tau), tau ~ gamma: a multivariate t.
fn normal_gamma(y: &[f64], x: &[Vec<f64>], m: &[f64], v: &[f64], shape: f64, rate: f64) -> f64 {
    let n = y.len();
    let residual = DVector::from_fn(n, |i, _| {
        y[i] - x[i].iter().zip(m).map(|(x, m)| x * m).sum::<f64>()
    });
    let covariance = DMatrix::from_fn(n, n, |i, j| {
        let shared: f64 = (0..m.len()).map(|k| x[i][k] * v[k] * x[j][k]).sum();
        shared + f64::from(u8::from(i == j))
    });
    let factor = covariance.cholesky().expect("a covariance");
    let ln_determinant = 2.0 * factor.l().diagonal().map(f64::ln).sum();
    let square = residual.dot(&factor.solve(&residual));
    let half = 0.5 * n as f64;
    -half * LN_2PI - 0.5 * ln_determinant + ln_gamma(shape + half) - ln_gamma(shape)
        + shape * rate.ln()
        - (shape + half) * (rate + 0.5 * square).ln()
}

/// The log density of a Gaussian with this covariance.
fn gaussian(residual: &[f64], covariance: DMatrix<f64>) -> f64 {
    let factor = covariance.cholesky().expect("a covariance");
    let residual = DVector::from_row_slice(residual);
    -0.5 * residual.len() as f64 * LN_2PI
        - factor.l().diagonal().map(f64::ln).sum()
        - 0.5 * residual.dot(&factor.solve(&residual))
}

#[test]
fn single_conjugate_blocks_are_exact() {
    let choose = |n: f64, x: f64| ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0);
    exact(
        "model { for (i in 1:3) { y[i] ~ dbin(p, n[i]) } p ~ dbeta(1.5, 2) }",
        "y=3 0 7; n=5 4 7",
        choose(5.0, 3.0) + choose(4.0, 0.0) + choose(7.0, 7.0) + ln_beta(1.5 + 10.0, 2.0 + 6.0)
            - ln_beta(1.5, 2.0),
    );
    exact(
        "model { for (i in 1:3) { y[i] ~ dbern(1 - p) } p ~ dunif(0, 1) }",
        "y=1 0 0",
        ln_beta(3.0, 2.0),
    );
    exact(
        "model { for (i in 1:4) { y[i] ~ dpois(l) } l ~ dgamma(2, 3) }",
        "y=3 0 7 1",
        gamma_poisson(2.0, 3.0, &[3.0, 0.0, 7.0, 1.0]),
    );
    // ∫ l^2 e^{-5 l} prior of an exponential of a gamma of known shape.
    exact(
        "model { for (i in 1:2) { y[i] ~ dexp(l) } l ~ dexp(0.5) }",
        "y=3 2",
        0.5_f64.ln() + ln_gamma(3.0) - 3.0 * 5.5_f64.ln(),
    );
    exact(
        "model { for (i in 1:2) { y[i] ~ dgamma(1.5, 2 * l) } l ~ dchisqr(5) }",
        "y=3 2",
        2.5 * 0.5_f64.ln() - ln_gamma(2.5) + 3.0 * 2.0_f64.ln() - 2.0 * ln_gamma(1.5)
            + 0.5 * 6.0_f64.ln()
            + ln_gamma(5.5)
            - 5.5 * 10.5_f64.ln(),
    );
    exact(
        "model { for (i in 1:2) { y[i] ~ dweib(2, l) } l ~ dgamma(2, 1) }",
        "y=0.5 1.5",
        (2.0_f64 * 0.5).ln() + (2.0_f64 * 1.5).ln() + ln_gamma(4.0)
            - ln_gamma(2.0)
            - 4.0 * (1.0_f64 + 0.25 + 2.25).ln(),
    );
    exact(
        "model { for (i in 1:2) { y[i] ~ dnegbin(p, r[i]) } p ~ dbeta(2, 3) }",
        "y=4 0; r=3 2",
        ln_gamma(7.0) - ln_gamma(3.0) - ln_gamma(5.0) + ln_beta(2.0 + 5.0, 3.0 + 4.0)
            - ln_beta(2.0, 3.0),
    );
    exact(
        "model { y[1:3] ~ dmulti(p[], 6); for (i in 1:2) { c[i] ~ dcat(p[]) } p[1:3] ~ ddirch(a[]) }",
        "y=3 1 2; c=2 2; a=0.5 1 2",
        ln_gamma(7.0) - ln_gamma(4.0) - ln_gamma(2.0) - ln_gamma(3.0)
            + dirichlet(&[0.5, 1.0, 2.0], &[3.0, 3.0, 2.0]),
    );
    // A share that its prior makes zero is no share.
    exact(
        "model { for (i in 1:3) { c[i] ~ dcat(p[]) } p[1:3] ~ ddirch(a[]) }",
        "c=3 1 3; a=0.5 0 2",
        dirichlet(&[0.5, 2.0], &[1.0, 2.0]),
    );
}

#[test]
fn gaussian_blocks_are_exact() {
    let y = [2.1, -0.4, 3.0, 0.7, 1.1];
    let x = [[1.0, 2.0], [-1.0, 3.0], [2.0, 1.0], [0.0, 1.0], [1.5, -2.0]];
    let numbers = "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 -0.4 3 0.7 1.1";
    let rows: Vec<Vec<f64>> = x.iter().map(|row| row.to_vec()).collect();
    exact(
        "model {
           for (i in 1:5) { y[i] ~ dnorm(inprod(b[], x[i,]), tau) }
           b[1] ~ dnorm(0.5, 0.1 * tau); b[2] ~ dnorm(-1, 2 * tau)
           tau ~ dgamma(1.5, 2)
         }",
        numbers,
        normal_gamma(&y, &rows, &[0.5, -1.0], &[10.0, 0.5], 1.5, 2.0),
    );
    exact(
        "model { for (i in 1:5) { y[i] ~ dnorm(1.5, tau) } tau ~ dgamma(2, 3) }",
        "y=2.1 -0.4 3 0.7 1.1",
        normal_gamma(&y, &vec![vec![1.0]; 5], &[1.5], &[0.0], 2.0, 3.0),
    );
    // Known precisions: all Gaussians are one block, missing numbers among them.
    let covariance = |rows: &[usize]| {
        DMatrix::from_fn(rows.len(), rows.len(), |i, j| {
            let (a, b) = (x[rows[i]], x[rows[j]]);
            let own = if i == j { 0.5 } else { 0.0 };
            a[0] * b[0] / 0.1 + a[1] * b[1] / 2.0 + own
        })
    };
    let text = "model {
           for (i in 1:5) { y[i] ~ dnorm(b[1] * x[i,1] + b[2] * x[i,2], 2) }
           b[1] ~ dnorm(0, 0.1); b[2] ~ dnorm(0, 2)
         }";
    exact(text, numbers, gaussian(&y, covariance(&[0, 1, 2, 3, 4])));
    exact(
        text,
        "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 NA 3 NA 1.1",
        gaussian(&[2.1, 3.0, 1.1], covariance(&[0, 2, 4])),
    );
    exact(
        "model { for (i in 1:2) { y[i,1:2] ~ dmnorm(mu[], P[,]) } mu[1:2] ~ dmnorm(m[], Q[,]) }",
        "y[2,2]=1 2 0.5 -1; m=1 0; P[2,2]=2 0.5 0.5 1; Q[2,2]=1 -0.2 -0.2 0.5",
        {
            let inverse = |a: [f64; 4]| DMatrix::from_row_slice(2, 2, &a).try_inverse().unwrap();
            let (p, q) = (
                inverse([2.0, 0.5, 0.5, 1.0]),
                inverse([1.0, -0.2, -0.2, 0.5]),
            );
            let all = DMatrix::from_fn(4, 4, |i, j| {
                let own = if i / 2 == j / 2 {
                    p[(i % 2, j % 2)]
                } else {
                    0.0
                };
                own + q[(i % 2, j % 2)]
            });
            gaussian(&[0.0, 2.0, -0.5, -1.0], all)
        },
    );
}

/// ln p of rows whose precision has a Wishart prior and whose mean is known, or is joint with it.
fn wishart(y: &[[f64; 2]], m: [f64; 2], kappa: Option<f64>, scale: [f64; 4], nu: f64) -> f64 {
    let n = y.len() as f64;
    let mut after = DMatrix::from_row_slice(2, 2, &scale);
    let before = after.determinant().ln();
    let mean = [0, 1].map(|d| y.iter().map(|row| row[d]).sum::<f64>() / n);
    let centre = if kappa.is_some() { mean } else { m };
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for row in y {
            after[(i, j)] += (row[i] - centre[i]) * (row[j] - centre[j]);
        }
        if let Some(kappa) = kappa {
            after[(i, j)] += kappa * n / (kappa + n) * (mean[i] - m[i]) * (mean[j] - m[j]);
        }
    }
    let shrink = kappa.map_or(0.0, |kappa| (kappa / (kappa + n)).ln());
    -n * std::f64::consts::PI.ln() + ln_multivariate_gamma(2, 0.5 * (nu + n))
        - ln_multivariate_gamma(2, 0.5 * nu)
        + 0.5 * nu * before
        - 0.5 * (nu + n) * after.determinant().ln()
        + shrink
}

#[test]
fn wishart_blocks_are_exact() {
    let y = [[1.0, 2.0], [1.3, 2.2], [0.8, 1.7], [3.0, 1.0]];
    let numbers = "y[4,2]=1 2 1.3 2.2 0.8 1.7 3 1; m=1 1; R[2,2]=2 0.3 0.3 1";
    exact(
        "model { for (n in 1:4) { y[n,1:2] ~ dmnorm(m[], L[,]) } L[1:2,1:2] ~ dwish(R[,], 3) }",
        numbers,
        wishart(&y, [1.0, 1.0], None, [2.0, 0.3, 0.3, 1.0], 3.0),
    );
    exact(
        "model {
           for (n in 1:4) { y[n,1:2] ~ dmnorm(mu[], L[,]) }
           mu[1:2] ~ dmnorm(m[], 0.3 * L[,])
           L[1:2,1:2] ~ dwish(R[,], 3.5)
         }",
        numbers,
        wishart(&y, [1.0, 1.0], Some(0.3), [2.0, 0.3, 0.3, 1.0], 3.5),
    );
}

/// A table of conditional probabilities, some of them zero.
fn table(rng: &mut ChaCha8Rng, rows: usize, states: usize) -> Vec<f64> {
    let mut out = vec![];
    for _ in 0..rows {
        let zero = rng.random_range(0..2 * states);
        let weights: Vec<f64> = (0..states)
            .map(|k| {
                if k == zero {
                    0.0
                } else {
                    rng.random_range(0.1..1.0)
                }
            })
            .collect();
        let total: f64 = weights.iter().sum();
        out.extend(weights.iter().map(|w| w / total));
    }
    out
}

#[test]
fn discrete_networks_are_exact() {
    // a -> b, (a, b) -> c, max(b, c) -> d, c -> e; d and e may be seen.
    let text = "model {
        a ~ dcat(pa[]); b ~ dcat(pb[a,]); c ~ dcat(pc[a,b,])
        m <- max(b, c)
        d ~ dcat(pd[m,]); e ~ dcat(pe[c,])
        f ~ dbern(pf[1 + equals(a, c)])
    }";
    let mut compared = 0;
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (pa, pb) = (table(&mut rng, 1, 2), table(&mut rng, 2, 3));
        let (pc, pd, pe) = (
            table(&mut rng, 6, 3),
            table(&mut rng, 3, 3),
            table(&mut rng, 3, 2),
        );
        let pf = [0.3, if seed % 2 == 0 { 1.0 } else { 0.8 }];
        let mut given = data("");
        for (name, dims, values) in [
            ("pa", &[2][..], &pa[..]),
            ("pb", &[2, 3], &pb),
            ("pc", &[2, 3, 3], &pc),
            ("pd", &[3, 3], &pd),
            ("pe", &[3, 2], &pe),
            ("pf", &[2], &pf),
        ] {
            put(&mut given, name, dims, values);
        }
        let seen: Vec<Option<usize>> = [3, 2, 2]
            .map(|states| (rng.random::<f64>() < 0.6).then(|| rng.random_range(0..states)))
            .to_vec();
        for (name, place, lowest) in [("d", 0, 1), ("e", 1, 1), ("f", 2, 0)] {
            if let Some(state) = seen[place] {
                put(&mut given, name, &[1], &[(state + lowest) as f64]);
            }
        }
        let evidence = enumerate(&[2, 3, 3, 3, 2, 2], |s| {
            if (0..3).any(|i| seen[i].is_some_and(|state| state != s[3 + i])) {
                return f64::NEG_INFINITY;
            }
            let [a, b, c, d, e, f] = [s[0], s[1], s[2], s[3], s[4], s[5]];
            let p = pf[usize::from(a == c)];
            (pa[a]
                * pb[a * 3 + b]
                * pc[(a * 3 + b) * 3 + c]
                * pd[b.max(c) * 3 + d]
                * pe[c * 2 + e]
                * if f == 1 { p } else { 1.0 - p })
            .ln()
        });
        if evidence.is_finite() {
            let model = compiled(text, given);
            assert_equal(&format!("network {seed}"), best_bound(&model), evidence);
            compared += 1;
        }
    }
    assert!(compared > 10, "only {compared} networks are possible");
}

#[test]
fn a_hidden_chain_is_the_forward_recursion() {
    let (p0, p) = ([0.3, 0.7], [[0.9, 0.1], [0.0, 1.0]]);
    let (mu, tau) = ([0.0, 2.0], [1.0, 3.0]);
    let y = [0.3, -0.2, 1.9, f64::NAN, 2.5];
    let density = |y: f64, k: usize| {
        if y.is_nan() {
            return 1.0;
        }
        (0.5 * (tau[k] / std::f64::consts::TAU).ln() - 0.5 * tau[k] * (y - mu[k]).powi(2)).exp()
    };
    let mut forward = [0, 1].map(|k| p0[k] * density(y[0], k));
    for &y in &y[1..] {
        forward = [0, 1].map(|k| (forward[0] * p[0][k] + forward[1] * p[1][k]) * density(y, k));
    }
    let text = "model {
        s[1] ~ dcat(p0[])
        for (t in 2:5) { s[t] ~ dcat(P[s[t-1],]) }
        for (t in seen) { y[t] ~ dnorm(mu[s[t]], tau[s[t]]) }
    }";
    let numbers = "p0=0.3 0.7; P[2,2]=0.9 0.1 0 1; mu=0 2; tau=1 3; y=0.3 -0.2 1.9 NA 2.5";
    let listed = text.replace("t in seen", "t in 1:5");
    let evidence = (forward[0] + forward[1]).ln();
    // A missing number of a mixture is a block of its own: the bound is below the evidence.
    let bound = best_bound(&compiled(&listed, data(numbers)));
    assert!(bound <= evidence + 1e-9, "{bound} above {evidence}");
    let split = text.replace(
        "for (t in seen) { y[t] ~ dnorm(mu[s[t]], tau[s[t]]) }",
        "for (t in 1:3) { y[t] ~ dnorm(mu[s[t]], tau[s[t]]) } y[5] ~ dnorm(mu[s[5]], tau[s[5]])",
    );
    exact(&split, numbers, evidence);
}

#[test]
fn a_gaussian_chain_is_the_kalman_filter() {
    let y = [1.0, 3.0, f64::NAN, 2.5, 2.0, 1.0];
    let (q, r) = (0.7, 2.0);
    let (mut mean, mut variance, mut evidence) = (0.5, 1.0, 0.0);
    for (t, &y) in y.iter().enumerate() {
        if t > 0 {
            (mean, variance) = (0.9 * mean + 0.1, 0.81 * variance + 1.0 / q);
        }
        if y.is_nan() {
            continue;
        }
        let spread: f64 = variance + 1.0 / r;
        evidence += -0.5 * (LN_2PI + spread.ln() + (y - mean).powi(2) / spread);
        let gain = variance / spread;
        mean += gain * (y - mean);
        variance *= 1.0 - gain;
    }
    exact(
        "model {
           x[1] ~ dnorm(0.5, 1)
           for (t in 2:6) { x[t] ~ dnorm(0.9 * x[t-1] + 0.1, 0.7) }
           for (t in 1:6) { y[t] ~ dnorm(x[t], 2) }
         }",
        "y=1 3 NA 2.5 2 1",
        evidence,
    );
    // With one precision for all, known up to a gamma: the chain and it are one block.
    let n = y.iter().filter(|y| !y.is_nan()).count();
    let seen: Vec<i32> = (0..6).filter(|&t| !y[t as usize].is_nan()).collect();
    let of_chain = |s: i32, t: i32| {
        let (first, last) = (s.min(t), s.max(t));
        let shocks: f64 = (1..=first)
            .map(|u| 0.9_f64.powi(first - u + last - u) / q)
            .sum();
        0.9_f64.powi(first + last) + shocks
    };
    let covariance = DMatrix::from_fn(n, n, |i, j| {
        of_chain(seen[i], seen[j]) + if i == j { 1.0 / r } else { 0.0 }
    });
    let factor = covariance.cholesky().expect("a covariance");
    let residual = DVector::from_fn(n, |i, _| y[seen[i] as usize]);
    let square = residual.dot(&factor.solve(&residual));
    let half = 0.5 * n as f64;
    exact(
        "model {
           x[1] ~ dnorm(0, tau)
           for (t in 2:6) { x[t] ~ dnorm(0.9 * x[t-1], 0.7 * tau) }
           for (i in 1:5) { y[i] ~ dnorm(x[at[i]], 2 * tau) }
           tau ~ dgamma(1.5, 2)
         }",
        "y=1 3 2.5 2 1; at=1 2 4 5 6",
        -half * LN_2PI - factor.l().diagonal().map(f64::ln).sum() + ln_gamma(1.5 + half)
            - ln_gamma(1.5)
            + 1.5 * 2.0_f64.ln()
            - (1.5 + half) * (2.0 + 0.5 * square).ln(),
    );
}

/// The bound is below the evidence, and not by more than a few nats, whatever is collapsed.
fn below(text: &str, numbers: &str, evidence: f64, gap: f64) {
    let prepared = prepared(text, data(numbers));
    let default = prepared.compile(&Demands::default()).expect("a choice");
    let choice = default.choice().clone();
    let mut ways = vec![Demands::default()];
    for set in &choice.alternatives {
        let names: Vec<&str> = set
            .iter()
            .map(|&c| choice.classes[c].names[0].as_str())
            .collect();
        ways.push(demands(&names.join(" "), ""));
    }
    for way in ways {
        let model = prepared.compile(&way).expect("an alternative");
        let best = (0..6)
            .map(|seed| climb(&model, seed, 1e-12).point.bound)
            .fold(f64::NEG_INFINITY, f64::max);
        assert!(
            best <= evidence + 1e-9 && best >= evidence - gap,
            "{text}: collapsing {:?}: bound {best}, evidence {evidence}",
            way.collapse
        );
        let explicit = model
            .choice()
            .classes
            .iter()
            .any(|c| c.role != Role::Collapsed);
        assert!(explicit, "{text}: nothing to bound");
    }
}

#[test]
fn mixtures_are_below_the_evidence() {
    let weights = |state: &[usize], prior: &[f64]| {
        let mut counts = vec![0.0; prior.len()];
        for &k in state {
            counts[k] += 1.0;
        }
        dirichlet(prior, &counts)
    };
    let of = |y: &[f64], state: &[usize], k: usize| -> Vec<f64> {
        let own = y.iter().zip(state).filter(|(_, s)| **s == k);
        own.map(|(y, _)| *y).collect()
    };
    let y = [1.0, 2.0, 0.0, 7.0, 9.0];
    below(
        "model {
           for (i in 1:5) { z[i] ~ dcat(w[]); y[i] ~ dpois(l[z[i]]) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { l[k] ~ dgamma(2, 1) }
         }",
        "y=1 2 0 7 9; a=1 1.5",
        enumerate(&[2; 5], |s| {
            let parts = (0..2).map(|k| gamma_poisson(2.0, 1.0, &of(&y, s, k)));
            weights(s, &[1.0, 1.5]) + parts.sum::<f64>()
        }),
        2.0,
    );
    let y = [1.0, 1.3, 0.8, 3.0, 3.3];
    below(
        "model {
           for (i in 1:5) { z[i] ~ dcat(w[]); y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { mu[k] ~ dnorm(1, 0.5 * tau[k]); tau[k] ~ dgamma(2, 1) }
         }",
        "y=1 1.3 0.8 3 3.3; a=1 2",
        enumerate(&[2; 5], |s| {
            let part = |k: usize| {
                let y = of(&y, s, k);
                let n = y.len();
                normal_gamma(&y, &vec![vec![1.0]; n], &[1.0], &[2.0], 2.0, 1.0)
            };
            let parts = (0..2).map(|k| if s.contains(&k) { part(k) } else { 0.0 });
            weights(s, &[1.0, 2.0]) + parts.sum::<f64>()
        }),
        2.0,
    );
    let (docs, words) = ([0, 0, 0, 1, 1], [0, 1, 0, 2, 1]);
    below(
        "model {
           for (d in 1:2) { theta[d,1:2] ~ ddirch(alpha[]) }
           for (k in 1:2) { phi[k,1:3] ~ ddirch(beta[]) }
           for (i in 1:5) { z[i] ~ dcat(theta[doc[i],]); w[i] ~ dcat(phi[z[i],]) }
         }",
        "doc=1 1 1 2 2; w=1 2 1 3 2; alpha=0.5 0.7; beta=0.4 0.5 0.6",
        enumerate(&[2; 5], |s| {
            let (mut theta, mut phi) = ([[0.0; 2]; 2], [[0.0; 3]; 2]);
            for (i, &k) in s.iter().enumerate() {
                theta[docs[i]][k] += 1.0;
                phi[k][words[i]] += 1.0;
            }
            theta.iter().map(|n| dirichlet(&[0.5, 0.7], n)).sum::<f64>()
                + phi
                    .iter()
                    .map(|n| dirichlet(&[0.4, 0.5, 0.6], n))
                    .sum::<f64>()
        }),
        2.5,
    );
    let p: [[f64; 3]; 4] = [
        [0.5, 0.1, 0.0],
        [0.2, 0.2, 0.2],
        [0.0, 0.9, 0.3],
        [0.4, 0.0, 0.0],
    ];
    below(
        "model {
           for (i in 1:4) { z[i] ~ dcat(theta[]); one[i] ~ dbern(P[i,z[i]]) }
           theta[1:3] ~ ddirch(alpha[])
         }",
        "one=1 1 1 1; alpha=0.5 1 1; P[4,3]=0.5 0.1 0 0.2 0.2 0.2 0 0.9 0.3 0.4 0 0",
        enumerate(&[3; 4], |s| {
            let likely: f64 = s.iter().enumerate().map(|(i, &k)| p[i][k].ln()).sum();
            weights(s, &[0.5, 1.0, 1.0]) + likely
        }),
        1.0,
    );
}

#[test]
fn chains_with_unknown_tables_are_below_the_evidence() {
    let y = [0, 2, 1, 1, 0];
    below(
        "model {
           s[1] ~ dcat(p0[])
           for (t in 2:5) { s[t] ~ dcat(P[s[t-1],]) }
           for (t in 1:5) { y[t] ~ dcat(E[s[t],]) }
           p0[1:2] ~ ddirch(a[])
           for (k in 1:2) { P[k,1:2] ~ ddirch(a[]); E[k,1:3] ~ ddirch(one[]) }
         }",
        "y=1 3 2 2 1; one=1 1 1; a=1 2",
        enumerate(&[2; 5], |s| {
            let (mut first, mut moves, mut seen) = ([0.0; 2], [[0.0; 2]; 2], [[0.0; 3]; 2]);
            first[s[0]] += 1.0;
            for t in 0..5 {
                seen[s[t]][y[t]] += 1.0;
                if t > 0 {
                    moves[s[t - 1]][s[t]] += 1.0;
                }
            }
            dirichlet(&[1.0, 2.0], &first)
                + moves.iter().map(|n| dirichlet(&[1.0, 2.0], n)).sum::<f64>()
                + seen.iter().map(|n| dirichlet(&[1.0; 3], n)).sum::<f64>()
        }),
        2.0,
    );
}

#[test]
fn factors_of_one_normal_are_below_the_evidence() {
    let y = [1.0, 2.0, 4.0, 0.5];
    // ∫ over ln tau by the trapezium rule, which is exact to rounding for such smooth tails.
    let step = 0.01;
    let parts: Vec<f64> = (-3000..2000)
        .map(|i| {
            let ln_tau = step * f64::from(i);
            let tau = ln_tau.exp();
            let covariance =
                DMatrix::from_fn(4, 4, |i, j| 10.0 + if i == j { 1.0 / tau } else { 0.0 });
            // Above e^15 the covariance has lost its digits, and the prior everything else.
            if ln_tau > 15.0 {
                return f64::NEG_INFINITY;
            }
            let prior = 2.0 * 3.0_f64.ln() - ln_gamma(2.0) + 2.0 * ln_tau - 3.0 * tau;
            gaussian(&y, covariance) + prior + f64::ln(step)
        })
        .collect();
    below(
        "model { for (i in 1:4) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 0.1); tau ~ dgamma(2, 3) }",
        "y=1 2 4 0.5",
        log_sum_exp(&parts),
        0.3,
    );
}

#[test]
fn labels_of_a_line_may_differ_in_their_states() {
    let density = |y: f64, m: f64| -0.5 * LN_2PI - 0.5 * (y - m).powi(2);
    let p = [vec![0.5, 0.5], vec![0.2, 0.3, 0.5]];
    let of = |y: f64, p: &[f64]| {
        let parts: Vec<f64> = (p.iter().enumerate())
            .map(|(k, p)| p.ln() + density(y, k as f64 + 1.0))
            .collect();
        log_sum_exp(&parts)
    };
    let text = "model { for (i in 1:2) { z[i] ~ dcat(p[i,1:n[i]]); y[i] ~ dnorm(z[i], 1) } }";
    let evidence = of(1.0, &p[0]) + of(2.0, &p[1]);
    exact(text, "n=2 3; p[2,3]=0.5 0.5 0 0.2 0.3 0.5; y=1 2", evidence);
    // Falling numbers are refused as data outside the support.
    exact(text, "n=3 2; p[2,3]=0.2 0.3 0.5 0.5 0.5 0; y=2 1", evidence);
    // p(x = k) of a binomial with a known share.
    let of = |y: f64, n: u32| {
        let parts: Vec<f64> = (0..=n)
            .map(|k| {
                let (n, k) = (f64::from(n), f64::from(k));
                let ways = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
                ways + k * 0.3_f64.ln() + (n - k) * 0.7_f64.ln() + density(y, k)
            })
            .collect();
        log_sum_exp(&parts)
    };
    exact(
        "model { for (i in 1:2) { x[i] ~ dbin(0.3, n[i]); y[i] ~ dnorm(x[i], 1) } }",
        "n=1 3; y=0.5 2",
        of(0.5, 1) + of(2.0, 3),
    );
}

/// The mean vector of a mixture, by way of a computed line.
#[test]
fn computed_vectors_depend_on_labels() {
    let numbers = "p=0.4 0.6; m[2,2]=0 0 3 3; P[2,2]=1 0 0 1; y=3 3";
    let evidence = log_sum_exp(&[0.4_f64.ln() - 9.0, 0.6_f64.ln()]) - LN_2PI;
    exact(
        "model { z ~ dcat(p[]); y[1:2] ~ dmnorm(m[z,], P[,]) }",
        numbers,
        evidence,
    );
    exact(
        "model { z ~ dcat(p[]); v[1:2] <- m[z,]; y[1:2] ~ dmnorm(v[], P[,]) }",
        numbers,
        evidence,
    );
}

/// Labels of which some are observed: each is seen with its own datum.
#[test]
fn observed_labels_count() {
    let text = "model {
        for (i in 1:3) { z[i] ~ dcat(p[]); y[i] ~ dnorm(m[z[i]], 1) }
    }";
    let density = |y: f64, m: f64| -0.5 * LN_2PI - 0.5 * (y - m).powi(2);
    let free = log_sum_exp(&[
        0.4_f64.ln() + density(0.5, 0.0),
        0.6_f64.ln() + density(0.5, 3.0),
    ]);
    let given = 0.4_f64.ln() + density(-0.2, 0.0) + 0.6_f64.ln() + density(2.5, 3.0);
    let mut numbers = data("p=0.4 0.6; m=0 3; y=-0.2 0.5 2.5");
    put(&mut numbers, "z", &[3], &[1.0, f64::NAN, 2.0]);
    let prepared = prepared(text, numbers);
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let bound = climb(&model, 0, 1e-12).point.bound;
    assert!(
        (bound - free - given).abs() < 1e-10,
        "{bound}, exactly {}",
        free + given
    );
}
