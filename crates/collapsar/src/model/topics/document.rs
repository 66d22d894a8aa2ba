//! One document: its own messages, found by a fixed point over its words.

use super::documents::Settle;
use super::local::{Exponentials, MOST_SWEEPS};
use collapsar_core::elementary::Elementary;
use collapsar_core::kernel::bag::{Bag, TINY, sweep};
use collapsar_core::kernel::gamma::{
    digamma_in_place, exp_below, exp_digamma_in_place, weighted_ln_sum,
};
use collapsar_core::special::log_sum_exp;

/// Sweeps without momentum: they choose among a document's optima. Without them inference of
/// nips2011 (K = 50) is as fast and ends 130 nats lower.
const FIRST: usize = 10;

/// What a document needs, allocated once for many.
pub(super) struct Scratch {
    pub(super) messages: Vec<f64>,
    pub(super) products: Vec<f64>,
    pub(super) sum: Vec<f64>,
    before: Vec<f64>,
    own: Vec<f64>,
}

impl Scratch {
    pub(super) fn new(width: usize, longest: usize) -> Self {
        Self {
            messages: vec![0.0; width],
            products: vec![0.0; longest],
            sum: vec![0.0; width],
            before: vec![0.0; width],
            own: vec![0.0; width],
        }
    }
}

/// A document as its topics see it.
pub(super) struct Document<'a> {
    pub(super) bag: Bag<'a>,
    pub(super) words: &'a Exponentials<'a>,
    pub(super) alpha: &'a [f64],
}

