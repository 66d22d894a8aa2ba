//! How far a pass is from its limit: the pass and its two matrix products alone, interleaved in one run.
//!
//! The products by the library's own kernel are the limit; those by `matrixmultiply`, the usual
//! crate for them, show that it is no easy one.

use std::hint::black_box;
use std::time::Instant;

use collapsar::mixture::{Mixture, Settings, Start};
use collapsar::{Collapsed, Potential};
use matrixmultiply::dgemm;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::product::{self, LANES, alignment};
use crate::{Failure, Words, npy, pool};

/// Rows in a block, as the library has them.
const BLOCK: usize = 128;
/// Blocks that a thread takes at a time, as the library has them at 100,000 rows.
const BLOCKS_IN_CHUNK: usize = 13;

pub(crate) fn run(words: &Words) -> Result<Value, Failure> {
    words.known(&["components", "threads", "repeats"])?;
    let components: usize = words.get("components", 20)?;
    let threads: usize = words.get("threads", 1)?;
    let repeats: usize = words.get("repeats", 31)?;
    let npy::Array { values, columns } = npy::read(words.place(0, "data file")?)?;
    let rows = values.len() / columns;
    let model = Mixture::new(&values, columns, &Settings::new(components))?;
    pool(threads)?.install(|| {
        // Responsibilities as a fit meets them, most of them near zero or one.
        let (messages, _) = model.start(&Start::KMeans, 1)?;
        let products = Products::new(&values, columns, &messages, components);
        let mut gradient = vec![0.0; messages.len()];
        let mut times: [Vec<f64>; 4] = Default::default();
        // One round to warm up, then pass, products, pass, products ...
        for round in 0..=repeats {
            let pass = timed(|| {
                let local = model.local();
                local.value_and_gradient(&messages, &mut gradient).map(drop)
            });
            let in_cache = timed(|| products.run(Kernel::Own, |_| 0));
            let streamed = timed(|| products.run(Kernel::Own, |block| block));
            let peer = timed(|| products.run(Kernel::Matrixmultiply, |_| 0));
            pass.1?;
            if round > 0 {
                for (times, time) in times
                    .iter_mut()
                    .zip([pass.0, in_cache.0, streamed.0, peer.0])
                {
                    times.push(time);
                }
            }
        }
        let ratio = |i: usize| median(times[0].iter().zip(&times[i]).map(|(a, b)| a / b).collect());
        let [ratio, ratio_streamed, ratio_matrixmultiply] = [1, 2, 3].map(ratio);
        let [pass, in_cache, streamed, peer] = times.map(median);
        let operations = 4.0 * (rows * components * products.features) as f64;
        Ok(json!({
            "rows": rows, "columns": columns, "components": components,
            "features": products.features, "threads": threads, "repeats": repeats,
            "pass_seconds": pass, "products_seconds": in_cache,
            "products_streamed_seconds": streamed, "matrixmultiply_seconds": peer,
            "ratio": ratio, "ratio_streamed": ratio_streamed,
            "ratio_matrixmultiply": ratio_matrixmultiply,
            "pass_gflops": 1e-9 * operations / pass,
            "products_gflops": 1e-9 * operations / in_cache,
        }))
    })
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let result = black_box(work());
    (began.elapsed().as_secs_f64(), result)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What multiplies.
#[derive(Clone, Copy)]
enum Kernel {
    Own,
    Matrixmultiply,
}

/// The two products of a pass, with nothing between them.
struct Products<'a> {
    components: usize,
    features: usize,
    messages: &'a [f64],
    /// Features of every block, a row of its width each, from an aligned place on.
    blocks: Vec<Vec<f64>>,
}

