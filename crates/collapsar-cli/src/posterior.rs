//! Which posterior results are to be of: the flags of every command that fits.

use std::str::FromStr;

use clap::Args;
use collapsar::limits::DRAWS;
use collapsar_run::PosteriorKind;
use collapsar_run::fit::PosteriorOptions;

use crate::common::Usage;
use crate::values::named;

/// Which posterior results are of, and how many draws of it.
#[derive(Debug, Args)]
pub(crate) struct PosteriorArgs {
    /// Which posterior to tell of
    ///
    /// mean-field: the fit's own, fast and too sure of itself. linear-response: its means, with
    /// deviations that know of what was not observed. exact: Markov chains that begin at the fit; topics
    /// are then the mean of all draws, which foresees better. By default linear-response, or mean-field
    /// where that would cost more than the fit did.
    #[arg(long, value_name = "P", help_heading = "Posterior")]
    #[arg(value_parser = named(PosteriorKind::ALL.map(|kind| (kind.name(), kind))))]
    pub(crate) posterior: Option<PosteriorKind>,
    /// Draws of each chain, with --posterior exact [default: 1000]; fit also writes so many draws of
    /// another posterior to draws.csv
    #[arg(long, value_name = "S", help_heading = "Posterior")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(DRAWS)))]
    pub(crate) draws: Option<u32>,
    /// Markov chains, with --posterior exact [default: 4]
    #[arg(long, value_name = "C", help_heading = "Posterior")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) chains: Option<u16>,
    /// Sweeps of each chain before its first draw, with --posterior exact; auto is a quarter of the
    /// draws, under fit 1000 at most [default: auto]
    ///
    /// Learned priors of topics move during the first half of them.
    #[arg(long, value_name = "W", help_heading = "Posterior")]
    pub(crate) warmup: Option<Warmup>,
}

/// Sweeps before the first draw, or as many as the command thinks right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Warmup(Option<usize>);

impl FromStr for Warmup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sweeps = match text {
            "auto" => return Ok(Self(None)),
            _ => text.parse::<u32>().ok().filter(|sweeps| *sweeps <= DRAWS),
        };
        let sweeps = sweeps.ok_or(format!("expected auto or a number from 0 to {DRAWS}"))?;
        Ok(Self(Some(sweeps as usize)))
    }
}

impl PosteriorArgs {
    /// Whether chains are asked for.
    pub(crate) fn exact(&self) -> bool {
        self.posterior == Some(PosteriorKind::Exact)
    }

    /// What the flags ask for, where only chains have draws.
    pub(crate) fn of_chains(&self) -> Result<PosteriorOptions, Usage> {
        self.only_exact("draws", self.draws.is_some())?;
        self.options()
    }

    /// What the flags ask for.
    pub(crate) fn options(&self) -> Result<PosteriorOptions, Usage> {
        self.only_exact("chains", self.chains.is_some())?;
        self.only_exact("warmup", self.warmup.is_some())?;
        let defaults = PosteriorOptions::default();
        Ok(PosteriorOptions {
            posterior: self.posterior,
            draws: self.draws.map(|draws| draws as usize),
            chains: self.chains.map_or(defaults.chains, usize::from),
            warmup: self.warmup.and_then(|warmup| warmup.0),
        })
    }

    fn only_exact(&self, flag: &str, given: bool) -> Result<(), Usage> {
        if given && !self.exact() {
            return Err(Usage(format!(
                "--{flag} is given, expected --posterior exact beside it: other posteriors have no chains"
            )));
        }
        Ok(())
    }
}
