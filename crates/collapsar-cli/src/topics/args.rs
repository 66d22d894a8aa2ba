//! The flags of a fit, as typed.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use collapsar::limits::SWEEPS;
use collapsar::topics::{Alpha, Beta, Ranking, Settings, Start};
use collapsar_formats::{CorpusFormat, CorpusOptions, InvalidUtf8, TokenOptions};
use collapsar_run::topics::{CorpusRequest, CorpusRoom, TopicsRequest};
use collapsar_run::{ClimbOptions, default_memory};

use super::stream::StreamArgs;
use crate::climb::ClimbArgs;
use crate::common::Usage;
use crate::posterior::PosteriorArgs;
use crate::report::PageArgs;
use crate::values::{Numbers, auto, bytes, named, not_negative, up_to};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct FitArgs {
    /// Corpus: a folder of texts, a text a line, CSV, TSV, Parquet, JSON lines, or counts as docword,
    /// LDA-C, SVMlight or Matrix Market; - reads standard input
    #[arg(required = true, value_name = "CORPUS")]
    corpus: Option<PathBuf>,
    /// Write all results into DIR, made if need be
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Memory that documents may take, as 2GB or 500MB [default: half of what the machine has]
    ///
    /// Documents that do not fit are written once to a hidden file beside DIR and read from it for every pass, with the same
    /// results, bit for bit. The file is removed at the end unless a checkpoint may go on from it. --posterior exact,
    /// --documents, --holdout, --average and --curve need documents in memory.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    /// Print N words of each topic
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) top: usize,
    /// Choose words to print by L ln p(word | topic) + (1 - L) ln (p(word | topic) / p(word))
    ///
    /// 1 prints the most probable words, which topics may share; lower numbers prefer words that tell
    /// topics apart.
    #[arg(long, value_name = "L", default_value = "0.6", value_parser = relevance)]
    pub(crate) relevance: f64,
    /// Write every word of each topic to topics.csv, not only the 1000 most probable
    #[arg(long, requires = "out")]
    pub(crate) all_words: bool,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Drop words: english, none, or those in FILE, one a line (english for texts, none for counts)
    #[arg(long, value_name = "WHICH", help_heading = "Words")]
    pub(crate) stop_words: Option<String>,
    /// Drop words in fewer than N documents
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Words")]
    pub(crate) min_docs: u32,
    /// Drop words in more than this share of the documents
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = fraction, help_heading = "Words")]
    pub(crate) max_docs_share: f64,
    /// Keep only the V most frequent words
    #[arg(long, value_name = "V", help_heading = "Words")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_vocabulary: Option<u32>,
    /// Drop words of texts with fewer than N letters
    #[arg(long, value_name = "N", default_value = "2", help_heading = "Words")]
    pub(crate) min_length: usize,
    /// Keep words of texts without any letter
    #[arg(long, help_heading = "Words")]
    pub(crate) keep_numbers: bool,

    /// How many topics: K, a range 5..8 (both ends included) or a list 5,10,20,50
    ///
    /// Of several numbers each is fitted; the best by held-out perplexity, where there is one, else by
    /// bound, is kept.
    #[arg(long, short = 'k', value_name = "K", default_value = "20")]
    #[arg(help_heading = "Model")]
    pub(crate) topics: Numbers,
    /// Prior of the documents' proportions: auto learns it, A is the same for every topic, A1,A2,… one
    /// for each
    #[arg(long, value_name = "A", default_value = "auto", help_heading = "Model")]
    #[arg(allow_hyphen_values = true, value_parser = alpha)]
    pub(crate) alpha: Alpha,
    /// Prior of the topics over words: auto learns it, B is the same for every word
    #[arg(long, value_name = "B", default_value = "auto", help_heading = "Model")]
    #[arg(allow_hyphen_values = true, value_parser = beta)]
    pub(crate) beta: Beta,

    /// Hold out this share of the documents, and say how well the fit foresees half the words of each
    /// from the other half
    #[arg(long, value_name = "SHARE", value_parser = inner_fraction, help_heading = "Evaluation")]
    pub(crate) holdout: Option<f64>,
    /// The same with documents whose halves are in two files
    #[arg(long, value_name = "OBSERVED,EVALUATED", conflicts_with = "holdout")]
    #[arg(help_heading = "Evaluation", value_parser = pair)]
    pub(crate) completion: Option<[PathBuf; 2]>,
    /// Write perplexity and cost after 1 to 6, 8, 10, 12, 15, … steps and at the end to FILE, as JSON lines
    ///
    /// With --posterior exact, also after as many sweeps: that of draws from the later three quarters of
    /// them. With --average, after each restart instead: that of the mean so far. Restarts then follow
    /// one another.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    #[arg(help_heading = "Evaluation")]
    pub(crate) curve: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) posterior: PosteriorArgs,
    /// Tell of each document's proportions in posterior.csv too, and in draws.csv
    #[arg(long, requires = "out", help_heading = "Posterior")]
    pub(crate) documents: bool,

    /// First topics
    ///
    /// annealed: each leans to a document of its own, and priors are lowered from 1 over thirty
    /// passes. documents: the same without the lowering. random: nearly even.
    #[arg(long, default_value_t, help_heading = "Fit")]
    pub(crate) start: Start,
    /// Sweeps over a document's words in each pass
    #[arg(long, value_name = "N", default_value_t = Settings::new(1).sweeps, help_heading = "Fit")]
    #[arg(value_parser = up_to(SWEEPS))]
    pub(crate) sweeps: usize,
    /// Converged when a step raises the bound by less than T nats [default: 1e-7 for each token, 0.1 with
    /// --posterior exact]
    #[arg(long, value_name = "T", value_parser = not_negative, help_heading = "Fit")]
    pub(crate) tolerance: Option<f64>,
    /// Keep every restart, and foresee words by the mean of their predictions
    ///
    /// The mean foresees better than the best of them. Topics of different fits do not correspond, so
    /// topics and proportions stay those of the best. With --posterior exact each has chains of its own.
    #[arg(long, help_heading = "Fit")]
    pub(crate) average: bool,
    #[command(flatten)]
    pub(crate) climb: ClimbArgs,
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
}

