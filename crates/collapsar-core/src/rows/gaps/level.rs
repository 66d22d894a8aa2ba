//! One column integrated out of the messages of all components, and put back into their statistics (maths §4.7).
//!
//! Numbers of all components stand side by side, a run of them for each message, so that loops run along components.

#![allow(clippy::inline_always)] // wide vectors exist only where everything is inlined into the dispatch

use pulp::{Arch, NullaryFnOnce};

use crate::number::Real;

/// Messages of a component about `columns` columns: one, the numbers, their products.
pub(super) fn messages(columns: usize) -> usize {
    1 + columns + columns * (columns + 1) / 2
}

/// Where the product of columns `i` and `j`, the first no later than the second, is among messages about `columns`.
#[inline(always)]
pub(super) fn product(columns: usize, i: usize, j: usize) -> usize {
    1 + columns + i * columns - i * i.saturating_sub(1) / 2 + (j - i)
}

/// What is known of the rows with some columns integrated out: those that are left, and numbers of all components.
#[derive(Debug)]
pub(super) struct Level<T> {
    /// The columns that are left, in order.
    pub(super) columns: Vec<usize>,
    /// What a row's numbers in these columns are answered with.
    pub(super) messages: Vec<T>,
    /// The statistics of rows that were visited below.
    pub(super) statistics: Vec<T>,
    /// How the column that the next level has lost is foreseen: a constant, a slope for each column that is left, and
    /// the variance.
    pub(super) foreseen: Vec<T>,
}

impl<T: Real> Level<T> {
    /// The level of so many columns before anything is known.
    pub(super) fn new(columns: usize, components: usize) -> Self {
        let all = messages(columns) * components;
        Self {
            columns: vec![],
            messages: vec![T::from(0.0); all],
            statistics: vec![T::from(0.0); all],
            foreseen: vec![T::from(0.0); (columns + 1) * components],
        }
    }

    /// Integrates the column at `place` out, into the level below. Whether every component has a variance for it.
    pub(super) fn integrate(&mut self, place: usize, components: usize, below: &mut Self) -> bool {
        below.columns.clear();
        let kept = self.columns.iter().enumerate();
        let kept = kept.filter(|(at, _)| *at != place).map(|(_, c)| *c);
        below.columns.extend(kept);
        below.statistics.fill(T::from(0.0));
        Arch::new().dispatch(Integrate {
            columns: self.columns.len(),
            place,
            components,
            from: &self.messages,
            to: &mut below.messages,
            foreseen: &mut self.foreseen,
        });
        let variances = &self.foreseen[self.columns.len() * components..];
        let positive = |variance: &T| variance.value() > 0.0 && variance.value().is_finite();
        variances.iter().all(positive)
    }

    /// Adds the statistics of the level below to these, with what is expected of the column at `place`.
    pub(super) fn restore(
        &mut self,
        place: usize,
        components: usize,
        below: &Self,
        scratch: &mut [T],
    ) {
        Arch::new().dispatch(Restore {
            columns: self.columns.len(),
            place,
            components,
            from: &below.statistics,
            to: &mut self.statistics,
            foreseen: &self.foreseen,
            scratch,
        });
    }
}

struct Integrate<'a, T> {
    columns: usize,
    place: usize,
    components: usize,
    from: &'a [T],
    to: &'a mut [T],
    foreseen: &'a mut [T],
}

