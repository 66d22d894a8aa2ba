//! The only place where threads meet sums: fixed chunks, added in a fixed order.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::error::Result;
use crate::vector::add;

/// How rows are divided, a function of their number alone, so that results do not depend on threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    rows: usize,
    size: usize,
}

/// Enough chunks that a handful of cores stay busy to the end, few enough that their partial
/// sums are small beside the data.
const MOST: usize = 64;
/// Below this a chunk costs less than waking a thread.
const LEAST_ROWS: usize = 1024;

impl Chunks {
    /// Divides `rows` into at most 64 chunks, each a multiple of `unit` rows.
    pub fn new(rows: usize, unit: usize) -> Self {
        let size = rows.div_ceil(MOST).max(LEAST_ROWS).next_multiple_of(unit);
        Self { rows, size }
    }

    /// How many chunks there are.
    pub fn count(self) -> usize {
        self.rows.div_ceil(self.size)
    }

    /// The rows of chunk `index`.
    pub fn range(self, index: usize) -> std::ops::Range<usize> {
        index * self.size..((index + 1) * self.size).min(self.rows)
    }
}

/// Buffers that outlive a pass, so that the loop allocates nothing after its first iteration.
#[derive(Debug, Default)]
pub struct Buffers(Mutex<Vec<Vec<f64>>>);

impl Buffers {
    /// Lends a zeroed buffer of `len` numbers to `work`.
    pub fn lend<T>(&self, len: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
        let mut buffer = self.lock().pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(len, 0.0);
        let result = work(&mut buffer);
        self.lock().push(buffer);
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<f64>>> {
        // A panic in another thread leaves the list of buffers intact.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Sums `part(chunk, partial)` over the chunks: returns the sum of the values, adds the vectors to `out`.
///
/// The first error in the order of the chunks is returned, whichever thread met one first.
pub fn sum(
    chunks: Chunks,
    buffers: &Buffers,
    out: &mut [f64],
    part: impl Fn(std::ops::Range<usize>, &mut [f64]) -> Result<f64> + Sync,
) -> Result<f64> {
    let (dim, count) = (out.len(), chunks.count());
    if count <= 1 {
        return part(chunks.range(0), out);
    }
    buffers.lend(dim * count, |partials| {
        let values: Vec<Result<f64>> = partials
            .par_chunks_mut(dim)
            .enumerate()
            .map(|(index, partial)| part(chunks.range(index), partial))
            .collect();
        let mut total = 0.0;
        for (value, partial) in values.into_iter().zip(partials.chunks(dim)) {
            total += value?;
            add(out, 1.0, partial);
        }
        Ok(total)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_row_once() {
        for rows in [0, 1, 255, 1024, 1025, 65_536, 65_537, 1_000_003] {
            let chunks = Chunks::new(rows, 256);
            let mut next = 0;
            for index in 0..chunks.count() {
                let range = chunks.range(index);
                assert_eq!(range.start, next);
                assert!(!range.is_empty());
                next = range.end;
            }
            assert_eq!(next, rows);
            assert!(chunks.count() <= MOST);
        }
    }

    #[test]
    fn the_first_error_by_row_wins() {
        let chunks = Chunks::new(10_000, 1);
        let mut out = [0.0];
        let failed = sum(chunks, &Buffers::default(), &mut out, |range, _| {
            if range.start > 2000 {
                return Err(crate::Error::Datum {
                    row: range.start,
                    found: f64::NAN,
                });
            }
            Ok(1.0)
        });
        let Err(crate::Error::Datum { row, .. }) = failed else {
            panic!("expected an error")
        };
        assert_eq!(
            row,
            (0..chunks.count())
                .map(|i| chunks.range(i).start)
                .find(|&s| s > 2000)
                .expect("exists")
        );
    }
}
