//! Decides what every collapsed model must satisfy, and what every direction must on it.
//!
//! Laws of a point take `messages` inside the model's domain; laws of a climb take a start.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

use super::{TWO_OR_MORE, Verdict, evaluate, falls, hessian_diagonal, holds, moved, product};
use crate::vector::{absolute_dot, add, dot};
use crate::{Collapsed, Direction, Driver, Fit, Jumps, Point, Potential, Result, Step, Stop, Warm};

/// Runs are followed to gains below this many nats.
const LAST_GAIN: f64 = 1e-12;
/// A rule that needs more passes than this has not converged.
const MOST_PASSES: u64 = 200_000;
/// Models of more messages are not climbed with whole matrices here: their metric costs a pass for each.
const MOST_DENSE: usize = 60;
/// The squared norm that a converged run may be left with, for each nat of the bound beyond one.
///
/// A VBEM step gains at least half the squared norm (maths §6.1), so the last gain leaves 2e-12.
/// But gains are differences of bounds, whose terms round to about 1e-15 of them: below a squared
/// norm of some 1e-14 of the bound every step is a coin toss. Other rules' last step may gain less
/// than VBEM's would, hence further orders of magnitude.
const STATIONARY: f64 = 1e-10;
/// Half the distance of the two gradients of a second derivative, in Fisher lengths. Where rows
/// are nearly settled a logit may change by a few hundred times as much, and the error of an
/// extrapolated difference is the fourth power of that.
const DIFFERENCE: f64 = 1e-4;
/// What of a second derivative's terms may be missing: that error, and the rounding of the
/// gradients, some 1e-13, over [`DIFFERENCE`].
const DIFFERENCE_TOLERANCE: f64 = 1e-6;
/// Directions move a coordinate as if it had at least this fraction of the largest curvature: where
/// a component is empty, its coordinates have none, and would be moved until it is not.
const LEAST_CURVATURE: f64 = 1e-2;

/// Everything that one evaluation tells.
fn view<M: Collapsed>(model: &M, messages: &[f64]) -> Result<Point> {
    let mut statistics = vec![f64::NAN; messages.len()];
    let local = model
        .local()
        .value_and_gradient(messages, &mut statistics)?;
    let mut gradient = vec![f64::NAN; messages.len()];
    let posterior = model
        .posterior()
        .value_and_gradient(&statistics, &mut gradient)?;
    add(&mut gradient, -1.0, messages); // maths §1.2
    // maths §1.1
    let bound = local - dot(messages, &statistics) + posterior + model.constant();
    Ok(Point {
        messages: messages.to_vec(),
        statistics,
        gradient,
        bound,
        warm: Warm::default(),
    })
}

/// The bound at `messages`, with all its constants.
///
/// # Errors
/// Where the model cannot be evaluated there.
pub fn bound<M: Collapsed>(model: &M, messages: &[f64]) -> Result<f64> {
    Ok(view(model, messages)?.bound)
}

/// The squared Fisher norm of the gradient, $g'Jg$: zero where the bound is stationary.
///
/// # Errors
/// Where the model cannot be evaluated at `messages`.
pub fn squared_norm<M: Collapsed>(model: &M, messages: &[f64]) -> Result<f64> {
    let gradient = view(model, messages)?.gradient;
    let mut dual = vec![f64::NAN; gradient.len()];
    model
        .local()
        .hessian_product(messages, &gradient, &mut dual)?;
    Ok(dot(&gradient, &dual))
}

/// A random direction in messages whose coordinates matter about equally.
///
/// # Errors
/// Where the model cannot be evaluated at `messages`.
pub fn direction<M: Collapsed>(
    model: &M,
    messages: &[f64],
    rng: &mut impl Rng,
) -> std::result::Result<Vec<f64>, String> {
    let diagonal = hessian_diagonal(model.local(), messages)?;
    let largest = diagonal.iter().copied().fold(0.0, f64::max);
    let floor = if largest > 0.0 {
        LEAST_CURVATURE * largest
    } else {
        1.0
    };
    let mut one = |curvature: &f64| rng.random_range(-1.0..1.0) / curvature.max(floor).sqrt();
    Ok(diagonal.iter().map(&mut one).collect())
}

/// The derivative of the bound along `along` is $\langle Jg, d\rangle$ (maths §1.2): the error of
/// the first-order model falls with slope 2 or more (the bound is not convex, so the second-order
/// term may be missing).
///
/// # Errors
/// Where it does not, or where the model cannot be evaluated at `messages`.
pub fn gradient_is_slope_of_bound<M: Collapsed>(
    model: &M,
    messages: &[f64],
    along: &[f64],
) -> Verdict {
    let law = "gradient is the slope of the bound";
    let value_and_slope = |at: &[f64]| {
        let point = view(model, at)?;
        let dual = product(model.local(), at, &point.gradient)?;
        Ok((vec![point.bound], vec![dot(&dual, along)]))
    };
    let (local, function) = (model.local(), value_and_slope);
    falls(law, TWO_OR_MORE, local, function, messages, along)
}

