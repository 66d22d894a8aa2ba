//! The flags of a fit, as typed.

use std::path::PathBuf;

use clap::Args;
use collapsar_run::fit::ModelRequest;

use super::source::SourceArgs;
use crate::climb::ClimbArgs;
use crate::values::not_negative;

const EXAMPLES: &str = "\
Examples:
  collapsar fit rats.bug --data rats.json               what is known of every parameter
  collapsar fit rats.bug --data Y.csv N.json --out fit  the same, with all results in the folder fit
  collapsar fit gmm.bug --data d.R --restarts 20        from 20 starts; the best bound is kept
  collapsar fit gmm.bug --data d.R --monitor 'pi,z[3]'  only these
  collapsar fit gmm.bug --data d.R --out fit --draws 1000
                                                        also 1000 draws, as from a sampler
  collapsar check gmm.bug --data d.R                    what is collapsed, and why

With --out DIR the folder gets
  posterior.csv   name, mean, sd, q2.5, median and q97.5 of every number asked for
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
    #[arg(long, value_name = "A,B", value_parser = monitored)]
    pub(crate) monitor: Vec<Names>,
    /// Write all results into DIR, made if need be
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write S draws of what is monitored to draws.csv
    #[arg(long, value_name = "S", requires = "out")]
    pub(crate) draws: Option<usize>,
    /// Converged when a step raises the bound by less than T nats [default: 1e-8, or 1e-10 for each
    /// datum if that is more]
    #[arg(long, value_name = "T", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) tolerance: Option<f64>,
    #[command(flatten)]
    pub(crate) climb: ClimbArgs,
}

/// Names between commas, of which those in brackets do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

impl FitArgs {
    /// What the flags ask for.
    pub(crate) fn request(&self) -> anyhow::Result<ModelRequest> {
        let source = &self.source;
        let names = self.monitor.iter().flat_map(|names| &names.0);
        Ok(ModelRequest {
            collapse: source.collapse.clone(),
            explicit: source.explicit.clone(),
            monitor: names.cloned().collect(),
            draws: self.draws,
            climb: self.climb.options(self.tolerance, 1, "models")?,
            messages: None,
            files: (source.model.clone(), source.data.clone()),
        })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what clap takes")]
fn monitored(text: &str) -> Result<Names, String> {
    let mut depth = 0;
    let parts = text.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth <= 0
    });
    let parts = parts.map(|part| {
        part.chars()
            .filter(|letter| !letter.is_whitespace())
            .collect()
    });
    Ok(Names(
        parts.filter(|part: &String| !part.is_empty()).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_do_not_part_names() {
        let names = monitored("mu[2, 1],tau , x[1],").unwrap();
        assert_eq!(names.0, ["mu[2,1]", "tau", "x[1]"]);
    }
}
