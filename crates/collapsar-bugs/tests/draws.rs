//! Draws that are weighed against the joint: the evidence that they estimate, and the covariance that they have.

mod common;
mod models;

use collapsar::diagnostics::ImportanceWeights;
use collapsar::graph::{
    Compiled, Demands, LinearResponse, Origins, PosteriorMarginal, VariationalPosterior,
    WeightedDraws,
};
use collapsar::special::ln_gamma;
use collapsar::{Fit, Point};
use collapsar_bugs::{Asked, Posterior, Summary};
use common::{climb, compiled, data, prepared};
use models::MODELS;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const LN_2PI: f64 = 1.837_877_066_409_345_6;

fn log_sum_exp(values: &[f64]) -> f64 {
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    highest + values.iter().map(|v| (v - highest).exp()).sum::<f64>().ln()
}

/// The best of some climbs.
fn best(model: &Compiled) -> Fit {
    let fits = (1..=4).map(|seed| climb(model, seed, 1e-12));
    let higher = |a: &Fit, b: &Fit| a.point.bound.total_cmp(&b.point.bound);
    fits.max_by(higher).expect("a fit")
}

/// Weighted draws of what is kept, symmetric states counted where `symmetric`.
fn weighted<'a>(
    model: &'a Compiled,
    response: &LinearResponse<'a>,
    point: &Point,
    (draws, seed, symmetric): (usize, u64, bool),
) -> Option<(WeightedDraws<'a>, f64)> {
    let kept = model.kept().filter(|kept| !kept.is_empty())?;
    let proposal = response.proposal(&kept).expect("inside the domain")?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let exchange = (kept.exchange(&proposal.draw(&mut rng))).filter(|_| symmetric);
    let orders = exchange
        .as_ref()
        .map_or(&[][..], |exchange| &exchange.orders);
    let from = Origins { point, rivals: &[] };
    let found = kept.weighted(from, proposal, orders, draws, None, &mut rng);
    let states = exchange
        .as_ref()
        .map_or(1.0, |exchange| exchange.states as f64);
    found
        .expect("inside the domain")
        .map(|found| (found, states))
}

/// Estimates from weights and from chains over twenty seeds are within their errors, which are honest.
fn check(name: &str, text: &str, numbers: &str, evidence: f64, states: f64) {
    let model = compiled(text, data(numbers));
    let fit = best(&model);
    let response = model.linear_response(&fit.point).expect("a maximum");
    let (mut weighed, mut bridged) = (0.0, 0.0);
    for seed in 0..20 {
        let (found, counted) =
            weighted(&model, &response, &fit.point, (1000, seed, true)).expect("weights");
        assert_eq!(counted, states, "{name}");
        let (estimate, error) = (found.weights.ln_mean, found.weights.mcse_ln_mean);
        assert!(error < 0.2, "{name}: {estimate} ± {error}");
        weighed += ((estimate - evidence) / error).powi(2) / 20.0;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let kept = model.kept().expect("what is kept");
        let found = kept
            .bridged(&fit.point, (4, 250), &mut rng)
            .expect("chains");
        let (bridge, _) = found.expect("draws that vary");
        assert!(bridge.error < 0.2, "{name}: {bridge:?}");
        bridged += ((bridge.ln_evidence - evidence) / bridge.error).powi(2) / 20.0;
    }
    // The mean of twenty squares of standard normals is above 2.0 once in 200; errors are themselves estimates, and
    // chains forget slowly, so twice that.
    assert!(weighed < 4.0, "{name}: weights off by {}", weighed.sqrt());
    assert!(bridged < 4.0, "{name}: bridges off by {}", bridged.sqrt());
}

/// ln p of counts whose labels are summed out one by one, with a gamma prior for the rate of each state and a flat one for
/// the shares.
fn poisson_mixture(counts: &[f64], states: usize, shape: f64, rate: f64) -> f64 {
    let mut all = vec![];
    let total = states.pow(counts.len() as u32);
    for mut code in 0..total {
        let mut n = vec![0.0; states];
        let mut sums = vec![0.0; states];
        for &count in counts {
            n[code % states] += 1.0;
            sums[code % states] += count;
            code /= states;
        }
        let k = states as f64;
        let shares = ln_gamma(k) - ln_gamma(k + counts.len() as f64)
            + n.iter().map(|n| ln_gamma(1.0 + n)).sum::<f64>();
        let rates: f64 = n
            .iter()
            .zip(&sums)
            .map(|(n, sum)| {
                shape * rate.ln() - ln_gamma(shape) + ln_gamma(shape + sum)
                    - (shape + sum) * (rate + n).ln()
            })
            .sum();
        all.push(shares + rates);
    }
    log_sum_exp(&all) - counts.iter().map(|y| ln_gamma(y + 1.0)).sum::<f64>()
}