/// The gradient changes by $(FJ - I)d$ along `along`, at every point (maths §1.5): the equation
/// that Newton's direction solves.
///
/// # Errors
/// Where it does not, or where the model cannot be evaluated at `messages`.
pub fn gradient_has_curvature<M: Collapsed>(model: &M, messages: &[f64], along: &[f64]) -> Verdict {
    let law = "gradient changes by (FJ - I) d";
    let gradient_and_slopes = |at: &[f64]| {
        let point = view(model, at)?;
        let slopes = curve(model, &point, along)?;
        Ok((point.gradient, slopes))
    };
    let (local, function) = (model.local(), gradient_and_slopes);
    falls(law, TWO_OR_MORE, local, function, messages, along)
}

/// (FJ − I) d.
fn curve<M: Collapsed>(
    model: &M,
    point: &Point,
    along: &[f64],
) -> std::result::Result<Vec<f64>, String> {
    let dual = product(model.local(), &point.messages, along)?;
    let mut image = product(model.posterior(), &point.statistics, &dual)?;
    add(&mut image, -1.0, along);
    Ok(image)
}

/// The second derivative of the bound along `along` is $d'J(FJ - I)d + \nabla^3A[g, d, d]$, whose
/// last term vanishes where the bound is stationary (maths §1.5).
///
/// It is a difference of two gradients, and so is the last term, of two metrics at one gradient.
///
/// # Errors
/// Where it is not, or where the model cannot be evaluated at `messages`.
pub fn curvature<M: Collapsed>(model: &M, messages: &[f64], along: &[f64]) -> Verdict {
    let here = view(model, messages)?;
    let dual = product(model.local(), messages, along)?;
    let square = dot(&dual, along);
    if square <= 0.0 {
        return Ok(()); // no q(Z) changes along the direction
    }
    let step = DIFFERENCE / square.sqrt();
    let slopes = |step: f64| {
        let at = moved(messages, along, step);
        let gradient = view(model, &at)?.gradient;
        let slope = |g: &[f64]| Ok::<_, String>(dot(&product(model.local(), &at, g)?, along));
        Ok::<_, String>((slope(&gradient)?, slope(&here.gradient)?))
    };
    let difference = |step: f64| {
        let (above, below) = (slopes(step)?, slopes(-step)?);
        let over = 2.0 * step;
        Ok::<_, String>(((above.0 - below.0) / over, (above.1 - below.1) / over))
    };
    // Richardson's extrapolation to a step of zero.
    let (whole, half) = (difference(step)?, difference(0.5 * step)?);
    let found = (4.0 * half.0 - whole.0) / 3.0;
    let third = (4.0 * half.1 - whole.1) / 3.0;
    let second = dot(&dual, &curve(model, &here, along)?);
    let expected = second + third;
    let terms = square + (second + square).abs() + third.abs();
    let close = (found - expected).abs() <= DIFFERENCE_TOLERANCE * terms;
    holds(close, || {
        let which = format!("the second derivative is {found:e}");
        format!("curvature: {which}, expected {expected:e} with terms of {terms:e}")
    })
}

/// Both log-partition functions obey the laws of potentials, at `messages` and at the statistics
/// that they imply; the collapsed one is zero at zero.
///
/// # Errors
/// The first law that fails.
pub fn potentials_conform<M: Collapsed>(model: &M, messages: &[f64], seed: u64) -> Verdict {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let local = model.local();
    let named = |which: &'static str| move |e: String| format!("{which}: {e}");
    let along = || direction(model, messages, &mut rng);
    super::conforms_along(local, messages, along).map_err(named("local"))?;
    let (_, statistics) = evaluate(local, messages)?;
    super::conforms(model.posterior(), &statistics, seed).map_err(named("posterior"))
}

/// A unit step along the gradient does not lower the bound (maths §1.4).
///
/// # Errors
/// Where it does, or where the model cannot be evaluated.
pub fn vbem_step_cannot_fall<M: Collapsed>(model: &M, messages: &[f64]) -> Verdict {
    let before = view(model, messages)?;
    let target = moved(messages, &before.gradient, 1.0);
    let after = view(model, &target)?;
    // The bound is a difference of ⟨m, τ⟩ and A, each with some roundings of its terms.
    let terms =
        absolute_dot(messages, &before.statistics) + absolute_dot(&target, &after.statistics);
    let gain = after.bound - before.bound;
    let rounding = 8.0 * f64::EPSILON * (terms + before.bound.abs());
    holds(gain >= -rounding, || {
        format!("a VBEM step cannot fall: it gained {gain:e}")
    })
}

/// Runs every law of a point at `messages`, along random directions.
///
/// # Errors
/// The first law that fails.
pub fn conforms<M: Collapsed>(model: &M, messages: &[f64], seed: u64) -> Verdict {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    potentials_conform(model, messages, seed)?;
    for _ in 0..3 {
        let along = direction(model, messages, &mut rng)?;
        gradient_is_slope_of_bound(model, messages, &along)?;
        gradient_has_curvature(model, messages, &along)?;
        curvature(model, messages, &along)?;
    }
    vbem_step_cannot_fall(model, messages)
}

