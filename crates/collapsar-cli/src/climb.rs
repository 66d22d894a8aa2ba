//! What all fits have in common: flags, climbs on the progress bar, and how they ended, in words.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::Args;
use collapsar::limits::RESTARTS;
use collapsar::mixture::{Reading, Stored};
use collapsar::topics::StoredCorpus;
use collapsar::{ChainWatch, Direction, Fit, Outcome, Step};
use collapsar_formats::Outcome as End;
use collapsar_run::{
    CHECKPOINT_EVERY, ClimbOptions, Climbed, MAX_ITERATIONS, Spread, Watch, bound_by,
};

use crate::chains::Chains;
use crate::common::{Common, INTERRUPTED, is_interrupted, threads};
use crate::pace::Pace;
use crate::progress::Progress;
use crate::text::{bytes, count, duration, short};
use crate::values::{named, not_negative};

/// The flags of a climb, as typed: the same for every model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fit")]
pub(crate) struct ClimbArgs {
    /// How to climb the bound
    ///
    /// vbem: the classic update. fr, pr, hs: the paper's conjugate gradients. lbfgs and newton use
    /// curvature. auto: leaps along vbem's path, as long as they can be foreseen.
    #[arg(long, default_value = "auto")]
    #[arg(value_parser = named(Direction::ALL.map(|d| (d.name(), d))))]
    pub(crate) method: Direction,
    /// Climb from R starts in parallel, with seeds S, S+1, …, and keep the best [default: 1; with `fit`, up to
    /// 12 starts where there are labels]
    ///
    /// Where a model of `fit` has labels and R is not given, up to 12 starts climb a little way, most are
    /// abandoned, and the best climbs to the end: less than five climbs in all.
    #[arg(long, value_name = "R")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(RESTARTS)))]
    pub(crate) restarts: Option<u32>,
    /// Seed of every random number
    #[arg(long, value_name = "S", default_value = "0")]
    pub(crate) seed: u64,
    /// Stop each climb after I steps
    #[arg(long, value_name = "I", default_value_t = MAX_ITERATIONS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_iterations: u64,
    /// Stop each climb after N passes over the data
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_passes: Option<u64>,
    /// Stop everything after so many seconds and keep the best so far
    #[arg(long, value_name = "SECONDS", value_parser = not_negative)]
    pub(crate) time: Option<f64>,
    /// Exit with code 3 where the fit has not converged
    #[arg(long)]
    pub(crate) require_convergence: bool,
    /// Write what is needed to go on to FILE, now and then and at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value_t = CHECKPOINT_EVERY)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: u64,
    /// Go on from a checkpoint, with the data and settings that it was made with
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

impl ClimbArgs {
    /// A hidden file of what does not fit in memory: beside results, or else beside the checkpoint or the data.
    pub(crate) fn scratch(&self, out: Option<&Path>, data: &Path, ending: &str) -> PathBuf {
        let checkpoint = self.checkpoint.as_deref().or(self.resume.as_deref());
        let data = (data != Path::new("-")).then_some(data);
        let beside = out.or(checkpoint).or(data);
        let name = beside
            .and_then(Path::file_name)
            .unwrap_or(OsStr::new("collapsar"));
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(ending);
        beside
            .unwrap_or(Path::new("collapsar"))
            .with_file_name(hidden)
    }

    /// How many climbs there are of one model, unless its starts compete.
    pub(crate) fn climbs(&self) -> usize {
        self.restarts.unwrap_or(1) as usize
    }

    /// What the flags ask for, with this tolerance, where `numbers` of `parts` are to be fitted.
    pub(crate) fn options(
        &self,
        tolerance: Option<f64>,
        numbers: usize,
        parts: &'static str,
    ) -> anyhow::Result<ClimbOptions> {
        let checkpoint = self.checkpoint.clone();
        let options = ClimbOptions {
            method: self.method,
            restarts: self.restarts.map(|restarts| restarts as usize),
            seed: self.seed,
            tolerance,
            max_iterations: self.max_iterations,
            max_passes: self.max_passes,
            time: self.time,
            threads: threads(),
            checkpoint: checkpoint.map(|file| (file, self.checkpoint_every)),
            resume: self.resume.clone(),
        };
        options.check(numbers, parts)?;
        Ok(options)
    }
}

/// The progress of so many climbs: each step of the only one, each end of several.
pub(crate) struct Bar<'a> {
    pub(crate) common: &'a Common,
    pub(crate) progress: Progress,
    /// That of reading what is climbed, while it lasts.
    pub(crate) reading: Mutex<Option<Progress>>,
    chains: Chains<'a>,
    /// Whether there is one climb only.
    alone: bool,
    highest: Mutex<f64>,
    pace: Mutex<Pace>,
    /// Rows that are read for every pass.
    stored: Option<ReadFrom>,
    began: Instant,
}

