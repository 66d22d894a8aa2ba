//! What a user may set, and the defaults.

use serde::{Deserialize, Serialize};

use collapsar_core::{Error, Result};

/// The prior of the documents' proportions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alpha {
    /// The same number for every topic.
    Symmetric(f64),
    /// A number for each topic.
    Given(Vec<f64>),
    /// A number for each topic, learned by raising the bound.
    #[default]
    Learned,
}

/// The prior of the topics over words, the same number for every word.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beta {
    /// This number.
    Given(f64),
    /// Learned by raising the bound.
    #[default]
    Learned,
}

/// A topic model as its user describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How many topics.
    pub topics: usize,
    /// The prior of the documents' proportions.
    pub alpha: Alpha,
    /// The prior of the topics.
    pub beta: Beta,
    /// Sweeps over a document's words in each pass.
    pub sweeps: usize,
}

/// Where learned priors begin: proportions.
const FIRST_ALPHA: f64 = 0.1;
/// Where learned priors begin: topics.
const FIRST_BETA: f64 = 0.1;
/// Priors outside of this range are refused: beyond it the functions of the bound lose digits.
const RANGE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

impl Settings {
    /// Learned priors for `topics` topics.
    pub fn new(topics: usize) -> Self {
        Self {
            topics,
            alpha: Alpha::default(),
            beta: Beta::default(),
            sweeps: 3,
        }
    }

    /// The first alpha, one number for each topic.
    pub(super) fn first_alpha(&self) -> Vec<f64> {
        match &self.alpha {
            Alpha::Symmetric(alpha) => vec![*alpha; self.topics],
            Alpha::Given(alpha) => alpha.clone(),
            Alpha::Learned => vec![FIRST_ALPHA; self.topics],
        }
    }

    /// The first beta.
    pub(super) fn first_beta(&self) -> f64 {
        match self.beta {
            Beta::Given(beta) => beta,
            Beta::Learned => FIRST_BETA,
        }
    }

    pub(super) fn check(&self, tokens: f64) -> Result<()> {
        let (alpha, beta) = (self.first_alpha(), self.first_beta());
        let range = format!(
            "a positive number, {:e} to {:e}",
            RANGE.start(),
            RANGE.end()
        );
        let (name, found, expected) = if self.topics == 0 {
            ("topics", "0".into(), "at least 1".into())
        } else if self.topics as f64 > tokens {
            let expected = format!("no more topics than the corpus has tokens ({tokens})");
            ("topics", self.topics.to_string(), expected)
        } else if self.sweeps == 0 {
            ("sweeps", "0".into(), "at least 1".into())
        } else if alpha.len() != self.topics {
            let expected = format!("one for each of {} topics", self.topics);
            ("alpha", format!("{} numbers", alpha.len()), expected)
        } else if let Some(wrong) = alpha.iter().find(|alpha| !RANGE.contains(alpha)) {
            ("alpha", wrong.to_string(), range)
        } else if !RANGE.contains(&beta) {
            ("beta", beta.to_string(), range)
        } else {
            return Ok(());
        };
        Err(Error::setting(name, found, expected))
    }
}
