//! The flags of a quantification, as typed.

use std::path::{Path, PathBuf};

use clap::{ArgAction, ArgGroup, Args};
use collapsar::Direction;
use collapsar::quant::fragment::{self, Library};
use collapsar::quant::{Compression, Prior, Settings};
use collapsar_run::ClimbOptions;
use collapsar_run::quant::{GeneSource, Lengths, Naming, QuantRequest, ReadSource};

use crate::common::{Flags, Usage, threads};
use crate::report::PageArgs;
use crate::values::{auto, named, not_negative};

const FRAGMENTS: &str = "Fragments";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(group = ArgGroup::new("reads").required(true).args(["alignments", "prob", "classes"]))]
pub(crate) struct FitArgs {
    /// Alignments of reads to transcripts: SAM, BAM or CRAM, all those of a read together, as aligners
    /// write them; - reads standard input
    #[arg(long, short, value_name = "FILE", requires = "transcripts")]
    alignments: Option<PathBuf>,
    /// Probabilities of reads, as BitSeq's parseAlignment writes them; - reads standard input
    #[arg(long, value_name = "FILE")]
    prob: Option<PathBuf>,
    /// Equivalence classes: salmon's eq_classes.txt, or kallisto's .ec with its counts beside it
    #[arg(long, value_name = "FILE")]
    classes: Option<PathBuf>,
    /// Write all results into DIR, made if need be
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    /// Print the N most abundant transcripts, or genes where they are known
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) top: usize,

    /// Sequences of the transcripts that the reads were aligned to, in FASTA
    #[arg(long, short, value_name = "FASTA", help_heading = "Transcripts")]
    #[arg(conflicts_with = "prob")]
    pub(crate) transcripts: Option<PathBuf>,
    /// Names and lengths of the transcripts, as BitSeq's .tr files have them
    #[arg(long, value_name = "FILE", help_heading = "Transcripts")]
    #[arg(conflicts_with_all = ["alignments", "transcripts"])]
    pub(crate) lengths: Option<PathBuf>,
    /// Genes of the transcripts: a table of two columns, GTF or GFF3
    #[arg(long, short, value_name = "FILE", help_heading = "Transcripts")]
    pub(crate) gene_map: Option<PathBuf>,
    /// Compare names without their versions: ENST00000456328 for ENST00000456328.2
    #[arg(long, help_heading = "Transcripts")]
    pub(crate) ignore_versions: bool,
    /// Take names up to the first |, for FASTA of GENCODE
    #[arg(long, help_heading = "Transcripts")]
    pub(crate) gencode: bool,

    /// How reads lie on transcripts, in salmon's words, such as IU, ISR or SF; A tells it from the reads
    #[arg(long, short, value_name = "TYPE", default_value = "A", help_heading = FRAGMENTS)]
    #[arg(value_parser = library)]
    pub(crate) library_type: Library,
    /// Mean and standard deviation of the lengths of fragments (learned from pairs unless given)
    ///
    /// Single reads do not show them: they are then taken to be about 250,60.
    #[arg(long, value_name = "MEAN,SD", value_parser = mean_sd, help_heading = FRAGMENTS)]
    pub(crate) fragment_length: Option<(f64, f64)>,
    /// Correct for bases that fragments like to begin and end with
    #[arg(long, help_heading = FRAGMENTS)]
    pub(crate) sequence_bias: bool,
    /// Correct for parts of transcripts that have more fragments than others
    #[arg(long, help_heading = FRAGMENTS)]
    pub(crate) position_bias: bool,
    /// Leave out fragments longer than this
    #[arg(long, value_name = "BASES", default_value = "1000", help_heading = FRAGMENTS)]
    #[arg(hide_short_help = true)]
    pub(crate) longest_fragment: u32,
    /// Probability of a strand or orientation that the library type does not allow; 0 leaves such
    /// alignments out
    #[arg(long, value_name = "P", default_value = "0", help_heading = FRAGMENTS)]
    #[arg(value_parser = not_negative, hide_short_help = true)]
    pub(crate) incompatible: f64,
    /// Let reads of .prob files come from noise too, as BitSeq does
    #[arg(long, help_heading = FRAGMENTS, conflicts_with_all = ["alignments", "classes"])]
    pub(crate) noise: bool,

    /// Prior of the fractions, the same for every transcript; auto learns it by raising the bound
    ///
    /// BitSeq has 1, which takes most transcripts to be there; 0.01 takes most to be absent. Simulated
    /// reads are quantified best, and with intervals that hold, at about 0.1.
    #[arg(long, value_name = "A", default_value = "0.1", help_heading = "Model")]
    #[arg(value_parser = prior, allow_hyphen_values = true)]
    pub(crate) prior: Prior,
    /// What deviations and intervals are of
    ///
    /// exact: draws from the posterior itself. collapsed: the fit's own Dirichlet distribution, which
    /// takes no time and is too narrow for transcripts that share reads.
    #[arg(long, value_name = "WHICH", default_value = "exact")]
    #[arg(help_heading = "Model")]
    #[arg(value_parser = named([("exact", true), ("collapsed", false)]), action = ArgAction::Set)]
    pub(crate) posterior: bool,
    /// Also write S draws of the reads of each transcript, which tximport and swish take for inferential
    /// replicates
    #[arg(long, value_name = "S", default_value = "0", help_heading = "Model")]
    pub(crate) draws: usize,

    /// How to climb the bound
    ///
    /// auto: each set of transcripts that share reads by itself, by Newton steps where it is small. The
    /// others climb all at once: vbem is the classic update, fr, pr and hs the paper's conjugate
    /// gradients, lbfgs and newton use curvature.
    #[arg(long, default_value = "auto", help_heading = "Fit")]
    #[arg(value_parser = named(Direction::ALL.map(|d| (d.name(), d))))]
    pub(crate) method: Direction,
    /// Converged when a step raises the bound by less than T nats
    #[arg(long, value_name = "T", default_value = "1e-8", help_heading = "Fit")]
    pub(crate) tolerance: f64,
    /// Do not try whether transcripts without reads of their own are absent
    #[arg(long, help_heading = "Fit")]
    pub(crate) no_search: bool,
    /// Stop after I steps, with a method other than auto
    #[arg(long, value_name = "I", default_value = "10000", help_heading = "Fit")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_iterations: u64,
    /// Drop alignments whose probability is below this fraction of the read's best
    #[arg(long, value_name = "FRACTION", default_value = "1e-12")]
    #[arg(help_heading = "Fit", hide_short_help = true)]
    pub(crate) cut: f64,
    /// Take reads for one whose log ratios between transcripts agree to about so many nats; 0 only where
    /// they agree in every bit
    #[arg(long, value_name = "NATS", default_value = "1e-3")]
    #[arg(help_heading = "Fit", hide_short_help = true)]
    pub(crate) grain: f64,
    /// Seed of every random number
    #[arg(long, value_name = "S", default_value = "0", help_heading = "Fit")]
    pub(crate) seed: u64,
    /// Exit with code 3 where the fit has not converged
    #[arg(long, help_heading = "Fit")]
    pub(crate) require_convergence: bool,
}

