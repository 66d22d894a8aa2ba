//! The private extension module of the Python package: converts and delegates.
//!
//! - `error`: failures as Python exceptions, which speak of arguments
//! - `run`: climbs with the interpreter free, stopped by Ctrl-C
//! - `arrays`: NumPy arrays in and out
//! - `mixture`: mixtures of Gaussians
//! - `online_mixture`: mixtures that learn from batches
//! - `machines`: the same of rows that workers hold
//! - `far_topics`: topics of documents that workers hold
//! - `topics`: latent Dirichlet allocation
//! - `model`: the BUGS language
//! - `quant`: transcripts, from reads

#![allow(
    clippy::needless_pass_by_value,
    reason = "what Python calls owns its arguments"
)]

mod arrays;
mod error;
mod far_topics;
mod machines;
mod mixture;
mod model;
mod online_mixture;
mod quant;
mod run;
mod topics;

/// What the package's Python files call.
#[pyo3::pymodule]
mod _collapsar {
    #[pymodule_export]
    use super::far_topics::{TopicsWorker, common_vocabulary, count_words, fit_far_topics};
    #[pymodule_export]
    use super::machines::{
        MixtureWorker, cut_rows, fit_far_mixture, merge_answers, shape_of_table,
    };
    #[pymodule_export]
    use super::mixture::{FittedMixture, fit_mixture};
    #[pymodule_export]
    use super::model::{BugsFit, BugsModel, density_picture};
    #[pymodule_export]
    use super::online_mixture::OnlineMixture;
    #[pymodule_export]
    use super::quant::{quantification, quantify, reads_format};
    #[pymodule_export]
    use super::run::panic_for_tests;
    #[pymodule_export]
    use super::topics::{
        complete_topics, first_topics, fit_topics, infer_topics, learn_topics, picture_of_topics,
        quality_of_topics, words_of_topics,
    };

    /// Steps after which a climb stops, unless another number is given.
    #[pymodule_export]
    const MAX_ITERATIONS: u64 = collapsar_run::MAX_ITERATIONS;

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
