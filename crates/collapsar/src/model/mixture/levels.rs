//! Columns of levels: that they can be used, what they add to the collapsed half, and what is said of them (maths §4.10).

use serde::{Deserialize, Serialize};

use super::posterior::Shape;
use super::{Covariance, Mixture};
use collapsar_core::elementary::Elementary;
use collapsar_core::family::Dirichlet;
use collapsar_core::rows::{LevelColumn, LevelPlaces, MISSING};
use collapsar_core::{Blocks, Change, Error, Hint, IndexMap, Place, Point, Result};

/// Levels of all columns times components at most: threads have 64 partial sums of a number for each.
const MOST: usize = 1_000_000;

/// What a component says of a column of levels: a Dirichlet distribution over their probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelProbabilities {
    /// Its concentrations: prior plus expected counts.
    pub concentrations: Vec<f64>,
    /// Expected probabilities.
    pub probabilities: Vec<f64>,
    /// Posterior standard deviations of the probabilities.
    pub sds: Vec<f64>,
}

impl LevelProbabilities {
    /// Those of a Dirichlet distribution.
    pub fn new(concentrations: Vec<f64>) -> Self {
        let total: f64 = concentrations.iter().sum();
        let probabilities: Vec<f64> = concentrations.iter().map(|a| a / total).collect();
        let sd = |p: &f64| (p * (1.0 - p).max(0.0) / (total + 1.0)).sqrt();
        Self {
            sds: probabilities.iter().map(sd).collect(),
            probabilities,
            concentrations,
        }
    }

    /// The log of each level's expected probability, which is that of a new row's.
    pub(super) fn ln_probabilities(&self) -> impl Iterator<Item = f64> {
        let total: f64 = self.concentrations.iter().sum();
        self.concentrations.iter().map(move |a| (a / total).ln_())
    }

    /// The likeliest level, and its probability.
    pub fn likeliest(&self) -> (usize, f64) {
        let each = self.probabilities.iter().copied().enumerate();
        each.fold(
            (0, 0.0),
            |best, next| if next.1 > best.1 { next } else { best },
        )
    }
}

/// How many rows columns of levels speak of, as the first has them.
pub(super) fn rows(categories: &[LevelColumn]) -> usize {
    categories.first().map_or(0, |column| column.codes.len())
}

/// Refuses columns of levels that do not fit so many rows and components; places count on from `numbers` columns of numbers.
pub(super) fn check(
    categories: &[LevelColumn],
    (rows, numbers, components): (usize, usize, usize),
) -> Result<()> {
    let mut all = 0_usize;
    for (place, column) in (numbers..).zip(categories) {
        let place = Place::Column(place);
        if column.codes.len() != rows {
            let found = format!("levels of {} rows", column.codes.len());
            return Err(Error::data(
                place,
                found,
                format!("{rows}, one for each row"),
            ));
        }
        let known = |code: &&u32| **code != MISSING;
        if let Some(code) = column
            .codes
            .iter()
            .filter(known)
            .find(|code| **code as usize >= column.levels)
        {
            let expected = format!("levels below {}", column.levels);
            return Err(Error::data(place, format!("level {code}"), expected));
        }
        if column.levels == 0 || !column.codes.iter().any(|code| known(&code)) {
            let error = Error::data(place, "no value", "a column that has a value");
            return Err(error.with_hint(Hint::give("columns")));
        }
        all = all.saturating_add(column.levels);
    }
    if all.saturating_mul(components) > MOST {
        let found = format!("{all} levels in {components} components");
        let expected = format!("at most {MOST} of both multiplied");
        let error = Error::data(Place::Whole("categorical columns"), found, expected);
        let fewer = Hint::Option("components", Change::Fewer);
        return Err(error.with_hint(Hint::Any(vec![Hint::give("columns"), fewer])));
    }
    Ok(())
}

/// Codes as numbers that tell data apart.
pub(super) fn numbers(categories: &[LevelColumn]) -> Vec<f64> {
    let of = |column: &LevelColumn| {
        let codes = column.codes.iter();
        let codes = codes.map(|code| {
            if *code == MISSING {
                -1.0
            } else {
                f64::from(*code)
            }
        });
        std::iter::once(column.levels as f64)
            .chain(codes)
            .collect::<Vec<_>>()
    };
    categories.iter().flat_map(of).collect()
}

/// Joins a Dirichlet distribution for each component and column, after all other blocks.
pub(super) fn join(
    blocks: Blocks,
    places: &LevelPlaces,
    (components, concentrations): (usize, &[f64]),
) -> Result<Blocks> {
    let each = (0..components).flat_map(|k| (0..places.columns()).map(move |c| (k, c)));
    each.into_iter().try_fold(blocks, |blocks, (k, c)| {
        let place = places.of(k, c);
        let name = format!("levels {} of component {}", c + 1, k + 1);
        let prior = vec![concentrations[c]; place.len()];
        let map = IndexMap::range(place.start, place.len());
        blocks.join(name, Dirichlet::new(place.len()), prior, map)
    })
}

impl<L: Shape> Mixture<L> {
    /// How many blocks there are for weights and the parameters of numbers.
    pub(super) fn blocks_of_numbers(&self) -> usize {
        match self.covariance {
            _ if self.columns() == 0 => 1,
            Covariance::Tied => 2,
            _ => 1 + self.components(),
        }
    }

    /// The block of a component's column of levels.
    pub(super) fn level_block(&self, k: usize, column: usize) -> usize {
        self.blocks_of_numbers() + k * self.levels.columns() + column
    }

    /// What component `k` says of each column of levels.
    pub(super) fn level_probabilities(&self, k: usize, point: &Point) -> Vec<LevelProbabilities> {
        let natural = |c| {
            self.blocks
                .natural(self.level_block(k, c), &point.statistics)
        };
        (0..self.levels.columns())
            .map(|c| LevelProbabilities::new(natural(c)))
            .collect()
    }
}
