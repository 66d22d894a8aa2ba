//! The likelihood of sequenced fragments: p(fragment | transcript), learned from the fragments.
//!
//! A fragment of length $l$ that begins at $s$ of a transcript $t$ of length $L$ has, after
//! [Glaus12](https://doi.org/10.1093/bioinformatics/bts260),
//!
//! $$p(r \mid t) = \frac{p(l)}{\sum_{k \le L} p(k)} \cdot \frac{b_t(s, l)}{\sum_{s'} b_t(s', l)}
//! \cdot p(\text{orientation}) \cdot p(\text{bases} \mid t, s),$$
//!
//! where $b_t = 1$ unless biases are corrected for. The last factor comes with the placement;
//! this module learns the others from the first fragments and then lets the rest stream through.
//!
//! - `settings`: what a user may set, and the defaults
//! - `library`: library types, and how one is learned from the fragments
//! - `length`: the distribution of fragment lengths, and effective lengths
//! - `unpaired`: reads whose fragment's other end was not seen
//! - `bias`: weights of the places on a transcript
//! - `likelihood`: the factors put together
//! - `stream`: fragments in, likelihoods out

mod bias;
mod length;
mod library;
mod likelihood;
mod settings;
mod stream;
mod unpaired;

pub use length::{LengthDistribution, effective_length};
pub use library::{Ends, Library, LibraryType, Orientations, Strand};
pub use settings::Settings;
pub use stream::{Counts, Fragments, Report};

/// One way to place a fragment on a transcript.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// The transcript's number, from 0.
    pub transcript: u32,
    /// The leftmost base on the transcript, from 0: of the fragment for a pair, of the read alone
    /// otherwise.
    pub start: u32,
    /// One past the rightmost base.
    pub end: u32,
    /// Which reads were placed, and how they lie.
    pub layout: Layout,
    /// ln p(bases | place), relative to a place that agrees with every base; at most 0.
    pub log_odds: f32,
}

/// Which reads of a fragment were placed, and how they lie on the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Both reads of a pair.
    Pair {
        /// Whether the first read has the transcript's strand.
        first_forward: bool,
        /// Whether the second read has the transcript's strand.
        second_forward: bool,
        /// Whether the first read begins left of the second; where both begin at the same base,
        /// whether it is the forward one.
        first_left: bool,
    },
    /// The only read there is.
    Single {
        /// Whether it has the transcript's strand.
        forward: bool,
    },
    /// One read of a pair, the other one not placed.
    Orphan {
        /// Whether it is the first read.
        first: bool,
        /// Whether it has the transcript's strand.
        forward: bool,
    },
}

/// The bases of the transcripts, for the sequence bias.
pub trait Sequences {
    /// Bases of a transcript as letters; all but A, C, G, T (and U) in either case are unknown.
    fn sequence(&self, transcript: u32) -> &[u8];
}

impl<T: AsRef<[u8]>> Sequences for Vec<T> {
    fn sequence(&self, transcript: u32) -> &[u8] {
        self[transcript as usize].as_ref()
    }
}
