//! Draws from the exact posterior: Gibbs sampling from where the climb ended (maths §8.7).

use std::sync::atomic::{AtomicBool, Ordering};

use collapsar_core::kernel::logarithm::ln_in_place;
use collapsar_core::random::{Binomial, Distribution, Exp1, Gamma};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::components::Component;
use super::local::{Local, Scratch};
use super::reads::Reads;
use super::solve::Quantified;
use collapsar_core::{Error, Result};

/// Up to here reads are sent one by one, and expected ones are counted by inversion.
const FEW: f64 = 8.0;

/// Chains see rows merged to this many nats: three times fewer, and no interval that differs by
/// more than its own noise.
const GRAIN: f64 = 0.3;

/// How long the chains are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chains {
    /// Draws that are kept.
    pub draws: usize,
    /// Sweeps from one draw to the next.
    pub thin: usize,
    /// Decides all of them.
    pub seed: u64,
}

impl Default for Chains {
    fn default() -> Self {
        Self {
            draws: 100,
            thin: 10,
            seed: 0,
        }
    }
}

/// Where the reads came from, drawn many times.
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    /// How many.
    pub(super) len: usize,
    pub(super) seed: u64,
    pub(super) alpha: f64,
    /// Counts of the transcripts that share reads, by place, all draws of one together.
    pub(super) shared: Vec<f32>,
    /// Mean counts over every sweep, by place.
    pub(super) means: Vec<f64>,
    /// The fraction of sweeps in which the transcript has a read, by place.
    pub(super) present: Vec<f64>,
}

impl Draws {
    /// Draws from the exact posterior of `reads` at the prior of `quantified`.
    ///
    /// Each component has a chain of its own, from the optimum, and a fifth of its length is
    /// thrown away first. `None` where `interrupt` was set before the end.
    ///
    /// # Errors
    /// [`Error::Setting`] where no draws are asked for.
    pub fn new(
        reads: &Reads,
        quantified: &Quantified,
        chains: Chains,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Option<Self>> {
        let Chains { draws, thin, seed } = chains;
        for (name, number) in [("draws", draws), ("thin", thin)] {
            if number == 0 {
                return Err(Error::setting(name, "0", "at least 1"));
            }
        }
        let alpha = quantified.alpha;
        let coarse = reads.coarser(GRAIN)?;
        let chain = |component: &Component| {
            if interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return None;
            }
            let places = coarse.before(component);
            // Its first transcript names the component, whatever the order of the others.
            let rng = stream(seed, reads.order[places.start]);
            let local = Local::new(&coarse, component);
            let counts = quantified.counts[places].to_vec();
            Some(run(&local, alpha, counts, rng, (draws, thin)))
        };
        let records: Option<Vec<Record>> = (coarse.components.par_iter())
            .with_max_len(1)
            .map(chain)
            .collect();
        let Some(records) = records else {
            return Ok(None);
        };
        let mut means = reads.unique.clone();
        let mut present: Vec<f64> = (means.iter())
            .map(|&count| if count > 0.0 { 1.0 } else { 0.0 })
            .collect();
        let mut shared = vec![0.0; reads.shared() * draws];
        for (component, record) in coarse.components.iter().zip(records) {
            let places = coarse.before(component);
            means[places.clone()].copy_from_slice(&record.means);
            present[places.clone()].copy_from_slice(&record.present);
            shared[places.start * draws..places.end * draws].copy_from_slice(&record.counts);
        }
        Ok(Some(Self {
            len: draws,
            seed,
            alpha,
            shared,
            means,
            present,
        }))
    }

    /// How many draws there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every draw of the counts of the transcript at `place`.
    pub(super) fn at(&self, reads: &Reads, place: usize, out: &mut [f64]) {
        let range = place * self.len..(place + 1) * self.len;
        match self.shared.get(range) {
            Some(drawn) => {
                for (out, &count) in out.iter_mut().zip(drawn) {
                    *out = f64::from(count);
                }
            }
            None => out.fill(reads.unique[place]),
        }
    }