impl<T: Real> NullaryFnOnce for Integrate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            columns,
            place,
            components: k,
            from,
            to,
            foreseen,
        } = self;
        let of = |index: usize| &from[index * k..(index + 1) * k];
        let pair = |i: usize, j: usize| of(product(columns, i.min(j), i.max(j)));
        let half = T::from(0.5);
        let (slopes, variance) = foreseen.split_at_mut(columns * k);
        for (variance, square) in variance.iter_mut().zip(pair(place, place)) {
            *variance = -half / *square;
        }
        let variance = &variance[..k];
        let scale = |out: &mut [T], by: &[T]| {
            for ((out, b), v) in out.iter_mut().zip(by).zip(variance) {
                *out = *b * *v;
            }
        };
        scale(&mut slopes[..k], of(1 + place));
        for at in 0..columns - 1 {
            let column = at + usize::from(at >= place);
            scale(&mut slopes[(at + 1) * k..(at + 2) * k], pair(column, place));
        }
        let slopes = &slopes[..];
        let (constant, tau) = (&slopes[..k], T::from(std::f64::consts::TAU));
        let (own, first) = (of(1 + place), of(0));
        for (lane, out) in to[..k].iter_mut().enumerate() {
            // maths (4.5)
            let width = (tau * variance[lane]).ln();
            *out = first[lane] + half * (own[lane] * constant[lane] + width);
        }
        let mut next = k;
        let mut write = |from: &[T], left: &[T], right: &[T], by: Option<T>| {
            let out = &mut to[next..next + k];
            next += k;
            let each = out.iter_mut().zip(from).zip(left.iter().zip(right));
            match by {
                None => each.for_each(|((out, from), (a, b))| *out = *from + *a * *b),
                Some(by) => each.for_each(|((out, from), (a, b))| *out = *from + by * *a * *b),
            }
        };
        let slope = |at: usize| &slopes[(at + 1) * k..(at + 2) * k];
        for at in 0..columns - 1 {
            let column = at + usize::from(at >= place);
            write(of(1 + column), own, slope(at), None);
        }
        for i in 0..columns - 1 {
            let row = i + usize::from(i >= place);
            let left = pair(row, place);
            write(pair(row, row), left, slope(i), Some(half));
            for j in i + 1..columns - 1 {
                let column = j + usize::from(j >= place);
                write(pair(row, column), left, slope(j), None);
            }
        }
    }
}

struct Restore<'a, T> {
    columns: usize,
    place: usize,
    components: usize,
    from: &'a [T],
    to: &'a mut [T],
    foreseen: &'a [T],
    scratch: &'a mut [T],
}

impl<T: Real> NullaryFnOnce for Restore<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            columns,
            place,
            components: k,
            from,
            to,
            foreseen,
            scratch,
        } = self;
        let left = columns - 1;
        let of = |index: usize| &from[index * k..(index + 1) * k];
        let slope = |at: usize| &foreseen[at * k..(at + 1) * k];
        // What is expected of the column times one, and times each other column: maths (4.6).
        let (expected, last) = scratch[..(columns + 1) * k].split_at_mut(columns * k);
        for (at, out) in expected.chunks_exact_mut(k).enumerate() {
            for ((out, c), t) in out.iter_mut().zip(slope(0)).zip(of(at)) {
                *out = *c * *t;
            }
        }
        let mut add = |out: usize, slope: &[T], of: &[T]| {
            let out = &mut expected[out * k..(out + 1) * k];
            for ((out, c), t) in out.iter_mut().zip(slope).zip(of) {
                *out += *c * *t;
            }
        };
        let mut next = 1 + left;
        for i in 0..left {
            add(0, slope(1 + i), of(1 + i));
            add(1 + i, slope(1 + i), of(next));
            next += 1;
            for j in i + 1..left {
                add(1 + i, slope(1 + j), of(next));
                add(1 + j, slope(1 + i), of(next));
                next += 1;
            }
        }
        for ((out, variance), count) in last.iter_mut().zip(slope(columns)).zip(of(0)) {
            *out = *variance * *count;
        }
        for (at, expected) in expected.chunks_exact(k).enumerate() {
            for ((out, c), e) in last.iter_mut().zip(slope(at)).zip(expected) {
                *out += *c * *e;
            }
        }
        let mut sum = |out: usize, from: &[T]| {
            for (out, x) in to[out * k..(out + 1) * k].iter_mut().zip(from) {
                *out += *x;
            }
        };
        let other = |at: usize| at + usize::from(at >= place);
        sum(0, of(0));
        sum(1 + place, &expected[..k]);
        sum(product(columns, place, place), last);
        let mut next = 1 + left;
        for i in 0..left {
            let row = other(i);
            sum(1 + row, of(1 + i));
            let with = product(columns, row.min(place), row.max(place));
            sum(with, &expected[(1 + i) * k..(2 + i) * k]);
            for j in i..left {
                sum(product(columns, row, other(j)), of(next));
                next += 1;
            }
        }
    }
}
