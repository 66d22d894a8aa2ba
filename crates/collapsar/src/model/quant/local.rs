//! The sum over reads: $A(t) = \sum_m u_m t_m + \sum_n c_n \ln \sum_m w_{nm} e^{t_m}$ (maths §8.2).

use std::ops::Range;

use super::components::Component;
use super::reads::{Reads, range};
use collapsar_core::elementary::Elementary;
use collapsar_core::kernel::gamma::exp_below;
use collapsar_core::parallel::{self, Buffers, Chunks};
use collapsar_core::vector::dot;
use collapsar_core::{Potential, Result};

/// A row's sum below this has lost digits to underflow and is taken again in logarithms.
const LEAST: f64 = 1e-250;

/// The reads of one component.
#[derive(Debug)]
pub struct Local<'a> {
    pub(super) reads: &'a Reads,
    component: Component,
    buffers: Buffers,
}

/// Messages and their exponentials, for many rows.
struct Exponentials<'a> {
    messages: &'a [f64],
    largest: f64,
    scaled: Vec<f64>,
}

/// Memory of one look at all rows that the next can have.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    scaled: Vec<f64>,
    offers: Vec<f64>,
}

impl<'a> Exponentials<'a> {
    fn new(messages: &'a [f64]) -> Self {
        Self::within(messages, vec![])
    }

    /// The same in memory that there is.
    fn within(messages: &'a [f64], mut scaled: Vec<f64>) -> Self {
        let largest = messages.iter().copied().fold(f64::MIN, f64::max);
        scaled.resize(messages.len(), 0.0);
        exp_below(messages, largest, &mut scaled);
        Self {
            messages,
            largest,
            scaled,
        }
    }
}

impl<'a> Local<'a> {
    pub(super) fn new(reads: &'a Reads, component: &Component) -> Self {
        Self {
            reads,
            component: component.clone(),
            buffers: Buffers::default(),
        }
    }

    /// The place of the component's first transcript.
    pub(super) fn first(&self) -> u32 {
        self.component.places.start as u32
    }

    /// Counts of the reads that can only come from each transcript.
    pub(super) fn unique(&self) -> &'a [f64] {
        &self.reads.unique[self.component.places.clone()]
    }

    /// Shows `each` row, at these messages, as [`Local::visit`].
    pub(super) fn visit_all(
        &self,
        messages: &[f64],
        each: impl FnMut(&[u32], &[f64], (f64, f64), f64),
    ) {
        self.visit_again(messages, &mut Scratch::default(), each);
    }

    /// The same in memory that there is.
    pub(super) fn visit_again(
        &self,
        messages: &[f64],
        scratch: &mut Scratch,
        each: impl FnMut(&[u32], &[f64], (f64, f64), f64),
    ) {
        let at = Exponentials::within(messages, std::mem::take(&mut scratch.scaled));
        let rows = self.component.rows.clone();
        self.visit(rows, &at, &mut scratch.offers, each);
        scratch.scaled = at.scaled;
    }

    /// Shows `each` of `rows`: the places of its transcripts, what each of them offers, the sum of these offers and by which logarithm all of them are too
    /// small, and the number of reads.
    fn visit(
        &self,
        rows: Range<usize>,
        at: &Exponentials<'_>,
        offers: &mut Vec<f64>,
        mut each: impl FnMut(&[u32], &[f64], (f64, f64), f64),
    ) {
        let first = self.first();
        if offers.len() < self.reads.longest {
            offers.resize(self.reads.longest, 0.0);
        }
        for row in rows {
            let range = range(&self.reads.starts, row);
            let weights = &self.reads.weights[range.clone()];
            let ids = &self.reads.ids[range];
            let offers = &mut offers[..ids.len()];
            let mut sum = 0.0;
            for ((offer, &m), w) in offers.iter_mut().zip(ids).zip(weights) {
                *offer = w * at.scaled[(m - first) as usize];
                sum += *offer;
            }
            let mut shift = at.largest;
            if sum < LEAST {
                let logs = ids.iter().map(|&m| at.messages[(m - first) as usize]);
                shift = logs.clone().fold(f64::MIN, f64::max);
                for ((offer, log), w) in offers.iter_mut().zip(logs).zip(weights) {
                    *offer = w * (log - shift).exp_();
                }
                sum = offers.iter().sum();
            }
            each(ids, offers, (sum, shift), self.reads.counts[row]);
        }
    }

    /// Adds $\partial\tau/\partial t$, the metric, to a square matrix by columns.
    pub(super) fn add_metric(&self, messages: &[f64], matrix: &mut [f64]) {
        let (dim, first) = (messages.len(), self.first());
        self.visit_all(messages, |ids, offers, (sum, _), count| {
            for (&m, &offer) in ids.iter().zip(offers) {
                let m = (m - first) as usize;
                let column = &mut matrix[m * dim..][..dim];
                let reads = count * offer / sum;
                column[m] += reads;
                let scale = reads / sum;
                for (&other, &offer) in ids.iter().zip(offers) {
                    column[(other - first) as usize] -= scale * offer;
                }
            }
        });
    }

    /// The sum over reads of what all that was cut would have beside the rest at these messages,
    /// had it the largest message of all, `largest` (maths §8.4).
    ///
    /// Not the logarithm of one more than it, which is less than the bound can rise where messages
    /// go on moving.
    pub(super) fn cut(&self, messages: &[f64], largest: f64) -> f64 {
        let mut total = 0.0;
        let mut cut = self.reads.cut[self.component.rows.clone()].iter();
        self.visit_all(messages, |_, _, (sum, shift), count| {
            let part = |&cut: &f32| f64::from(cut) * (largest - shift).exp_() / sum;
            total += count * cut.next().map_or(0.0, part);
        });
        total
    }

    fn sum(
        &self,
        out: &mut [f64],
        part: impl Fn(Range<usize>, &mut [f64]) -> f64 + Sync,
    ) -> Result<f64> {
        let rows = &self.component.rows;
        let chunks = Chunks::new(rows.len(), 16);
        parallel::sum(chunks, &self.buffers, out, |range, out| {
            Ok(part(rows.start + range.start..rows.start + range.end, out))
        })
    }
}

impl Potential for Local<'_> {
    fn dim(&self) -> usize {
        self.component.places.len()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (messages, first) = (Exponentials::new(at), self.first());
        gradient.copy_from_slice(self.unique());
        let value = self.sum(gradient, |rows, gradient| {
            let mut value = 0.0;
            self.visit(
                rows,
                &messages,
                &mut vec![],
                |ids, offers, (sum, shift), count| {
                    value += count * (sum.ln_() + shift);
                    let scale = count / sum;
                    for (&m, offer) in ids.iter().zip(offers) {
                        gradient[(m - first) as usize] += scale * offer;
                    }
                },
            );
            value
        })?;
        Ok(value + dot(self.unique(), at))
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let (messages, first) = (Exponentials::new(at), self.first());
        out.fill(0.0);
        self.sum(out, |rows, out| {
            self.visit(
                rows,
                &messages,
                &mut vec![],
                |ids, offers, (sum, _), count| {
                    let pairs = ids.iter().zip(offers);
                    let mean = pairs.clone().map(|(&m, o)| o * along[(m - first) as usize]);
                    let mean = mean.sum::<f64>() / sum;
                    let scale = count / sum;
                    for (&m, offer) in pairs {
                        let m = (m - first) as usize;
                        out[m] += scale * offer * (along[m] - mean);
                    }
                },
            );
            0.0
        })?;
        Ok(())
    }
}