#[test]
fn poisson_mixtures_count_the_orders_of_their_states() {
    let y = [0.0, 1.0, 1.0, 2.0, 6.0, 7.0, 9.0, 12.0];
    let of = |states: usize| {
        format!(
            "model {{
               for (i in 1:8) {{ z[i] ~ dcat(w[]); y[i] ~ dpois(l[z[i]]) }}
               w[1:{states}] ~ ddirch(one[])
               for (k in 1:{states}) {{ l[k] ~ dgamma(1.5, 0.3) }}
             }}"
        )
    };
    let numbers = "y=0 1 1 2 6 7 9 12; one=1 1";
    let evidence = poisson_mixture(&y, 2, 1.5, 0.3);
    check("two states", &of(2), numbers, evidence, 2.0);
    let numbers = "y=0 1 1 2 6 7 9 12; one=1 1 1";
    let evidence = poisson_mixture(&y, 3, 1.5, 0.3);
    check("three states", &of(3), numbers, evidence, 3.0);
}

/// The mean of a proposal over all orders of states is the same whatever the order: of parts, of matrices with means, of tables
/// that follow the states both ways.
#[test]
fn proposals_do_not_know_the_order_of_states() {
    let matrices = "model {
        for (i in 1:9) { z[i] ~ dcat(w[]); y[i,1:2] ~ dmnorm(mu[z[i],], L[z[i],,]) }
        w[1:3] ~ ddirch(one[])
        for (k in 1:3) { mu[k,1:2] ~ dmnorm(m[], L[k,,]); L[k,1:2,1:2] ~ dwish(R[,], 4) }
    }";
    let chain = "model {
        z[1] ~ dcat(one[])
        for (t in 2:12) { z[t] ~ dcat(A[z[t-1],]) }
        for (t in 1:12) { x[t] ~ dnorm(a[z[t]], tau[z[t]]) }
        for (k in 1:3) { A[k,1:3] ~ ddirch(one[]); a[k] ~ dnorm(0, 0.1); tau[k] ~ dgamma(2, 1) }
    }";
    let points = "y[9,2]=0 0.3 0.2 -0.1 -0.2 0.1 5 5.2 4.8 5.1 5.3 4.9 -5 5 -5.2 4.7 -4.9 5.3";
    let points = format!("{points}; one=1 1 1; m=0 0; R[2,2]=1 0 0 1");
    let steps = "one=1 1 1; x=0 0.2 3 3.1 2.8 -4 -4.2 -3.9 0.1 0.3 3 -4";
    for (name, text, numbers) in [("matrices", matrices, &*points), ("chain", chain, steps)] {
        let model = compiled(text, data(numbers));
        let fit = best(&model);
        let response = model.linear_response(&fit.point).expect("a maximum");
        let kept = model.kept().expect("what is kept");
        let proposal = response.proposal(&kept).expect("inside").expect("one");
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let exchange = kept.exchange(&proposal.draw(&mut rng)).expect(name);
        let orders = kept.orders(&exchange.orders);
        let mut moving = model.chain(&fit.point, &mut rng).expect("a chain");
        for _ in 0..5 {
            moving.sweep(&mut rng).expect("a sweep");
            let numbers = moving.numbers();
            let moved = |order: &Vec<usize>| -> Vec<f64> {
                order.iter().map(|&place| numbers[place]).collect()
            };
            let all = exchange.orders.iter().map(moved);
            let places: Vec<Vec<f64>> = std::iter::once(numbers.to_vec())
                .chain(all)
                .map(|numbers| kept.coordinates(&numbers))
                .collect();
            let found = kept.ln_proposed(&proposal, &orders, &places);
            for after in &found[1..] {
                // The same terms in another order, of coordinates that are rounded once.
                assert!(
                    (after - found[0]).abs() < 1e-9 * (1.0 + found[0].abs()),
                    "{name}: {after} {}",
                    found[0]
                );
            }
        }
    }
}