impl FitArgs {
    /// What the flags ask for.
    pub(crate) fn request(&self) -> QuantRequest {
        let source = match (&self.alignments, &self.prob, &self.classes) {
            (Some(file), ..) => ReadSource::Alignments(file.clone()),
            (_, Some(file), _) => ReadSource::Prob(file.clone()),
            (.., Some(file)) => ReadSource::Classes(file.clone()),
            _ => unreachable!("one is required unless a subcommand is given"),
        };
        let request = QuantRequest::new(source);
        QuantRequest {
            transcripts: self.transcripts.clone(),
            lengths: self.lengths.clone().map(Lengths::File),
            genes: self.gene_map.clone().map(GeneSource::File),
            naming: Naming {
                gencode: self.gencode,
                ignore_versions: self.ignore_versions,
            },
            noise: self.noise,
            fragments: fragment::Settings {
                library: self.library_type,
                fragment_length: self.fragment_length,
                longest: self.longest_fragment,
                incompatible: self.incompatible,
                sequence_bias: self.sequence_bias,
                position_bias: self.position_bias,
                ..request.fragments
            },
            compression: Compression {
                cut: self.cut,
                grain: self.grain,
            },
            settings: Settings {
                prior: self.prior,
                tolerance: self.tolerance,
                search: !self.no_search,
                ..request.settings
            },
            climb: ClimbOptions {
                method: self.method,
                max_iterations: self.max_iterations,
                seed: self.seed,
                threads: threads(),
                ..request.climb
            },
            exact: self.posterior,
            draws: self.draws,
            ..request
        }
    }
}

/// Refuses flags that do not go together and that clap cannot know of.
pub(crate) fn check(request: &QuantRequest) -> Result<(), Usage> {
    let files = request.files();
    if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Usage(
            "standard input is asked for twice, expected - for one file only".into(),
        ));
    }
    Ok(())
}

fn library(text: &str) -> Result<Library, String> {
    let refused = |error: collapsar::Error| error.in_terms(&Flags);
    text.parse().map_err(refused)
}

fn prior(text: &str) -> Result<Prior, &'static str> {
    Ok(auto(text)?.map_or(Prior::Learned, Prior::Given))
}

/// Two numbers, as in `250,60`.
fn mean_sd(text: &str) -> Result<(f64, f64), &'static str> {
    let numbers = text.split_once(',');
    let number = |text: &str| text.trim().parse().ok();
    numbers
        .and_then(|(mean, sd)| Some((number(mean)?, number(sd)?)))
        .ok_or("expected two numbers with a comma between them, as in 250,60")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        fit: FitArgs,
    }

    #[test]
    fn defaults_are_the_layer_s() {
        let found = Cli::parse_from(["quant", "--prob", "x"]).fit.request();
        let expected = QuantRequest::new(ReadSource::Prob("x".into()));
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
}
