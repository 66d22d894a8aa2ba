//! The flags of a fit, as typed.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use collapsar::limits::DRAWS;
use collapsar::mixture::{Covariance, Defaults, Scale, Settings, Weights};
use collapsar_run::mixture::{MixtureRequest, StartOption};

use crate::climb::ClimbArgs;
use crate::common::Usage;
use crate::posterior::PosteriorArgs;
use crate::report::PageArgs;
use crate::values::{Numbers, bytes, named, not_negative, up_to};

/// [`collapsar_run::MIXTURE_TOLERANCE`] as people write it.
const TOLERANCE: &str = "1e-6";

/// On or off; nothing where the method decides.
type Jumps = Option<bool>;

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Table of numbers: CSV, TSV, NPY, Parquet or a folder of Parquet files; - reads CSV from standard input
    #[arg(required = true, value_name = "DATA")]
    data: Option<PathBuf>,
    /// Use these columns, by name or by index from 1 (all unless given)
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Categorical columns, by name or by index from 1: numbers that are names of levels
    ///
    /// Columns of text, and of booleans in Parquet, are categorical by their type. Given the component, each is multinomial and
    /// independent of the others; an empty cell says nothing.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) categorical: Vec<String>,
    /// Column that says how often each row is there, by name or by index from 1; it is no data then
    ///
    /// A row of weight 2 is as two rows, one of weight 0 as none. Weights need not be whole numbers, but for
    /// --posterior exact.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) row_weights: Option<String>,
    /// Column that says which class a row is of, by name or by index from 1; empty where that is not known
    ///
    /// Each class is a component, by its name; a row that has a label is of it with probability one. Components beyond the
    /// classes, if --components offers more, take rows that no class explains.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) labels: Option<String>,
    /// Write all results into DIR, made if need be
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Memory that the rows may take, as 2GB or 500MB [default: half of what the machine has]
    ///
    /// Rows that do not fit are read from a file for every pass, with the same results, bit for bit: an NPY file of
    /// floats where it is, other tables from a hidden file beside DIR that is made once, and removed at the end unless a
    /// checkpoint may go on from it. Values may not be missing there.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    /// Also write N draws from the posterior predictive density to samples.csv
    #[arg(long, value_name = "N", requires = "out", value_parser = up_to(DRAWS))]
    pub(crate) samples: Option<usize>,

    /// How many components: K, a range 1..12 (both ends included) or a list 2,4,8
    ///
    /// Components that the data do not need stay empty, so a number that is too large does little harm.
    /// Of several numbers each is fitted, the bounds are compared and the best fit is kept.
    #[arg(long, short = 'k', value_name = "K", default_value = "10")]
    #[arg(help_heading = "Model")]
    pub(crate) components: Numbers,
    /// Shape of the components' covariances; tied: one full matrix for all
    #[arg(long, default_value = "full", hide_possible_values = false)]
    #[arg(help_heading = "Model")]
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
    #[arg(long, value_name = "A", help_heading = "Prior")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) concentration: Option<f64>,
    /// Prior mean of the components' means: a number for all columns, or one for each
    #[arg(long, value_name = "M0", value_delimiter = ',', help_heading = "Prior")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) location: Option<Vec<f64>>,
    /// How many rows the prior mean is worth
    #[arg(long, value_name = "KAPPA0", help_heading = "Prior")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) mean_precision: Option<f64>,
    /// How many rows the prior scale is worth (for each column where spherical)
    #[arg(long, value_name = "NU0", help_heading = "Prior")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) degrees_of_freedom: Option<f64>,
    /// Prior scale matrix: a number times the identity, or a table file with a row for each column
    #[arg(long, value_name = "S0", help_heading = "Prior")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) scale: Option<String>,
    /// How many rows each level of a categorical column is worth [default: 0.5, or 1 with --prior paper]
    #[arg(long, value_name = "A", help_heading = "Prior")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) level_concentration: Option<f64>,

    #[command(flatten)]
    pub(crate) posterior: PosteriorArgs,

    /// Try splits and merges of components when the climb slows down; auto: on with --method auto
    #[arg(long, default_value = "auto", help_heading = "Fit")]
    #[arg(value_parser = named([("auto", None), ("on", Some(true)), ("off", Some(false))]))]
    pub(crate) jumps: Jumps,
    /// First responsibilities: random, kmeans, or a FILE with a label from 0 for each row
    #[arg(long, value_name = "START", default_value = "kmeans")]
    #[arg(help_heading = "Fit")]
    pub(crate) start: StartOption,
    /// Converged when a step raises the bound by less than T nats
    #[arg(long, value_name = "T", default_value = TOLERANCE, value_parser = not_negative, help_heading = "Fit")]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) climb: ClimbArgs,

    /// Have workers hold the rows, by the Python package: of a Ray cluster, or in threads
    ///
    /// DATA may then be a folder of tables, and checkpoints are folders. The fit is the same to the bit for any number of
    /// workers. For clusters with MPI: mpirun -n 8 python -m pycollapsar.mpi mixture DATA --out DIR.
    #[arg(
        long,
        value_name = "ENGINE",
        requires = "out",
        help_heading = "Workers"
    )]
    #[arg(value_parser = ["ray", "local"])]
    pub(crate) engine: Option<String>,
    /// How many workers; as many as the cluster has processors unless given
    #[arg(long, value_name = "N", requires = "engine", help_heading = "Workers")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Option<u32>,
}

impl FitArgs {
    pub(crate) fn data(&self) -> &Path {
        let data = self.data.as_deref();
        data.expect("required unless a subcommand is given")
    }

    /// The hidden file of rows that do not fit in memory: beside results, or else beside the checkpoint or the data.
    pub(crate) fn scratch(&self) -> PathBuf {
        (self.climb).scratch(self.out.as_deref(), self.data(), ".rows")
    }

    /// What the flags ask for.
    pub(crate) fn request(&self) -> anyhow::Result<MixtureRequest> {
        if self.climb.climbs() > 1 && matches!(self.start, StartOption::Labels(_)) {
            bail!(Usage(
                "--restarts needs different starts, expected --start random or --start kmeans"
                    .into(),
            ));
        }
        let number = self.scale.as_ref().and_then(|scale| scale.parse().ok());
        let file = self.scale.as_ref().filter(|_| number.is_none());
        Ok(MixtureRequest {
            components: self.components.0.clone(),
            settings: Settings {
                covariance: self.covariance,
                weights: self.weights,
                defaults: self.prior,
                concentration: self.concentration,
                location: self.location.clone(),
                mean_precision: self.mean_precision,
                degrees_of_freedom: self.degrees_of_freedom,
                scale: number.map(Scale::Identity),
                level_concentration: self.level_concentration,
                ..Settings::new(1)
            },
            scale: file.map(PathBuf::from),
            start: self.start.clone(),
            earlier: None,
            jumps: self.jumps,
            samples: self.samples,
            posterior: self.posterior.of_chains()?,
            climb: self.climb.options(
                Some(self.tolerance),
                self.components.0.len(),
                "components",
            )?,
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_default_tolerance_is_that_of_all_front_ends() {
        assert_eq!(
            super::TOLERANCE.parse(),
            Ok(collapsar_run::MIXTURE_TOLERANCE)
        );
    }
}