impl Document<'_> {
    /// Brings `counts` near their fixed point; leaves the exponentials of the last messages in
    /// `exponentials` and those messages in the scratch.
    ///
    /// Returns what the words then add to the bound, $\sum_v n_v \ln Z_v - \langle a, N\rangle$ with each
    /// word's largest message taken out, and whether a product underflowed.
    pub(super) fn settle(
        &self,
        settle: Settle,
        counts: &mut [f64],
        exponentials: &mut [f64],
        scratch: &mut Scratch,
    ) -> (f64, bool) {
        let topics = counts.len();
        if self.bag.ids.is_empty() {
            counts.fill(0.0);
            exponentials.fill(0.0);
            return (0.0, false);
        }
        match settle {
            Settle::Sweeps(sweeps) => {
                for _ in 1..sweeps {
                    self.rough_sweep(counts, scratch);
                }
            }
            Settle::Change(change) => {
                // So near to the fixed point momentum would only stir up rounding.
                let length: f64 = self.bag.counts.iter().copied().map(f64::from).sum();
                let plain = if change < 1e-12 { MOST_SWEEPS } else { FIRST };
                self.iterate(change * length, plain, counts, scratch);
            }
        }
        // The last sweep needs the messages themselves: the bound has a term linear in them.
        self.messages(counts, scratch);
        let (own, padding) = exponentials.split_at_mut(topics);
        exp_below(&scratch.messages[..topics], 0.0, own);
        padding.fill(0.0);
        let tiny = self.sweep(exponentials, counts, scratch);
        let products = &mut scratch.products[..self.bag.ids.len()];
        let mut value = 0.0;
        if tiny {
            for (i, product) in products.iter_mut().enumerate() {
                if *product < TINY {
                    let highest = self.words.highest[self.bag.ids[i] as usize];
                    let ln_product = log_sum_exp(&self.logits(i, &scratch.messages)) - highest;
                    value += f64::from(self.bag.counts[i]) * ln_product;
                    *product = 1.0;
                }
            }
        }
        value += weighted_ln_sum(products, self.bag.counts);
        for (message, count) in scratch.messages.iter().zip(&*counts) {
            value -= message * count;
        }
        (value, tiny)
    }

    /// Sweeps until no count moves by more than `change`; after `plain` sweeps with momentum and
    /// restarts (maths §5.9).
    fn iterate(&self, change: f64, plain: usize, counts: &mut [f64], scratch: &mut Scratch) {
        let topics = counts.len();
        let mut landed = counts.to_vec();
        let mut age = 1.0;
        for sweep in 0..MOST_SWEEPS {
            scratch.before[..topics].copy_from_slice(counts);
            self.rough_sweep(counts, scratch);
            let before = &scratch.before[..topics];
            let moved = counts.iter().zip(before).map(|(a, b)| (a - b).abs());
            if moved.fold(0.0, f64::max) <= change {
                return;
            }
            // The sweep's own way against the way since the last one.
            let ways = counts.iter().zip(before).zip(&landed);
            let slope: f64 = ways.map(|((now, b), l)| (now - b) * (now - l)).sum();
            let restarts = slope < 0.0 || sweep < plain;
            age = if restarts { 1.0 } else { age + 1.0 };
            let coefficient = (age - 1.0) / (age + 2.0);
            for (count, landed) in counts.iter_mut().zip(&mut landed) {
                let now = *count;
                *count = extrapolated(now, *landed, coefficient);
                *landed = now;
            }
        }
    }

    /// A sweep for its counts alone.
    fn rough_sweep(&self, counts: &mut [f64], scratch: &mut Scratch) {
        self.exponentiate_quickly(counts, scratch);
        let own = std::mem::take(&mut scratch.own);
        self.sweep(&own, counts, scratch);
        scratch.own = own;
    }

    /// Messages ψ(α + N), the largest taken out.
    fn messages(&self, counts: &[f64], scratch: &mut Scratch) {
        let messages = &mut scratch.messages[..counts.len()];
        write_sum(self.alpha, counts, messages);
        digamma_in_place(messages);
        let highest = messages.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for message in messages {
            *message -= highest;
        }
    }

    /// Exponentials of the messages up to a common factor, into `scratch.own`.
    fn exponentiate_quickly(&self, counts: &[f64], scratch: &mut Scratch) {
        let own = &mut scratch.own[..counts.len()];
        write_sum(self.alpha, counts, own);
        exp_digamma_in_place(own);
        let highest = own.iter().copied().fold(0.0, f64::max);
        // Below this the small ones are lost; a document shorter than 1/100 of a token has that.
        if highest < 1e-40 {
            self.messages(counts, scratch);
            let topics = counts.len();
            exp_below(&scratch.messages[..topics], 0.0, &mut scratch.own[..topics]);
            return;
        }
        let scale = 1.0 / highest;
        for own in own {
            *own *= scale;
        }
    }

    /// Counts under the messages whose exponentials are `own`; says whether a product underflowed.
    fn sweep(&self, own: &[f64], counts: &mut [f64], scratch: &mut Scratch) -> bool {
        scratch.sum.fill(0.0);
        let products = &mut scratch.products[..self.bag.ids.len()];
        let tiny = sweep(self.bag, own, products, &mut scratch.sum);
        if tiny {
            // Before the counts, from which the messages come, are overwritten.
            self.messages(counts, scratch);
        }
        for ((count, own), sum) in counts.iter_mut().zip(own).zip(&scratch.sum) {
            *count = own * sum;
        }
        if tiny {
            for i in 0..self.bag.ids.len() {
                if scratch.products[i] < TINY {
                    add_in_logs(
                        &self.logits(i, &scratch.messages),
                        self.bag.counts[i],
                        counts,
                    );
                }
            }
        }
        tiny
    }

    fn logits(&self, i: usize, messages: &[f64]) -> Vec<f64> {
        let topics = self.alpha.len();
        let word = self.bag.ids[i] as usize;
        let own = &self.words.messages[word * topics..(word + 1) * topics];
        messages.iter().zip(own).map(|(a, b)| a + b).collect()
    }
}

/// A count extrapolated by `coefficient` times its way since `before`, but to no less than a tenth of
/// itself: counts stay positive.
pub(super) fn extrapolated(now: f64, before: f64, coefficient: f64) -> f64 {
    (now + coefficient * (now - before)).max(0.1 * now)
}

/// Writes prior plus counts.
pub(super) fn write_sum(alpha: &[f64], counts: &[f64], out: &mut [f64]) {
    for ((out, alpha), count) in out.iter_mut().zip(alpha).zip(counts) {
        *out = alpha + count;
    }
}

/// Adds `count` times the softmax of `logits`.
pub(super) fn add_in_logs(logits: &[f64], count: f32, sum: &mut [f64]) {
    let total = log_sum_exp(logits);
    for (sum, logit) in sum.iter_mut().zip(logits) {
        *sum += f64::from(count) * (logit - total).exp_();
    }
}
