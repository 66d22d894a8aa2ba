//! Climbs of a small mixture: the best is kept whatever the threads, limits hold, watchers see all.

use collapsar::Direction;
use collapsar::mixture::{Mixture, Settings, Start as MixtureStart};

use super::*;
use crate::plan::{ClimbOptions, MIXTURE_TOLERANCE};

/// Remembers what it was shown, and stops where asked to.
#[derive(Default)]
struct Witness {
    interrupt: AtomicBool,
    in_turn: bool,
    /// Steps of a climb after which it is stopped.
    patience: Option<u64>,
    steps: Mutex<Vec<usize>>,
    ended: Mutex<Vec<u64>>,
}

impl Watch for Witness {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }

    fn in_turn(&self) -> bool {
        self.in_turn
    }

    fn step(&self, climb: usize, step: &Step) -> ControlFlow<()> {
        lock(&self.steps).push(climb);
        match self.patience {
            Some(most) if step.iteration >= most => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn ended(&self, model: &str, seed: u64, _: &Fit) {
        assert_eq!(model, "a mixture");
        lock(&self.ended).push(seed);
    }
}

/// Four groups on a line, near enough to one another to have several optima.
fn model() -> Mixture {
    let rows: Vec<f64> = (0..120_u32)
        .map(|i| f64::from(i % 4) * 2.0 + f64::from(i * i % 17) / 12.0)
        .collect();
    Mixture::new(&rows, 1, &Settings::new(6)).expect("a model")
}

#[expect(clippy::needless_pass_by_value, reason = "as tests write them")]
fn climbed(options: ClimbOptions, watch: &dyn Watch, numbers: &[usize]) -> Result<Climbed> {
    let model = model();
    let start = |_, seed| model.start(&MixtureStart::Random, seed);
    let plan = options.clone().plan(MIXTURE_TOLERANCE)?;
    let ascent = Ascent::new(&model, "a mixture".into(), &start);
    let fit = |run: &Run<'_>, _| Ok((run.climbs(&ascent)?, ()));
    let (climbed, ()) = each(&plan, watch, numbers, fit, |climbs, ()| {
        climbs.best.point.bound
    })?;
    Ok(climbed)
}

fn seven() -> ClimbOptions {
    ClimbOptions {
        restarts: Some(7),
        seed: 3,
        method: Direction::Vbem,
        ..ClimbOptions::default()
    }
}

#[test]
fn the_best_is_kept_whatever_the_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("a pool");
        pool.install(|| climbed(seven(), &Witness::default(), &[1]).expect("climbs"))
    };
    let one = on(1);
    let bounds = one.climbs.bounds();
    let highest = bounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = bounds.iter().position(|&bound| bound == highest);
    let first = first.expect("a highest bound") as u64;
    assert_eq!(
        (one.best().point.bound, one.climbs.best_seed),
        (highest, 3 + first)
    );
    let spread = one.climbs.spread();
    assert_eq!((spread.starts, spread.highest), (7, highest));
    assert_eq!(
        spread.lowest,
        bounds.iter().copied().fold(highest, f64::min)
    );
    assert!(
        spread.lowest < highest,
        "starts that all end alike test nothing"
    );
    assert_eq!(bounds.iter().filter(|&&b| b < spread.median).count(), 3);
    let near = bounds.iter().filter(|&&bound| bound > highest - 1.0);
    assert_eq!(spread.within_a_nat, near.count());
    for threads in [2, 3] {
        let more = on(threads);
        assert_eq!(more.climbs.bounds(), bounds, "{threads} threads");
        assert_eq!(more.best().point, one.best().point, "{threads} threads");
        assert_eq!(more.climbs.best_seed, one.climbs.best_seed);
    }
}

#[test]
fn the_first_of_equals_is_kept() {
    let model = model();
    let start = |_, _| model.start(&MixtureStart::Random, 0);
    let plan = seven().plan(MIXTURE_TOLERANCE).expect("a plan");
    let watch = Witness::default();
    let run = Run::new(&plan, &watch);
    let climbs = run.climbs(&Ascent::new(&model, "a mixture".into(), &start));
    assert_eq!(climbs.expect("climbs").best_seed, 3);
}

