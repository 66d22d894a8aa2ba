//! Every distribution and combinator obeys the laws of collapsed models, and every direction climbs on them.

mod common;
mod models;

use collapsar::graph::{Compiled, Role};
use collapsar::laws::model::{
    bound, curvature, direction, gradient_has_curvature, gradient_is_slope_of_bound,
    potentials_conform, vbem_step_cannot_fall,
};
use collapsar::laws::{
    Verdict, gradient_is_slope, hessian_is_nonnegative, hessian_is_slope, hessian_is_symmetric,
};
use collapsar::{Collapsed, Direction, Driver, Potential, Stop};
use common::{compiled, data};
use models::MODELS;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Runs `law` on every model and tells all that fail.
fn on_every_model(law: impl Fn(&Compiled, u64) -> Verdict) {
    let mut broken = vec![];
    for (name, text, numbers) in MODELS {
        let model = compiled(text, data(numbers));
        for seed in [1, 2] {
            if let Err(verdict) = law(&model, seed) {
                broken.push(format!("{name}, seed {seed}: {verdict}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// One VBEM step from a start, then a random step of some Fisher lengths, halved until it is inside.
fn point(model: &Compiled, seed: u64) -> Result<Vec<f64>, String> {
    let start = model.start(seed).map_err(|e| e.to_string())?;
    let fit = Driver::new(model, Direction::Vbem)
        .stop(Stop::Iterations(1))
        .run(start)
        .map_err(|e| e.to_string())?;
    let messages = fit.point.messages;
    let along = direction(model, &messages, &mut ChaCha8Rng::seed_from_u64(seed))?;
    let mut step = 0.3;
    while step > 1e-6 {
        let moved: Vec<f64> = messages
            .iter()
            .zip(&along)
            .map(|(m, d)| m + step * d)
            .collect();
        if bound(model, &moved).is_ok_and(f64::is_finite) {
            return Ok(moved);
        }
        step *= 0.5;
    }
    Err("no point beside the first step is inside the domain".into())
}

fn coupled(model: &Compiled) -> bool {
    let classes = &model.choice().classes;
    classes.iter().any(|class| class.role == Role::Own)
}

/// Laws of both potentials; where explicit blocks meet, the second need not be convex.
fn potentials(model: &Compiled, messages: &[f64], seed: u64) -> Verdict {
    if !coupled(model) {
        return potentials_conform(model, messages, seed);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let named = |which: &'static str| move |e: String| format!("{which}: {e}");
    let (local, posterior) = (model.local(), model.posterior());
    let mut statistics = vec![0.0; messages.len()];
    local
        .value_and_gradient(messages, &mut statistics)
        .map_err(|e| e.to_string())?;
    let mut toward = || -> Vec<f64> {
        let one = |t: &f64| 0.05 * (t.abs() + 0.01) * rng.random_range(-1.0..1.0);
        statistics.iter().map(one).collect()
    };
    for round in 0..3 {
        let (a, b) = (toward(), toward());
        gradient_is_slope(posterior, &statistics, &a).map_err(named("posterior"))?;
        hessian_is_slope(posterior, &statistics, &a).map_err(named("posterior"))?;
        hessian_is_symmetric(posterior, &statistics, &a, &b).map_err(named("posterior"))?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed + round);
        let a = direction(model, messages, &mut rng)?;
        let b = direction(model, messages, &mut rng)?;
        gradient_is_slope(local, messages, &a).map_err(named("local"))?;
        hessian_is_slope(local, messages, &a).map_err(named("local"))?;
        hessian_is_symmetric(local, messages, &a, &b).map_err(named("local"))?;
        hessian_is_nonnegative(local, messages, &a).map_err(named("local"))?;
    }
    Ok(())
}

#[test]
fn potentials_have_their_derivatives() {
    on_every_model(|model, seed| potentials(model, &point(model, seed)?, seed));
}

#[test]
fn the_bound_has_its_natural_gradient_and_curvature() {
    on_every_model(|model, seed| {
        let messages = point(model, seed)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..3 {
            let along = direction(model, &messages, &mut rng)?;
            gradient_is_slope_of_bound(model, &messages, &along)?;
            gradient_has_curvature(model, &messages, &along)?;
            curvature(model, &messages, &along)?;
        }
        if coupled(model) {
            Ok(())
        } else {
            vbem_step_cannot_fall(model, &messages)
        }
    });
}

#[test]
fn climbs_never_fall() {
    on_every_model(|model, seed| {
        let start = model.start(seed).map_err(|e| e.to_string())?;
        for direction in Direction::ALL {
            let mut bounds = vec![bound(model, &start).map_err(|e| e.to_string())?];
            let fit = Driver::new(model, direction)
                .stop(Stop::Iterations(20))
                .observe(|step| {
                    bounds.push(step.bound);
                    std::ops::ControlFlow::Continue(())
                })
                .run(start.clone())
                .map_err(|e| format!("{direction}: {e}"))?;
            // Written so that a NaN is a fall.
            let rises = |pair: &&[f64]| pair[1] > pair[0];
            if let Some([from, to]) = bounds.windows(2).find(|pair| !rises(pair)) {
                return Err(format!("{direction}: from {from} to {to}"));
            }
            let there = bound(model, &fit.point.messages).map_err(|e| e.to_string())?;
            if there != fit.point.bound {
                return Err(format!(
                    "{direction}: ends at {}, not {there}",
                    fit.point.bound
                ));
            }
        }
        Ok(())
    });
}

/// All directions end where the bound is stationary, and no lower than the others by much.
#[test]
fn climbs_end_where_the_bound_is_stationary() {
    on_every_model(|model, seed| {
        let start = model.start(seed).map_err(|e| e.to_string())?;
        for direction in Direction::ALL {
            let fit = Driver::new(model, direction)
                .stop(Stop::Gain(1e-12) | Stop::Passes(20_000))
                .run(start.clone())
                .map_err(|e| format!("{direction}: {e}"))?;
            let norm = collapsar::laws::model::squared_norm(model, &fit.point.messages)
                .map_err(|e| e.to_string())?;
            // A VBEM step gains half the squared norm; other last steps may gain far less.
            if norm.is_nan() || norm > 1e-6 {
                let passes = fit.passes;
                return Err(format!(
                    "{direction}: norm {norm:e} after {passes} passes, {}",
                    fit.outcome
                ));
            }
        }
        Ok(())
    });
}