    /// The counts of draw `index`, in the order of the input.
    pub fn counts(&self, reads: &Reads, index: usize) -> Vec<f64> {
        let mut counts = reads.unique.clone();
        let drawn = self.shared.chunks_exact(self.len);
        for (count, draws) in counts.iter_mut().zip(drawn) {
            *count = f64::from(draws[index]);
        }
        reads.by_transcript(&counts)
    }
}

/// What a chain leaves behind.
struct Record {
    counts: Vec<f32>,
    means: Vec<f64>,
    present: Vec<f64>,
}

/// A chain of one component that begins with expected `counts`.
///
/// A sweep draws fractions given the origins of all reads, then origins given fractions.
fn run(
    local: &Local<'_>,
    alpha: f64,
    mut counts: Vec<f64>,
    mut rng: Xoshiro256PlusPlus,
    (draws, thin): (usize, usize),
) -> Record {
    let (transcripts, first) = (counts.len(), local.first());
    let mut record = Record {
        counts: vec![0.0; transcripts * draws],
        means: vec![0.0; transcripts],
        present: vec![0.0; transcripts],
    };
    let mut logs = vec![0.0; transcripts];
    let (mut scratch, mut boosts) = (Scratch::default(), vec![]);
    let (kept, burn_in) = (draws * thin, draws * thin / 5);
    let weight = (kept as f64).recip();
    for sweep in 0..burn_in + kept {
        for (log, count) in logs.iter_mut().zip(&counts) {
            *log = count + alpha;
        }
        ln_gamma_variates(&mut logs, &mut boosts, &mut rng);
        counts.copy_from_slice(local.unique());
        local.visit_again(&logs, &mut scratch, |ids, offers, (sum, _), reads| {
            divide(reads, offers, sum, &mut rng, |index, reads| {
                counts[(ids[index] - first) as usize] += reads;
            });
        });
        let Some(after) = sweep.checked_sub(burn_in) else {
            continue;
        };
        for (m, &count) in counts.iter().enumerate() {
            record.means[m] += weight * count;
            record.present[m] += if count > 0.0 { weight } else { 0.0 };
            if after % thin == thin - 1 {
                record.counts[m * draws + after / thin] = count as f32;
            }
        }
    }
    record
}

/// Random numbers of a transcript, or of the component that it is the first of.
pub(super) fn stream(seed: u64, transcript: u32) -> Xoshiro256PlusPlus {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    Xoshiro256PlusPlus::seed_from_u64(
        seed.wrapping_add(ODD.wrapping_mul(u64::from(transcript) + 1)),
    )
}

/// Replaces shapes by logarithms of gamma variates, which may be too small for the variates themselves.
fn ln_gamma_variates(shapes: &mut [f64], boosts: &mut Vec<f64>, rng: &mut impl Rng) {
    boosts.clear();
    for shape in shapes.iter_mut() {
        let (raised, boost) = raised(*shape, rng);
        *shape = Gamma::new(raised, 1.0).map_or(f64::NAN, |gamma| gamma.sample(rng));
        boosts.push(boost);
    }
    ln_in_place(shapes);
    for (ln, boost) in shapes.iter_mut().zip(boosts) {
        *ln += *boost;
    }
}

/// A shape of one or more, and what is to be added to the logarithm of its variate for one of `shape`.
pub(super) fn raised(shape: f64, rng: &mut impl Rng) -> (f64, f64) {
    // Γ(a) = Γ(a + 1) U^(1/a), and −ln U is exponential.
    if shape < 1.0 {
        let exponential: f64 = Exp1.sample(rng);
        (shape + 1.0, -exponential / shape)
    } else {
        (shape, 0.0)
    }
}

/// Sends each of `reads` to one of `offers`, whose sum is `sum`.
fn divide(
    reads: f64,
    offers: &[f64],
    sum: f64,
    rng: &mut impl Rng,
    mut to: impl FnMut(usize, f64),
) {
    let [first, second] = *offers else {
        return divide_many(reads, offers, sum, rng, to);
    };
    // Whatever goes past one of two is the other's.
    let (largest, rest) = if second > first {
        (1, first)
    } else {
        (0, second)
    };
    let past = binomial(reads, rest / sum, rng);
    to(largest, reads - past);
    to(1 - largest, past);
    if past <= FEW {
        // Each of a few takes a random number, as among many.
        for _ in 0..past as u64 {
            rng.next_u64();
        }
    }
}

