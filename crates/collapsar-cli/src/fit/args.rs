//! The flags of a fit, as typed; `check` has those of a model and its data too.

use std::path::{Path, PathBuf};

use clap::Args;
use collapsar_bugs::{Data, Prepared, Selection};
use collapsar_formats::read_data;
use collapsar_run::fit::{ModelRequest, ModelSource, PosteriorOptions};

use crate::climb::ClimbArgs;
use crate::common::{Common, Usage};
use crate::posterior::PosteriorArgs;
use crate::report::PageArgs;
use crate::values::not_negative;

const EXAMPLES: &str = "\
Examples:
  collapsar fit rats.bug --data rats.json               what is known of every parameter
  collapsar fit rats.bug --data Y.csv N.json --out fit  the same, with all results in the folder fit
  collapsar fit gmm.bug --data d.R --restarts 20        from 20 starts; the best bound is kept
  collapsar fit gmm.bug --data d.R --inits a.R b.R      also from these initial values
  collapsar fit gmm.bug --data d.R --monitor 'pi,z[3]'  only these
  collapsar fit gmm.bug --data d.R --out fit --draws 1000
                                                        also 1000 draws, as from a sampler
  collapsar check gmm.bug --data d.R                    what is collapsed, and why

With --out DIR the folder gets
  posterior.csv   name, mean, sd, q2.5, median and q97.5 of every number asked for
  posterior_others.csv
                  the same by the other posteriors that cost little, for pictures of all
  draws.csv       with --draws, a column for each of them and a row for each draw
  trace.jsonl     every step of the best climb
  run.json        version, settings, inputs with digests, outcome, bound, cost

Labels are left out unless asked for by --monitor, and so are computed arrays of more than 100
elements. The table that is printed also leaves out other arrays of more than 100.";

/// Fit any conjugate model in the BUGS language
///
/// Reads a model as JAGS and WinBUGS have it, and data, finds what can be integrated out, fits the rest
/// and prints what is known of every parameter. The bound it reports is a lower bound on ln p(data), with
/// all its constants, and may be compared across models of the same data: higher is better.
#[derive(Debug, Args)]
// The model first: --data takes all files after it.
#[command(override_usage = "collapsar fit <MODEL> [--data <FILE>...] [OPTIONS]")]
#[command(after_help = EXAMPLES)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    // Not a doc comment, to which brackets are a link.
    #[arg(help = "Tell of these only: arrays, or elements such as mu[2,1], mu[1:3] and mu[2,]")]
    #[arg(long, value_name = "A,B", value_parser = selections)]
    pub(crate) monitor: Vec<Selections>,
    /// Begin at these values: R dumps, list(...) or JSON, a file for each start; other starts compete
    /// with them, unless --restarts says how many there are
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) inits: Vec<PathBuf>,
    /// Write all results into DIR, made if need be
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) posterior: PosteriorArgs,
    /// Converged when a step raises the bound by less than T nats [default: 1e-8, or 1e-10 for each
    /// datum if that is more]
    #[arg(long, value_name = "T", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) tolerance: Option<f64>,
    #[command(flatten)]
    pub(crate) climb: ClimbArgs,
}

/// Selections between commas.
type Selections = Vec<Selection>;

impl FitArgs {
    fn posterior(&self) -> Result<PosteriorOptions, Usage> {
        if self.posterior.draws.is_some() && self.out.is_none() && !self.posterior.exact() {
            return Err(Usage(
                "--draws is given without --out, expected a folder to write them to".into(),
            ));
        }
        self.posterior.options()
    }

    /// What the flags ask for.
    pub(crate) fn request(&self) -> anyhow::Result<ModelRequest> {
        let source = &self.source;
        Ok(ModelRequest {
            collapse: source.collapse.clone(),
            explicit: source.explicit.clone(),
            enumerate: source.enumerate(),
            monitor: self.monitor.concat(),
            posterior: self.posterior()?,
            climb: self.climb.options(self.tolerance, 1, "models")?,
            inits: self.inits()?,
            messages: None,
            files: (source.model.clone(), source.data.clone()),
            init_files: self.inits.clone(),
        })
    }

    /// The initial values of each file.
    fn inits(&self) -> anyhow::Result<Vec<(String, Data)>> {
        let read = |file: &PathBuf| {
            let values = read_data(std::slice::from_ref(file))?;
            Ok((file.display().to_string(), values))
        };
        self.inits.iter().map(read).collect()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what clap takes")]
fn selections(text: &str) -> Result<Selections, String> {
    Ok(Selection::list(text))
}

/// A model and its data, as typed.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Model in the BUGS language; - reads it from standard input
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Data: JSON, R dumps, CSV or TSV (a vector a column), NPY (named as its file); several add up
    #[arg(long, short, value_name = "FILE", num_args = 1..)]
    pub(crate) data: Vec<PathBuf>,
    /// Collapse these arrays, integrating them out
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[arg(help_heading = "Model")]
    pub(crate) collapse: Vec<String>,
    /// Do not collapse these arrays
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[arg(help_heading = "Model")]
    pub(crate) explicit: Vec<String>,
    /// Fit the model for each state of these labels; none for none [default: labels that most of
    /// the model meets, such as a change-point, while their states are few]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[arg(help_heading = "Model")]
    enumerate: Vec<String>,
}

impl SourceArgs {
    /// The labels that are to be enumerated, where that is said.
    pub(crate) fn enumerate(&self) -> Option<Vec<String>> {
        let names = self.enumerate.iter().filter(|name| *name != "none");
        (!self.enumerate.is_empty()).then(|| names.cloned().collect())
    }

    /// Refuses what clap cannot know of, of these files and `more`.
    pub(crate) fn check(&self, more: &[PathBuf]) -> Result<(), Usage> {
        let stdin = |file: &&PathBuf| file.as_path() == Path::new("-");
        let files = std::iter::once(&self.model).chain(&self.data).chain(more);
        match files.filter(stdin).count() {
            0 | 1 => Ok(()),
            times => Err(Usage(format!(
                "- is given {times} times, expected once: there is one standard input"
            ))),
        }
    }
}

/// Puts data into a model, and warns of those that it never mentions.
pub(crate) fn with(source: &ModelSource, data: Data, common: &Common) -> anyhow::Result<Prepared> {
    let unused = source.model.unused(&data);
    let prepared = source.with(data);
    // Before a refusal only what may explain it.
    let explains = unused.iter().any(|(_, like)| like.is_some());
    if !unused.is_empty() && (prepared.is_ok() || explains) {
        let one = |(name, like): &(String, Option<String>)| match like {
            Some(like) => format!("{name} (is {like} meant?)"),
            None => name.clone(),
        };
        let names: Vec<String> = unused.iter().map(one).collect();
        let (model, names) = (&source.name, names.join(", "));
        common.warn(&format!("{model}: nothing reads {names} of the data"));
    }
    Ok(prepared?)
}
