//! Decides how a sparse precision matrix is factored, solved with and inverted on its pattern.
//!
//! The factorisation is $L D L'$ with a unit diagonal in $L$, column after column. The rows of a
//! column that follow one of its entries are among the rows of that entry's own column; where they
//! are the first of them, as in dense blocks, chains and arrows, the inner loops run along both.

use super::pattern::{Pattern, find_all};
use crate::number::Real;

/// $\Lambda = L D L'$, the columns in the order of the pattern.
#[derive(Debug)]
pub(super) struct Factor<'a, T> {
    pub(super) pattern: &'a Pattern,
    /// $D$.
    pub(super) pivots: Vec<T>,
    /// The entries of $L$ below its diagonal.
    below: Vec<T>,
}

/// $\Lambda^{-1}$ at the entries of the factor.
#[derive(Debug)]
pub(super) struct Inverse<T> {
    /// The diagonal, in the order of elimination.
    pub(super) diagonal: Vec<T>,
    /// The entries below it, at the places of the factor's.
    pub(super) below: Vec<T>,
    /// $\ln|\Lambda|$.
    pub(super) ln_determinant: T,
}

/// Whether `all`, which holds `some`, begins with them; both are sorted.
fn begins(all: &[u32], some: &[u32]) -> bool {
    (some.last()).is_none_or(|last| all[some.len() - 1] == *last)
}

/// Factors the matrix with this diagonal, by scalar, and these entries off it, by pair, into buffers: $D$ and the entries
/// of $L$ below its diagonal.
///
/// # Errors
/// The scalar at which the matrix turns out not to be positive definite.
pub(super) fn refactor<T: Real>(
    pattern: &Pattern,
    diagonal: &[T],
    pairs: &[T],
    pivots: &mut Vec<T>,
    below: &mut Vec<T>,
) -> Result<(), u32> {
    pivots.clear();
    pivots.extend(pattern.order.iter().map(|i| diagonal[*i as usize]));
    below.clear();
    below.resize(pattern.entries(), T::from(0.0));
    for (slot, value) in pattern.slots.iter().zip(pairs) {
        below[*slot] = *value;
    }
    let mut updates = pattern.updates.as_deref();
    for j in 0..pattern.len() {
        let (pivot, scalar) = (pivots[j], pattern.order[j]);
        // What is left of a diagonal entry below its own rounding has no digits at all.
        let least = f64::EPSILON * diagonal[scalar as usize].value();
        if !(pivot.value() > least && pivot.value().is_finite()) {
            return Err(scalar);
        }
        let inverse = pivot.recip();
        if let Some(left) = &mut updates {
            eliminate(pattern, j, inverse, pivots, below, left);
            continue;
        }
        let rows = pattern.rows(j);
        let places = pattern.places(j);
        let (done, rest) = below.split_at_mut(places.end);
        let column = &mut done[places.start..];
        for (s, row) in rows.iter().enumerate() {
            let k = *row as usize;
            let entry = column[s] * inverse;
            pivots[k] -= entry * column[s];
            column[s] = entry;
            let tail = &column[s + 1..];
            let from = pattern.places(k).start - places.end;
            let target = &mut rest[from..from + pattern.rows(k).len()];
            if begins(pattern.rows(k), &rows[s + 1..]) {
                for (t, a) in target.iter_mut().zip(tail) {
                    *t -= entry * *a;
                }
            } else {
                find_all(&rows[s + 1..], pattern.rows(k), |t, at| {
                    target[at] -= entry * tail[t];
                });
            }
        }
    }
    Ok(())
}

/// Eliminates a column where it is known which place each product is taken from; `left` are the places that are still to
/// come.
#[inline]
fn eliminate<T: Real>(
    pattern: &Pattern,
    j: usize,
    inverse: T,
    pivots: &mut [T],
    below: &mut [T],
    left: &mut &[u32],
) {
    let places = pattern.places(j);
    let (done, rest) = below.split_at_mut(places.end);
    let column = &mut done[places.start..];
    for (s, row) in pattern.rows(j).iter().enumerate() {
        let entry = column[s] * inverse;
        pivots[*row as usize] -= entry * column[s];
        column[s] = entry;
        let tail = &column[s + 1..];
        let (now, later) = left.split_at(tail.len());
        for (place, a) in now.iter().zip(tail) {
            rest[*place as usize - places.end] -= entry * *a;
        }
        *left = later;
    }
}

