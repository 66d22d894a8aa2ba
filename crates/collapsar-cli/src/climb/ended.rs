//! How climbs ended, in words and for `run.json`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use collapsar::{Fit, Outcome, Spread};
use collapsar_formats::{Run, TraceWriter};
use serde_json::{Map, Value, json};

use super::{ClimbArgs, Climbs};
use crate::common::Common;
use crate::files::inputs;
use crate::text::{count, duration};

/// The best climb, and what finding it cost.
pub(crate) struct Ended {
    /// Those of the model that was kept.
    pub(crate) climbs: Climbs,
    pub(crate) outcome: collapsar_formats::Outcome,
    /// Of all climbs.
    pub(crate) iterations: u64,
    pub(crate) passes: u64,
    pub(crate) seconds: f64,
    /// Climbs that were asked for and never began, for lack of time.
    pub(crate) skipped: usize,
}

impl Ended {
    pub(crate) fn best(&self) -> &Fit {
        self.climbs.restarts.best()
    }

    pub(crate) fn spread(&self) -> Spread {
        self.climbs.restarts.spread()
    }

    /// Whether Ctrl-C came before there was anything to keep.
    pub(crate) fn is_nothing(&self) -> bool {
        self.best().iterations == 0 && self.best().outcome == Outcome::Interrupted
    }

    /// Says that Ctrl-C left nothing.
    pub(crate) fn nothing(common: &Common) -> ExitCode {
        common.warn("interrupted before the first step; nothing was written");
        ExitCode::from(130)
    }

    /// The program's exit code.
    pub(crate) fn exit(&self, args: &ClimbArgs) -> ExitCode {
        let missed = args.require_convergence && !self.outcome.converged;
        ExitCode::from(if missed { 3 } else { 0 })
    }

    /// Warns where the fit has not converged.
    pub(crate) fn warn(&self, common: &Common) {
        if self.outcome.converged {
            return;
        }
        let reason = &self.outcome.reason;
        common.warn(&match &self.best().outcome {
            Outcome::Exhausted(_) => {
                format!("not converged: {reason}; results are of the point reached")
            }
            _ => format!("{reason}; results are of the best point reached"),
        });
    }

    /// Writes `trace.jsonl`, then `run.json` with `own` fields beside those of every run: last, so
    /// that a run.json means that everything before it is there.
    pub(crate) fn write(
        &self,
        folder: &Path,
        config: Value,
        files: &[PathBuf],
        seed: u64,
        own: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> anyhow::Result<()> {
        let mut trace = TraceWriter::create(folder)?;
        for step in &self.climbs.steps {
            trace.write(step)?;
        }
        trace.finish()?;
        let mut extra = self.record();
        extra.extend(
            own.into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        Run {
            version: env!("CARGO_PKG_VERSION").into(),
            command: std::env::args().collect(),
            config,
            inputs: inputs(files)?,
            outcome: self.outcome.clone(),
            bound: self.best().point.bound,
            iterations: self.iterations,
            passes: self.passes,
            seconds: self.seconds,
            seed,
            extra,
        }
        .write(folder)?;
        Ok(())
    }

    /// Bound, cost and starts, as a summary has them: a line each.
    pub(crate) fn lines(&self) -> String {
        let mut text = String::new();
        let mut line = |parts: std::fmt::Arguments<'_>| {
            writeln!(text, "{parts}").expect("strings take all text");
        };
        let state = if self.outcome.converged {
            "converged"
        } else {
            "not converged"
        };
        line(format_args!(
            "bound {:.3} nats, {state}: {}",
            self.best().point.bound,
            self.outcome.reason
        ));
        line(format_args!(
            "{}, {} over the data, {}{}",
            count(self.iterations as usize, "iteration"),
            count(self.passes as usize, "pass"),
            duration(self.seconds),
            self.jumps(),
        ));
        let spread = self.spread();
        if spread.starts > 1 {
            line(format_args!(
                "{} starts: bounds {:.3} (best), {:.3} (median), {:.3} (lowest); {} within a nat of the best",
                spread.starts, spread.highest, spread.median, spread.lowest, spread.within_a_nat
            ));
        }
        if self.skipped > 0 {
            line(format_args!("{} not begun", count(self.skipped, "start")));
        }
        text
    }

    fn jumps(&self) -> String {
        let best = self.best();
        if best.jumps_tried == 0 {
            return String::new();
        }
        let whose = if self.spread().starts > 1 {
            " by the best climb"
        } else {
            ""
        };
        format!(
            "; {} tried{whose}, {} taken",
            count(best.jumps_tried as usize, "jump"),
            best.jumps_taken
        )
    }

    /// What `run.json` has of every climb beside the fields of every run.
    fn record(&self) -> Map<String, Value> {
        let best = self.best();
        let fields = [
            ("best_seed", json!(self.climbs.best_seed)),
            ("spread", json!(self.spread())),
            ("starts_skipped", json!(self.skipped)),
            ("fallbacks", json!(best.fallbacks)),
            ("jumps_tried", json!(best.jumps_tried)),
            ("jumps_taken", json!(best.jumps_taken)),
        ];
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect()
    }
}
