//! The driver stops, watches, remembers and refuses as it says.

mod common;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collapsar::mixture::{Covariance, Mixture, Scale, Settings, Start, Weights};
use collapsar::{
    Checkpoint, Collapsed, Direction, Driver, Error, Fit, Outcome, Potential, Restarts, Result,
    Step, Stop,
};
use common::{blobs, kinds, settings};
use insta::assert_snapshot;

const KIND: (Covariance, Weights) = (Covariance::Full, Weights::Dirichlet);

fn model() -> Mixture {
    Mixture::new(&blobs(80, 2, 21), 2, &settings(5, KIND)).expect("data that vary")
}

/// Whole numbers, so that a fingerprint is the same on every machine.
fn plain_model(rows: u8) -> Mixture {
    let values: Vec<f64> = (0..rows).map(|i| f64::from(i * i % 17)).collect();
    let settings = Settings {
        location: Some(vec![8.0]),
        scale: Some(Scale::Identity(20.0)),
        ..Settings::new(2)
    };
    Mixture::new(&values, 1, &settings).expect("data that vary")
}

fn start(model: &Mixture) -> Vec<f64> {
    model.start(&Start::Random, 3).expect("a start").0
}

/// A fit without its seconds, which no two runs share.
fn timeless(fit: Fit) -> Fit {
    Fit {
        seconds: 0.0,
        ..fit
    }
}

fn run(driver: Driver<'_, Mixture>, from: Vec<f64>) -> (Vec<Step>, Fit) {
    watched(driver, |driver| driver.run(from))
}