/// The bound rises at every step of a run along `direction`, and ends where the run says.
///
/// # Errors
/// Where it does not, or where the run fails.
pub fn never_falls<M: Collapsed>(model: &M, direction: Direction, start: &[f64]) -> Verdict {
    let gains = |before: f64, step: &Step| step.gain == step.bound - before;
    rises(model, Driver::new(model, direction), start, gains)
        .map_err(|e| format!("{direction}: {e}"))
}

/// As [`never_falls`] with the model's jumps: the bound rises at every step that is not a trial.
///
/// # Errors
/// As there.
pub fn search_never_falls<M: Collapsed + Jumps>(
    model: &M,
    direction: Direction,
    start: &[f64],
) -> Verdict {
    let driver = Driver::new(model, direction).search(model);
    // A step may begin where a jump has landed.
    let gains = |_: f64, step: &Step| step.gain > 0.0;
    rises(model, driver, start, gains).map_err(|e| format!("{direction} with jumps: {e}"))
}

fn rises<M: Collapsed>(
    model: &M,
    driver: Driver<'_, M>,
    start: &[f64],
    gains: impl Fn(f64, &Step) -> bool,
) -> Verdict {
    let mut trace: Vec<Step> = Vec::new();
    let fit = driver
        .observe(|step| {
            trace.push(*step);
            std::ops::ControlFlow::Continue(())
        })
        .run(start.to_vec())?;
    let mut highest = view(model, start)?.bound;
    let mut before = highest;
    for step in &trace {
        let (iteration, gain, bound) = (step.iteration, step.gain, step.bound);
        holds(step.trial || bound > highest, || {
            format!("iteration {iteration} has bound {bound}, after {highest}")
        })?;
        holds(gains(before, step), || {
            format!("iteration {iteration} says it gained {gain} from {before} to {bound}")
        })?;
        before = step.bound;
        if !step.trial {
            highest = step.bound;
        }
    }
    let Fit { point, .. } = &fit;
    // A jump may land on an optimum that no step leads away from.
    let landed = fit.jumps_taken > 0 && point.bound > highest;
    holds(point.bound == highest || landed, || {
        format!("the run ends at {}, but reached {highest}", point.bound)
    })?;
    let there = view(model, &point.messages)?;
    let same = there.statistics == point.statistics && there.gradient == point.gradient;
    holds(same, || {
        "the run's point is not what its messages give".to_owned()
    })
}

/// Value, gradient and Hessian product of both log-partition functions have the same bits with
/// one, two and three threads.
///
/// # Errors
/// Where they have not.
pub fn threads_do_not_matter<M: Collapsed>(model: &M, messages: &[f64]) -> Verdict {
    let everything = || {
        let point = view(model, messages)?;
        let along = moved(messages, &point.gradient, 1.0);
        let dual = product(model.local(), messages, &along)?;
        let image = product(model.posterior(), &point.statistics, &dual)?;
        let (bound, statistics) = (vec![point.bound], point.statistics);
        let numbers = [bound, statistics, point.gradient, dual, image].concat();
        Ok::<Vec<u64>, String>(numbers.iter().map(|x| x.to_bits()).collect())
    };
    let mut first = None;
    for threads in 1..=3 {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| e.to_string())?;
        let bits = pool.install(everything)?;
        let expected = first.get_or_insert_with(|| bits.clone());
        if let Some(at) = (0..bits.len()).find(|&i| bits[i] != expected[i]) {
            return Err(format!(
                "threads do not matter: number {at} is {:e} with one and {:e} with {threads}",
                f64::from_bits(expected[at]),
                f64::from_bits(bits[at])
            ));
        }
    }
    Ok(())
}

/// Every direction (Newton with whole matrices only up to sixty messages), followed until it gains less than 1e-12 nats, ends where the gradient's
/// squared norm is below 1e-10 for each nat of the bound.
///
/// # Errors
/// The first direction that does not.
pub fn rules_agree_on_stationarity<M: Collapsed>(model: &M, start: &[f64]) -> Verdict {
    let small = start.len() <= MOST_DENSE;
    let dense = small.then_some(Direction::Dense);
    for direction in Direction::ALL.into_iter().chain(dense) {
        let fit = Driver::new(model, direction)
            .stop(Stop::Gain(LAST_GAIN) | Stop::Passes(MOST_PASSES))
            .run(start.to_vec())
            .map_err(|e| format!("{direction}: {e}"))?;
        holds(fit.outcome.converged(), || {
            format!("{direction}: {} without convergence", fit.outcome)
        })?;
        let norm = squared_norm(model, &fit.point.messages)?;
        let allowed = STATIONARY * fit.point.bound.abs().max(1.0);
        holds(norm <= allowed, || {
            let ended = format!("ended with a squared norm of {norm:e}");
            format!("{direction}: {ended}, expected less than {allowed:e}")
        })?;
    }
    Ok(())
}