/// The integral over ln τ of exp(f(ln τ)), by the trapezium rule.
fn over_ln_tau(f: impl Fn(f64) -> f64) -> f64 {
    let step = 0.01_f64;
    let parts: Vec<f64> = (-2500..2500).map(|i| f(step * f64::from(i))).collect();
    log_sum_exp(&parts) + step.ln()
}

fn ln_gamma_density(ln_tau: f64, shape: f64, rate: f64) -> f64 {
    shape * rate.ln() - ln_gamma(shape) + shape * ln_tau - rate * ln_tau.exp()
}

#[test]
fn eight_schools_have_the_evidence_of_an_integral() {
    let y = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    let sigma = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0_f64];
    let evidence = over_ln_tau(|ln_tau| {
        // Given τ, numbers are independent but for mu, whose prior is N(0, 400).
        let (mut precision, mut shift, mut sum) = (1.0 / 400.0, 0.0, -0.5 * 400.0_f64.ln());
        for (y, sigma) in y.iter().zip(sigma) {
            let variance = sigma * sigma + (-ln_tau).exp();
            precision += 1.0 / variance;
            shift += y / variance;
            sum -= 0.5 * (LN_2PI + variance.ln() + y * y / variance);
        }
        sum - 0.5 * precision.ln()
            + 0.5 * shift * shift / precision
            + ln_gamma_density(ln_tau, 1.0, 20.0)
    });
    check(
        "eight schools",
        "model {
           for (j in 1:8) { y[j] ~ dnorm(theta[j], p[j]); theta[j] ~ dnorm(mu, tau); p[j] <- pow(sigma[j], -2) }
           mu ~ dnorm(0, 0.0025)
           tau ~ dgamma(1, 20)
         }",
        "y=28 8 -3 7 -1 1 18 12; sigma=15 10 16 11 9 11 10 18",
        evidence,
        1.0,
    );
}

#[test]
fn a_normal_sample_has_the_evidence_of_an_integral() {
    let y = [1.0, 2.0, 4.0, 0.5];
    let (n, sum) = (4.0, y.iter().sum::<f64>());
    let squares: f64 = y.iter().map(|y| y * y).sum();
    let evidence = over_ln_tau(|ln_tau| {
        let tau = ln_tau.exp();
        let precision = 0.1 + n * tau;
        0.5 * n * (ln_tau - LN_2PI) - 0.5 * tau * squares
            + 0.5 * (0.1 / precision).ln()
            + 0.5 * (tau * sum).powi(2) / precision
            + ln_gamma_density(ln_tau, 2.0, 3.0)
    });
    check(
        "normal sample",
        "model { for (i in 1:4) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 0.1); tau ~ dgamma(2, 3) }",
        "y=1 2 4 0.5",
        evidence,
        1.0,
    );
}