fn watched(
    driver: Driver<'_, Mixture>,
    go: impl FnOnce(Driver<'_, Mixture>) -> Result<Fit>,
) -> (Vec<Step>, Fit) {
    let mut trace = Vec::new();
    let driver = driver.observe(|step| {
        trace.push(Step {
            seconds: 0.0,
            ..*step
        });
        ControlFlow::Continue(())
    });
    let fit = go(driver).expect("a run");
    (trace, timeless(fit))
}

fn a_step() -> Step {
    Step {
        iteration: 10,
        passes: 25,
        bound: -3.0,
        gain: 1e-3,
        squared_norm: Some(2e-3),
        beta: None,
        fell_back: false,
        trial: false,
        seconds: 1.5,
    }
}

#[test]
fn stopping_rules_hold_and_compose() {
    let step = a_step();
    let holds = |stop: &Stop| stop.holds(&step).is_some();
    for (held, not) in [
        (Stop::Gain(2e-3), Stop::Gain(1e-3)),
        (Stop::Norm(3e-3), Stop::Norm(2e-3)),
        (Stop::Iterations(10), Stop::Iterations(11)),
        (Stop::Passes(25), Stop::Passes(26)),
        (
            Stop::Time(Duration::from_millis(1500)),
            Stop::Time(Duration::from_millis(1501)),
        ),
    ] {
        assert!(holds(&held) && !holds(&not), "{held}, {not}");
        // Either is enough for `|`, and the rule that holds is the reason; `&` wants both.
        assert_eq!(
            (held.clone() | not.clone()).holds(&step),
            Some(held.clone())
        );
        assert_eq!(
            (not.clone() | held.clone()).holds(&step),
            Some(held.clone())
        );
        assert!(!holds(&(held.clone() & not.clone())));
        assert!(!holds(&(not.clone() & held.clone())));
        assert!(holds(&(held.clone() & held.clone())));
        assert!(!holds(&(not.clone() | not.clone())));
    }
    // A rule that needs a norm waits for one.
    let unknown = Step {
        squared_norm: None,
        ..step
    };
    assert_eq!(Stop::Norm(1.0).holds(&unknown), None);
    assert!(!holds(&Stop::Any(vec![])) && !holds(&Stop::All(vec![])));

    let nested = (Stop::Gain(1e-6) & Stop::Norm(1e-9)) | Stop::Iterations(7) | Stop::Passes(100);
    assert_snapshot!(nested, @"gain below 1e-6 and squared norm below 1e-9 or 7 iterations or 100 passes");
    assert!(matches!(&nested, Stop::Any(rules) if rules.len() == 3));
}

#[test]
fn stopping_rules_say_convergence() {
    assert!(Stop::Gain(1.0).is_convergence() && Stop::Norm(1.0).is_convergence());
    for limit in [
        Stop::Iterations(1),
        Stop::Passes(1),
        Stop::Time(Duration::ZERO),
    ] {
        assert!(!limit.is_convergence());
        // So many iterations at least, and then a small gain: still convergence.
        assert!((limit & Stop::Gain(1.0)).is_convergence());
    }
    let model = model();
    let ends = |stop: Stop| {
        let driver = Driver::new(&model, Direction::Vbem).stop(stop);
        driver.run(start(&model)).expect("a run").outcome
    };
    let small = Stop::Gain(1e-3);
    assert_eq!(
        ends(small.clone() | Stop::Iterations(10_000)),
        Outcome::Converged(small.clone())
    );
    assert_eq!(
        ends(small.clone() | Stop::Iterations(3)),
        Outcome::Exhausted(Stop::Iterations(3))
    );
    let both = Stop::Gain(1e9) & Stop::Iterations(4);
    assert_eq!(ends(both.clone()), Outcome::Converged(both));
    assert_eq!(ends(Stop::Any(vec![])), Outcome::Stationary);
    assert!(Outcome::Stationary.converged() && !Outcome::Interrupted.converged());
    assert_snapshot!(ends(Stop::Iterations(3)), @"stopped after 3 iterations");
    assert_snapshot!(ends(Stop::Gain(1e-3)), @"gain below 1e-3");
    assert_snapshot!(Outcome::Stationary, @"stationary to working precision");
}

/// A resumed run is the run that was never stopped, at every step and with and without jumps.
#[test]
fn resumed_runs_are_the_same_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.checkpoint");
    let mut inside_a_trial = 0;
    for kind in [KIND, (Covariance::Tied, Weights::DirichletProcess)] {
        let model = Mixture::new(&blobs(80, 2, 21), 2, &settings(5, kind)).expect("data that vary");
        for (direction, jumps) in Direction::ALL
            .into_iter()
            .flat_map(|d| [(d, false), (d, true)])
        {
            let driver = || {
                let driver = Driver::new(&model, direction).spent(1);
                if jumps { driver.search(&model) } else { driver }
            };
            let stop = || Stop::Gain(1e-8) | Stop::Iterations(120);
            let (trace, whole) = run(driver().stop(stop()), start(&model));
            assert!(trace.len() > 5, "{direction}: {}", whole.outcome);
            let last = trace.len() as u64 - 1;
            for n in (1..=last).filter(|n| *n < 40 || n % 7 == 0) {
                let stopped = driver().stop(Stop::Iterations(n)).checkpoint(&path, 1000);
                let (before, part) = run(stopped, start(&model));
                assert_eq!(part.outcome, Outcome::Exhausted(Stop::Iterations(n)));
                assert_eq!(
                    before[..],
                    trace[..n as usize],
                    "{kind:?}, {direction}, {jumps}"
                );
                inside_a_trial += u64::from(before.last().is_some_and(|step| step.trial));
                let checkpoint = Checkpoint::read(&path).expect("just written");
                assert_eq!(
                    (checkpoint.iterations(), checkpoint.direction()),
                    (n, direction)
                );
                let (after, resumed) = watched(driver().stop(stop()), |d| d.resume(checkpoint));
                let case = format!("{kind:?}, {direction}, jumps {jumps}, stopped after {n}");
                assert_eq!(after.first(), trace.get(n as usize), "{case}");
                assert_eq!(after[..], trace[n as usize..], "{case}");
                assert_eq!(resumed, whole, "{case}");
            }
        }
    }
    assert!(inside_a_trial > 20, "{inside_a_trial} stops inside a trial");
}

