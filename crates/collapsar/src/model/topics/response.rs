//! Linear response of a fit: variances of topics' shares and of documents' proportions that know of what was not
//! observed (maths §10.9).
//!
//! A document's own part is a small system of its topics. What uncertain topics add is exact in their own covariance
//! under mean field; what they add by way of all other documents needs the whole response, which is made where there
//! are few messages or it is asked for.

use std::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::coupling::responsibilities;
use super::document::write_sum;
use super::posterior::column_sums;
use super::{Documents, StoredDocuments, Topics};
use collapsar_core::kernel::gamma::digamma_in_place;
use collapsar_core::special::trigamma;
use collapsar_core::vector::add;
use collapsar_core::{Error, Point, Response, Result};

/// Variances at a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicsVariances {
    /// Of the fraction of all tokens that each topic has.
    pub shares: Vec<f64>,
    /// Of the documents' proportions: a row for each document.
    pub proportions: Vec<f64>,
    /// Whether shares know that topics are uncertain, and proportions that they are by way of all documents.
    pub whole: bool,
    /// The largest fraction of information that is missing, where it is known.
    pub missing_information: Option<f64>,
}

/// How much of the response is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicsResponse {
    /// None: the variances of mean field.
    MeanField,
    /// Each document's, and all of it where there are few messages.
    Documents,
    /// All of it, by conjugate gradients for each topic where there are many messages.
    Whole,
}

/// What the topics' Dirichlets say of their own uncertainty, word by word and in common.
struct Spread {
    own: Vec<f64>,
    common: Vec<f64>,
}

/// A document's part.
struct Part {
    /// Variances of its counts, given the topics.
    counts: Vec<f64>,
    proportions: Vec<f64>,
}

impl<D: Documents> Topics<D> {
    fn response_cost_of(&self, entries: f64) -> f64 {
        let topics = self.topics() as f64;
        let (square, documents) = (topics * topics, self.local.documents() as f64);
        3.0 * entries * square + 2.0 * documents * topics * square
    }

    fn pass_cost_of(&self, entries: f64) -> f64 {
        let sweeps = 4.0 * (self.settings.sweeps + 1) as f64;
        sweeps * entries * self.topics() as f64
    }

    /// What variances are made of at an optimum.
    fn responder<'a>(
        &'a self,
        point: &'a Point,
        response: TopicsResponse,
    ) -> Result<Responder<'a, D>> {
        let whole = match response {
            TopicsResponse::MeanField => None,
            TopicsResponse::Documents | TopicsResponse::Whole => Some(Response::new(self, point)?)
                .filter(|whole| whole.is_dense() || response == TopicsResponse::Whole),
        };
        let (_, alpha, beta) = self.warm_of(point);
        let corrected = response != TopicsResponse::MeanField;
        Ok(Responder {
            messages: &point.messages,
            alpha,
            spread: corrected.then(|| Spread::new(&point.statistics, self.topics(), beta)),
            whole,
        })
    }
}

/// What each document's variances are made of.
struct Responder<'a, D: Documents> {
    messages: &'a [f64],
    alpha: &'a [f64],
    /// Without it variances are those of mean field.
    spread: Option<Spread>,
    whole: Option<Response<'a, Topics<D>>>,
}

impl Topics {
    /// About how many products of numbers [`TopicsResponse::Documents`] takes.
    pub fn response_cost(&self) -> f64 {
        self.response_cost_of(self.corpus().entries() as f64)
    }

    /// About how many products of numbers a pass takes, in the same measure.
    pub fn pass_cost(&self) -> f64 {
        self.pass_cost_of(self.corpus().entries() as f64)
    }

    /// Variances at an optimum.
    ///
    /// # Errors
    /// [`Error::Domain`] where the point is no maximum of the bound, so that there is no response.
    pub fn variances(&self, point: &Point, response: TopicsResponse) -> Result<TopicsVariances> {
        let topics = self.topics();
        let responder = self.responder(point, response)?;
        let (all, ..) = self.warm_of(point);
        let parts: Vec<Result<Part>> = (all.par_chunks(topics).enumerate())
            .map(|(index, counts)| responder.part(index, self.corpus().document(index), counts))
            .collect();
        let mut sums = vec![0.0; topics];
        let mut proportions = Vec::with_capacity(all.len());
        for part in parts {
            let part = part?;
            add(&mut sums, 1.0, &part.counts);
            proportions.extend(part.proportions);
        }
        responder.finish(sums, proportions, self.corpus().tokens())
    }
}

