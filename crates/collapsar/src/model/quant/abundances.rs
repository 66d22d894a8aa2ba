//! Estimates, deviations and credible intervals of counts and TPM, by transcript or by gene.

use collapsar_core::kernel::logarithm::ln_in_place;
use collapsar_core::random::{Distribution, Gamma};
use rand::Rng;
use rayon::prelude::*;

use super::Quantified;
use super::reads::Reads;
use super::sample::{Draws, raised, stream};
use collapsar_core::elementary::Elementary;
use collapsar_core::vector::add;
use collapsar_core::{Error, Place, Result};

/// The posterior of one number, summarised.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Where 2.5% lie below.
    pub lower: f64,
    /// Where 97.5% lie below.
    pub upper: f64,
}

impl Summary {
    /// Of equally likely values, which change their places on the way.
    fn of(values: &mut [f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // S draws leave S + 1 gaps, into each of which one more would fall as often.
        let mut quantile = |probability: f64| {
            let place = (probability * (count + 1.0) - 1.0).clamp(0.0, count - 1.0);
            let by_size = |a: &f64, b: &f64| a.total_cmp(b);
            let (_, &mut low, above) = values.select_nth_unstable_by(place as usize, by_size);
            if place.fract() == 0.0 {
                return low;
            }
            let high = above.iter().copied().min_by(by_size).unwrap_or(low);
            low + place.fract() * (high - low)
        };
        let (lower, upper) = (quantile(0.025), quantile(0.975));
        Self {
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            lower,
            upper,
        }
    }
}

/// What is known of where the reads came from.
#[derive(Debug, Clone, Copy)]
pub enum Origins<'a> {
    /// Expected counts alone: the collapsed posterior is a Dirichlet distribution, and too narrow
    /// where reads are shared (maths §8.7).
    Collapsed(&'a Quantified),
    /// Draws from the exact posterior.
    Exact(&'a Draws),
}

/// Best guesses, in the order of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// Numbers of reads, which add up to all of them.
    pub counts: Vec<f64>,
    /// Transcripts per million.
    pub tpm: Vec<f64>,
}

/// The posterior of counts and TPM, by transcript or by gene.
#[derive(Debug)]
pub struct Abundances<'a> {
    reads: &'a Reads,
    origins: Origins<'a>,
    /// Effective lengths in the order of the input.
    lengths: &'a [f64],
    /// The same and what the prior adds, which draws of TPM divide by (maths §8.9).
    exposures: Vec<f64>,
    places: Vec<u32>,
    alpha: f64,
    draws: usize,
    seed: u64,
    /// The sum over transcripts of what [`Self::fractions`] draws.
    sums: Vec<f64>,
    /// The same sum with each by its exposure.
    rates: Vec<f64>,
    /// What was drawn for the first places, all draws of one together: for the others it is drawn again.
    kept: Vec<f64>,
}

/// A transcript that has a read in a smaller fraction of draws is taken to be absent.
const LIKELY: f64 = 0.5;
/// Transcripts that one thread sums up at a time.
const CHUNK: usize = 256;
/// Draws of fractions that are kept: 32 MB at most, when rows have been let go of.
const MOST_KEPT: usize = 1 << 22;

