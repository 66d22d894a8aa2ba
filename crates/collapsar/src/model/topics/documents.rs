//! Where documents are, in memory or elsewhere, and what a topic model asks of them.

use collapsar_core::{Potential, Result, Warm};
use rand_chacha::ChaCha8Rng;

use super::priors::Slopes;

/// When a document's own messages are near enough to their optimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Settle {
    /// After this many sweeps over its words.
    Sweeps(usize),
    /// When no count changes by more than this fraction of the document's length.
    Change(f64),
}

/// The words of a document and how often each.
pub type Words = (Vec<u32>, Vec<f32>);

/// Documents wherever they are: in memory, in a file, or held by others.
///
/// What an evaluation knows of each document, its expected tokens in each topic, is *counts*: numbers of a [`Warm`], or
/// something that it refers to elsewhere. Every sum over documents has an order of its own, so that results are the same bits
/// for any number of threads or workers.
pub trait Documents: Potential {
    /// How many topics.
    fn topics(&self) -> usize;

    /// How many documents.
    fn documents(&self) -> usize;

    /// How many words the vocabulary has.
    fn vocabulary(&self) -> usize;

    /// The sum of all counts of words.
    fn tokens(&self) -> f64;

    /// How often each word is there.
    fn word_totals(&self) -> &[f64];

    /// Tells corpora apart.
    fn digest(&self) -> u64;

    /// The prior of proportions that climbs begin with.
    fn alpha(&self) -> &[f64];

    /// The first so many of the documents that have a word, in a random order; fewer where there are fewer.
    ///
    /// # Errors
    /// Where documents cannot be read.
    fn some(&self, count: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Words>>;

    /// How many of the first numbers of a [`Warm`] are counts: none where counts are elsewhere.
    fn numbers(&self) -> usize;

    /// Counts to settle from where nothing better is known: every word in all topics alike.
    fn even(&self) -> Warm;

    /// Whether counts are there: those that are elsewhere do not come back with a checkpoint.
    fn is_whole(&self, _counts: &Warm) -> bool {
        true
    }

    /// Moves counts on by `coefficient` times their change since `before`.
    fn extrapolate(&self, counts: &mut Warm, before: &Warm, coefficient: f64);

    /// Settles every document from `counts` under the prior `alpha`, writes statistics if there is room for them, and returns
    /// what the documents add to the bound but for their Dirichlets' part.
    ///
    /// # Errors
    /// [`collapsar_core::Error::Domain`] where messages are not finite; where documents cannot be read.
    fn pass(
        &self,
        messages: &[f64],
        alpha: &[f64],
        settle: Settle,
        counts: &mut Warm,
        statistics: Option<&mut [f64]>,
    ) -> Result<f64>;

    /// The Dirichlets' part of what documents add to the bound.
    ///
    /// # Errors
    /// Where counts cannot be read.
    fn dirichlets(&self, alpha: &[f64], counts: &Warm) -> Result<f64>;

    /// Derivatives of the Dirichlets' part by `alpha`.
    ///
    /// # Errors
    /// Where counts cannot be read.
    fn slopes(&self, alpha: &[f64], counts: &Warm) -> Result<Slopes>;

    /// Writes how statistics change when messages change and every document settles again, at settled counts; `way` is the
    /// messages and the way that they change.
    ///
    /// # Errors
    /// Where documents cannot be read.
    fn product(
        &self,
        alpha: &[f64],
        counts: &Warm,
        way: (&[f64], &[f64]),
        out: &mut [f64],
    ) -> Result<()>;
}