/// What is summed out is drawn anew given each weighted draw: the mean of a normal sample, whose precision is kept, has the
/// deviation of an integral.
#[test]
fn what_is_summed_out_varies_with_what_is_kept() {
    let y = [1.0, 2.0, 4.0, 0.5];
    let (n, sum) = (4.0, y.iter().sum::<f64>());
    let squares: f64 = y.iter().map(|y| y * y).sum();
    let ln_joint = |ln_tau: f64| {
        let tau = ln_tau.exp();
        let precision = 0.1 + n * tau;
        0.5 * n * ln_tau - 0.5 * tau * squares - 0.5 * precision.ln()
            + 0.5 * (tau * sum).powi(2) / precision
            + ln_gamma_density(ln_tau, 2.0, 3.0)
    };
    let grid: Vec<f64> = (0..4000).map(|i| -8.0 + 0.004 * f64::from(i)).collect();
    let weights: Vec<f64> = grid.iter().map(|&ln_tau| ln_joint(ln_tau).exp()).collect();
    let total: f64 = weights.iter().sum();
    let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
        let terms = grid.iter().zip(&weights);
        terms.map(|(ln_tau, w)| w * of(ln_tau.exp())).sum::<f64>() / total
    };
    let mean = moment(&|tau| tau * sum / (0.1 + n * tau));
    let square = moment(&|tau| {
        let precision = 0.1 + n * tau;
        1.0 / precision + (tau * sum / precision).powi(2)
    });
    let exact = (square - mean * mean).sqrt();
    let model = compiled(
        "model { for (i in 1:4) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 0.1); tau ~ dgamma(2, 3) }",
        data("y=1 2 4 0.5"),
    );
    let fit = best(&model);
    let response = model.linear_response(&fit.point).expect("a maximum");
    let found = weighted(&model, &response, &fit.point, (20_000, 3, false));
    let (draws, _) = found.expect("weights");
    let variational = model.variational_posterior(&fit.point);
    let mu = (0..2)
        .find(|&v| !draws.holds(v))
        .expect("one is summed out");
    let (mut walk, mut rng) = (draws.walk(), ChaCha8Rng::seed_from_u64(4));
    let (mut first, mut second) = (0.0, 0.0);
    for index in 0..draws.len() {
        let x = walk.numbers(index, true, &mut rng).expect("inside")[variational.place(mu)];
        first += draws.weight(index) * x;
        second += draws.weight(index) * x * x;
    }
    let sd = (second - first * first).sqrt();
    // Half a percent is the error of a deviation from twenty thousand draws; four of them.
    assert!((sd / exact - 1.0).abs() < 0.02, "{sd} {exact}");
}

/// A proposal in coordinates without bounds, whatever the families, and draws of q have the same evidence.
#[test]
fn coordinates_have_the_measure_of_their_families() {
    let mut compared = 0;
    for (name, text, numbers) in MODELS {
        let prepared = prepared(text, data(numbers));
        let model = Compiled::new(prepared.graph().clone(), &Demands::default()).expect("a model");
        let fit = best(&model);
        let Ok(response) = model.linear_response(&fit.point) else {
            continue;
        };
        let Some((found, _)) = weighted(&model, &response, &fit.point, (2000, 1, false)) else {
            continue;
        };
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let plain = (model.ln_weights(&fit.point, 4000, &mut rng)).expect("weights");
        let plain = ImportanceWeights::smooth(&plain).expect("weights");
        let light = |weights: &ImportanceWeights| {
            weights.k_hat.is_none_or(|k_hat| k_hat < 0.5) && weights.mcse_ln_mean < 0.1
        };
        if light(&found.weights) && light(&plain) {
            let off = found.weights.ln_mean - plain.ln_mean;
            let error = found.weights.mcse_ln_mean.hypot(plain.mcse_ln_mean);
            compared += 1;
            // Tails of a k-hat up to a half leave errors uncertain by a third or so.
            assert!(off.abs() < 5.0 * error + 0.01, "{name}: {off} ± {error}");
        }
    }
    assert!(compared > 10, "{compared}");
}

