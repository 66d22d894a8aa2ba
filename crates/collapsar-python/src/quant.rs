//! Quantification of transcripts: reads in, estimates and what the posterior says out.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use collapsar::quant::fragment;
use collapsar::quant::{
    Abundances, Chains, Compression, Draws, Origins, Prior, Quantified, Reads, ReadsBuilder,
    Settings, Solver, Summary,
};
use collapsar::{Error, Place};
use collapsar_formats::{
    AlignedOptions, AlignedReader, Alignments, Naming, ProbReader, read_classes, read_genes,
    read_lengths, read_quantification,
};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::shaped;
use crate::error::{Failure, Result};
use crate::run::{Control, detached};

/// Where reads come from.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// A kind of file and its path.
    File((String, PathBuf)),
    /// p(read | transcript) as a CSR matrix has it, how often each read is there, and the
    /// number of transcripts.
    Matrix(
        (
            PyReadonlyArray1<'py, i64>,
            PyReadonlyArray1<'py, u32>,
            PyReadonlyArray1<'py, f64>,
            PyReadonlyArray1<'py, f64>,
            usize,
        ),
    ),
}

/// Reads that Python no longer holds.
enum Taken {
    Alignments(PathBuf),
    Prob(PathBuf),
    Classes(PathBuf),
    Matrix {
        starts: Vec<usize>,
        ids: Vec<u32>,
        weights: Vec<f64>,
        counts: Vec<f64>,
        transcripts: usize,
    },
}

impl Source<'_> {
    fn taken(self) -> PyResult<Taken> {
        Ok(match self {
            Self::File((kind, path)) if kind == "alignments" => Taken::Alignments(path),
            Self::File((kind, path)) if kind == "prob" => Taken::Prob(path),
            Self::File((_, path)) => Taken::Classes(path),
            Self::Matrix((starts, ids, weights, counts, transcripts)) => Taken::Matrix {
                starts: starts.as_slice()?.iter().map(|&at| at as usize).collect(),
                ids: ids.as_slice()?.to_vec(),
                weights: weights.as_slice()?.to_vec(),
                counts: counts.as_slice()?.to_vec(),
                transcripts,
            },
        })
    }
}

/// How to quantify, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    /// Effective lengths; ones where they are not known.
    effective: Option<Vec<f64>>,
    /// Transcripts of each gene.
    genes: Vec<Vec<u32>>,
    /// How alignments are read.
    fragments: FragmentsWanted,
    /// Learned where it is None.
    prior: Option<f64>,
    tolerance: f64,
    exact: bool,
    draws: usize,
    seed: u64,
    threads: usize,
}

/// How alignments are read, as Python's dictionary says.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
#[expect(clippy::struct_excessive_bools, reason = "flags of Python's call")]
pub(crate) struct FragmentsWanted {
    /// FASTA.
    transcripts: Option<PathBuf>,
    library_type: String,
    fragment_length: Option<(f64, f64)>,
    longest_fragment: u32,
    incompatible: f64,
    sequence_bias: bool,
    position_bias: bool,
    gencode: bool,
    ignore_versions: bool,
}

/// Reads, and what their file says of the transcripts.
struct Given {
    reads: Reads,
    /// None where the file has no names.
    names: Vec<String>,
    /// Of alignments.
    learned: Option<Learned>,
}

/// What alignments tell beside the reads.
struct Learned {
    lengths: Vec<f64>,
    report: fragment::Report,
    processed: u64,
}

/// Threads that decompress: more are faster than what takes their bytes.
const WORKERS: usize = 3;

