//! The flags of a fit, as typed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use collapsar::Direction;
use collapsar::mixture::{Covariance, Defaults, Weights};

use crate::common::Usage;

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Table of numbers: CSV, TSV, NPY or Parquet; - reads CSV from standard input
    #[arg(required = true, value_name = "DATA")]
    data: Option<PathBuf>,
    /// Use these columns, by name or by index from 1 (all unless given)
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Write all results into DIR, made if need be
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write N draws from the posterior predictive density to samples.csv
    #[arg(long, value_name = "N", requires = "out")]
    pub(crate) samples: Option<usize>,

    /// How many components: K, a range 1..12 (both ends included) or a list 2,4,8
    ///
    /// Components that the data do not need stay empty, so a number that is too large does little harm.
    /// Of several numbers each is fitted, the bounds are compared and the best fit is kept.
    #[arg(
        long,
        short = 'k',
        value_name = "K",
        default_value = "10",
        help_heading = "Model"
    )]
    pub(crate) components: Components,
    /// Shape of the components' covariances; tied: one full matrix for all
    #[arg(
        long,
        default_value = "full",
        hide_possible_values = false,
        help_heading = "Model"
    )]
    #[arg(value_parser = named(Covariance::ALL.map(|c| (c.name(), c))))]
    pub(crate) covariance: Covariance,
    /// Prior over the weights: a symmetric Dirichlet, or a Dirichlet process cut off after K sticks
    #[arg(long, default_value = "dirichlet", help_heading = "Model")]
    #[arg(value_parser = named(Weights::ALL.map(|w| (w.name(), w))))]
    pub(crate) weights: Weights,

    /// Where hyperparameters that are not given come from
    ///
    /// sklearn: from the data, as scikit-learn's BayesianGaussianMixture takes them: concentration 1/K,
    /// location the mean of the data, mean precision 1, as many degrees of freedom as columns, scale the
    /// covariance of the data. paper: nearly uninformative, as in the paper's experiments: concentration
    /// 1, location the mean of the data, mean precision 1e-6, one degree of freedom more than columns,
    /// scale 1e-3 times the identity.
    #[arg(long, default_value = "sklearn", help_heading = "Prior")]
    #[arg(value_parser = named([("sklearn", Defaults::Sklearn), ("paper", Defaults::Paper)]))]
    pub(crate) prior: Defaults,
    /// Of the weights' prior: each component's, or the Dirichlet process's
    #[arg(
        long,
        value_name = "A",
        help_heading = "Prior",
        allow_negative_numbers = true
    )]
    pub(crate) concentration: Option<f64>,
    /// Prior mean of the components' means: a number for all columns, or one for each
    #[arg(long, value_name = "M0", value_delimiter = ',', help_heading = "Prior")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) location: Option<Vec<f64>>,
    /// How many rows the prior mean is worth
    #[arg(
        long,
        value_name = "KAPPA0",
        help_heading = "Prior",
        allow_negative_numbers = true
    )]
    pub(crate) mean_precision: Option<f64>,
    /// How many rows the prior scale is worth (for each column where spherical)
    #[arg(
        long,
        value_name = "NU0",
        help_heading = "Prior",
        allow_negative_numbers = true
    )]
    pub(crate) degrees_of_freedom: Option<f64>,
    /// Prior scale matrix: a number times the identity, or a table file with a row for each column
    #[arg(
        long,
        value_name = "S0",
        help_heading = "Prior",
        allow_negative_numbers = true
    )]
    pub(crate) scale: Option<String>,

    /// How to climb the bound
    ///
    /// vbem: the classic update. fr, pr, hs: the paper's conjugate gradients. lbfgs and newton use
    /// curvature. auto: leaps along vbem's path, as long as they can be foreseen, with --jumps.
    #[arg(long, default_value = "auto", help_heading = "Fit")]
    #[arg(value_parser = named(Direction::ALL.map(|d| (d.name(), d))))]
    pub(crate) method: Direction,
    /// Try splits and merges of components when the climb slows down; auto: on with --method auto
    #[arg(long, default_value = "auto", value_enum, help_heading = "Fit")]
    pub(crate) jumps: Jumps,
    /// First responsibilities: random, kmeans, or a FILE with a label from 0 for each row
    #[arg(
        long,
        value_name = "START",
        default_value = "kmeans",
        help_heading = "Fit"
    )]
    pub(crate) start: StartArg,
    /// Climb from R starts in parallel, with seeds S, S+1, …, and keep the best
    #[arg(long, value_name = "R", default_value = "1", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) restarts: u32,
    /// Seed of every random number
    #[arg(long, value_name = "S", default_value = "0", help_heading = "Fit")]
    pub(crate) seed: u64,
    /// Converged when a step raises the bound by less than T nats
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) tolerance: f64,
    /// Stop each climb after I steps
    #[arg(long, value_name = "I", default_value = "10000", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_iterations: u64,
    /// Stop each climb after N passes over the data
    #[arg(long, value_name = "N", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_passes: Option<u64>,
    /// Stop everything after so many seconds and keep the best so far
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) time: Option<f64>,
    /// Exit with code 3 where the fit has not converged
    #[arg(long, help_heading = "Fit")]
    pub(crate) require_convergence: bool,
    /// Write what is needed to go on to FILE, now and then and at the end
    #[arg(long, value_name = "FILE", help_heading = "Fit")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value = "50", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: u64,
    /// Go on from a checkpoint, with the data and settings that it was made with
    #[arg(long, value_name = "FILE", help_heading = "Fit")]
    pub(crate) resume: Option<PathBuf>,
}