/// Draws with the covariance of linear response have it: variances of sums and of differences, within three errors of a sample.
#[test]
fn corrected_draws_have_the_covariance_of_the_response() {
    let text = "model {
        for (i in 1:60) { y[i] ~ dnorm(a[g[i]], tau) }
        for (k in 1:3) { a[k] ~ dnorm(mu, 2) }
        mu ~ dnorm(0, 0.1)
        tau ~ dgamma(2, 2)
    }";
    let y: Vec<String> = (0..60)
        .map(|i| format!("{:.3}", f64::from(i / 20) + (f64::from(i) * 2.4).sin()))
        .collect();
    let g: Vec<String> = (0..60).map(|i| (1 + i / 20).to_string()).collect();
    let numbers = format!("y={}; g={}", y.join(" "), g.join(" "));
    let model = compiled(text, data(&numbers));
    let fit = best(&model);
    let response = model.linear_response(&fit.point).expect("a maximum");
    let variational = model.variational_posterior(&fit.point);
    let numbers: Vec<(u32, usize)> = (model.declared().iter())
        .flat_map(|declared| declared.variables().map(|variable| (variable, 0)))
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut source = response
        .draws(&mut rng)
        .expect("draws")
        .expect("few messages");
    let draws: Vec<Vec<f64>> = (0..4000)
        .map(|_| {
            let all = source.draw(true, &mut rng).expect("a draw");
            numbers
                .iter()
                .map(|&(variable, _)| all[variational.place(variable)])
                .collect()
        })
        .collect();
    let marginals = variational.marginals().expect("marginals");
    let variance = |variable: u32| match marginals.of(variable, 0) {
        Some(PosteriorMarginal::Closed(marginal)) => marginal.sd().powi(2),
        other => panic!("{other:?}"),
    };
    for (i, &(a, _)) in numbers.iter().enumerate() {
        for (j, &(b, _)) in numbers.iter().enumerate().skip(i + 1) {
            let (va, vb) = (variance(a), variance(b));
            let scale = (va / vb).sqrt();
            let extra = |terms: &[(u32, usize, f64)]| {
                response
                    .extra_variance(terms)
                    .expect("inside")
                    .expect("numbers")
            };
            // The covariance that mean field leaves out, by the variances of a sum and of its parts.
            let both = extra(&[(a, 0, 1.0), (b, 0, scale)]);
            let own = extra(&[(a, 0, 1.0)]) + extra(&[(b, 0, scale)]);
            let left_out = 0.5 * (both - own) / scale;
            let mean = |place: usize| draws.iter().map(|d| d[place]).sum::<f64>() / 4000.0;
            let (ma, mb) = (mean(i), mean(j));
            let sample = draws.iter().map(|d| (d[i] - ma) * (d[j] - mb)).sum::<f64>() / 4000.0;
            let of_q = covariance_of_q(&variational, a, b);
            let expected = of_q + left_out;
            let (sa, sb) = (
                (va + extra(&[(a, 0, 1.0)])).sqrt(),
                (vb + extra(&[(b, 0, 1.0)])).sqrt(),
            );
            // A covariance of 4,000 draws has an error of a sixtieth of the deviations' product; skewness and what is not linear add some.
            assert!(
                (sample - expected).abs() < 0.08 * sa * sb,
                "{a} {b}: {sample}, expected {expected} of {}",
                sa * sb
            );
        }
    }
}

/// The covariance of two numbers under q: not zero only within a normal block.
fn covariance_of_q(variational: &VariationalPosterior<'_>, a: u32, b: u32) -> f64 {
    let of = |terms: &[(u32, f64)]| variational.of_sum(terms).map(|(_, variance)| variance);
    match (of(&[(a, 1.0), (b, 1.0)]), of(&[(a, 1.0), (b, -1.0)])) {
        (Some(sum), Some(difference)) => 0.25 * (sum - difference),
        _ => 0.0,
    }
}

#[test]
fn chains_widen_what_is_too_narrow_and_nothing_else() {
    let text = "model {
        for (i in 1:6) { y[i] ~ dnorm(a + b * x[i], tau) }
        a ~ dnorm(0, 1.0E-6)
        b ~ dnorm(0, 1.0E-6)
        tau ~ dgamma(1.0E-3, 1.0E-3)
    }";
    let (x, y) = (
        [-5.0, -3.0, -1.0, 1.0, 3.0, 5.0],
        [1.0, 3.0, 2.0, 5.0, 4.0, 7.0],
    );
    let prepared = prepared(text, data("x=-5 -3 -1 1 3 5; y=1 3 2 5 4 7"));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let point = climb(&model, 1, 1e-12).point;
    let variational = model.variational_posterior(&point);
    let posterior = Posterior {
        prepared: &prepared,
        variational: &variational,
        response: None,
        weighted: None,
        share: 1.0,
        seed: 1,
    };
    let all = prepared.quantities().expect("quantities");
    let place = (all.iter().position(|q| q.to_string() == "tau")).expect("tau");
    let (mut rows, _) = posterior.summaries(&all).expect("rows");
    // Gamma((n − 2) / 2, residuals / 2), of which mean field has the mean and too large a shape (maths §10.2).
    let (mean_y, n) = (y.iter().sum::<f64>() / 6.0, 6.0);
    let slope: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() / 70.0;
    let off = |(x, y): (&f64, &f64)| (y - mean_y - slope * x).powi(2);
    let residuals: f64 = x.iter().zip(&y).map(off).sum();
    let (shape, rate): (f64, f64) = (0.5 * n - 1.0 + 1e-3, 0.5 * residuals + 1e-3);
    let truth = shape.sqrt() / rate;
    assert!((rows[place].mean / (shape / rate) - 1.0).abs() < 1e-3);
    assert!(rows[place].sd < 0.85 * truth);
    let before = rows.clone();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let went = model
        .short_chain(&point, 4000, None, &mut rng)
        .expect("a chain");
    let widen = |rows: &mut [Summary]| posterior.widen(&went, Asked::default(), &all, rows);
    assert!(widen(&mut rows).expect("numbers") > 0);
    // Two thousand draws of a gamma of shape 2, whose kurtosis is 6, know its deviation to three hundredths.
    assert!(
        (rows[place].sd / truth - 1.0).abs() < 0.1,
        "{:?}",
        rows[place]
    );
    for (before, after) in before.iter().zip(&rows) {
        assert!(after.mean == before.mean && after.sd >= before.sd);
        assert!(after.quantiles[0] <= before.quantiles[0]);
        assert!(after.quantiles[2] >= before.quantiles[2]);
    }
    // What is as wide as the posterior stays.
    let again = rows.clone();
    assert_eq!(widen(&mut rows).expect("numbers"), 0);
    assert_eq!(rows, again);
    // A few sweeps tell nothing.
    let short = model
        .short_chain(&point, 20, None, &mut rng)
        .expect("a chain");
    let mut narrow = before.clone();
    let told = posterior.widen(&short, Asked::default(), &all, &mut narrow);
    assert_eq!((told.expect("numbers"), narrow), (0, before));
}