impl<'a> Abundances<'a> {
    /// Abundances of transcripts of these effective lengths, in the order of the input; one that
    /// is not a transcript, such as noise, is infinitely long and has no TPM.
    ///
    /// Collapsed origins are drawn `draws` times from `seed`; exact ones as often as they were.
    ///
    /// # Errors
    /// [`Error::Data`] where lengths do not fit, [`Error::Setting`] where nothing is to be drawn.
    pub fn new(
        reads: &'a Reads,
        origins: Origins<'a>,
        lengths: &'a [f64],
        (draws, seed): (usize, u64),
    ) -> Result<Self> {
        let positive = |length: &f64| *length > 0.0;
        if let Some(wrong) = lengths.iter().position(|length| !positive(length)) {
            let found = format!("an effective length of {}", lengths[wrong]);
            let place = Place::item("transcript", wrong);
            return Err(Error::data(place, found, "a positive number"));
        }
        if lengths.len() != reads.transcripts() {
            let expected = format!("one for each of {} transcripts", reads.transcripts());
            let place = Place::Whole("effective lengths");
            return Err(Error::data(place, lengths.len().to_string(), expected));
        }
        if draws == 0 {
            return Err(Error::setting("draws", "0", "at least 1"));
        }
        let (alpha, draws, seed) = match origins {
            Origins::Collapsed(quantified) => (quantified.alpha, draws, seed),
            Origins::Exact(exact) => (exact.alpha, exact.len, exact.seed),
        };
        let all: f64 = lengths.iter().filter(|length| length.is_finite()).sum();
        let added = alpha * all / reads.reads();
        let places: Vec<u32> = (0..lengths.len() as u32).collect();
        let mut abundances = Self {
            reads,
            origins,
            lengths,
            exposures: lengths.iter().map(|length| length + added).collect(),
            places: reads.by_transcript(&places),
            alpha,
            draws,
            seed,
            sums: vec![],
            rates: vec![],
            kept: vec![],
        };
        abundances.sum_fractions();
        Ok(abundances)
    }

    /// How often everything was drawn.
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// Best guesses.
    ///
    /// From exact draws they are the mean counts of transcripts that are more likely there than
    /// not; the others' reads are distributed within the component (maths §8.9).
    pub fn estimates(&self) -> Estimates {
        let counts = match self.origins {
            Origins::Collapsed(quantified) => quantified.counts.clone(),
            Origins::Exact(draws) => likely(self.reads, draws),
        };
        let counts = self.reads.by_transcript(&counts);
        let rates = counts.iter().zip(self.lengths);
        let rates: Vec<f64> = rates.map(|(count, length)| count / length).collect();
        let total: f64 = rates.iter().sum();
        let scale = if total > 0.0 { 1e6 / total } else { 0.0 };
        let tpm = rates.iter().map(|rate| scale * rate).collect();
        Estimates { counts, tpm }
    }