impl<'a> Products<'a> {
    fn new(values: &[f64], columns: usize, messages: &'a [f64], components: usize) -> Self {
        let blocks: Vec<Vec<f64>> = values
            .chunks(BLOCK * columns)
            .map(|block| {
                let width = block.len() / columns;
                let column = |c: usize| block.iter().skip(c).step_by(columns).copied();
                let mut features =
                    Vec::<f64>::with_capacity(messages.len() / components * width + LANES);
                // Filled from an aligned place on, and padded to the same length wherever that is.
                let at = features.as_ptr().align_offset(64).min(LANES);
                features.resize(at + width, 1.0);
                for c in 0..columns {
                    features.extend(column(c));
                }
                for i in 0..columns {
                    for j in i..columns {
                        features.extend(column(i).zip(column(j)).map(|(a, b)| a * b));
                    }
                }
                features.resize(features.len() + LANES - at, 0.0);
                features
            })
            .collect();
        Self {
            components,
            features: messages.len() / components,
            messages,
            blocks,
        }
    }

    /// Runs both products for every block, with the features of block `which(block)`: always the
    /// same one measures the products in cache, each its own adds the reading of features from memory.
    fn run(&self, kernel: Kernel, which: impl Fn(usize) -> usize + Sync) -> f64 {
        let (k, p) = (self.components, self.features);
        let count = self.blocks.len();
        let sums: Vec<f64> = (0..count.div_ceil(BLOCKS_IN_CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let mut logits = vec![0.0; k * BLOCK + LANES];
                let mut sums = vec![0.0; k * p * LANES + LANES];
                let (logits_at, sums_at) = (alignment(&logits), alignment(&sums));
                let sums = &mut sums[sums_at..sums_at + k * p * LANES];
                let first = chunk * BLOCKS_IN_CHUNK;
                for block in first..(first + BLOCKS_IN_CHUNK).min(count) {
                    // A reused block is cut to the width of the one that it stands for.
                    let width = (self.blocks[block].len() - LANES) / p;
                    let stored = &self.blocks[which(block)];
                    let at = alignment(stored);
                    let features = &stored[at..at + p * width];
                    let logits = &mut logits[logits_at..logits_at + k * width];
                    match kernel {
                        Kernel::Own => {
                            product::multiply(self.messages, (k, p), features, width, logits);
                            product::accumulate(logits, features, (k, p), width, sums);
                        }
                        Kernel::Matrixmultiply => {
                            multiply(self.messages, features, (k, p, width), logits);
                            accumulate(logits, features, (k, p, width), &mut sums[..k * p]);
                        }
                    }
                }
                let mut statistics = vec![0.0; k * p];
                product::gather(sums, &mut statistics);
                statistics[0]
            })
            .collect();
        sums.iter().sum()
    }
}

/// `out` (k by width) ← `messages` (k by p) times `features` (p by width): as the library calls it.
#[allow(unsafe_code)] // the crate's only way in; the asserts are its contract
fn multiply(
    messages: &[f64],
    features: &[f64],
    (k, p, width): (usize, usize, usize),
    out: &mut [f64],
) {
    assert!(messages.len() == k * p && features.len() == p * width && out.len() == k * width);
    let (a, b, c) = (messages.as_ptr(), features.as_ptr(), out.as_mut_ptr());
    let (row, wide) = (p as isize, width as isize);
    // SAFETY: the three slices have the sizes that the strides walk over, checked above.
    unsafe { dgemm(k, p, width, 1.0, a, row, 1, b, wide, 1, 0.0, c, wide, 1) }
}

/// `out` (k by p) += `weights` (k by width) times `features` (p by width) transposed.
#[allow(unsafe_code)] // as above
fn accumulate(
    weights: &[f64],
    features: &[f64],
    (k, p, width): (usize, usize, usize),
    out: &mut [f64],
) {
    assert!(weights.len() == k * width && features.len() == p * width && out.len() == k * p);
    let (a, b, c) = (weights.as_ptr(), features.as_ptr(), out.as_mut_ptr());
    let (row, wide) = (p as isize, width as isize);
    // SAFETY: as in `multiply`.
    unsafe { dgemm(k, width, p, 1.0, a, wide, 1, b, 1, wide, 1.0, c, row, 1) }
}
