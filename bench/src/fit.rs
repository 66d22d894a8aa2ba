//! What one fit costs, from data in memory to convergence, and when it reached given bounds.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Instant;

use collapsar::mixture::{Mixture, Settings, Start};
use collapsar::{Direction, Driver, Step, Stop};
use serde_json::{Value, json};

use crate::{Failure, Words, npy, pool};

/// Ticks of /proc a second: fixed in Linux's interface, whatever the kernel's own.
const TICKS: f64 = 100.0;

pub(crate) fn run(words: &Words) -> Result<Value, Failure> {
    words.known(&[
        "components",
        "threads",
        "method",
        "jumps",
        "tolerance",
        "max-iterations",
        "target",
        "within",
        "trace",
    ])?;
    let settings = Settings::new(words.get("components", 20)?);
    let threads: usize = words.get("threads", 1)?;
    let method: Direction = words.get("method", Direction::Auto)?;
    let jumps = match words.get("jumps", "off".to_owned())?.as_str() {
        "on" => true,
        "off" => false,
        other => return Err(format!("--jumps {other}, expected on or off").into()),
    };
    let stop = Stop::Gain(words.get("tolerance", 1e-6)?)
        | Stop::Iterations(words.get("max-iterations", 10_000)?);
    let targets: Vec<f64> = words.all("target")?;
    let within: f64 = words.get("within", 1e-3)?;

    let npy::Array { values, columns } = npy::read(words.place(0, "data file")?)?;
    let labels = npy::read_labels(words.place(1, "labels file")?)?;
    let data_bytes = values.len() * size_of::<f64>();
    let start = Start::Labels(labels);

    let mut steps: Vec<(f64, Step)> = Vec::new();
    let (cpu_before, began) = (cpu_seconds()?, Instant::now());
    let mut prepared = 0.0;
    let fit = pool(threads)?.install(|| -> Result<_, Failure> {
        let model = Mixture::new(&values, columns, &settings)?;
        drop(values); // the model has its own copy, in blocks
        let (messages, passes) = model.start(&start, 0)?;
        prepared = began.elapsed().as_secs_f64();
        let mut driver = Driver::new(&model, method)
            .spent(passes)
            .stop(stop)
            .observe(|step| {
                steps.push((began.elapsed().as_secs_f64(), *step));
                ControlFlow::Continue(())
            });
        if jumps {
            driver = driver.search(&model);
        }
        Ok(driver.run(messages)?)
    })?;
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds()? - cpu_before);
    let peak = peak_bytes()?;

    if let [path] = words.all::<String>("trace")?.as_slice() {
        let mut text = String::from("iteration,passes,bound,seconds,trial\n");
        for (seconds, step) in &steps {
            let (i, p, b, t) = (step.iteration, step.passes, step.bound, step.trial);
            writeln!(text, "{i},{p},{b},{seconds:.6},{t}")?;
        }
        std::fs::write(path, text)?;
    }
    let reached: Vec<Value> = targets
        .iter()
        .map(|target| {
            let first = steps.iter().find(|(_, step)| step.bound >= target - within);
            first.map_or(
                json!({"target": target, "seconds": null, "passes": null, "iterations": null}),
                |(seconds, step)| {
                    json!({"target": target, "seconds": seconds, "passes": step.passes,
                           "iterations": step.iteration})
                },
            )
        })
        .collect();
    let first = steps.first().map(|(_, step)| step.bound - step.gain);
    Ok(json!({
        "method": method.name(), "jumps": jumps, "threads": threads,
        "seconds": seconds, "cpu_seconds": cpu, "prepare_seconds": prepared,
        "iterations": fit.iterations, "passes": fit.passes, "fallbacks": fit.fallbacks,
        "jumps_tried": fit.jumps_tried, "jumps_taken": fit.jumps_taken,
        "converged": fit.outcome.converged(), "outcome": fit.outcome.to_string(),
        "start_bound": first, "bound": fit.point.bound,
        "within": within, "reached": reached,
        "data_bytes": data_bytes, "peak_bytes": peak, "over_data_bytes": peak.saturating_sub(data_bytes),
    }))
}

/// Processor time of all threads so far.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The program's name, in brackets, may hold spaces; user and system time are fields 14 and 15.
    let (_, after) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let ticks: Result<Vec<f64>, _> = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect();
    Ok(ticks?.iter().sum::<f64>() / TICKS)
}

/// The most memory that was ever resident.
fn peak_bytes() -> Result<usize, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: usize = kilobytes.ok_or("/proc/self/status has no VmHWM")?.parse()?;
    Ok(1024 * kilobytes)
}
