//! Readers and writers: tables of numbers and corpora in, `run.json` and `trace.jsonl` out, every refusal by place.
//!
//! | File | Decides |
//! |---|---|
//! | `error` | what can be wrong with a file, and how it is told |
//! | `open` | how a path opens |
//! | `lines` | how text is cut into lines and fields |
//! | `table` | what format a table is in and which columns are taken |
//! | `records` | how text splits into records and which line each begins in |
//! | `csv` | which line is the header and what counts as a number |
//! | `npy` | which NumPy arrays are tables |
//! | `parquet` | which Parquet columns are numbers |
//! | `rows` | how a table is read some rows at a time, and what folders are tables |
//! | `labels` | which column holds the components a fit starts from |
//! | `mixed` | which columns of a table are categorical |
//! | `label_column` | which rows of a table have a class, and which |
//! | `corpus` | which words each document of a corpus has and how often |
//! | `quant` | reads, transcripts and genes of a quantification, and its result folders |
//! | `alignments` | which places on transcripts each read of a SAM, BAM or CRAM file may come from |
//! | `bugs` | data of models in the BUGS language: JSON, R dumps, tables, arrays |
//! | `guard` | what happens when a format crate panics on damaged input |
//! | `write` | how a result appears whole or not at all |
//! | `run` | what `run.json` says of every run |
//! | `trace` | how `trace.jsonl` grows |
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("eruptions.csv");
//! std::fs::write(&path, "minutes,waiting\n3.6,79\n1.8,54\n")?;
//! let table = collapsar_formats::read_table(&path, None)?;
//! assert_eq!(table.columns, ["minutes", "waiting"]);
//! assert_eq!(table.values, [3.6, 79.0, 1.8, 54.0]);
//! # Ok(()) }
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod alignments;
mod bugs;
mod corpus;
mod csv;
mod error;
mod guard;
mod label_column;
mod labels;
mod lines;
mod mixed;
mod npy;
mod open;
mod parquet;
mod quant;
mod records;
mod rows;
mod run;
mod table;
mod trace;
mod write;

pub use alignments::{Alignments, Fragment, Tally, Target};
pub use bugs::read_data;
pub use corpus::{
    Corpus, CorpusFile, CorpusFormat, CorpusLimits, CorpusOptions, CorpusReport, CorpusSeen,
    CorpusSize, DocumentNames, Filtered, InvalidUtf8, OutOfVocabulary, ReadCorpus, StopWords,
    TokenOptions, WordFilter, read_batches, read_corpus, read_corpus_with, read_corpus_within,
    read_excerpts, read_stop_words,
};
pub use error::{Error, FilePlace, Problem, Result};
pub use label_column::{LabelColumn, read_table_with_labels};
pub use labels::read_labels;
pub use mixed::{Category, MixedTable, categorical_rows, read_mixed_table};
pub use quant::{
    Class, Classes, GeneMap, ProbHeader, ProbReader, QuantRow, Quantification, ReadsFormat,
    TranscriptLength, Transcripts, read_classes, read_genes, read_lengths, read_quantification,
    read_transcripts, reads_format, strip_gencode, strip_version, write_draws, write_quant_sf,
};
pub use rows::TableReader;
pub use run::{Input, Outcome, Run};
pub use table::{Table, read_table, read_table_with_gaps};
pub use trace::TraceWriter;
pub use write::{prepare_folder, prepare_folder_by, write_atomically};