/// Reads alignments; nothing where it was interrupted.
fn aligned(path: &Path, wanted: &Wanted, control: &Control) -> Result<Option<Given>> {
    let given = &wanted.fragments;
    let settings = fragment::Settings {
        library: given.library_type.parse()?,
        fragment_length: given.fragment_length,
        longest: given.longest_fragment,
        incompatible: given.incompatible,
        sequence_bias: given.sequence_bias,
        position_bias: given.position_bias,
        ..fragment::Settings::default()
    };
    let Some(transcripts) = &given.transcripts else {
        return Err(Failure::Library(Error::setting(
            "transcripts",
            "None",
            "the FASTA file of the transcripts that the reads were aligned to",
        )));
    };
    let options = AlignedOptions {
        transcripts,
        naming: Naming {
            gencode: given.gencode,
            ignore_versions: given.ignore_versions,
        },
        fragments: settings,
        compression: Compression::default(),
        workers: (rayon::current_num_threads() - 1).min(WORKERS),
    };
    let read = AlignedReader::open(path, options)?.read(|| {
        if control.interrupt().load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let Some(read) = read else { return Ok(None) };
    Ok(Some(Given {
        reads: read.builder.finish()?,
        names: read.names,
        learned: Some(Learned {
            lengths: read.lengths.into_iter().map(f64::from).collect(),
            report: read.report,
            processed: read.tally.reads,
        }),
    }))
}

/// Reads a source; nothing where it was interrupted.
fn read(taken: Taken, wanted: &Wanted, control: &Control) -> Result<Option<Given>> {
    let effective = wanted.effective.as_deref();
    let mut names = vec![];
    let builder = match taken {
        Taken::Alignments(path) => return aligned(&path, wanted, control),
        Taken::Prob(path) => match prob(&path, control)? {
            Some(builder) => builder,
            None => return Ok(None),
        },
        Taken::Classes(path) => {
            let classes = read_classes(&path)?;
            let mut builder = ReadsBuilder::new(classes.transcripts, Compression::default())?;
            for class in classes.classes.iter().filter(|class| class.count > 0.0) {
                let ids = class.transcripts.iter().copied();
                let entries: Vec<(u32, f64)> = match (&class.weights, effective) {
                    (Some(weights), _) => ids
                        .zip(weights.iter().map(|weight| weight.ln()))
                        .filter(|(_, weight)| *weight > f64::NEG_INFINITY)
                        .collect(),
                    (None, Some(lengths)) if lengths.len() == classes.transcripts => {
                        ids.map(|id| (id, -lengths[id as usize].ln())).collect()
                    }
                    (None, _) => {
                        return Err(Failure::Library(Error::data(
                            Place::Named(path.display().to_string()),
                            "classes without weights",
                            "an effective length for each transcript to weigh them by",
                        )));
                    }
                };
                builder.push(&entries, class.count)?;
            }
            names = classes.names;
            builder
        }
        Taken::Matrix {
            starts,
            ids,
            weights,
            counts,
            transcripts,
        } => {
            let mut builder = ReadsBuilder::new(transcripts, Compression::default())?;
            for (range, &count) in starts.windows(2).zip(&counts) {
                let range = range[0]..range[1];
                let weights = weights[range.clone()].iter().map(|weight| weight.ln());
                let ids = ids[range].iter().copied();
                builder.push(&ids.zip(weights).collect::<Vec<_>>(), count)?;
            }
            builder
        }
    };
    Ok(Some(Given {
        reads: builder.finish()?,
        names,
        learned: None,
    }))
}

/// Reads probabilities; nothing where it was interrupted.
fn prob(path: &Path, control: &Control) -> Result<Option<ReadsBuilder>> {
    let mut reader = ProbReader::open(path)?;
    let mut builder = ReadsBuilder::new(reader.header().transcripts, Compression::default())?;
    let mut entries = Vec::new();
    while reader.next(&mut entries)? {
        if control.interrupt().load(Ordering::Relaxed) {
            return Ok(None);
        }
        // Transcripts are counted from 1 on, noise being 0.
        entries.retain(|entry| entry.0 > 0);
        for entry in &mut entries {
            entry.0 -= 1;
        }
        if !entries.is_empty() {
            builder.push(&entries, 1.0)?;
        }
    }
    Ok(Some(builder))
}

/// What a quantification is after its climb.
struct Solved {
    names: Vec<String>,
    learned: Option<Learned>,
    reads: f64,
    quantified: Quantified,
    counts: Vec<f64>,
    tpm: Vec<f64>,
    transcripts: Vec<(Summary, Summary)>,
    genes: Vec<(Summary, Summary)>,
    draws: Vec<Vec<f64>>,
}

fn solve(taken: Taken, wanted: &Wanted, control: &Control) -> Result<Option<Solved>> {
    let Some(given) = read(taken, wanted, control)? else {
        return Ok(None);
    };
    let reads = &given.reads;
    let settings = Settings {
        prior: wanted.prior.map_or(Prior::Learned, Prior::Given),
        tolerance: wanted.tolerance,
        ..Settings::default()
    };
    let solver = Solver::new(reads, &settings)?;
    let quantified = solver.interrupt(control.interrupt()).run()?;
    if quantified.interrupted {
        return Ok(None);
    }
    let made = Chains {
        draws: wanted.draws.max(Chains::default().draws),
        seed: wanted.seed,
        ..Chains::default()
    };
    let drawn = if wanted.exact {
        let drawn = Draws::new(reads, &quantified, made, Some(control.interrupt()))?;
        let Some(drawn) = drawn else { return Ok(None) };
        Some(drawn)
    } else {
        None
    };
    let origins = match &drawn {
        Some(draws) => Origins::Exact(draws),
        None => Origins::Collapsed(&quantified),
    };
    let ones = vec![1.0; reads.transcripts()];
    let learned = given.learned.as_ref();
    let effective = match (learned, &wanted.effective) {
        (Some(learned), _) => &learned.report.effective_lengths,
        (None, Some(effective)) => effective,
        (None, None) => &ones,
    };
    let abundances = Abundances::new(reads, origins, effective, (made.draws, made.seed))?;
    let estimates = abundances.estimates();
    let (transcripts, genes) = (abundances.transcripts(), abundances.groups(&wanted.genes));
    let draws = abundances.count_draws(0..wanted.draws);
    Ok(Some(Solved {
        reads: reads.reads(),
        counts: estimates.counts,
        tpm: estimates.tpm,
        transcripts,
        genes,
        draws,
        quantified,
        names: given.names,
        learned: given.learned,
    }))
}

/// Quantifies transcripts from reads.
#[pyfunction]
pub(crate) fn quantify<'py>(
    py: Python<'py>,
    source: Source<'py>,
    wanted: Wanted,
) -> PyResult<Bound<'py, PyDict>> {
    let taken = source.taken()?;
    let (solved, raised) = detached(py, wanted.threads, None, |control| {
        solve(taken, &wanted, control)
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    let Some(solved) = solved else {
        return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err(()));
    };
    let out = PyDict::new(py);
    out.set_item("names", solved.names)?;
    out.set_item("reads", solved.reads)?;
    out.set_item("counts", PyArray1::from_vec(py, solved.counts))?;
    out.set_item("tpm", PyArray1::from_vec(py, solved.tpm))?;
    out.set_item("transcripts", summaries(py, &solved.transcripts)?)?;
    out.set_item("genes", summaries(py, &solved.genes)?)?;
    if !solved.draws.is_empty() {
        out.set_item("draws", PyArray2::from_vec2(py, &solved.draws)?)?;
    }
    out.set_item("bound", solved.quantified.bound)?;
    out.set_item("alpha", solved.quantified.alpha)?;
    out.set_item("iterations", solved.quantified.iterations)?;
    out.set_item("converged", solved.quantified.unfinished == 0)?;
    if let Some(learned) = solved.learned {
        let report = learned.report;
        out.set_item("lengths", PyArray1::from_vec(py, learned.lengths))?;
        out.set_item(
            "effective",
            PyArray1::from_vec(py, report.effective_lengths),
        )?;
        out.set_item("processed", learned.processed)?;
        out.set_item("library_type", report.library.to_string())?;
        let lengths = &report.fragment_length;
        out.set_item("fragment_length", (lengths.mean(), lengths.sd()))?;
    }
    Ok(out)
}

/// Mean, sd, lower and upper of TPM, then of reads, a row each.
fn summaries<'py>(py: Python<'py>, rows: &[(Summary, Summary)]) -> PyResult<Bound<'py, PyAny>> {
    let four = |s: &Summary| [s.mean, s.sd, s.lower, s.upper];
    let flat = rows
        .iter()
        .flat_map(|(reads, tpm)| [four(tpm), four(reads)].concat());
    shaped(py, flat.collect(), &[rows.len(), 8])
}

