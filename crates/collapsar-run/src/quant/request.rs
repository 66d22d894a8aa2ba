//! What a quantification is asked for, as data, with the defaults of every front end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use collapsar::quant::fragment;
use collapsar::quant::{Chains, Compression, Prior, Settings};
use serde_json::{Value, json};

use super::matching::Naming;
use crate::plan::ClimbOptions;
use crate::record::name_of;

/// A quantification as its user describes it.
#[derive(Debug, Clone)]
pub struct QuantRequest {
    /// Where reads come from.
    pub source: ReadSource,
    /// Sequences of the transcripts, in FASTA: those that alignments are to, or of classes.
    pub transcripts: Option<PathBuf>,
    /// Lengths of the transcripts.
    pub lengths: Option<Lengths>,
    /// Names of the transcripts, in place of those that files give.
    pub names: Option<Vec<String>>,
    /// Genes of the transcripts.
    pub genes: Option<GeneSource>,
    /// What of the transcripts' names counts.
    pub naming: Naming,
    /// Whether reads of `.prob` files may come from noise too, as in BitSeq.
    pub noise: bool,
    /// How likely fragments are.
    pub fragments: fragment::Settings,
    /// What of the reads is kept.
    pub compression: Compression,
    /// Prior, tolerance and search.
    pub settings: Settings,
    /// How the bound is climbed; steps after which a climb stops count with a method other than `auto`, and the
    /// tolerance is that of the settings.
    pub climb: ClimbOptions,
    /// Whether deviations and intervals are of the posterior itself, by draws, rather than of the collapsed
    /// fit's own Dirichlet distribution.
    pub exact: bool,
    /// Draws of the reads of each transcript to keep.
    pub draws: usize,
}

/// Where reads come from.
#[derive(Debug, Clone)]
pub enum ReadSource {
    /// SAM, BAM or CRAM: alignments to transcripts.
    Alignments(PathBuf),
    /// BitSeq's probabilities.
    Prob(PathBuf),
    /// Equivalence classes, salmon's or kallisto's.
    Classes(PathBuf),
    /// Probabilities that the caller has.
    Matrix(ReadMatrix),
}

/// p(read | transcript) by rows, as CSR matrices have them.
#[derive(Debug, Clone)]
pub struct ReadMatrix {
    /// Where each row begins, and the end of the last.
    pub starts: Vec<usize>,
    /// Transcripts, from 0.
    pub ids: Vec<u32>,
    /// Their probabilities.
    pub weights: Vec<f64>,
    /// How often each row is there.
    pub counts: Vec<f64>,
    /// How many transcripts there are.
    pub transcripts: usize,
}

/// Lengths of transcripts.
#[derive(Debug, Clone)]
pub enum Lengths {
    /// BitSeq's `.tr` file.
    File(PathBuf),
    /// Names and effective lengths; without names, lengths have the order of the reads' transcripts.
    Effective(Vec<String>, Vec<f64>),
}

/// Which gene each transcript belongs to.
#[derive(Debug, Clone)]
pub enum GeneSource {
    /// A table of two columns, GTF or GFF3; a transcript without a gene is one of its own.
    File(PathBuf),
    /// By the name of the transcript; others belong to none.
    ByName(HashMap<String, String>),
    /// In the order of the transcripts; some may belong to none.
    InOrder(Vec<Option<String>>),
}

impl ReadSource {
    /// Its file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Alignments(file) | Self::Prob(file) | Self::Classes(file) => Some(file),
            Self::Matrix(_) => None,
        }
    }

    /// Its name, as in refusals.
    pub fn name(&self) -> String {
        self.file().map_or_else(|| "reads".to_owned(), name_of)
    }
}

impl QuantRequest {
    /// A quantification with the defaults.
    pub fn new(source: ReadSource) -> Self {
        Self {
            source,
            transcripts: None,
            lengths: None,
            names: None,
            genes: None,
            naming: Naming::default(),
            noise: false,
            fragments: fragment::Settings::default(),
            compression: Compression::default(),
            settings: Settings::default(),
            climb: ClimbOptions::default(),
            exact: true,
            draws: 0,
        }
    }

    /// All files to read.
    pub fn files(&self) -> Vec<PathBuf> {
        let (source, transcripts) = (self.source.file(), self.transcripts.as_deref());
        let files = [source, transcripts, self.lengths_file(), self.genes_file()];
        files.into_iter().flatten().map(Path::to_owned).collect()
    }

    pub(super) fn lengths_file(&self) -> Option<&Path> {
        match &self.lengths {
            Some(Lengths::File(file)) => Some(file),
            _ => None,
        }
    }

    pub(super) fn genes_file(&self) -> Option<&Path> {
        match &self.genes {
            Some(GeneSource::File(file)) => Some(file),
            _ => None,
        }
    }

    /// How much is drawn: as much as is asked for, and enough for intervals.
    pub(super) fn chains(&self) -> Chains {
        let chains = Chains::default();
        Chains {
            draws: self.draws.max(chains.draws),
            seed: self.climb.seed,
            ..chains
        }
    }

    /// Which draws are kept: evenly over all that are made, where fewer are asked for.
    pub(super) fn kept_draws(&self) -> impl Iterator<Item = usize> + use<> {
        let (asked, made) = (self.draws, self.chains().draws);
        (0..asked).map(move |index| index * made / asked)
    }

    /// The options as `run.json` has them.
    pub(super) fn record(&self) -> Value {
        let fragments = &self.fragments;
        json!({
            "library_type": fragments.library.to_string(),
            "fragment_length": fragments.fragment_length,
            "sequence_bias": fragments.sequence_bias,
            "position_bias": fragments.position_bias,
            "longest_fragment": fragments.longest,
            "incompatible": fragments.incompatible,
            "ignore_versions": self.naming.ignore_versions,
            "gencode": self.naming.gencode,
            "noise": self.noise,
            "prior": match self.settings.prior {
                Prior::Learned => json!("auto"),
                Prior::Given(alpha) => json!(alpha),
            },
            "posterior": if self.exact { "exact" } else { "collapsed" },
            "draws": self.draws,
            "method": self.climb.method,
            "tolerance": self.settings.tolerance,
            "search": self.settings.search,
            "max_iterations": self.climb.max_iterations,
            "cut": self.compression.cut,
            "grain": self.compression.grain,
            "threads": self.climb.threads,
        })
    }
}