/// Checkpoints on the way, at the end and after an interrupt carry on to the same end.
#[test]
fn checkpoints_on_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.checkpoint");
    let model = model();
    let driver = || Driver::new(&model, Direction::Fr).search(&model);
    let (trace, whole) = run(driver(), start(&model));
    let mut seen = Vec::new();
    driver()
        .checkpoint(&path, 3)
        .observe(|step| {
            // Written after the step of every third iteration, so seen at the next.
            if step.iteration % 3 == 1 && step.iteration > 1 {
                seen.push(Checkpoint::read(&path).expect("written"));
            }
            ControlFlow::Continue(())
        })
        .run(start(&model))
        .expect("a run");
    assert_eq!(seen.len(), (trace.len() - 1) / 3);
    for (i, checkpoint) in seen.into_iter().enumerate() {
        assert_eq!(checkpoint.iterations(), 3 * (i as u64 + 1));
        let resumed = driver().resume(checkpoint).expect("a run");
        assert_eq!(timeless(resumed), whole);
    }
    assert_eq!(
        Checkpoint::read(&path)
            .expect("written at the end")
            .iterations(),
        whole.iterations
    );
    for n in 1..trace.len() as u64 {
        let stopped = driver()
            .checkpoint(&path, 1000)
            .observe(|step| {
                if step.iteration == n {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .run(start(&model))
            .expect("a run");
        assert_eq!(stopped.outcome, Outcome::Interrupted, "after {n}");
        let checkpoint = Checkpoint::read(&path).expect("written at the end");
        let resumed = driver().resume(checkpoint).expect("a run");
        assert_eq!(timeless(resumed), whole, "stopped by an observer after {n}");
    }
}

/// The text of an error, with the folder left out.
fn text(error: &Error, folder: &Path) -> String {
    error
        .to_string()
        .replace(&folder.display().to_string(), "FOLDER")
}

fn refused(result: Result<Fit>) -> String {
    result.expect_err("refused").to_string()
}

#[test]
fn foreign_checkpoints_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let path = folder.join("run.checkpoint");
    let model = plain_model(12);
    Driver::new(&model, Direction::Fr)
        .stop(Stop::Iterations(2))
        .checkpoint(&path, 1)
        .run(start(&model))
        .expect("a run");
    let checkpoint = || Checkpoint::read(&path).expect("just written");

    let other = plain_model(13);
    assert_snapshot!(refused(Driver::new(&other, Direction::Fr).resume(checkpoint())), @"checkpoint: one of a mixture of 2 full components with dirichlet weights on 12 rows of 1 columns (data 47fa5815290a2fca, prior 2964fd372d50eefc), expected one of a mixture of 2 full components with dirichlet weights on 13 rows of 1 columns (data 676fe311bd59bb2a, prior 2964fd372d50eefc)");
    assert_snapshot!(refused(Driver::new(&model, Direction::Pr).resume(checkpoint())), @"checkpoint: one of method = fr, expected method = pr");

    let read = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        text(&Checkpoint::read(&path).expect_err("refused"), folder)
    };
    let good = std::fs::read(&path).expect("just written");
    let as_text = String::from_utf8(good.clone()).expect("JSON");
    let newer = as_text.replacen(
        "\"format\":4,\"version\":\"",
        "\"format\":5,\"version\":\"9.",
        1,
    );
    assert_ne!(newer, as_text);
    let version = env!("CARGO_PKG_VERSION");
    assert_snapshot!(read("newer", newer.as_bytes()).replace(version, "VERSION"), @"checkpoint: format 5 of version 9.VERSION, expected format 4; start the fit anew");
    assert_snapshot!(read("cut", &good[..20]), @"checkpoint: FOLDER/cut is not one, or is damaged (EOF while parsing a string at line 1 column 20), expected a file written by checkpoint");
    assert_snapshot!(read("empty", b""), @"checkpoint: FOLDER/empty is not one, or is damaged (EOF while parsing a value at line 1 column 0), expected a file written by checkpoint");
    assert_snapshot!(read("other.json", b"{\"a\": 1}"), @"checkpoint: FOLDER/other.json is not one, or is damaged (missing field `format` at line 1 column 8), expected a file written by checkpoint");
    let changed = as_text.replacen("\"iteration\":2", "\"iteration\":\"two\"", 1);
    assert_ne!(changed, as_text);
    assert_snapshot!(read("changed", changed.as_bytes()), @"checkpoint: FOLDER/changed is not one, or is damaged (its checksum is another one), expected a file written by checkpoint");
    let missing = Checkpoint::read(&folder.join("missing")).expect_err("refused");
    assert_snapshot!(text(&missing, folder), @"FOLDER/missing: No such file or directory (os error 2)");
}