/// The same for any number of offers.
///
/// Most rows have one transcript that takes nearly all; how many reads go past it is one
/// binomial variate, and only those are sent one by one.
fn divide_many(
    reads: f64,
    offers: &[f64],
    sum: f64,
    rng: &mut impl Rng,
    mut to: impl FnMut(usize, f64),
) {
    let largest = (1..offers.len()).fold(0, |a, b| if offers[b] > offers[a] { b } else { a });
    let others = offers.iter().enumerate();
    let others = others.map(|(index, offer)| if index == largest { 0.0 } else { *offer });
    let rest: f64 = others.sum();
    let past = binomial(reads, rest / sum, rng);
    to(largest, reads - past);
    if past <= FEW {
        for _ in 0..past as u64 {
            let mut left = rest * rng.random::<f64>();
            let mut last = largest;
            for (index, offer) in offers.iter().enumerate() {
                if index != largest && left >= 0.0 {
                    left -= offer;
                    last = index;
                }
            }
            to(last, 1.0);
        }
        return;
    }
    let (mut past, mut rest) = (past, rest);
    for (index, offer) in offers.iter().enumerate() {
        if index == largest {
            continue;
        }
        let taken = binomial(past, (offer / rest).min(1.0), rng);
        to(index, taken);
        past -= taken;
        rest -= offer;
        if past == 0.0 {
            return;
        }
    }
    to(largest, past); // rounding left these over
}

/// A binomial variate: by inversion where few are expected, which takes one uniform number.
fn binomial(trials: f64, chance: f64, rng: &mut impl Rng) -> f64 {
    if trials * chance > FEW {
        let trials = trials as u64;
        return Binomial::new(trials, chance.min(1.0)).map_or(0, |b| b.sample(rng)) as f64;
    }
    let mut left = rng.random::<f64>();
    if trials == 1.0 {
        return if left < chance { 1.0 } else { 0.0 };
    }
    if chance >= 1.0 {
        return trials; // whose odds are no number
    }
    let odds = chance / (1.0 - chance);
    let mut probability = (1.0 - chance).powi(trials as i32);
    let mut successes = 0.0;
    while left >= probability && successes < trials {
        left -= probability;
        probability *= odds * (trials - successes) / (successes + 1.0);
        successes += 1.0;
    }
    successes
}

#[cfg(test)]
mod tests {
    use super::*;
    use collapsar_core::elementary::Elementary;

    /// Two are divided as many are, by the same random numbers.
    #[test]
    fn two_are_divided_as_many() {
        for (case, &(reads, offers)) in [
            (1.0, [0.5, 0.5]),
            (1.0, [1e-9, 3.0]),
            (7.0, [2.0, 1.9]),
            (30.0, [0.3, 0.31]),
            (400.0, [0.2, 5.0]),
            (9.0, [1.0, 0.0]),
        ]
        .iter()
        .enumerate()
        {
            let rng = stream(case as u64, 3);
            let (mut one, mut other) = (rng.clone(), rng);
            for _ in 0..200 {
                let (mut few, mut many) = ([0.0; 2], [0.0; 2]);
                let sum = offers[0] + offers[1];
                divide(reads, &offers, sum, &mut one, |index, reads| {
                    few[index] += reads;
                });
                divide_many(reads, &offers, sum, &mut other, |index, reads| {
                    many[index] += reads;
                });
                assert!(few == many && one == other, "{reads} {offers:?}");
                assert_eq!(few[0] + few[1], reads);
            }
        }
    }

    #[test]
    fn logarithms_of_many_variates_are_those_of_each() {
        let shapes: Vec<f64> = (1..70).map(|i| 0.1 * f64::from(i)).collect();
        let (mut one, mut other) = (stream(1, 1), stream(1, 1));
        let mut many = shapes.clone();
        ln_gamma_variates(&mut many, &mut vec![], &mut one);
        for (ln, shape) in many.iter().zip(shapes) {
            let (raised, boost) = raised(shape, &mut other);
            let gamma = Gamma::new(raised, 1.0).expect("a positive shape");
            assert_eq!(*ln, gamma.sample(&mut other).ln_() + boost);
        }
    }
}