    /// Counts and TPM of each transcript.
    pub fn transcripts(&self) -> Vec<(Summary, Summary)> {
        (0..self.lengths.len() as u32)
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|transcript| self.summarise(&[transcript]))
            .collect()
    }

    /// Counts and TPM of each group of transcripts, such as the transcripts of a gene.
    pub fn groups(&self, groups: &[Vec<u32>]) -> Vec<(Summary, Summary)> {
        (groups.par_iter())
            .map(|group| self.summarise(group))
            .collect()
    }

    /// The numbers of reads in these of the draws, each in the order of the input.
    pub fn count_draws(&self, chosen: impl IntoIterator<Item = usize>) -> Vec<Vec<f64>> {
        let chosen: Vec<usize> = chosen.into_iter().collect();
        let mut draws = vec![vec![0.0; self.lengths.len()]; chosen.len()];
        if chosen.is_empty() {
            return draws;
        }
        let mut drawn = vec![0.0; self.draws];
        // By transcript, each of which has a stream of random numbers of its own.
        for (place, &transcript) in self.reads.order.iter().enumerate() {
            if matches!(self.origins, Origins::Collapsed(_)) {
                self.fractions(place, &mut drawn);
            }
            self.turn_into_counts(place, &mut drawn);
            for (draw, &index) in draws.iter_mut().zip(&chosen) {
                draw[transcript as usize] = drawn[index];
            }
        }
        draws
    }

    fn summarise(&self, transcripts: &[u32]) -> (Summary, Summary) {
        let mut counts = vec![0.0; self.draws];
        let mut tpm = vec![0.0; self.draws];
        let mut drawn = vec![0.0; self.draws];
        for &transcript in transcripts {
            let place = self.places[transcript as usize] as usize;
            self.fractions(place, &mut drawn);
            let scale = 1e6 / self.exposures[transcript as usize];
            for ((tpm, fraction), total) in tpm.iter_mut().zip(&drawn).zip(&self.rates) {
                *tpm += scale * fraction / total;
            }
            self.turn_into_counts(place, &mut drawn);
            add(&mut counts, 1.0, &drawn);
        }
        (Summary::of(&mut counts), Summary::of(&mut tpm))
    }

    /// Turns every draw of the fraction of the transcript at `place` into that of its reads.
    fn turn_into_counts(&self, place: usize, out: &mut [f64]) {
        match self.origins {
            Origins::Exact(draws) => draws.at(self.reads, place, out),
            Origins::Collapsed(_) => {
                for (count, sum) in out.iter_mut().zip(&self.sums) {
                    *count *= self.reads.reads() / sum;
                }
            }
        }
    }

    /// Every draw of the fraction of the transcript at `place`, up to a factor.
    fn fractions(&self, place: usize, out: &mut [f64]) {
        let range = place * self.draws..(place + 1) * self.draws;
        if let Some(kept) = self.kept.get(range) {
            out.copy_from_slice(kept);
            return;
        }
        // Chains have the streams of the seed itself.
        let mut rng = stream(!self.seed, self.reads.order[place]);
        match self.origins {
            Origins::Exact(draws) => draws.at(self.reads, place, out),
            Origins::Collapsed(quantified) => out.fill(quantified.counts[place]),
        }
        for shape in &mut *out {
            *shape += self.alpha;
        }
        gamma_variates(out, &mut rng);
    }

    /// Adds up what is drawn, and keeps as much of it as there is room for.
    fn sum_fractions(&mut self) {
        let places: Vec<usize> = (0..self.lengths.len()).collect();
        let mut kept = vec![0.0; places.len().min(MOST_KEPT / self.draws) * self.draws];
        let mut rooms: Vec<&mut [f64]> = kept.chunks_mut(CHUNK * self.draws).collect();
        rooms.resize_with(places.len().div_ceil(CHUNK), Default::default);
        let of = &*self;
        let partials: Vec<[Vec<f64>; 2]> = (places.par_chunks(CHUNK).zip(rooms))
            .map(|(places, room)| {
                let [mut sums, mut rates, mut drawn] = [(); 3].map(|()| vec![0.0; of.draws]);
                let mut room = room.chunks_exact_mut(of.draws);
                for &place in places {
                    of.fractions(place, &mut drawn);
                    add(&mut sums, 1.0, &drawn);
                    let exposure = of.exposures[of.reads.order[place] as usize];
                    add(&mut rates, exposure.recip(), &drawn);
                    if let Some(room) = room.next() {
                        room.copy_from_slice(&drawn);
                    }
                }
                [sums, rates]
            })
            .collect();
        let none = vec![f64::MIN_POSITIVE; self.draws];
        let (mut sums, mut rates) = (none.clone(), none);
        // In the order of the chunks, whichever thread was first.
        for [part, part_rates] in &partials {
            add(&mut sums, 1.0, part);
            add(&mut rates, 1.0, part_rates);
        }
        (self.sums, self.rates, self.kept) = (sums, rates, kept);
    }
}

/// Replaces shapes by gamma variates, without a detour by their logarithms where they are not too small.
fn gamma_variates(shapes: &mut [f64], rng: &mut impl Rng) {
    let (mut small, mut logs, mut boosts) = (vec![], vec![], vec![]);
    // Shapes come again: all draws of a transcript that shares no read have the same one.
    let mut last: Option<(f64, Option<Gamma>)> = None;
    for (index, shape) in shapes.iter_mut().enumerate() {
        let below_one = *shape < 1.0;
        let (raised, boost) = raised(*shape, rng);
        let gamma = match last {
            Some((known, gamma)) if known == raised => gamma,
            _ => Gamma::new(raised, 1.0).ok(),
        };
        last = Some((raised, gamma));
        let variate = gamma.map_or(f64::NAN, |gamma| gamma.sample(rng));
        if below_one {
            small.push(index);
            logs.push(variate);
            boosts.push(boost);
        } else {
            *shape = variate;
        }
    }
    ln_in_place(&mut logs);
    for ((index, ln), boost) in small.into_iter().zip(logs).zip(boosts) {
        shapes[index] = (ln + boost).exp_();
    }
}