impl Topics<StoredDocuments> {
    /// About how many products of numbers [`TopicsResponse::Documents`] takes.
    pub fn response_cost(&self) -> f64 {
        self.response_cost_of(self.local.corpus().entries() as f64)
    }

    /// About how many products of numbers a pass takes, in the same measure.
    pub fn pass_cost(&self) -> f64 {
        self.pass_cost_of(self.local.corpus().entries() as f64)
    }

    /// Variances at an optimum, those of documents' proportions block by block by way of `each`, which is given the first document
    /// of a block and a row for each of them; those that are returned have none.
    ///
    /// # Errors
    /// As those of documents in memory, and where documents or counts cannot be read; what `each` has.
    pub fn variances_of_each(
        &self,
        point: &Point,
        response: TopicsResponse,
        each: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<TopicsVariances> {
        let topics = self.topics();
        let responder = self.responder(point, response)?;
        let mut sums = vec![0.0; topics];
        self.local.each(&point.warm, &mut |block, counts| {
            let parts: Vec<Result<Part>> = (counts.par_chunks(topics).enumerate())
                .map(|(at, counts)| responder.part(block.first + at, block.document(at), counts))
                .collect();
            let mut proportions = Vec::with_capacity(counts.len());
            for part in parts {
                let part = part?;
                add(&mut sums, 1.0, &part.counts);
                proportions.extend(part.proportions);
            }
            each(block.first, &proportions)?;
            Ok(ControlFlow::Continue(()))
        })?;
        responder.finish(sums, vec![], self.local.tokens())
    }
}

impl<D: Documents> Responder<'_, D> {
    /// All variances, from the sums of those of documents' counts.
    fn finish(
        &self,
        mut counts: Vec<f64>,
        proportions: Vec<f64>,
        tokens: f64,
    ) -> Result<TopicsVariances> {
        let topics = self.alpha.len();
        let missing_information = match &self.whole {
            Some(whole) => Some(whole.missing_information()?),
            None => None,
        };
        if let Some(whole) = &self.whole {
            for (k, variance) in counts.iter_mut().enumerate() {
                let mut along = vec![0.0; self.messages.len()];
                along
                    .iter_mut()
                    .skip(k)
                    .step_by(topics)
                    .for_each(|x| *x = 1.0);
                let product = whole.product(&along)?;
                *variance = product.iter().skip(k).step_by(topics).sum();
            }
        }
        Ok(TopicsVariances {
            shares: counts.iter().map(|v| v / (tokens * tokens)).collect(),
            proportions,
            whole: self.whole.is_some(),
            missing_information,
        })
    }

    /// A document's variances.
    fn part(
        &self,
        index: usize,
        (words, tokens): (&[u32], &[f32]),
        counts: &[f64],
    ) -> Result<Part> {
        let topics = self.alpha.len();
        let dense = self.whole.as_ref().and_then(Response::statistics);
        let mut shape = vec![0.0; topics];
        write_sum(self.alpha, counts, &mut shape);
        let total: f64 = shape.iter().sum();
        let mut messages = shape.clone();
        digamma_in_place(&mut messages);
        let Some(spread) = &self.spread else {
            // Only the diagonal of J.
            let (mut r, mut variances) = (vec![0.0; topics], vec![0.0; topics]);
            for (&word, &n) in words.iter().zip(tokens) {
                responsibilities(self.messages, word as usize, &messages, &mut r);
                for (variance, r) in variances.iter_mut().zip(&r) {
                    *variance += f64::from(n) * r * (1.0 - r);
                }
            }
            return Ok(Part::new(&shape, total, variances, None));
        };
        // J, and what uncertain topics add to it: Σ_w C_w T_w C_w with C_w = n(diag r - r r').
        let mut curvature = DMatrix::zeros(topics, topics);
        let mut uncertain = DMatrix::zeros(topics, topics);
        let mut r = vec![0.0; topics];
        let mut weighted = vec![0.0; topics];
        let mut table = Vec::new();
        for (&word, &n) in words.iter().zip(tokens) {
            let (word, n) = (word as usize, f64::from(n));
            responsibilities(self.messages, word, &messages, &mut r);
            add_spread(&mut curvature, n, &r, &r, 1.0);
            let own = &spread.own[word * topics..][..topics];
            for k in 0..topics {
                weighted[k] = r[k] * r[k] * own[k];
            }
            let sum: f64 = weighted.iter().sum();
            // n² [diag(r²t) - (r²t) r' - r (r²t)' + Σ(r²t) r r'].
            add_spread(&mut uncertain, n * n, &weighted, &r, sum);
            if dense.is_some() {
                table.extend_from_slice(&r);
            }
        }
        let covariance = DMatrix::from_diagonal(&DVector::from_iterator(
            topics,
            shape.iter().map(|&x| trigamma(x)),
        )) - DMatrix::from_element(topics, topics, trigamma(total));
        // G = (I - FJ)⁻¹ and S = JG: the covariance of the document's counts, given the topics.
        let system = DMatrix::identity(topics, topics) - &covariance * &curvature;
        let inverse = system.try_inverse().ok_or_else(|| no_maximum(index))?;
        let given = &curvature * &inverse;
        let common = DMatrix::from_diagonal(&DVector::from_column_slice(&spread.common));
        uncertain -= &curvature * common * &curvature;
        if let Some(dense) = dense {
            let entries = (words, tokens, &table[..]);
            uncertain += spread.by_way_of_all(entries, &curvature, dense);
        }
        let added = inverse.transpose() * uncertain * &inverse;
        let counts: Vec<f64> = (0..topics).map(|k| given[(k, k)]).collect();
        let fine = |k: usize| {
            let least = -1e-9 * curvature[(k, k)].abs();
            counts[k] >= least && counts[k].is_finite() && added[(k, k)].is_finite()
        };
        if !(0..topics).all(fine) {
            return Err(no_maximum(index));
        }
        let added: Vec<f64> = (0..topics).map(|k| added[(k, k)].max(0.0)).collect();
        Ok(Part::new(&shape, total, counts, Some(&added)))
    }
}

