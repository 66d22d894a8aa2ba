//! What a user may set, and the defaults.

use serde::{Deserialize, Serialize};

use super::library::Library;
use collapsar_core::{Error, Result};

/// The likelihood of fragments as its user describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The library type, by default learned from the fragments.
    pub library: Library,
    /// Mean and standard deviation of the fragment lengths; learned from pairs without.
    pub fragment_length: Option<(f64, f64)>,
    /// Longer fragments are dropped, and counted. As salmon's `--fldMax`, 1000.
    pub longest: u32,
    /// The probability of a strand or orientation that the library type does not allow; 0, as
    /// salmon's `--incompatPrior`, drops such placements.
    pub incompatible: f64,
    /// Whether fragments that begin or end at some bases are more likely.
    pub sequence_bias: bool,
    /// Whether some parts of a transcript are more likely.
    pub position_bias: bool,
    /// How many fragments the likelihood is learned from.
    pub learn: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            library: Library::Auto,
            fragment_length: None,
            longest: 1000,
            incompatible: 0.0,
            sequence_bias: false,
            position_bias: false,
            learn: 200_000,
        }
    }
}

/// Room for the tables of fragment lengths.
const LONGEST: u32 = 1_000_000;

impl Settings {
    /// The longest fragment length that has a probability: a given distribution is not cut.
    pub(super) fn longest(&self) -> u32 {
        let reach = self
            .fragment_length
            .map_or(0.0, |(mean, sd)| (mean + 8.0 * sd).ceil());
        // `check` keeps the reach within u32.
        self.longest.max(reach as u32)
    }

    pub(super) fn check(&self) -> Result<()> {
        let (mean, sd) = self.fragment_length.unwrap_or((1.0, 1.0));
        let largest = f64::from(LONGEST);
        let bases = "a number of bases, 1 to 1000000";
        let (name, found, expected) = if !(mean >= 1.0 && mean <= largest) {
            ("fragment_length", format!("a mean of {mean}"), bases)
        } else if !(sd > 0.0 && mean + 8.0 * sd <= largest) {
            let found = format!("a deviation of {sd}");
            let expected = "a positive number of bases, the mean and eight of it at most 1000000";
            ("fragment_length", found, expected)
        } else if !(1..=LONGEST).contains(&self.longest) {
            ("longest_fragment", self.longest.to_string(), bases)
        } else if !(0.0..1.0).contains(&self.incompatible) {
            let expected = "a probability from 0 to below 1, 0 to drop such placements";
            ("incompatible", self.incompatible.to_string(), expected)
        } else if self.learn == 0 {
            ("learn", "0".into(), "at least 1 fragment to learn from")
        } else {
            return Ok(());
        };
        Err(Error::setting(name, found, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let good = Settings::default();
        assert!(good.check().is_ok());
        let wrong = [
            Settings {
                fragment_length: Some((f64::NAN, 10.0)),
                ..good.clone()
            },
            Settings {
                fragment_length: Some((200.0, 0.0)),
                ..good.clone()
            },
            Settings {
                longest: 0,
                ..good.clone()
            },
            Settings {
                incompatible: 1.0,
                ..good.clone()
            },
            Settings {
                learn: 0,
                ..good.clone()
            },
        ];
        for settings in wrong {
            assert!(settings.check().is_err(), "{settings:?}");
        }
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), good);
    }
}
