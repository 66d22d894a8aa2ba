//! The third experiment: reads and the transcripts that they come from, every method from the same starts.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collapsar::quant::{Compression, Prior, Quant, Reads, ReadsBuilder, Settings, Solver};
use collapsar::{Outcome, Stop};
use collapsar_formats::ProbReader;
use collapsar_text::{count, grouped, thousands};
use serde_json::json;

use crate::measure::{Measure, RunSummary};
use crate::paired::{Paper, tables};
use crate::plan::Climbs;
use crate::simulate::{SimulationSize, simulate};
use crate::{Error, Host, Plan, Report, Result, file_name};

/// HRL12, section 5.3, in the text.
const PAPER: Paper = Paper {
    title: "The paper's (HRL12, section 5.3)",
    figures: &[(Measure::Iterations, "iterations", 0)],
    rows: &[
        ("vbem", &[(4600.0, 20.0)]),
        ("fr", &[(268.0, 4.0)]),
        ("hs", &[(265.0, 1.0)]),
    ],
};

/// The row of the library's own solver.
const COMPONENTS: &str = "by components";

/// The paper's third experiment: which transcripts reads come from.
#[derive(Debug, Clone)]
pub struct QuantRequest {
    /// Probabilities of reads, as BitSeq's parseAlignment writes them, instead of reads simulated here.
    pub prob: Option<PathBuf>,
    /// Whether the file's noise is kept, as one more transcript.
    pub noise: bool,
    /// How much is simulated.
    pub size: SimulationSize,
    /// Prior of the fractions, for each transcript.
    pub prior: f64,
    /// The runs.
    pub plan: Plan,
}

impl QuantRequest {
    /// Runs the experiment.
    ///
    /// # Errors
    /// Where data or options are refused, and [`Error::PartOfStart`] where it is interrupted too early.
    pub fn run(&self, host: &dyn Host) -> Result<Report> {
        let began = Instant::now();
        let reads = match &self.prob {
            Some(path) => probabilities(path, self.noise)?,
            None => simulate(self.size, self.plan.seed)?.reads,
        };
        let tolerance = self.plan.tolerance.min(Settings::default().tolerance);
        let settings = Settings {
            prior: Prior::Given(self.prior),
            tolerance,
            search: false,
            ..Settings::default()
        };
        let solver = Solver::new(&reads, &settings)?.interrupt(host.interrupt());
        let by_components = || solve(&solver, tolerance);
        let model = Quant::whole(&reads, self.prior);
        let start = |seed| Ok((model.start(seed), 0));
        let own = Some((COMPONENTS, &by_components as _));
        let climbs = self.plan.climb(&model, start, own, host)?;
        let text = format!(
            "{}\n{}{}",
            self.preamble(&reads, &climbs, host),
            tables(&PAPER, &climbs.comparison),
            range(&climbs)
        );
        let files = self.prob.iter().cloned().collect();
        let config = json!({
            "transcripts": reads.transcripts(),
            "reads": reads.reads(),
            "alignments": reads.alignments(),
            "rows": reads.rows(),
            "simulated": self.prob.is_none(),
            "noise": self.noise,
            "prior": self.prior,
        });
        Ok(climbs.report("quant", text, files, &self.plan, config, began))
    }

    /// What was run, so that the figures can be had again.
    fn preamble(&self, reads: &Reads, climbs: &Climbs, host: &dyn Host) -> String {
        let data = match &self.prob {
            Some(path) => format!("{} ({})", file_name(path), size(reads)),
            None => format!(
                "simulated with seed {}, {} genes whose isoforms share exons ({}); {} takes real ones",
                self.plan.seed,
                thousands(self.size.genes),
                size(reads),
                host.terms().option("prob")
            ),
        };
        let noise = if self.noise {
            ", noise one of them"
        } else {
            ""
        };
        format!(
            "The paper's third experiment (HRL12, section 5.3): which transcripts RNA-seq reads come from, \
             six million latent variables, four starts.\n\n\
             - Data: {data}\n\
             - Model: the fractions of all transcripts collapsed, prior {} for each{noise}\n\
             - {}\n\
             - Costs: a pass is a look at every row; products with the metric count. Runs go one after another, \
             threads: {}\n\
             - \"{COMPONENTS}\" is what collapsar quant does, but for its search, and without a random start: each \
             component alone, Newton's steps where it is small. Its iterations are the most of any component, its \
             passes the components' by their share of the data\n\
             - The paper's reads are others (Xu et al. 2010) and it does not state its prior: its figures are a guide\n",
            self.prior,
            climbs.sentence(&self.plan, "responsibilities at random"),
            rayon::current_num_threads()
        )
    }
}

/// How much there is to do.
fn size(reads: &Reads) -> String {
    let largest = reads.components().first();
    let largest = largest.map_or(0, |component| component.places.len());
    format!(
        "{} reads of {} transcripts, {} of them unique; the others are {} different rows in {}, the largest of {}",
        grouped(reads.reads(), 0),
        thousands(reads.transcripts()),
        grouped(reads.unique_reads(), 0),
        thousands(reads.rows()),
        count(reads.components().len(), "component"),
        count(largest, "transcript"),
    )
}

fn probabilities(path: &Path, noise: bool) -> Result<Reads> {
    let mut file = ProbReader::open(path)?;
    let transcripts = file.header().transcripts + usize::from(noise);
    let mut builder = ReadsBuilder::new(transcripts, Compression::default())?;
    let mut entries = Vec::new();
    while file.next(&mut entries)? {
        if !noise {
            entries.retain(|&(transcript, _)| transcript > 0);
            for entry in &mut entries {
                entry.0 -= 1;
            }
        }
        // A read that noise alone explains.
        if !entries.is_empty() {
            builder.push(&entries, 1.0).map_err(|cause| Error::Data {
                place: format!("{}:{}", path.display(), file.line()),
                cause: Box::new(cause),
            })?;
        }
    }
    builder.finish().map_err(Error::in_file(path))
}

/// One run of the library's solver; nothing once it is interrupted.
fn solve(solver: &Solver<'_>, tolerance: f64) -> Result<Option<RunSummary>> {
    let began = Instant::now();
    let solved = solver.run()?;
    let outcome = if solved.unfinished == 0 {
        Outcome::Converged(Stop::Gain(tolerance))
    } else {
        Outcome::Exhausted(Stop::Iterations(solved.iterations))
    };
    Ok((!solved.interrupted).then(|| RunSummary {
        bound: solved.bound,
        iterations: solved.iterations,
        passes: solved.passes,
        seconds: began.elapsed().as_secs_f64(),
        outcome,
    }))
}

/// How far apart runs ended.
fn range(climbs: &Climbs) -> String {
    let bounds = climbs.comparison.runs().map(|(_, _, run)| run.bound);
    let range = climbs.comparison.best - bounds.fold(f64::INFINITY, f64::min);
    format!("All bounds lie within {range:.2} nats of the best; the paper's within 60.\n")
}
