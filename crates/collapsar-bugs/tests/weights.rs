//! Importance weights of q average to the evidence.

mod common;
mod models;

use collapsar::diagnostics::ImportanceWeights;
use collapsar::graph::{Compiled, Demands};
use common::{climb, data, prepared};
use models::MODELS;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The logarithm of the mean of weights, and its standard error.
fn ln_mean(ln_weights: &[f64]) -> (f64, f64) {
    let most = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = ln_weights.iter().map(|w| (w - most).exp()).collect();
    let n = weights.len() as f64;
    let mean = weights.iter().sum::<f64>() / n;
    let variance = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (most + mean.ln(), (variance / n).sqrt() / mean)
}

/// Whatever is collapsed, and so whatever is drawn and summed out, the evidence is one number, no less than any
/// bound.
#[test]
fn every_choice_gives_the_same_evidence() {
    let mut compared = 0;
    for (name, text, numbers) in MODELS {
        let prepared = prepared(text, data(numbers));
        let default =
            Compiled::new(prepared.graph().clone(), &Demands::default()).expect("a model");
        let mut found: Vec<(f64, f64)> = vec![];
        let choice = default.choice();
        let mut demands = vec![Demands::default()];
        for alternative in &choice.alternatives {
            let names = alternative
                .iter()
                .flat_map(|&class| choice.classes[class].names.clone());
            demands.push(Demands {
                collapse: names.collect(),
                explicit: vec![],
            });
        }
        for demands in demands {
            let Ok(model) = Compiled::new(prepared.graph().clone(), &demands) else {
                continue;
            };
            let fit = climb(&model, 1, 1e-8);
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let weights = model
                .ln_weights(&fit.point, 4000, &mut rng)
                .expect("weights");
            let (evidence, error) = ln_mean(&weights);
            let mean = weights.iter().sum::<f64>() / weights.len() as f64;
            let spread = ln_spread(&weights);
            assert!(
                mean > fit.point.bound - 5.0 * spread - 1e-9,
                "{name}: {mean} {}",
                fit.point.bound
            );
            // Where a few weights make up the sum, nothing is to be compared.
            let smoothed = ImportanceWeights::smooth(&weights).expect("weights");
            if smoothed.k_hat.is_none_or(|k_hat| k_hat < 0.7) {
                found.push((evidence, error));
            }
        }
        for pair in found.windows(2) {
            let error = (pair[0].1.powi(2) + pair[1].1.powi(2)).sqrt();
            compared += 1;
            // With tails of a k-hat up to 0.7, errors themselves are known to a factor of two or so.
            assert!(
                (pair[0].0 - pair[1].0).abs() < 5.0 * error + 0.05,
                "{name}: {found:?}"
            );
        }
    }
    assert!(compared > 20, "{compared}");
}

/// The standard error of the mean of logarithms.
fn ln_spread(ln_weights: &[f64]) -> f64 {
    let n = ln_weights.len() as f64;
    let mean = ln_weights.iter().sum::<f64>() / n;
    let variance = ln_weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (variance / n).sqrt()
}

/// Joint densities at many places at once are those at each: rows are then in blocks, and places in groups.
#[test]
fn joints_together_are_joints_one_by_one() {
    let mut compared = 0;
    for (name, text, numbers) in MODELS {
        let model = prepared(text, data(numbers));
        let model = model.compile(&Demands::default()).expect("a choice");
        let fit = climb(&model, 1, 1e-6);
        let Some(kept) = model.kept().filter(|kept| !kept.is_empty()) else {
            continue;
        };
        let mut chain = (model.chain(&fit.point, &mut ChaCha8Rng::seed_from_u64(5))).expect("one");
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut places = vec![];
        for _ in 0..40 {
            chain.sweep(&mut rng).expect("a sweep");
            places.push(kept.coordinates(chain.numbers()));
        }
        // One that is nowhere must not shift the others.
        places[3].fill(f64::INFINITY);
        let together = kept.ln_joints(&places);
        for (at, together) in places.iter().zip(together) {
            let alone = kept.ln_joint(at);
            let near = (alone - together).abs() <= 1e-10 * alone.abs().max(1.0);
            assert!(near || alone == together, "{name}: {alone} {together}");
            compared += usize::from(alone.is_finite());
        }
    }
    assert!(compared > 500, "{compared}");
}