impl FitArgs {
    pub(crate) fn data(&self) -> &Path {
        self.data
            .as_deref()
            .expect("required unless a subcommand is given")
    }

    /// The data's name, as in refusals.
    pub(crate) fn data_name(&self) -> String {
        match self.data() {
            file if file == Path::new("-") => "stdin".into(),
            file => file.display().to_string(),
        }
    }

    pub(crate) fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// Refuses flags that do not go together and that clap cannot know of.
    pub(crate) fn check(&self) -> Result<(), Usage> {
        let one = self.restarts == 1 && self.components.0.len() == 1;
        if !one && (self.checkpoint.is_some() || self.resume.is_some()) {
            return Err(Usage(
                "--checkpoint and --resume follow one climb, expected one restart and one number of components".into(),
            ));
        }
        if self.restarts > 1 && matches!(self.start, StartArg::Labels(_)) {
            return Err(Usage(
                "--restarts needs different starts, expected --start random or --start kmeans"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Whether climbs try splits and merges.
    pub(crate) fn tries_jumps(&self) -> bool {
        match self.jumps {
            Jumps::On => true,
            Jumps::Off => false,
            Jumps::Auto => self.method == Direction::Auto,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Jumps {
    Auto,
    On,
    Off,
}

/// Numbers of components to fit, each once, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Components(pub(crate) Vec<usize>);

impl FromStr for Components {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || "expected a number such as 8, a range such as 1..12 or a list such as 2,4,8";
        let number = |text: &str| match text.trim().parse() {
            Ok(0) => Err("expected at least 1".to_owned()),
            Ok(number) => Ok(number),
            Err(_) => Err(refused().to_owned()),
        };
        let numbers: Vec<usize> = if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
            if first > last {
                return Err(format!(
                    "expected the smaller number first: {last}..{first}"
                ));
            }
            (first..=last).collect()
        } else {
            text.split(',').map(number).collect::<Result<_, _>>()?
        };
        let mut once = Vec::with_capacity(numbers.len());
        for number in numbers {
            if !once.contains(&number) {
                once.push(number);
            }
        }
        Ok(Self(once))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StartArg {
    Random,
    KMeans,
    Labels(PathBuf),
}

impl FromStr for StartArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "random" => Self::Random,
            "kmeans" => Self::KMeans,
            file => Self::Labels(file.into()),
        })
    }
}

impl fmt::Display for StartArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::KMeans => f.write_str("kmeans"),
            Self::Labels(file) => write!(f, "{}", file.display()),
        }
    }
}

/// Takes one of the library's own names.
fn named<T, const N: usize>(all: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.map(|(name, _)| name)).map(move |given: String| {
        let found = all.iter().find(|(name, _)| *name == given);
        found.expect("one of the names offered").1
    })
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number of 0 or more".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::Components;

    #[test]
    fn numbers_of_components() {
        let parse = |text: &str| text.parse::<Components>().map(|components| components.0);
        assert_eq!(parse("8"), Ok(vec![8]));
        assert_eq!(parse("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(parse("1..=3"), Ok(vec![1, 2, 3]));
        assert_eq!(parse("4, 2,4"), Ok(vec![4, 2]));
        for wrong in ["", "0", "x", "0..3", "4..2", "1..", "1,,2", "-3"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
