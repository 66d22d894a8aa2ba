//! Columns of levels beside the numbers of rows: one lookup for each component, column and row (maths §4.10).

use std::ops::Range;

use super::Block;
use crate::number::Dual;

/// The level of a cell that has none.
pub const MISSING: u32 = u32::MAX;

/// A column of which each row has one of so many levels, or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelColumn {
    /// How many levels there are.
    pub levels: usize,
    /// That of each row, from 0, or [`MISSING`].
    pub codes: Vec<u32>,
}

/// Where the statistics of levels are: after all others, by components, then columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelPlaces {
    first: usize,
    /// Where each column begins among those of a component, and where the last ends.
    starts: Vec<usize>,
}

impl LevelPlaces {
    /// Those of columns with so many levels, the first of them at `first`.
    pub fn new(first: usize, sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        Self { first, starts }
    }

    /// Where the first is.
    pub fn first(&self) -> usize {
        self.first
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many levels all columns have.
    pub fn levels(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Those of a component's column among the levels of all columns.
    pub fn within(&self, column: usize) -> Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    /// Those of a component.
    pub fn own(&self, component: usize) -> Range<usize> {
        let levels = self.levels();
        let first = self.first + component * levels;
        first..first + levels
    }

    /// Those of a component's column.
    pub fn of(&self, component: usize, column: usize) -> Range<usize> {
        let (first, within) = (self.own(component).start, self.within(column));
        first + within.start..first + within.end
    }
}

/// The columns, in the order in which rows are kept.
#[derive(Debug)]
pub(super) struct Levels {
    columns: Vec<LevelColumn>,
    places: LevelPlaces,
}

impl Levels {
    /// Columns whose codes are in the order in which rows are kept; statistics begin at `first`.
    pub(super) fn new(columns: Vec<LevelColumn>, first: usize) -> Self {
        let places = LevelPlaces::new(first, columns.iter().map(|column| column.levels));
        Self { columns, places }
    }

    pub(super) fn places(&self) -> &LevelPlaces {
        &self.places
    }

    pub(super) fn columns(&self) -> &[LevelColumn] {
        &self.columns
    }

    /// How many messages so many components have about levels.
    pub(super) fn count(&self, components: usize) -> usize {
        components * self.places.levels()
    }

    /// Visits the messages of each component and column, as lines of a block have them, with the codes of its rows.
    fn each(
        &self,
        first: usize,
        width: usize,
        components: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>, &[u32])> {
        let levels = self.places.levels();
        let columns = self.columns.iter().enumerate();
        columns.flat_map(move |(c, column)| {
            let codes = &column.codes[first..first + width];
            let within = self.places.within(c);
            (0..components).map(move |k| {
                let first = k * levels;
                (k, first + within.start..first + within.end, codes)
            })
        })
    }

    /// Adds the message of each row's levels to the logits of a block, components by rows; `messages` are those about levels.
    pub(super) fn add(&self, messages: &[f64], first: usize, width: usize, logits: &mut [f64]) {
        for (k, place, codes) in self.each(first, width, logits.len() / width) {
            let table = &messages[place];
            for (logit, code) in logits[k * width..][..width].iter_mut().zip(codes) {
                // A cell without a level is beyond all tables, and adds nothing.
                if let Some(message) = table.get(*code as usize) {
                    *logit += message;
                }
            }
        }
    }

    /// Adds responsibilities of a block, components by rows, to the statistics of the rows' levels.
    pub(super) fn gather(&self, first: usize, width: usize, all: &[f64], statistics: &mut [f64]) {
        for (k, place, codes) in self.each(first, width, all.len() / width) {
            let table = &mut statistics[place];
            for (r, code) in all[k * width..][..width].iter().zip(codes) {
                if let Some(sum) = table.get_mut(*code as usize) {
                    *sum += r;
                }
            }
        }
    }

    /// As [`Levels::gather`], of a whole block.
    pub(super) fn gather_block(&self, block: Block<'_>, all: &[f64], statistics: &mut [f64]) {
        self.gather(block.first, block.width, all, statistics);
    }

    /// As [`Levels::add`], for one row.
    pub(super) fn add_slopes(&self, messages: &[Dual], row: usize, logits: &mut [Dual]) {
        for (k, place, codes) in self.each(row, 1, logits.len()) {
            if let Some(message) = messages[place].get(codes[0] as usize) {
                logits[k] += *message;
            }
        }
    }

    /// As [`Levels::gather`], the slopes of one row.
    pub(super) fn gather_slopes(&self, row: usize, all: &[Dual], statistics: &mut [f64]) {
        for (k, place, codes) in self.each(row, 1, all.len()) {
            if let Some(sum) = statistics[place].get_mut(codes[0] as usize) {
                *sum += all[k].slope;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<LevelColumn> {
        vec![
            LevelColumn {
                levels: 2,
                codes: vec![0, 1, MISSING, 1],
            },
            LevelColumn {
                levels: 3,
                codes: vec![2, MISSING, 0, 1],
            },
        ]
    }

    #[test]
    fn lookups_are_products_with_indicators() {
        let (components, width) = (3, 4);
        let levels = Levels::new(columns(), 0);
        let messages: Vec<f64> = (0..levels.count(components))
            .map(|i| (1.0 + i as f64).sqrt())
            .collect();
        let all: Vec<f64> = (0..components * width)
            .map(|i| 0.1 * f64::from(i as u8))
            .collect();
        let mut logits = all.clone();
        levels.add(&messages, 0, width, &mut logits);
        let mut statistics = vec![0.0; messages.len()];
        levels.gather(0, width, &all, &mut statistics);
        let mut plain = vec![0.0; messages.len()];
        for k in 0..components {
            for row in 0..width {
                let mut logit = all[k * width + row];
                for (c, column) in columns().iter().enumerate() {
                    for level in 0..column.levels {
                        let is = f64::from(u8::from(column.codes[row] == level as u32));
                        let place = levels.places().of(k, c).start + level;
                        logit += is * messages[place];
                        plain[place] += is * all[k * width + row];
                    }
                }
                assert_eq!(logits[k * width + row], logit);
            }
        }
        assert_eq!(statistics, plain);
    }

    #[test]
    fn places_follow_one_another() {
        let places = LevelPlaces::new(7, [2, 3]);
        assert_eq!((places.columns(), places.levels()), (2, 5));
        assert_eq!((places.of(0, 0), places.of(1, 1)), (7..9, 14..17));
        assert_eq!(places.own(1), 12..17);
        assert_eq!(LevelPlaces::default().columns(), 0);
        assert_eq!(LevelPlaces::default().levels(), 0);
    }
}