/// Mean counts, by place, of the transcripts that are more likely there than not, or of the
/// likeliest where none is; they take over the others' reads within their component.
fn likely(reads: &Reads, draws: &Draws) -> Vec<f64> {
    let mut counts = draws.means.clone();
    for component in &reads.components {
        let places = component.places.clone();
        let (counts, present) = (&mut counts[places.clone()], &draws.present[places]);
        let least = present.iter().copied().fold(0.0, f64::max).min(LIKELY);
        let all: f64 = counts.iter().sum();
        for (count, &present) in counts.iter_mut().zip(present) {
            if present < least {
                *count = 0.0;
            }
        }
        let kept: f64 = counts.iter().sum();
        for count in counts {
            *count *= all / kept;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::reads::{Compression, ReadsBuilder};
    use super::*;

    #[test]
    fn summaries_are_those_of_sorted_values() {
        for count in [1, 2, 3, 39, 40, 100, 401] {
            let value = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 7.0;
            let mut values: Vec<f64> = (0..count).map(value).collect();
            let mut sorted = values.clone();
            let found = Summary::of(&mut values);
            sorted.sort_unstable_by(f64::total_cmp);
            let place = |probability: f64| {
                let last = count as f64 - 1.0;
                let place = (probability * (count as f64 + 1.0) - 1.0).clamp(0.0, last);
                let (low, high) = (
                    sorted[place.floor() as usize],
                    sorted[place.ceil() as usize],
                );
                low + place.fract() * (high - low)
            };
            assert_eq!((found.lower, found.upper), (place(0.025), place(0.975)));
        }
    }

    /// What is kept is what is drawn again, of small shapes and others.
    #[test]
    fn draws_that_are_kept_are_those_that_are_not() {
        let mut builder = ReadsBuilder::new(700, Compression::default()).expect("settings");
        for transcript in 0..700_u32 {
            let (next, count) = ((transcript * 31 + 1) % 700, f64::from(transcript % 4 + 1));
            builder.push(&[(transcript, -1.0)], count).expect("a read");
            builder
                .push(&[(transcript, -1.0), (next, -2.0)], 1.0)
                .expect("a read");
        }
        let reads = builder.finish().expect("reads");
        let len = 9;
        let counts = (0..reads.shared() * len).map(|i| [0.0, 3.0, 3.0][i % 3]);
        let draws = Draws {
            len,
            seed: 5,
            alpha: 0.1,
            shared: counts.collect(),
            means: vec![1.0; 700],
            present: vec![1.0; 700],
        };
        let lengths = vec![100.0; 700];
        let origins = Origins::Exact(&draws);
        let mut abundances = Abundances::new(&reads, origins, &lengths, (1, 0)).expect("lengths");
        assert_eq!(abundances.kept.len(), 700 * len);
        let kept: Vec<(Summary, Summary)> = abundances.transcripts();
        abundances.kept.truncate(300 * len);
        let some = abundances.transcripts();
        abundances.kept.clear();
        assert!(kept == some && kept == abundances.transcripts());
        // One variate at a time.
        let mut rng = stream(!5, reads.order[4]);
        let mut drawn = vec![0.0; len];
        abundances.fractions(4, &mut drawn);
        for (drawn, count) in drawn.iter().zip(&draws.shared[4 * len..]) {
            let (shape, boost) = raised(f64::from(*count) + 0.1, &mut rng);
            let variate = Gamma::new(shape, 1.0).expect("a shape").sample(&mut rng);
            let variate = if *count < 1.0 {
                (variate.ln_() + boost).exp_()
            } else {
                variate
            };
            assert_eq!(*drawn, variate);
        }
    }
}
