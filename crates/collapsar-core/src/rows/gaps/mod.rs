//! Rows with missing numbers: what the columns that are left of a row say, and what is expected of the others.
//!
//! Rows stand in the order of the columns that they miss, so that what rows share is integrated out once: each set of
//! missing columns is one step away from that without the last of them. A pass goes down and up this tree.
//!
//! - `level`: one column integrated out, and put back
//! - `pass`: what is done with the rows of a set

mod level;
mod pass;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::number::Real;
use level::{Level, messages};
pub(super) use pass::Table;

/// Which rows miss which columns.
#[derive(Debug)]
pub(super) struct Gaps {
    columns: usize,
    components: usize,
    /// Whether components share the messages about products.
    shared: bool,
    /// The row of the data that each row is, in the order in which they are kept.
    order: Vec<u32>,
    patterns: Vec<Pattern>,
}

/// Rows that miss the same columns.
#[derive(Debug)]
struct Pattern {
    missing: Vec<usize>,
    rows: Range<usize>,
}

impl Gaps {
    /// Finds which columns each row misses; how rows are kept. Of a column, what is not a number is missing.
    pub(super) fn find(values: &[f64], columns: usize, components: usize, shared: bool) -> Self {
        let missing = |row: &u32| {
            let row = &values[*row as usize * columns..][..columns];
            let gaps = row.iter().enumerate().filter(|(_, x)| x.is_nan());
            gaps.map(|(column, _)| column)
        };
        let mut order: Vec<u32> = (0..(values.len() / columns) as u32).collect();
        // The fewest first; rows of one pattern in the order of the data.
        order.sort_by(|a, b| missing(a).cmp(missing(b)));
        let mut patterns: Vec<Pattern> = vec![];
        for (place, row) in order.iter().enumerate() {
            match patterns.last_mut() {
                Some(last) if missing(row).eq(last.missing.iter().copied()) => {
                    last.rows.end = place + 1;
                }
                _ => patterns.push(Pattern {
                    missing: missing(row).collect(),
                    rows: place..place + 1,
                }),
            }
        }
        Self {
            columns,
            components,
            shared,
            order,
            patterns,
        }
    }

    /// The row of the data that is kept at `place`.
    pub(super) fn row(&self, place: usize) -> usize {
        self.order[place] as usize
    }

    /// Numbers of each row in the order in which rows are kept.
    pub(super) fn sorted(&self, values: &[f64]) -> Vec<f64> {
        let width = values.len() / self.order.len().max(1);
        let rows = self.order.iter();
        rows.flat_map(|row| &values[*row as usize * width..][..width])
            .copied()
            .collect()
    }

    /// How many messages components share.
    pub(super) fn shared(&self) -> usize {
        if self.shared {
            self.columns * (self.columns + 1) / 2
        } else {
            0
        }
    }

    /// Messages by components as the first level has them.
    fn level<T: Real>(&self, at: &[T]) -> Level<T> {
        let (d, k) = (self.columns, self.components);
        let mut level = Level::new(d, k);
        level.columns = (0..d).collect();
        for (message, lanes) in level.messages.chunks_exact_mut(k).enumerate() {
            for (component, lane) in lanes.iter_mut().enumerate() {
                *lane = at[self.place(message, component)];
            }
        }
        level
    }

    /// Where the message of a component about its `feature` is among all.
    fn place(&self, feature: usize, component: usize) -> usize {
        let (d, k) = (self.columns, self.components);
        if !self.shared {
            component * messages(d) + feature
        } else if feature <= d {
            component * (1 + d) + feature
        } else {
            k * (1 + d) + feature - (1 + d)
        }
    }

    /// Adds the statistics of the first level to `out`.
    fn gather<T: Real>(&self, level: &Level<T>, out: &mut [f64], number: impl Fn(T) -> f64) {
        for (feature, lanes) in level.statistics.chunks_exact(self.components).enumerate() {
            for (component, lane) in lanes.iter().enumerate() {
                out[self.place(feature, component)] += number(*lane);
            }
        }
    }

    /// Goes down to each set of missing columns among `rows` and up again; statistics that `leaf` leaves there are
    /// those of the first level in the end, if they are to be kept.
    fn walk<T: Real>(
        &self,
        top: Level<T>,
        rows: &Range<usize>,
        keep: bool,
        mut leaf: impl FnMut(&mut [Level<T>], &[usize], Range<usize>) -> Result<()>,
    ) -> Result<Level<T>> {
        let k = self.components;
        let mut levels = vec![top];
        // The columns that are integrated out, and where they were among those of their level.
        let (mut path, mut places): (Vec<usize>, Vec<usize>) = (vec![], vec![]);
        let mut scratch = vec![T::from(0.0); (self.columns + 1) * k];
        let mut up = |levels: &mut [Level<T>], places: &mut Vec<usize>| {
            if let Some(place) = places.pop()
                && keep
            {
                let (above, below) = levels.split_at_mut(places.len() + 1);
                above[places.len()].restore(place, k, &below[0], &mut scratch);
            }
        };
        let first = self
            .patterns
            .partition_point(|of| of.rows.end <= rows.start);
        for pattern in &self.patterns[first..] {
            if pattern.rows.start >= rows.end {
                break;
            }
            let missing = &pattern.missing;
            let same = path.iter().zip(missing).take_while(|(a, b)| a == b).count();
            while path.len() > same {
                path.pop();
                up(&mut levels, &mut places);
            }
            for &column in &missing[same..] {
                let depth = path.len();
                if levels.len() == depth + 1 {
                    levels.push(Level::new(self.columns - depth - 1, k));
                }
                let (above, below) = levels.split_at_mut(depth + 1);
                let place = above[depth].columns.iter().position(|c| *c == column);
                let place = place.unwrap_or_default();
                if !above[depth].integrate(place, k, &mut below[0]) {
                    return Err(no_variance(column));
                }
                path.push(column);
                places.push(place);
            }
            let rows = pattern.rows.start.max(rows.start)..pattern.rows.end.min(rows.end);
            leaf(&mut levels[..=path.len()], &places, rows)?;
        }
        while !places.is_empty() {
            up(&mut levels, &mut places);
        }
        Ok(levels.swap_remove(0))
    }
}

fn no_variance(column: usize) -> Error {
    Error::domain(
        format!("column {}", column + 1),
        "messages by which a missing value may be anything",
        "those of a positive variance",
    )
}

#[cfg(test)]
mod tests;