impl Part {
    /// Proportions have the variance of their Dirichlet, and that of its mean as counts vary.
    fn new(shape: &[f64], total: f64, counts: Vec<f64>, added: Option<&[f64]>) -> Self {
        let proportions = (0..shape.len())
            .map(|k| {
                let mean = shape[k] / total;
                let own = mean * (1.0 - mean) / (total + 1.0);
                // Mean field knows of no other.
                let counts = added.map_or(0.0, |added| counts[k].max(0.0) + added[k]);
                own + counts / (total * total)
            })
            .collect();
        Self {
            counts,
            proportions,
        }
    }
}

impl Spread {
    fn new(statistics: &[f64], topics: usize, beta: f64) -> Self {
        let prior = beta * (statistics.len() / topics) as f64;
        let totals = column_sums(statistics, topics);
        Self {
            own: statistics.iter().map(|&x| trigamma(beta + x)).collect(),
            common: totals.iter().map(|&x| trigamma(prior + x)).collect(),
        }
    }

    /// B'SB with B = F J_bd: what the topics learn from all documents, and this one from them.
    fn by_way_of_all(
        &self,
        (words, tokens, table): (&[u32], &[f32], &[f64]),
        curvature: &DMatrix<f64>,
        dense: &DMatrix<f64>,
    ) -> DMatrix<f64> {
        let topics = self.common.len();
        let mut answer = DMatrix::zeros(self.own.len(), topics);
        for (place, mut row) in answer.row_iter_mut().enumerate() {
            let k = place % topics;
            for j in 0..topics {
                row[j] = -self.common[k] * curvature[(k, j)];
            }
        }
        for ((&word, &n), r) in words.iter().zip(tokens).zip(table.chunks(topics)) {
            for k in 0..topics {
                let place = word as usize * topics + k;
                for j in 0..topics {
                    let same = if j == k { r[k] } else { 0.0 };
                    answer[(place, j)] += self.own[place] * f64::from(n) * (same - r[k] * r[j]);
                }
            }
        }
        answer.transpose() * dense * &answer
    }
}

/// Adds n [diag(x) - x r' - r x' + s r r'], which for x = r and s = 1 is n [diag(r) - r r'].
fn add_spread(sum: &mut DMatrix<f64>, n: f64, x: &[f64], r: &[f64], s: f64) {
    for j in 0..r.len() {
        let mut column = sum.column_mut(j);
        for k in 0..r.len() {
            column[k] += n * (s * r[k] * r[j] - x[k] * r[j] - r[k] * x[j]);
        }
        column[j] += n * x[j];
    }
}

fn no_maximum(document: usize) -> Error {
    Error::domain(
        format!("linear response of document {}", document + 1),
        "a point that is no strict maximum of the bound",
        "a fit that has converged, or other starts",
    )
}
