//! Quantification with a responsibility for every alignment of every read, in logs, nothing
//! merged, cut or split; the exact posterior by enumeration; and problems to try them on.

use collapsar::quant::{
    Compression, Prior, Quant, Quantified, Reads, ReadsBuilder, Settings, Solver,
};
use collapsar::special::{digamma, ln_gamma, log_sum_exp};
use collapsar::{Collapsed, Potential};
use rand::seq::index::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Alignments with their log-probabilities, and how many reads have them.
pub(crate) type Read = (Vec<(u32, f64)>, f64);

/// Neither cut nor merged, but for rows that agree bit for bit.
pub(crate) const ALL: Compression = Compression {
    cut: 0.0,
    grain: 0.0,
};

/// Reads for the library.
pub(crate) fn build(transcripts: usize, reads: &[Read], compression: Compression) -> Reads {
    let mut builder = ReadsBuilder::new(transcripts, compression).expect("settings in range");
    for (alignments, count) in reads {
        builder.push(alignments, *count).expect("a read");
    }
    builder.finish().expect("reads")
}

/// Reads of families of four transcripts each, the last transcript without any; weights of a
/// read span `span` nats at most.
pub(crate) fn families(families: usize, reads: usize, span: f64, seed: u64) -> (usize, Vec<Read>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let one = |_| {
        let family = rng.random_range(0..families);
        let base = -rng.random_range(0.0..40.0);
        let alignments = 1 + rng.random_range(0..4_usize);
        let mut ids = sample(&mut rng, 4, alignments).into_vec();
        ids.sort_unstable();
        let mut entry = |id: usize| ((4 * family + id) as u32, base - span * rng.random::<f64>());
        (ids.into_iter().map(&mut entry).collect(), 1.0)
    };
    (4 * families + 1, (0..reads).map(one).collect())
}

/// Values by transcript in the order of the library.
pub(crate) fn placed(reads: &Reads, values: &[f64]) -> Vec<f64> {
    reads.order().iter().map(|&m| values[m as usize]).collect()
}

/// Bound, statistics and gradient.
pub(crate) fn look(model: &Quant<'_>, messages: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let mut statistics = vec![f64::NAN; messages.len()];
    let mut gradient = statistics.clone();
    let local = model.local().value_and_gradient(messages, &mut statistics);
    let posterior = model
        .posterior()
        .value_and_gradient(&statistics, &mut gradient);
    let linear: f64 = messages.iter().zip(&statistics).map(|(m, t)| m * t).sum();
    let (local, posterior) = (local.expect("finite"), posterior.expect("finite"));
    for (target, message) in gradient.iter_mut().zip(messages) {
        *target -= message;
    }
    let bound = local - linear + posterior + model.constant();
    (bound, statistics, gradient)
}

/// The library's solution with a given prior.
pub(crate) fn solve(reads: &Reads, alpha: f64, search: bool) -> Quantified {
    let settings = Settings {
        prior: Prior::Given(alpha),
        tolerance: 1e-12,
        search,
        ..Settings::default()
    };
    let solver = Solver::new(reads, &settings).expect("settings in range");
    let solution = solver.run().expect("a run");
    assert_eq!(solution.unfinished, 0);
    solution
}

/// The largest difference of two lists.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    // Written so that a NaN is the largest.
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |worst, x| if x <= worst { worst } else { x })
}

/// ln probability of a sequence with these counts under a symmetric Dirichlet-multinomial.
pub(crate) fn ln_probability(alpha: f64, counts: &[f64]) -> f64 {
    let total = alpha * counts.len() as f64;
    let reads: f64 = counts.iter().sum();
    let each = counts.iter().map(|n| ln_gamma(alpha + n) - ln_gamma(alpha));
    ln_gamma(total) - ln_gamma(total + reads) + each.sum::<f64>()
}

/// The plain model.
pub(crate) struct Plain<'a> {
    pub(crate) transcripts: usize,
    pub(crate) alpha: f64,
    pub(crate) reads: &'a [Read],
}

/// q(Z): for each read, ln of the responsibility of each of its alignments.
pub(crate) type Responsibilities = Vec<Vec<f64>>;