/// Names, lengths, effective lengths (NaN where there is none) and genes of a `.tr` file.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "columns of one table")]
pub(crate) fn transcript_lengths(
    path: PathBuf,
) -> PyResult<(Vec<String>, Vec<f64>, Vec<f64>, Vec<Option<String>>)> {
    let rows = read_lengths(&path).map_err(Failure::from)?;
    let effective = rows.iter().map(|row| row.effective.unwrap_or(f64::NAN));
    let effective = effective.collect();
    Ok((
        rows.iter().map(|row| row.name.clone()).collect(),
        rows.iter().map(|row| row.length).collect(),
        effective,
        rows.into_iter().map(|row| row.gene).collect(),
    ))
}

/// Names of the transcripts of a file of equivalence classes, none where it has none.
#[pyfunction]
pub(crate) fn class_names(path: PathBuf) -> PyResult<Vec<String>> {
    Ok(read_classes(&path).map_err(Failure::from)?.names)
}

/// Names of the transcripts in the header of a file of alignments, as results have them.
#[pyfunction]
pub(crate) fn alignment_names(path: PathBuf, gencode: bool) -> PyResult<Vec<String>> {
    let naming = Naming {
        gencode,
        ignore_versions: false,
    };
    let alignments = Alignments::open(&path, 0).map_err(Failure::from)?;
    let targets = alignments.targets().iter();
    Ok(targets
        .map(|target| naming.shown(&target.name).to_owned())
        .collect())
}

/// The gene of each of these transcripts, as a table of two columns, GTF or GFF3 has it.
#[pyfunction]
pub(crate) fn genes_of(path: PathBuf, names: Vec<String>) -> PyResult<Vec<Option<String>>> {
    let map = read_genes(&path).map_err(Failure::from)?;
    let gene = |name: &String| map.gene(name).map(str::to_owned);
    Ok(names.iter().map(gene).collect())
}

/// A folder of results: of ours, or of another program that writes `quant.sf`.
#[pyfunction]
pub(crate) fn quantification(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let read = read_quantification(&folder).map_err(Failure::from)?;
    let out = PyDict::new(py);
    out.set_item("names", read.names)?;
    out.set_item("lengths", PyArray1::from_vec(py, read.lengths))?;
    out.set_item("effective", PyArray1::from_vec(py, read.effective))?;
    out.set_item("counts", PyArray1::from_vec(py, read.counts))?;
    out.set_item("tpm", PyArray1::from_vec(py, read.tpm))?;
    if !read.draws.is_empty() {
        out.set_item("draws", PyArray2::from_vec2(py, &read.draws)?)?;
    }
    Ok(out)
}
