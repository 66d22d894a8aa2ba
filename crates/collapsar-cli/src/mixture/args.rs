//! The flags of a fit, as typed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use collapsar::Direction;
use collapsar::mixture::{Covariance, Defaults, Weights};

use crate::climb::ClimbArgs;
use crate::common::Usage;
use crate::files::name_of;
use crate::values::{Numbers, named, not_negative};

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
    pub(crate) components: Numbers,
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
    /// Converged when a step raises the bound by less than T nats
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) climb: ClimbArgs,
}

impl FitArgs {
    pub(crate) fn data(&self) -> &Path {
        self.data
            .as_deref()
            .expect("required unless a subcommand is given")
    }

    /// The data's name, as in refusals.
    pub(crate) fn data_name(&self) -> String {
        name_of(self.data())
    }

    pub(crate) fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// Refuses flags that do not go together and that clap cannot know of.
    pub(crate) fn check(&self) -> Result<(), Usage> {
        self.climb.check(self.components.0.len(), "components")?;
        if self.climb.restarts > 1 && matches!(self.start, StartArg::Labels(_)) {
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
            Jumps::Auto => self.climb.method == Direction::Auto,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Jumps {
    Auto,
    On,
    Off,
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