impl Plain<'_> {
    /// q(Z) from messages by transcript.
    pub(crate) fn responsibilities(&self, messages: &[f64]) -> Responsibilities {
        let of = |(alignments, _): &Read| {
            let message = |entry: &(u32, f64)| messages[entry.0 as usize];
            // Messages of a million have no digits left behind the point for a probability's.
            let largest = alignments.iter().map(message).fold(f64::MIN, f64::max);
            let best = alignments.iter().map(|e| e.1).fold(f64::MIN, f64::max);
            let logits = alignments
                .iter()
                .map(|entry| (entry.1 - best) + (message(entry) - largest));
            let logits: Vec<f64> = logits.collect();
            let total = log_sum_exp(&logits);
            logits.iter().map(|x| x - total).collect()
        };
        self.reads.iter().map(of).collect()
    }

    /// Expected reads of each transcript.
    pub(crate) fn counts(&self, r: &Responsibilities) -> Vec<f64> {
        let mut counts = vec![0.0; self.transcripts];
        for ((alignments, count), r) in self.reads.iter().zip(r) {
            for (&(id, _), r) in alignments.iter().zip(r) {
                counts[id as usize] += count * r.exp();
            }
        }
        counts
    }

    /// E ln θ: the messages of the next VBEM step.
    pub(crate) fn messages(&self, counts: &[f64]) -> Vec<f64> {
        let total = self.alpha * counts.len() as f64 + counts.iter().sum::<f64>();
        let message = |n: &f64| digamma(self.alpha + n) - digamma(total);
        counts.iter().map(message).collect()
    }

    /// The collapsed bound of any q(Z): expected log-probabilities, entropy and the
    /// Dirichlet-multinomial at expected counts.
    pub(crate) fn bound(&self, r: &Responsibilities) -> f64 {
        let mut bound = ln_probability(self.alpha, &self.counts(r));
        for ((alignments, count), r) in self.reads.iter().zip(r) {
            for ((_, lp), r) in alignments.iter().zip(r) {
                if *r > f64::NEG_INFINITY {
                    bound += count * r.exp() * (lp - r);
                }
            }
        }
        bound
    }

    /// VBEM until it gains nothing to speak of: bound and counts.
    pub(crate) fn climb(&self, mut messages: Vec<f64>) -> (f64, Vec<f64>) {
        let mut before = f64::MIN;
        for _ in 0..200_000 {
            let r = self.responsibilities(&messages);
            let (bound, counts) = (self.bound(&r), self.counts(&r));
            if bound - before < 1e-13 * bound.abs() {
                return (bound, counts);
            }
            (before, messages) = (bound, self.messages(&counts));
        }
        panic!("VBEM does not come to rest");
    }

    /// The exact posterior: every way in which the reads can be divided.
    pub(crate) fn exact(&self) -> Exact {
        let reads: f64 = self.reads.iter().map(|read| read.1).sum();
        let mut counts = vec![0; self.transcripts];
        let mut ways = vec![];
        self.divide(0, 0.0, &mut counts, &mut ways);
        let table: Vec<f64> = (0..=reads as usize)
            .map(|n| ln_gamma(self.alpha + n as f64) - ln_gamma(self.alpha))
            .collect();
        let total = self.alpha * self.transcripts as f64;
        let normaliser = ln_gamma(total) - ln_gamma(total + reads);
        let joint = |(counts, ln): &(Vec<usize>, f64)| {
            ln + normaliser + counts.iter().map(|&n| table[n]).sum::<f64>()
        };
        let logs: Vec<f64> = ways.iter().map(joint).collect();
        let evidence = log_sum_exp(&logs);
        let mut masses = vec![vec![0.0; table.len()]; self.transcripts];
        for ((counts, _), log) in ways.iter().zip(&logs) {
            for (mass, &n) in masses.iter_mut().zip(counts) {
                mass[n] += (log - evidence).exp();
            }
        }
        Exact {
            evidence,
            masses,
            alpha: self.alpha,
        }
    }

    /// All ways to divide the reads from `row` on, each with ln of its probability given origins.
    fn divide(
        &self,
        row: usize,
        ln: f64,
        counts: &mut Vec<usize>,
        ways: &mut Vec<(Vec<usize>, f64)>,
    ) {
        let Some((alignments, count)) = self.reads.get(row) else {
            ways.push((counts.clone(), ln));
            return;
        };
        let orders = ln_gamma(count + 1.0);
        self.send(row, alignments, *count as usize, ln + orders, counts, ways);
    }

    fn send(
        &self,
        row: usize,
        alignments: &[(u32, f64)],
        left: usize,
        ln: f64,
        counts: &mut Vec<usize>,
        ways: &mut Vec<(Vec<usize>, f64)>,
    ) {
        let Some((&(id, lp), others)) = alignments.split_first() else {
            return;
        };
        let least = if others.is_empty() { left } else { 0 };
        for taken in least..=left {
            counts[id as usize] += taken;
            let ln = ln + taken as f64 * lp - ln_gamma(taken as f64 + 1.0);
            if others.is_empty() {
                self.divide(row + 1, ln, counts, ways);
            } else {
                self.send(row, others, left - taken, ln, counts, ways);
            }
            counts[id as usize] -= taken;
        }
    }
}

/// The exact posterior of a small problem.
pub(crate) struct Exact {
    /// ln p(reads).
    pub(crate) evidence: f64,
    /// For each transcript, the probability of each number of reads.
    pub(crate) masses: Vec<Vec<f64>>,
    alpha: f64,
}

impl Exact {
    /// The expectation of a function of a transcript's number of reads.
    pub(crate) fn mean(&self, transcript: usize, of: impl Fn(f64) -> f64) -> f64 {
        let masses = self.masses[transcript].iter().enumerate();
        masses.map(|(n, mass)| mass * of(n as f64)).sum()
    }

    /// Mean and variance of a transcript's fraction, by the mixture of Dirichlets.
    pub(crate) fn fraction(&self, transcript: usize) -> (f64, f64) {
        let reads = self.masses[0].len() as f64 - 1.0;
        let total = self.alpha * self.masses.len() as f64 + reads;
        let mean = self.mean(transcript, |n| (self.alpha + n) / total);
        let square = self.mean(transcript, |n| {
            (self.alpha + n) * (self.alpha + n + 1.0) / (total * (total + 1.0))
        });
        (mean, square - mean * mean)
    }
}