/// How a corpus is read.
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// Format of the corpus: folder, lines, table, jsonl, docword, ldac, svmlight or mtx (by content
    /// unless given)
    #[arg(long, value_name = "NAME", help_heading = "Corpus")]
    pub(crate) format: Option<CorpusFormat>,
    /// File that names the words of a corpus of counts, one a line (found beside it unless given)
    #[arg(long, value_name = "FILE", help_heading = "Corpus")]
    pub(crate) vocabulary: Option<PathBuf>,
    /// Column or field that holds the text (text, or the only one of text, unless given)
    #[arg(long, value_name = "NAME", help_heading = "Corpus")]
    pub(crate) text_column: Option<String>,
    /// Column or field that names the documents (they are numbered unless given)
    #[arg(long, value_name = "NAME", help_heading = "Corpus")]
    pub(crate) id_column: Option<String>,
    /// What to do about bytes that are not UTF-8
    #[arg(long, value_name = "HOW", default_value = "refuse")]
    #[arg(help_heading = "Corpus")]
    #[arg(value_parser = named([("refuse", InvalidUtf8::Refuse), ("replace", InvalidUtf8::Replace)]))]
    pub(crate) invalid_utf8: InvalidUtf8,
}

impl ReadArgs {
    pub(crate) fn options(&self) -> CorpusOptions {
        CorpusOptions {
            vocabulary: self.vocabulary.clone(),
            format: self.format,
            text_column: self.text_column.clone(),
            id_column: self.id_column.clone(),
            invalid_utf8: self.invalid_utf8,
            ..CorpusOptions::default()
        }
    }
}