#[test]
fn the_first_error_in_the_order_of_the_seeds_is_reported() {
    let model = model();
    let start = |index, seed| match index {
        0 | 1 => model.start(&MixtureStart::Random, seed),
        row => Err(collapsar::Error::Datum {
            row,
            found: f64::NAN,
        }),
    };
    let plan = seven().plan(MIXTURE_TOLERANCE).expect("a plan");
    let watch = Witness::default();
    let run = Run::new(&plan, &watch);
    let failed = run.climbs(&Ascent::new(&model, "a mixture".into(), &start));
    let row = match failed {
        Err(crate::Error::Library(collapsar::Error::Datum { row, .. })) => row,
        other => panic!("{other:?}"),
    };
    assert_eq!(row, 2);
}

#[test]
fn limits_hold() {
    let with =
        |options: ClimbOptions| climbed(options, &Witness::default(), &[1, 2]).expect("climbs");
    let few = with(ClimbOptions {
        max_iterations: 2,
        ..seven()
    });
    assert_eq!(few.best().iterations, 2);
    assert_eq!(few.outcome.reason, "stopped after 2 iterations");
    let passes = with(ClimbOptions {
        max_passes: Some(3),
        ..seven()
    });
    assert!(passes.best().passes <= 4 && !passes.outcome.converged);
    // However large a number of seconds is, it is one.
    let long = with(ClimbOptions {
        time: Some(1e300),
        ..seven()
    });
    assert!(long.outcome.converged && long.skipped == 0);
    let short = with(ClimbOptions {
        time: Some(0.0),
        ..seven()
    });
    assert_eq!(short.outcome.reason, "stopped after 0 seconds");
    // The first climb begins in any case, those of the second number do not.
    assert!(short.skipped >= 7, "{}", short.skipped);
    let none = with(ClimbOptions {
        max_iterations: 0,
        restarts: Some(1),
        ..seven()
    });
    assert_eq!(none.best().iterations, 0);
    assert!(none.is_nothing() && none.best().point.bound.is_finite());
}

#[test]
fn a_watch_sees_every_climb_in_turn_and_may_stop_it() {
    let witness = Witness {
        in_turn: true,
        patience: Some(2),
        ..Witness::default()
    };
    let stopped = climbed(seven(), &witness, &[1]).expect("climbs");
    let steps = witness.steps.into_inner().expect("no panic");
    assert_eq!(
        steps,
        (0..7).flat_map(|climb| [climb; 2]).collect::<Vec<_>>()
    );
    let seeds = witness.ended.into_inner().expect("no panic");
    assert_eq!(seeds, (3..10).collect::<Vec<u64>>());
    assert!(stopped.outcome.reason == "interrupted" && !stopped.is_nothing());

    let interrupted = Witness::default();
    interrupted.interrupt.store(true, Ordering::Relaxed);
    let nothing = climbed(seven(), &interrupted, &[1, 2]).expect("climbs");
    assert!(nothing.is_nothing());
    assert_eq!(nothing.skipped, 13);
}

#[test]
fn time_aside_does_not_count() {
    let plan = seven().plan(MIXTURE_TOLERANCE).expect("a plan");
    let witness = Witness::default();
    let run = Run::new(&plan, &witness);
    run.aside(|| std::thread::sleep(Duration::from_millis(200)));
    assert!(run.seconds() < 0.15, "{}", run.seconds());
}

#[test]
fn checkpoints_follow_one_climb() {
    let mut options = ClimbOptions {
        checkpoint: Some(("run.ckpt".into(), 1)),
        ..seven()
    };
    let refused = options.check(1, "components").expect_err("seven climbs");
    assert!(refused.is_usage());
    assert_eq!(
        refused.to_string(),
        "checkpoint and resume follow one climb, expected one restart and one number of components"
    );
    options.restarts = Some(1);
    assert!(options.check(1, "components").is_ok() && options.check(2, "components").is_err());
    options.restarts = Some(0);
    let refused = options.check(1, "components").expect_err("no climb");
    assert_eq!(refused.to_string(), "restarts is 0, expected at least 1");
    options.resume = Some("absent.ckpt".into());
    let refused = options.plan(1.0).expect_err("no checkpoint");
    assert_eq!(
        refused.to_string(),
        "absent.ckpt: no such file, expected one written by checkpoint"
    );
}