impl<'a> Bar<'a> {
    pub(crate) fn new(common: &'a Common, climbs: usize) -> Self {
        let alone = climbs == 1;
        let length = (!alone).then_some(climbs as u64);
        Self {
            common,
            progress: Progress::new(common, length, "climbs"),
            reading: Mutex::new(None),
            chains: Chains::new(common),
            alone,
            highest: Mutex::new(f64::NEG_INFINITY),
            pace: Mutex::new(Pace::default()),
            stored: None,
            began: Instant::now(),
        }
    }

    /// The same of what is read for every pass, where it is.
    pub(crate) fn of_file(self, stored: Option<ReadFrom>) -> Self {
        Self { stored, ..self }
    }

    /// Rows or documents and bytes of a pass, and how fast they are read.
    fn read(&self) -> String {
        self.stored.as_ref().map_or_else(String::new, |stored| {
            let (what, number, pass, reading) = stored.told();
            let rate = reading.bytes as f64 / self.began.elapsed().as_secs_f64().max(1e-9);
            format!(
                " of {} {what} and {} ({} a second)",
                short(number as f64),
                bytes(pass),
                bytes(rate as u64)
            )
        })
    }
}

/// A file that is read for every pass.
pub(crate) enum ReadFrom {
    Rows(Arc<Stored>),
    Documents(Arc<StoredCorpus>),
}

impl ReadFrom {
    /// What it holds, how many, bytes of a pass, and what reading has cost so far.
    fn told(&self) -> (&'static str, usize, u64, Reading) {
        match self {
            Self::Rows(rows) => ("rows", rows.len(), rows.pass_bytes(), rows.reading()),
            Self::Documents(corpus) => (
                "documents",
                corpus.documents(),
                corpus.pass_bytes(),
                corpus.reading(),
            ),
        }
    }
}

impl Watch for Bar<'_> {
    fn interrupt(&self) -> &AtomicBool {
        self.common.listen()
    }

    fn chains(&self) -> &dyn ChainWatch {
        self.progress.pause();
        &self.chains
    }

    fn begins(&self, options: &ClimbOptions) {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        *pace = Pace::new(options);
    }

    fn step(&self, _: usize, step: &Step) -> ControlFlow<()> {
        if self.alone {
            let line = || {
                format!(
                    "iteration {}, {} passes, bound {:.3}, gain {}{}",
                    step.iteration,
                    step.passes,
                    step.bound,
                    short(step.gain),
                    if step.trial { ", trying a jump" } else { "" },
                )
            };
            if self.common.verbose {
                self.progress.line(&line());
            }
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            pace.step(step);
            // Short, so that all of it is seen in 80 columns.
            self.progress.tell(|| {
                format!(
                    "{} passes{}, bound {:.3}, gain {}{}{}",
                    step.passes,
                    self.read(),
                    step.bound,
                    short(step.gain),
                    pace.words(step),
                    if step.trial { ", a jump" } else { "" },
                )
            });
        }
        ControlFlow::Continue(())
    }

    fn ended(&self, model: &str, seed: u64, fit: &Fit) {
        let bound = fit.point.bound;
        if !self.alone {
            if self.common.verbose {
                self.progress.line(&format!(
                    "{model}, seed {seed}: bound {bound:.3}, {} ({} iterations, {} passes, {})",
                    fit.outcome,
                    fit.iterations,
                    fit.passes,
                    duration(fit.seconds),
                ));
            }
            let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
            *highest = highest.max(bound);
            self.progress.tell(|| format!("best bound {:.3}", *highest));
        }
        self.progress.advance();
    }
}

/// Says that Ctrl-C left nothing.
pub(crate) fn nothing(common: &Common) -> ExitCode {
    common.warn("interrupted before the first step; nothing was written");
    ExitCode::from(INTERRUPTED)
}