impl<'a, T: Real> Factor<'a, T> {
    /// Factors the matrix with this diagonal, by scalar, and these entries off it, by pair.
    ///
    /// # Errors
    /// The scalar at which the matrix turns out not to be positive definite.
    pub(super) fn new(pattern: &'a Pattern, diagonal: &[T], pairs: &[T]) -> Result<Self, u32> {
        let (mut pivots, mut below) = (vec![], vec![]);
        refactor(pattern, diagonal, pairs, &mut pivots, &mut below)?;
        Ok(Self {
            pattern,
            pivots,
            below,
        })
    }

    /// Solves $\Lambda m = h$; returns $m$ by scalar, and $h'\Lambda^{-1}h$.
    pub(super) fn solve(&self, h: &[T]) -> (Vec<T>, T) {
        let order = &self.pattern.order;
        let mut y: Vec<T> = order.iter().map(|i| h[*i as usize]).collect();
        let mut square = T::from(0.0);
        for j in 0..y.len() {
            let (rows, below) = self.column(j);
            let known = y[j];
            for (row, l) in rows.iter().zip(below) {
                y[*row as usize] -= *l * known;
            }
            y[j] = known / self.pivots[j];
            square += known * y[j];
        }
        (self.back_substitute(y), square)
    }

    /// Solves $L' x = y$ and puts it in the order of the scalars.
    pub(super) fn back_substitute(&self, mut y: Vec<T>) -> Vec<T> {
        for j in (0..y.len()).rev() {
            let (rows, below) = self.column(j);
            for (row, l) in rows.iter().zip(below) {
                let known = y[*row as usize];
                y[j] -= *l * known;
            }
        }
        self.by_scalar(&y)
    }

    fn column(&self, j: usize) -> (&[u32], &[T]) {
        (self.pattern.rows(j), &self.below[self.pattern.places(j)])
    }

    /// From the order of elimination to that of the scalars.
    pub(super) fn by_scalar(&self, eliminated: &[T]) -> Vec<T> {
        let mut out = vec![T::from(0.0); eliminated.len()];
        for (i, x) in self.pattern.order.iter().zip(eliminated) {
            out[*i as usize] = *x;
        }
        out
    }

    /// Takahashi's recursion, from the last column to the first (maths §3.9):
    /// $Z_{ij} = -\sum_k Z_{ik} L_{kj}$ and $Z_{jj} = 1 / D_j - \sum_k Z_{kj} L_{kj}$.
    ///
    /// It needs the entries of $Z$ on the pattern of $L$ only.
    pub(super) fn inverse(&self) -> Inverse<T> {
        let pattern = self.pattern;
        let mut diagonal = vec![T::from(0.0); pattern.len()];
        let mut below = vec![T::from(0.0); self.below.len()];
        let mut sums = Vec::new();
        for j in (0..pattern.len()).rev() {
            let (rows, factor) = self.column(j);
            let places = pattern.places(j);
            let (done, rest) = below.split_at_mut(places.end);
            sums.clear();
            sums.resize(rows.len(), T::from(0.0));
            for (s, row) in rows.iter().enumerate() {
                let k = *row as usize;
                let entry = factor[s];
                let from = pattern.places(k).start - places.end;
                let known = &rest[from..from + pattern.rows(k).len()];
                let mut own = entry * diagonal[k];
                let (factors, tail) = (&factor[s + 1..], &mut sums[s + 1..]);
                if begins(pattern.rows(k), &rows[s + 1..]) {
                    for ((z, l), sum) in known.iter().zip(factors).zip(tail) {
                        *sum += entry * *z;
                        own += *l * *z;
                    }
                } else {
                    find_all(&rows[s + 1..], pattern.rows(k), |t, at| {
                        tail[t] += entry * known[at];
                        own += factors[t] * known[at];
                    });
                }
                sums[s] += own;
            }
            let mut variance = self.pivots[j].recip();
            let column = &mut done[places.start..];
            for ((z, sum), l) in column.iter_mut().zip(&sums).zip(factor) {
                *z = -*sum;
                variance += *sum * *l;
            }
            diagonal[j] = variance;
        }
        let logs = self.pivots.iter().map(|d| d.ln());
        Inverse {
            diagonal,
            below,
            ln_determinant: logs.fold(T::from(0.0), |sum, ln| sum + ln),
        }
    }
}