#[test]
fn a_checkpoint_needs_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let model = plain_model(12);
    let run = |path: &Path| {
        Driver::new(&model, Direction::Vbem)
            .stop(Stop::Iterations(2))
            .checkpoint(path, 1)
            .run(start(&model))
    };
    // The fit is worth more than its checkpoint.
    let fit = run(&folder.join("missing/run.checkpoint")).expect("a run");
    assert_eq!(fit.iterations, 2);
    let error = fit.unwritten.expect("no such folder");
    assert_snapshot!(text(&error, folder), @"FOLDER/missing/run.checkpoint: the checkpoint could not be written: No such file or directory (os error 2)");

    let path = folder.join("run.checkpoint");
    run(&path).expect("a run");
    let checkpoint = Checkpoint::read(&path).expect("just written");
    let error = checkpoint
        .write(&folder.join("missing/other"))
        .expect_err("no such folder");
    assert_snapshot!(text(&error, folder), @"FOLDER/missing/other: the checkpoint could not be written: No such file or directory (os error 2)");
    // In a folder a checkpoint has a file of its own, and nothing is left beside it.
    std::fs::create_dir(folder.join("folder")).expect("a folder");
    (checkpoint.write(&folder.join("folder"))).expect("a folder takes many");
    let newest = Checkpoint::read(&folder.join("folder"));
    assert_eq!(checkpoint, newest.expect("just written"));
    let mut left: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["folder", "run.checkpoint"]);
    assert_eq!(checkpoint, Checkpoint::read(&path).expect("still there"));
}

/// Whoever changes a digit is told so; whoever makes up a checksum as well is found out by the model.
#[test]
fn no_changed_digit_is_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.checkpoint");
    let model = model();
    let driver = || Driver::new(&model, Direction::Auto).search(&model);
    let stop = driver().stop(Stop::Iterations(9)).checkpoint(&path, 1000);
    stop.run(start(&model)).expect("a run");
    let good = std::fs::read(&path).expect("just written");
    let digits: Vec<usize> = (0..good.len())
        .filter(|&at| good[at].is_ascii_digit())
        .collect();
    assert!(digits.len() > 500);
    for at in digits.iter().step_by(digits.len() / 400) {
        let mut bad = good.clone();
        bad[*at] = if bad[*at] == b'9' { b'8' } else { bad[*at] + 1 };
        std::fs::write(&path, &bad).expect("a file");
        assert!(Checkpoint::read(&path).is_err(), "byte {at}");
    }
    std::fs::write(&path, &good).expect("a file");
    assert!(Checkpoint::read(&path).is_ok());

    let forged = |change: &dyn Fn(&mut serde_json::Value)| {
        let text = String::from_utf8(good.clone()).expect("JSON");
        let (first, rest) = text.split_once('\n').expect("two lines");
        let mut content: serde_json::Value = serde_json::from_str(rest).expect("JSON");
        change(&mut content["state"]);
        let mut preamble: serde_json::Value = serde_json::from_str(first).expect("JSON");
        let content = content.to_string();
        let [format, version] = ["format", "version"].map(|field| preamble[field].clone());
        let version = version.as_str().expect("a version");
        preamble["sha256"] = checksum(&format!("{format} {version}\n{content}")).into();
        std::fs::write(&path, format!("{preamble}\n{content}")).expect("a file");
        let checkpoint = Checkpoint::read(&path).expect("as it was forged");
        refused(driver().resume(checkpoint))
    };
    let told = forged(&|state| state["iterate"]["point"]["bound"] = (-5.0).into());
    assert!(
        told.starts_with("checkpoint: a bound of -5 nats, expected"),
        "{told}"
    );
    for of in ["messages", "statistics", "gradient"] {
        let told = forged(&|state| {
            let numbers = state["iterate"]["point"][of].as_array_mut();
            numbers.expect("an array").pop();
        });
        assert!(told.contains("with all that belongs to it"), "{told}");
    }
    let told = forged(&|state| state["rule"] = "vbem".into());
    assert!(told.contains("with all that belongs to it"), "{told}");
    let told = forged(&|state| state["iterate"]["point"]["messages"][0] = 1e300.into());
    assert!(told.contains("the file has been changed"), "{told}");
    let told = forged(&|state| state["passes"] = 0.into());
    assert!(told.contains("numbers that a run can have"), "{told}");
}

