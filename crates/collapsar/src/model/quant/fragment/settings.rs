//! What a user may set, and the defaults.

use serde::{Deserialize, Serialize};

use super::library::Library;
use crate::error::{Error, Result};

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
        let refuse = |name: &'static str, found: String, expected: &str| {
            Err(Error::setting(name, found, expected))
        };
        if let Some((mean, sd)) = self.fragment_length {
            let largest = f64::from(LONGEST);
            if !(mean >= 1.0 && mean <= largest) {
                let expected = "a number of bases, 1 to 1000000";
                return refuse("fragment_length", format!("a mean of {mean}"), expected);
            }
            if !(sd > 0.0 && mean + 8.0 * sd <= largest) {
                let expected =
                    "a positive number of bases, the mean and eight of it at most 1000000";
                return refuse("fragment_length", format!("a deviation of {sd}"), expected);
            }
        }
        if !(1..=LONGEST).contains(&self.longest) {
            let expected = "a number of bases, 1 to 1000000";
            return refuse("longest_fragment", self.longest.to_string(), expected);
        }
        if !(0.0..1.0).contains(&self.incompatible) {
            let expected = "a probability from 0 to below 1, 0 to drop such placements";
            return refuse("incompatible", self.incompatible.to_string(), expected);
        }
        if self.learn == 0 {
            return refuse("learn", "0".into(), "at least 1 fragment to learn from");
        }
        Ok(())
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