impl FitArgs {
    /// The files that are read, but for lists of words.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let pair = self.completion.iter().flatten();
        let files = self.corpus.iter().chain(pair);
        files.chain(&self.climb.resume).cloned().collect()
    }

    /// The corpus that the flags ask for.
    pub(crate) fn corpus(&self) -> CorpusRequest {
        CorpusRequest {
            file: self.data().to_owned(),
            options: CorpusOptions {
                tokens: TokenOptions {
                    min_length: self.min_length,
                    numbers: self.keep_numbers,
                    ..TokenOptions::default()
                },
                min_docs: self.min_docs,
                max_docs_share: self.max_docs_share,
                max_vocabulary: self.max_vocabulary.map(|most| most as usize),
                ..self.read.options()
            },
            stop_words: self.stop_words.clone(),
        }
    }

    /// The corpus itself.
    pub(crate) fn data(&self) -> &Path {
        let data = self.corpus.as_deref();
        data.expect("required unless a subcommand is given")
    }

    /// How much of it may be in memory, and where the rest goes.
    pub(crate) fn room(&self) -> CorpusRoom {
        CorpusRoom {
            memory: self.memory.or_else(default_memory),
            topics: self.topics.0.iter().copied().max().unwrap_or(1),
            scratch: (self.climb).scratch(self.out.as_deref(), self.data(), ".corpus"),
        }
    }

    /// What the flags ask for.
    pub(crate) fn request(&self) -> anyhow::Result<TopicsRequest> {
        let numbers = self.topics.0.len();
        let climb = self.climb.options(self.tolerance, numbers, "topics")?;
        self.check(&climb)?;
        Ok(TopicsRequest {
            topics: self.topics.0.clone(),
            settings: Settings {
                alpha: self.alpha.clone(),
                beta: self.beta,
                sweeps: self.sweeps,
                ..Settings::new(1)
            },
            start: self.start,
            average: self.average,
            holdout: self.holdout,
            completion: self.completion.clone(),
            curve: self.curve.clone(),
            relevance: self.relevance,
            all_words: self.all_words,
            posterior: self.posterior.of_chains()?,
            documents: self.documents,
            climb,
        })
    }

    /// Refuses flags that do not go together and that clap cannot know of.
    fn check(&self, climb: &ClimbOptions) -> anyhow::Result<()> {
        let foresees = self.holdout.is_some() || self.completion.is_some();
        let (average, curve, numbers) = (self.average, self.curve.is_some(), self.topics.0.len());
        let exact = self.posterior.exact();
        let refused = if curve && exact && !average && self.posterior.chains != Some(1) {
            "--curve follows one chain, expected --chains 1"
        } else if average && climb.restarts.unwrap_or(1) < 2 {
            "--average is over several starts, expected --restarts 2 or more"
        } else if average && !foresees && self.out.is_none() {
            "--average needs documents to foresee or a folder to keep the fits in, expected \
             --holdout, --completion or --out"
        } else if curve && !foresees {
            "--curve needs documents to foresee, expected --holdout or --completion"
        } else if curve && average && numbers > 1 {
            "--curve follows one average, expected one number of topics"
        } else if curve && !average {
            return Ok(climb.check_one(&["curve"], numbers, "topics")?);
        } else {
            return Ok(());
        };
        bail!(Usage(refused.to_owned()))
    }
}

/// Two files, as in `OBSERVED,EVALUATED`.
pub(crate) fn pair(text: &str) -> Result<[PathBuf; 2], &'static str> {
    match text.split(',').collect::<Vec<_>>()[..] {
        [observed, evaluated] if !observed.is_empty() && !evaluated.is_empty() => {
            Ok([observed.into(), evaluated.into()])
        }
        _ => Err("expected two files with a comma between them"),
    }
}

fn alpha(text: &str) -> Result<Alpha, &'static str> {
    if text == "auto" {
        return Ok(Alpha::Learned);
    }
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|x| x.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([alpha]) => Ok(Alpha::Symmetric(*alpha)),
        Ok(all) => Ok(Alpha::Given(all.to_vec())),
        Err(_) => Err("expected auto, a number, or a number for each topic as in 0.1,0.2"),
    }
}

fn beta(text: &str) -> Result<Beta, &'static str> {
    Ok(auto(text)?.map_or(Beta::Learned, Beta::Given))
}

fn relevance(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|_| "expected a number")?;
    let checked = Ranking::Relevance(number).check();
    checked.map_err(|error| error.to_string())?;
    Ok(number)
}

fn fraction(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1"),
    }
}

fn inner_fraction(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(number) if number > 0.0 && number < 1.0 => Ok(number),
        _ => Err("expected a number above 0 and below 1"),
    }
}