fn checksum(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let bytes = Sha256::digest(text);
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

/// A run that had come to its end is at its end when it is taken up again, whatever the direction.
#[test]
fn a_final_checkpoint_takes_no_further_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.checkpoint");
    let model = model();
    for direction in Direction::ALL {
        for stop in [
            Stop::Gain(1e-6) | Stop::Iterations(500),
            Stop::Gain(1e-9) | Stop::Iterations(7),
            Stop::Gain(0.0) | Stop::Iterations(2000),
        ] {
            let driver = || {
                Driver::new(&model, direction)
                    .search(&model)
                    .stop(stop.clone())
            };
            let whole = driver().checkpoint(&path, 1000).run(start(&model));
            let whole = whole.expect("a run");
            let checkpoint = Checkpoint::read(&path).expect("written at the end");
            let (steps, again) = watched(driver(), |driver| driver.resume(checkpoint));
            assert!(
                steps.is_empty(),
                "{direction}, {stop}: {} steps",
                steps.len()
            );
            assert_eq!(timeless(again), timeless(whole), "{direction}, {stop}");
        }
    }
}

/// A search that goes on without its jumps ends, from any moment, as high as it had come.
#[test]
fn a_search_goes_on_without_its_jumps() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.checkpoint");
    let model = model();
    for n in 1..60 {
        let driver = || Driver::new(&model, Direction::Auto);
        let stopped = driver().search(&model).stop(Stop::Iterations(n));
        let part = stopped.checkpoint(&path, 1000).run(start(&model));
        let checkpoint = Checkpoint::read(&path).expect("written at the end");
        // Where it was found, no step raised the bound, and no rule looked.
        let fit = driver().stop(Stop::Gain(0.0) | Stop::Passes(100_000));
        let fit = fit.resume(checkpoint).expect("a run");
        assert!(
            fit.point.bound >= part.expect("a run").point.bound,
            "after {n}"
        );
    }
}

#[test]
fn an_interrupt_ends_the_run_after_the_step() {
    let model = model();
    let flag = AtomicBool::new(true);
    let never = Driver::new(&model, Direction::Vbem)
        .interrupt(&flag)
        .run(start(&model))
        .expect("a run");
    assert_eq!((never.outcome, never.iterations), (Outcome::Interrupted, 0));
    assert_eq!(never.point.messages, start(&model));
    let flag = AtomicBool::new(false);
    let fit = Driver::new(&model, Direction::Vbem)
        .interrupt(&flag)
        .observe(|step| {
            flag.store(step.iteration == 4, Ordering::Relaxed);
            ControlFlow::Continue(())
        })
        .run(start(&model))
        .expect("a run");
    assert_eq!((fit.outcome, fit.iterations), (Outcome::Interrupted, 4));
}