/// A product of two normal variables is the same for both signs: a fit has one of two regions that are alike, and draws find the
/// other where a climb that ended there shows them the way.
#[test]
fn rivals_show_other_regions() {
    let text = "model {
        a ~ dnorm(0, 100)
        b ~ dnorm(0, 100)
        for (i in 1:8) { y[i] ~ dnorm(a*b, 10) }
    }";
    let y = [3.9, 4.2, 4.1, 3.8, 4.3, 3.7, 4.0, 4.4];
    let model = compiled(text, data("y=3.9 4.2 4.1 3.8 4.3 3.7 4.0 4.4"));
    // ln p(y) with a integrated out, by the trapezoidal rule over b.
    let (precision, step) = (10.0_f64, 1e-3);
    let at = |b: f64| {
        let squares: f64 = y.iter().map(|y| y * y).sum();
        let slope = precision * b * y.iter().sum::<f64>();
        let total = 100.0 + precision * 8.0 * b * b;
        4.0 * (precision.ln() - LN_2PI) - 0.5 * precision * squares
            + 0.5 * (100.0_f64.ln() - total.ln() + slope * slope / total)
            + 0.5 * (100.0_f64.ln() - LN_2PI)
            - 50.0 * b * b
    };
    let nodes: Vec<f64> = (-6000..=6000)
        .map(|node| at(f64::from(node) * step))
        .collect();
    let evidence = log_sum_exp(&nodes) + step.ln();

    let fits: Vec<Fit> = (1..=8).map(|seed| climb(&model, seed, 1e-12)).collect();
    let (fit, rest) = fits.split_first().expect("fits");
    let apart = |other: &Fit| {
        let both = fit.point.messages.iter().zip(&other.point.messages);
        both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) > 1.0
    };
    let other = rest.iter().find(|other| apart(other)).expect("both signs");
    let response = model.linear_response(&fit.point).expect("a maximum");
    let kept = model.kept().expect("what is kept");
    let estimate = |rivals: &[Point]| {
        let proposal = response.proposal(&kept).expect("inside").expect("one");
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let short = Some((200, ChaCha8Rng::seed_from_u64(2)));
        let point = &fit.point;
        let from = Origins { point, rivals };
        let found = kept.weighted(from, proposal, &[], 1000, short, &mut rng);
        let weights = found.expect("inside the domain").expect("weights").weights;
        (weights.ln_mean, weights.mcse_ln_mean)
    };
    let (alone, _) = estimate(&[]);
    assert!(
        (alone - (evidence - 2.0_f64.ln())).abs() < 0.2,
        "{alone} {evidence}"
    );
    let (both, error) = estimate(std::slice::from_ref(&other.point));
    // Four standard errors, which are a few hundredths.
    assert!(
        error < 0.1 && (both - evidence).abs() < 4.0 * error,
        "{both} ± {error} {evidence}"
    );
}
