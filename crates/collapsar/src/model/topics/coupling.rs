//! How statistics of words change with the messages when every document settles again: the
//! Hessian product of the local log-partition function.

use rayon::prelude::*;

use super::document::write_sum;
use super::local::Local;
use collapsar_core::elementary::Elementary;
use collapsar_core::kernel::gamma::digamma_in_place;
use collapsar_core::special::trigamma;
use collapsar_core::vector::{add, dot};

/// Residual, relative to the right side, at which a document's linear system is solved.
const SOLVED: f64 = 1e-13;

impl Local {
    /// Writes $P x$ with $P = J_{bb} + J_{ba}(F^{-1} - J_{aa})^{-1}J_{ab}$ (maths §7.3) at settled `counts`
    /// under the prior `alpha`.
    pub(super) fn coupling_product(
        &self,
        (alpha, counts): (&[f64], &[f64]),
        at: &[f64],
        along: &[f64],
        out: &mut [f64],
    ) {
        let topics = self.topics;
        let solved: Vec<Changed> = (counts.par_chunks(topics).enumerate())
            .map(|(index, counts)| {
                let words = self.corpus.document(index);
                document(words, (alpha, counts), at, along)
            })
            .collect();
        out.par_chunks_mut(topics)
            .enumerate()
            .for_each(|(word, out)| {
                out.fill(0.0);
                add_word((word, self.corpus.word(word)), &solved, at, along, out);
            });
    }
}

/// A document's messages, and how they change.
pub(super) type Changed = (Vec<f64>, Vec<f64>);

/// How a document's messages change when those of its words change by `along`.
pub(super) fn document(
    (ids, totals): (&[u32], &[f32]),
    (alpha, counts): (&[f64], &[f64]),
    at: &[f64],
    along: &[f64],
) -> Changed {
    let topics = alpha.len();
    let mut shape = vec![0.0; topics];
    write_sum(alpha, counts, &mut shape);
    let mut messages = shape.clone();
    digamma_in_place(&mut messages);
    let mut table = vec![0.0; ids.len() * topics];
    let mut right = vec![0.0; topics];
    for ((&id, &n), r) in ids.iter().zip(totals).zip(table.chunks_mut(topics)) {
        let word = id as usize;
        responsibilities(at, word, &messages, r);
        spread(r, |k| along[word * topics + k], n, &mut right);
    }
    let curvature = |y: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        for (&n, r) in totals.iter().zip(table.chunks(topics)) {
            spread(r, |k| y[k], n, out);
        }
    };
    let change = solve(&Covariance::new(&shape), curvature, &right);
    (messages, change)
}

/// Adds how a word's statistics change, in the documents that hold it.
pub(super) fn add_word(
    (word, (ids, counts)): (usize, (&[u32], &[f32])),
    documents: &[Changed],
    at: &[f64],
    along: &[f64],
    out: &mut [f64],
) {
    let topics = out.len();
    let own = &along[word * topics..(word + 1) * topics];
    let mut r = vec![0.0; topics];
    for (&id, &count) in ids.iter().zip(counts) {
        let (messages, change) = &documents[id as usize];
        responsibilities(at, word, messages, &mut r);
        spread(&r, |k| own[k] + change[k], count, out);
    }
}

/// Adds n r ∘ (x − ⟨r, x⟩): a word's part of a Hessian product.
///
/// Everything is taken from the likeliest topic's `x`: where a word is settled the product is
/// small because of what the others hold, and `x` less its own mean would be rounding.
fn spread(r: &[f64], x: impl Fn(usize) -> f64, n: f32, out: &mut [f64]) {
    let top = (0..r.len()).fold(0, |top, k| if r[k] > r[top] { k } else { top });
    let from_top = |k: usize| x(k) - x(top);
    let mean: f64 = (0..r.len()).map(|k| r[k] * from_top(k)).sum();
    for k in 0..r.len() {
        out[k] += f64::from(n) * r[k] * (from_top(k) - mean);
    }
}

/// A word's responsibilities in a document with these messages.
pub(super) fn responsibilities(at: &[f64], word: usize, messages: &[f64], r: &mut [f64]) {
    let topics = messages.len();
    let own = &at[word * topics..(word + 1) * topics];
    let mut highest = f64::NEG_INFINITY;
    for ((r, a), b) in r.iter_mut().zip(messages).zip(own) {
        *r = a + b;
        highest = highest.max(*r);
    }
    let mut total = 0.0;
    for r in &mut *r {
        *r = (*r - highest).exp_();
        total += *r;
    }
    for r in r {
        *r /= total;
    }
}

/// The covariance of ln θ under a Dirichlet: diagonal less a common number (maths §3.2).
struct Covariance {
    diagonal: Vec<f64>,
    common: f64,
}

impl Covariance {
    fn new(shape: &[f64]) -> Self {
        Self {
            diagonal: shape.iter().map(|&x| trigamma(x)).collect(),
            common: trigamma(shape.iter().sum()),
        }
    }

    fn product(&self, x: &[f64]) -> Vec<f64> {
        let sum: f64 = x.iter().sum();
        let one = |(d, x): (&f64, &f64)| d * x - self.common * sum;
        self.diagonal.iter().zip(x).map(one).collect()
    }

    /// The inverse, by Sherman and Morrison's formula.
    fn solve(&self, x: &[f64]) -> Vec<f64> {
        let reciprocals: f64 = self.diagonal.iter().map(|d| 1.0 / d).sum();
        let weighted: f64 = self.diagonal.iter().zip(x).map(|(d, x)| x / d).sum();
        let shift = self.common * weighted / (1.0 - self.common * reciprocals);
        let one = |(d, x): (&f64, &f64)| (x + shift) / d;
        self.diagonal.iter().zip(x).map(one).collect()
    }
}

/// Solves (F⁻¹ − J) y = right by conjugate gradients, preconditioned by F.
fn solve(
    covariance: &Covariance,
    curvature: impl Fn(&[f64], &mut [f64]),
    right: &[f64],
) -> Vec<f64> {
    let topics = right.len();
    let mut y = vec![0.0; topics];
    let mut residual = right.to_vec();
    let mut nearer = covariance.product(&residual);
    let mut direction = nearer.clone();
    let mut size = dot(&residual, &nearer);
    let first = size;
    let mut curved = vec![0.0; topics];
    // In exact arithmetic `topics` steps are enough.
    for _ in 0..2 * topics + 10 {
        if size <= SOLVED * SOLVED * first || size <= 0.0 {
            break;
        }
        curvature(&direction, &mut curved);
        let plain = covariance.solve(&direction);
        let product: Vec<f64> = plain.iter().zip(&curved).map(|(a, b)| a - b).collect();
        let along = dot(&direction, &product);
        // Not a maximum along here: what was found so far is still an ascent.
        if along <= 0.0 {
            break;
        }
        let length = size / along;
        add(&mut y, length, &direction);
        add(&mut residual, -length, &product);
        nearer = covariance.product(&residual);
        let next = dot(&residual, &nearer);
        let beta = next / size;
        size = next;
        for (d, n) in direction.iter_mut().zip(&nearer) {
            *d = n + beta * *d;
        }
    }
    y
}