/// The program's exit code.
pub(crate) fn exit(outcome: &End, require_convergence: bool) -> ExitCode {
    let missed = require_convergence && !outcome.converged;
    ExitCode::from(match (is_interrupted(), missed) {
        (true, _) => INTERRUPTED,
        (_, true) => 3,
        _ => 0,
    })
}

/// Warns where the fit has not converged, or its checkpoint could not be written.
pub(crate) fn warn(climbed: &Climbed, common: &Common) {
    if let Some(error) = &climbed.best().unwritten {
        common.warn(&format!("{error}; the fit went on without"));
    }
    if climbed.outcome.converged {
        return;
    }
    let reason = &climbed.outcome.reason;
    common.warn(&match &climbed.best().outcome {
        Outcome::Exhausted(_) => {
            format!("not converged: {reason}; results are of the point reached")
        }
        _ => format!("{reason}; results are of the best point reached"),
    });
}

/// Whether a run has converged, in words.
pub(crate) fn state(outcome: &End) -> &'static str {
    ["not converged", "converged"][usize::from(outcome.converged)]
}

/// What a line of a comparison ends with.
pub(crate) fn mark(best: bool, converged: bool) -> String {
    let mark = match (best, converged) {
        (true, _) => "best",
        (_, false) => "not converged",
        _ => "",
    };
    mark.to_owned()
}

/// Bound, cost and starts, as a summary has them: a line each.
pub(crate) fn lines(climbed: &Climbed) -> String {
    let mut text = vec![format!(
        "bound {:.3} nats, {}: {}\n{}, {} over the data, {}{}\n",
        climbed.best().point.bound,
        state(&climbed.outcome),
        climbed.outcome.reason,
        count(climbed.iterations as usize, "iteration"),
        count(climbed.passes as usize, "pass"),
        duration(climbed.seconds),
        jumps(climbed),
    )];
    let spread = climbed.climbs.spread();
    if spread.abandoned > 0 {
        text.push(competed(&spread));
    } else if spread.starts > 1 {
        text.push(format!(
            "{} starts: bounds {:.3} (best), {:.3} (median), {:.3} (lowest); {} within a nat of the best\n",
            spread.starts, spread.highest, spread.median, spread.lowest, spread.within_a_nat
        ));
    }
    if climbed.skipped > 0 {
        text.push(format!("{} not begun\n", count(climbed.skipped, "start")));
    }
    text.concat()
}

/// How starts of which most were abandoned did.
fn competed(spread: &Spread) -> String {
    let (finished, reached) = (spread.finished(), spread.within_a_nat);
    format!(
        "{}, {} abandoned early, {reached} of {finished} reached the best bound\n",
        count(spread.starts, "start"),
        spread.abandoned
    )
}

/// Says so where few of several starts ended at the best bound.
pub(crate) fn few(spread: &Spread) -> Option<String> {
    let (finished, reached) = (spread.finished(), spread.within_a_nat);
    let more = (10 * finished).max(50);
    (finished > 1 && (reached == 1 || 3 * reached < finished)).then(|| {
        format!("only {reached} of {finished} starts reached the best bound: try --restarts {more}")
    })
}

/// Where what did not fit in memory was, and what passes waited for.
pub(crate) fn read_from(what: &str, memory: u64, pass_bytes: u64, reading: Reading) -> String {
    let part = reading.waited.as_secs_f64() / reading.spent.as_secs_f64().max(1e-9);
    format!(
        "{what} did not fit in {} and were read from a file, {} a pass and {} in all: bound by {}, as threads waited \
         for the file in {:.0}% of their time\n",
        bytes(memory),
        bytes(pass_bytes),
        bytes(reading.bytes),
        match bound_by(reading) {
            "disk" => "the disk",
            other => other,
        },
        100.0 * part,
    )
}

/// Where results are, or how to keep them.
pub(crate) fn kept_in(folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => format!("all results are in {}\n", folder.display()),
        None => "--out DIR keeps all results\n".to_owned(),
    }
}

fn jumps(climbed: &Climbed) -> String {
    let best = climbed.best();
    if best.jumps_tried == 0 {
        return String::new();
    }
    let several = climbed.climbs.spread().starts > 1;
    let whose = if several { " by the best climb" } else { "" };
    format!(
        "; {} tried{whose}, {} taken",
        count(best.jumps_tried as usize, "jump"),
        best.jumps_taken
    )
}
