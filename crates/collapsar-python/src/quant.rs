//! Quantification of transcripts: reads in, tables of estimates out.

use std::collections::HashMap;
use std::path::PathBuf;

use collapsar::quant::fragment;
use collapsar::quant::{Prior, Settings, Summary};
use collapsar_formats::{ReadsFormat, read_quantification};
use collapsar_run::quant::{
    GeneSource, Lengths, Naming, QuantRequest, QuantResult, QuantTable, QuantWatch, ReadMatrix,
    ReadSource, quantify as run,
};
use collapsar_run::{ClimbOptions, threads_of_jobs};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::shaped;
use crate::error::Failure;
use crate::run::{Control, detached};

impl QuantWatch for Control {}

/// Where reads come from.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// What a file is, as [`reads_format`] calls it, and its path.
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

/// Effective lengths of transcripts, by name or in order, or a file of them.
#[derive(Debug, FromPyObject)]
enum LengthsArgument {
    File(PathBuf),
    Effective((Vec<String>, Vec<f64>)),
}

/// Genes of transcripts, by name or in order, or a file of them.
#[derive(Debug, FromPyObject)]
enum GenesArgument {
    File(PathBuf),
    ByName(HashMap<String, String>),
    InOrder(Vec<Option<String>>),
}

impl Source<'_> {
    fn into_source(self) -> PyResult<ReadSource> {
        Ok(match self {
            Self::File((kind, path)) => match kind.as_str() {
                "alignments" => ReadSource::Alignments(path),
                "prob" => ReadSource::Prob(path),
                _ => ReadSource::Classes(path),
            },
            Self::Matrix((starts, ids, weights, counts, transcripts)) => {
                ReadSource::Matrix(ReadMatrix {
                    starts: starts.as_slice()?.iter().map(|&at| at as usize).collect(),
                    ids: ids.as_slice()?.to_vec(),
                    weights: weights.as_slice()?.to_vec(),
                    counts: counts.as_slice()?.to_vec(),
                    transcripts,
                })
            }
        })
    }
}

/// What Python's dictionary asks for.
fn request(source: ReadSource, options: &Bound<'_, PyDict>) -> PyResult<QuantRequest> {
    let get = |name: &str| options.as_any().get_item(name);
    let request = QuantRequest::new(source);
    let library: String = get("library_type")?.extract()?;
    let lengths: Option<LengthsArgument> = get("lengths")?.extract()?;
    let genes: Option<GenesArgument> = get("genes")?.extract()?;
    // Learned where it is None.
    let prior: Option<f64> = get("prior")?.extract()?;
    Ok(QuantRequest {
        transcripts: get("transcripts")?.extract()?,
        lengths: lengths.map(|lengths| match lengths {
            LengthsArgument::File(file) => Lengths::File(file),
            LengthsArgument::Effective((names, lengths)) => Lengths::Effective(names, lengths),
        }),
        names: get("names")?.extract()?,
        genes: genes.map(|genes| match genes {
            GenesArgument::File(file) => GeneSource::File(file),
            GenesArgument::ByName(genes) => GeneSource::ByName(genes),
            GenesArgument::InOrder(genes) => GeneSource::InOrder(genes),
        }),
        naming: Naming {
            gencode: get("gencode")?.extract()?,
            ignore_versions: get("ignore_versions")?.extract()?,
        },
        noise: get("noise")?.extract()?,
        fragments: fragment::Settings {
            library: library.parse().map_err(Failure::from)?,
            fragment_length: get("fragment_length")?.extract()?,
            longest: get("longest_fragment")?.extract()?,
            incompatible: get("incompatible")?.extract()?,
            sequence_bias: get("sequence_bias")?.extract()?,
            position_bias: get("position_bias")?.extract()?,
            ..request.fragments
        },
        settings: Settings {
            prior: prior.map_or(Prior::Learned, Prior::Given),
            tolerance: get("tolerance")?.extract()?,
            ..request.settings
        },
        exact: get("exact")?.extract()?,
        draws: get("draws")?.extract()?,
        climb: ClimbOptions {
            seed: get("seed")?.extract()?,
            ..request.climb
        },
        ..request
    })
}

/// Quantifies transcripts from reads.
#[pyfunction]
pub(crate) fn quantify<'py>(
    py: Python<'py>,
    source: Source<'py>,
    options: Bound<'py, PyDict>,
    jobs: Option<isize>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut request = request(source.into_source()?, &options)?;
    let (found, raised) = detached(py, threads_of_jobs(jobs, None), None, |control| {
        request.climb.threads = rayon::current_num_threads();
        let Some(result) = run(&request, None, control)? else {
            return Ok(None);
        };
        let draws: Vec<Vec<f64>> = result.draws(&request).collect();
        Ok(Some((result, draws)))
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    let Some((result, draws)) = found else {
        return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err(()));
    };
    let out = PyDict::new(py);
    let QuantResult {
        input,
        solved,
        estimates,
        ..
    } = result;
    let genes = input.genes.zip(estimates.genes);
    if let Some((genes, rows)) = genes.filter(|(genes, _)| !genes.names.is_empty()) {
        out.set_item("genes", table(py, genes.names, &rows)?)?;
    }
    let rows = table(py, input.transcripts.names, &estimates.transcripts)?;
    out.set_item("transcripts", rows)?;
    if !draws.is_empty() {
        out.set_item("draws", PyArray2::from_vec2(py, &draws)?)?;
    }
    out.set_item("bound", solved.quantified.bound)?;
    out.set_item("prior", solved.quantified.alpha)?;
    out.set_item("converged", solved.outcome.converged)?;
    out.set_item("processed", input.processed)?;
    out.set_item("noise", estimates.noise)?;
    if let Some(learned) = input.learned {
        let lengths = &learned.report.fragment_length;
        out.set_item("library_type", learned.report.library.to_string())?;
        out.set_item("fragment_length", (lengths.mean(), lengths.sd()))?;
    }
    Ok(out)
}

/// Names, the columns of `quant.sf`, and those of `posterior.tsv`.
type Table<'py> = (Vec<String>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn table<'py>(py: Python<'py>, names: Vec<String>, rows: &QuantTable) -> PyResult<Table<'py>> {
    let four = |s: &Summary| [s.mean, s.sd, s.lower, s.upper];
    let columns = [&rows.lengths, &rows.effective, &rows.tpm, &rows.counts];
    let estimates = (0..names.len()).flat_map(|row| columns.map(|column| column[row]));
    let posterior = rows.posterior.iter();
    let posterior = posterior.flat_map(|(reads, tpm)| [four(tpm), four(reads)].concat());
    let estimates = shaped(py, estimates.collect(), &[names.len(), 4])?;
    let posterior = shaped(py, posterior.collect(), &[names.len(), 8])?;
    Ok((names, estimates, posterior))
}

/// What a file of reads is, by its content: alignments, prob or classes.
#[pyfunction]
pub(crate) fn reads_format(path: PathBuf) -> PyResult<&'static str> {
    let format = collapsar_formats::reads_format(&path).map_err(Failure::from)?;
    Ok(match format {
        ReadsFormat::Alignments => "alignments",
        ReadsFormat::Prob => "prob",
        ReadsFormat::Classes => "classes",
    })
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
