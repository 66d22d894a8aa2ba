//! Fragments in, likelihoods out: the first are kept to learn from, the rest stream through.

use super::bias::Bias;
use super::length::LengthDistribution;
use super::library::{Library, LibraryType, Orientations};
use super::likelihood::{Likelihood, see};
use super::settings::Settings;
use super::{Placement, Sequences};
use collapsar_core::{Error, Place, Result};

/// Placements that are kept to learn from, at most: 20 bytes each.
const KEPT: usize = 4_000_000;
const _: () = assert!(size_of::<Placement>() <= 20);

/// Takes the entries of a fragment: (transcript, ln p(fragment | transcript)).
type Out<'o> = dyn FnMut(&[(u32, f64)]) + 'o;

/// A stream of fragments.
///
/// The first [`Settings::learn`] of them (or four million placements) are kept until the
/// likelihood is learned from them; then they come out, and each later one at once. Fragments
/// come out in the order they came in, without those that are dropped.
pub struct Fragments<'a> {
    transcripts: &'a [u32],
    sequences: Option<&'a dyn Sequences>,
    settings: Settings,
    kept: Kept,
    learned: Option<(Likelihood<'a>, Orientations)>,
    entries: Vec<(u32, f64)>,
    counts: Counts,
}

/// Fragments, one after another.
#[derive(Default)]
struct Kept {
    placements: Vec<Placement>,
    ends: Vec<usize>,
}

impl Kept {
    fn iter(&self) -> impl Iterator<Item = &[Placement]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let ranges = starts.zip(&self.ends);
        ranges.map(|(&start, &end)| &self.placements[start..end])
    }
}

/// What became of the fragments; all but the first add up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All fragments.
    pub fragments: u64,
    /// Those that came out.
    pub used: u64,
    /// Those without a placement.
    pub unplaced: u64,
    /// Those dropped as the library type allows none of their placements.
    pub incompatible: u64,
    /// Those dropped as longer than the longest length in each placement that is allowed.
    pub too_long: u64,
}

/// What was learned, and what became of the fragments.
#[derive(Debug, Clone)]
pub struct Report {
    /// The library type, given or learned.
    pub library: LibraryType,
    /// How the fragments lie that were learned from.
    pub orientations: Orientations,
    /// The distribution of fragment lengths.
    pub fragment_length: LengthDistribution,
    /// The effective length of each transcript, at least 1 unless biases are corrected for.
    pub effective_lengths: Vec<f64>,
    /// What became of the fragments.
    pub counts: Counts,
}

impl<'a> Fragments<'a> {
    /// A stream of fragments of transcripts with these lengths. Sequences are only needed for
    /// [`Settings::sequence_bias`].
    ///
    /// # Errors
    /// [`Error::Setting`] where a setting is out of range or needs sequences that are not there.
    pub fn new(
        lengths: &'a [u32],
        sequences: Option<&'a dyn Sequences>,
        settings: Settings,
    ) -> Result<Self> {
        settings.check()?;
        if settings.sequence_bias && sequences.is_none() {
            let found = "on without the sequences of the transcripts";
            return Err(Error::setting(
                "sequence_bias",
                found,
                "them to be given too",
            ));
        }
        Ok(Self {
            transcripts: lengths,
            sequences,
            settings,
            kept: Kept::default(),
            learned: None,
            entries: vec![],
            counts: Counts::default(),
        })
    }

    /// Takes a fragment with all of its placements. `out` gets the entries of every fragment that can
    /// come out by now; places on the same transcript have an entry each, for the caller to add up.
    ///
    /// # Errors
    /// [`Error::Data`] where a placement is not on its transcript or its odds are not a number
    /// up to 0; [`Error::Setting`] where the library type given is one of single reads and the
    /// fragments are pairs.
    pub fn push(&mut self, placements: &[Placement], out: &mut Out<'_>) -> Result<()> {
        self.counts.fragments += 1;
        for placement in placements {
            self.check(placement)?;
        }
        if self.learned.is_some() {
            self.pass_on(placements, out);
            return Ok(());
        }
        self.kept.placements.extend_from_slice(placements);
        self.kept.ends.push(self.kept.placements.len());
        if self.kept.ends.len() >= self.settings.learn || self.kept.placements.len() >= KEPT {
            self.learn(out)?;
        }
        Ok(())
    }

    /// Learns from what is kept if nothing was learned yet, passes it on, and reports.
    ///
    /// # Errors
    /// As [`Fragments::push`].
    pub fn finish(mut self, out: &mut Out<'_>) -> Result<Report> {
        if self.learned.is_none() {
            self.learn(out)?;
        }
        let (mut likelihood, orientations) = self.learned.expect("`learn` sets it");
        Ok(Report {
            library: likelihood.library,
            orientations,
            effective_lengths: likelihood.effective_lengths(),
            fragment_length: likelihood.unpaired.lengths,
            counts: self.counts,
        })
    }

    fn check(&self, placement: &Placement) -> Result<()> {
        let (number, odds) = (placement.transcript, placement.log_odds);
        let (start, end) = (placement.start, placement.end);
        let (found, expected) = match self.transcripts.get(number as usize) {
            None => (
                format!("transcript number {number}"),
                format!("less than {}", self.transcripts.len()),
            ),
            Some(&length) if start >= end || end > length => (
                format!("bases {start} to {end} of transcript number {number}"),
                format!("a range within its {length}"),
            ),
            _ if !(odds <= 0.0 && odds.is_finite()) => (
                format!("log odds of {odds}"),
                "finite numbers up to 0".into(),
            ),
            _ => return Ok(()),
        };
        let place = Place::item("fragment", self.counts.fragments as usize - 1);
        Err(Error::data(place, found, expected))
    }

    fn learn(&mut self, out: &mut Out<'_>) -> Result<()> {
        let kept = std::mem::take(&mut self.kept);
        let mut orientations = Orientations::default();
        for placements in kept.iter() {
            orientations.add(placements.iter().map(|placement| placement.layout));
        }
        let library = match self.settings.library {
            Library::Auto => orientations.library(),
            Library::Given(library) => library,
        };
        if !library.paired() && orientations.paired() > 0 {
            let found = format!("{library} with reads in pairs");
            let expected = format!("A, or {} if that is known", orientations.library());
            return Err(Error::setting("library_type", found, expected));
        }
        let longest = self.settings.longest();
        let lengths = match self.settings.fragment_length {
            Some((mean, sd)) => LengthDistribution::given(mean, sd, longest),
            None => see(kept.iter(), self.transcripts, library, longest).learn(),
        };
        let incompatible = self.settings.incompatible;
        let mut likelihood = Likelihood::new(self.transcripts, library, incompatible, lengths);
        if let Some(bias) = Bias::new(self.transcripts, self.sequences, &self.settings)? {
            likelihood.correct(bias, kept.iter());
        }
        self.learned = Some((likelihood, orientations));
        for placements in kept.iter() {
            self.pass_on(placements, out);
        }
        Ok(())
    }

    fn pass_on(&mut self, placements: &[Placement], out: &mut Out<'_>) {
        let Some((likelihood, _)) = &mut self.learned else {
            return;
        };
        let too_long = likelihood.entries(placements, &mut self.entries);
        let count = if placements.is_empty() {
            &mut self.counts.unplaced
        } else if !self.entries.is_empty() {
            &mut self.counts.used
        } else if too_long {
            &mut self.counts.too_long
        } else {
            &mut self.counts.incompatible
        };
        *count += 1;
        if !self.entries.is_empty() {
            out(&self.entries);
        }
    }
}
