//! Measures of the topics themselves, whatever they foresee.

use std::sync::Arc;

use collapsar::topics::{Corpus, TopicsFit};
use serde::Serialize;

/// One number that tells good topics from poor ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Measure {
    /// As in the table that compares numbers of topics, the summary and `run.json`.
    pub(crate) name: &'static str,
    pub(crate) value: f64,
}

/// What is measured of every fit: the only place where measures enter. What stands here is a column of
/// the comparison, a line of the summary and a field of `run.json`; nothing stands here yet.
pub(crate) fn measures(_answer: &TopicsFit, _corpus: &Arc<Corpus>) -> Vec<Measure> {
    Vec::new()
}