#[test]
fn every_observer_sees_every_step() {
    let model = model();
    let (mut first, mut second) = (Vec::new(), 0);
    let fit = Driver::new(&model, Direction::Newton)
        .observe(|step| {
            first.push(*step);
            if step.iteration == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .observe(|_| {
            second += 1;
            ControlFlow::Continue(())
        })
        .run(start(&model))
        .expect("a run");
    assert_eq!(fit.outcome, Outcome::Interrupted);
    assert_eq!((first.len(), second, fit.iterations), (3, 3, 3));
    for (i, pair) in first.windows(2).enumerate() {
        assert_eq!(pair[1].iteration, i as u64 + 2);
        assert_eq!(pair[1].gain, pair[1].bound - pair[0].bound);
        assert!(pair[1].passes > pair[0].passes && pair[1].seconds >= pair[0].seconds);
    }
    let last = first[2];
    assert_eq!((fit.point.bound, fit.passes), (last.bound, last.passes));
}

/// The start is a pass, a step one more, and one for each metric product or step taken back.
#[test]
fn passes_are_counted() {
    for kind in kinds() {
        let model = Mixture::new(&blobs(60, 2, 22), 2, &settings(3, kind)).expect("data that vary");
        for (direction, each) in [
            (Direction::Vbem, 1),
            (Direction::Fr, 2),
            (Direction::Pr, 2),
            (Direction::Hs, 2),
            (Direction::Lbfgs, 2),
        ] {
            let driver = Driver::new(&model, direction)
                .stop(Stop::Iterations(15))
                .spent(5);
            let (trace, fit) = run(driver, start(&model));
            let mut passes = 5 + 1;
            for step in &trace {
                passes += each + u64::from(step.fell_back);
                assert_eq!(
                    step.passes, passes,
                    "{kind:?}, {direction}, {}",
                    step.iteration
                );
            }
            // A run that finds no further step has looked for one.
            let looked = fit.outcome == Outcome::Stationary;
            assert!(fit.passes == passes || looked && fit.passes > passes);
            assert_eq!(
                fit.fallbacks,
                trace.iter().filter(|step| step.fell_back).count() as u64
            );
        }
        // A truncated Newton step is one pass and one for each metric product, at least one.
        let newton = Driver::new(&model, Direction::Newton).stop(Stop::Iterations(3));
        assert!(newton.run(start(&model)).expect("a run").passes > 3 * 2);
        // `auto` spends none on metric products in its first, plain step.
        let auto = Driver::new(&model, Direction::Auto).stop(Stop::Iterations(1));
        assert_eq!(auto.run(start(&model)).expect("a run").passes, 2);
    }
}

#[test]
fn squared_norms_are_those_of_the_gradient() {
    let model = model();
    let (trace, _) = run(
        Driver::new(&model, Direction::Fr).stop(Stop::Iterations(8)),
        start(&model),
    );
    for step in &trace {
        let before = Driver::new(&model, Direction::Fr).stop(Stop::Iterations(step.iteration - 1));
        let messages = if step.iteration == 1 {
            start(&model)
        } else {
            before.run(start(&model)).expect("a run").point.messages
        };
        let expected = collapsar::laws::model::squared_norm(&model, &messages).expect("inside");
        // The same sums.
        assert_eq!(step.squared_norm, Some(expected));
    }
}

/// Exponential data with a gamma prior: messages are minus a rate, so they have a domain.
struct Rates {
    total: f64,
}

struct Exponentials;
struct Gamma(f64);

impl Potential for Exponentials {
    fn dim(&self) -> usize {
        1
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        if at[0] >= 0.0 || at[0].is_nan() {
            return Err(Error::Domain {
                block: "rate of the waiting times".into(),
                found: format!("message {}", at[0]),
                expected: "a negative number",
            });
        }
        gradient[0] = -1.0 / at[0];
        Ok(-(-at[0]).ln())
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = along[0] / (at[0] * at[0]);
        Ok(())
    }
}

impl Potential for Gamma {
    fn dim(&self) -> usize {
        1
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient[0] = -self.0 / (1.0 + at[0]);
        Ok(-self.0 * (1.0 + at[0]).ln())
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = self.0 * along[0] / (1.0 + at[0]).powi(2);
        Ok(())
    }
}

impl Collapsed for Rates {
    type Local = Exponentials;
    type Posterior = Gamma;

    fn local(&self) -> &Exponentials {
        &Exponentials
    }

    fn posterior(&self) -> &Gamma {
        const { &Gamma(2.5) }
    }

    fn constant(&self) -> f64 {
        self.total
    }

    fn fingerprint(&self) -> String {
        "rates".into()
    }
}

#[test]
fn a_start_outside_the_domain_names_the_block() {
    let rates = Rates { total: 0.0 };
    let start = |at: f64| Driver::new(&rates, Direction::Vbem).run(vec![at]);
    assert_snapshot!(refused(start(0.5)), @"rate of the waiting times: message 0.5, expected a negative number");
    assert!(start(-0.5).is_ok());

    let model = plain_model(12);
    let run = |messages: Vec<f64>| Driver::new(&model, Direction::Vbem).run(messages);
    let dim = model.local().dim();
    assert_snapshot!(refused(run(vec![f64::NAN; dim])), @"row 1: the log density is -inf in every component, expected a finite number; rescale the data or raise the prior scale");
    let lost = refused(run((0..dim).map(|i| 1e16 * i as f64).collect()));
    assert!(
        lost.starts_with("bound: ") && lost.contains(" with rounding errors of "),
        "{lost}"
    );

    // Rows that repeat leave nothing of a prior scale that is lost in their squares.
    let settings = Settings {
        location: Some(vec![1.0]),
        mean_precision: Some(1e-30),
        scale: Some(Scale::Identity(1e-300)),
        ..settings(2, KIND)
    };
    let values = [0.0, 2.0, 0.0, 2.0];
    let narrow = Mixture::new(&values, 1, &settings).expect("a prior in its domain");
    let apart = vec![0.0, 1000.0, 0.0, 0.0, -1000.0, 0.0];
    assert_snapshot!(refused(Driver::new(&narrow, Direction::Vbem).run(apart)), @"component 1: the scale matrix is not positive definite, expected a positive definite scale matrix");
}

/// A step that leaves the domain is taken back or halved, and the run goes on.
#[test]
fn steps_stay_inside_the_domain() {
    let rates = Rates { total: 0.0 };
    for direction in Direction::ALL {
        let fit = Driver::new(&rates, direction)
            .stop(Stop::Gain(1e-14) | Stop::Iterations(1000))
            .run(vec![-1e-3])
            .expect("a run");
        assert!(fit.outcome.converged(), "{direction}: {}", fit.outcome);
        // g = −a/(1 − 1/m) − m = 0 at m = 1 − a, a = 5/2, to the root of the last gain.
        assert!(
            (fit.point.messages[0] + 1.5).abs() < 1e-6,
            "{direction}: {:?}",
            fit.point
        );
    }
}

#[test]
fn restarts_keep_the_best_and_ignore_threads() {
    let model = model();
    let all = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        pool.install(|| {
            Restarts::run(7, |seed| {
                let (start, passes) = model.start(&Start::Random, seed as u64)?;
                Driver::new(&model, Direction::Auto)
                    .search(&model)
                    .spent(passes)
                    .run(start)
            })
        })
        .expect("runs")
    };
    let one = all(1);
    let bounds: Vec<f64> = one.fits.iter().map(|fit| fit.point.bound).collect();
    let highest = bounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(one.best().point.bound, highest);
    assert_eq!(bounds.iter().position(|b| *b == highest), Some(one.best));
    assert_eq!(
        one.passes(),
        one.fits.iter().map(|fit| fit.passes).sum::<u64>()
    );
    for threads in [2, 3] {
        let more = all(threads);
        assert_eq!(more.best, one.best);
        for (a, b) in more.fits.iter().zip(&one.fits) {
            assert_eq!(
                timeless(a.clone()),
                timeless(b.clone()),
                "{threads} threads"
            );
        }
    }
    // The first error in the order of the starts is the one reported.
    let failed = Restarts::run(5, |seed| {
        if seed >= 2 {
            return Err(Error::Datum {
                row: seed,
                found: f64::NAN,
            });
        }
        let (start, _) = model.start(&Start::Random, seed as u64)?;
        Driver::new(&model, Direction::Vbem).run(start)
    });
    assert!(matches!(failed, Err(Error::Datum { row: 2, .. })));
}
