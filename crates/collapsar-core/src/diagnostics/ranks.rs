//! Draws in order, their quantiles and normal scores.

use std::cell::RefCell;

use crate::family::Marginal;

/// A draw and its place.
pub(super) type Ordered = (f64, usize);

/// Draws below which comparing them is faster than counting digits.
const FEW: usize = 4096;
/// Bits of a digit, and those of a key that are left to the place.
const DIGIT: u32 = 11;
const PLACE: u32 = 20;

/// Finite draws in increasing order, each with its place; equal ones in the order of their places.
pub(super) fn sorted(draws: &[f64]) -> Vec<Ordered> {
    let by_value = |a: &Ordered, b: &Ordered| a.0.total_cmp(&b.0);
    let places = PLACE.max(usize::BITS - draws.len().leading_zeros());
    // With fewer bits for the value most keys would be equal.
    if draws.len() < FEW || places > u64::BITS / 2 {
        let mut sorted: Vec<Ordered> = draws.iter().copied().zip(0..).collect();
        sorted.sort_by(by_value);
        return sorted;
    }
    // The leading bits of the distance from the first draw, which rises with the draw, and below them the place.
    let key = |(place, x): (usize, &f64)| {
        let bits = (x - draws[0]).to_bits();
        let rising = if bits >> 63 == 1 {
            !bits
        } else {
            bits | 1 << 63
        };
        (rising >> places) << places | place as u64
    };
    let mut keys: Vec<u64> = draws.iter().enumerate().map(key).collect();
    sort_by_digits(&mut keys, places);
    let place = |key: u64| (key & ((1 << places) - 1)) as usize;
    let mut sorted: Vec<Ordered> = (keys.iter().map(|&key| place(key)))
        .map(|place| (draws[place], place))
        .collect();
    // What the leading bits did not tell apart.
    let mut first = 0;
    for alike in keys.chunk_by(|a, b| a >> places == b >> places) {
        let alike = &mut sorted[first..first + alike.len()];
        first += alike.len();
        if !alike.is_sorted_by(|a, b| by_value(a, b).is_le()) {
            alike.sort_by(by_value);
        }
    }
    sorted
}

/// Sorts by the bits from `lowest` on, digit after digit from the last; what is equal in these stays in order.
fn sort_by_digits(keys: &mut Vec<u64>, lowest: u32) {
    let digits: Vec<u32> = (lowest..u64::BITS).step_by(DIGIT as usize).collect();
    let digit = |key: u64, shift: u32| (key >> shift) as usize & ((1 << DIGIT) - 1);
    let mut counts = vec![0_u32; digits.len() << DIGIT];
    for &key in &*keys {
        for (of, &shift) in digits.iter().enumerate() {
            counts[(of << DIGIT) + digit(key, shift)] += 1;
        }
    }
    let mut other = vec![0; keys.len()];
    for (ends, &shift) in counts.chunks_exact_mut(1 << DIGIT).zip(&digits) {
        if ends[digit(keys[0], shift)] as usize == keys.len() {
            continue; // the same in all
        }
        let mut start = 0;
        for end in &mut *ends {
            start += std::mem::replace(end, start);
        }
        for &key in &*keys {
            let next = &mut ends[digit(key, shift)];
            other[*next as usize] = key;
            *next += 1;
        }
        std::mem::swap(keys, &mut other);
    }
}

/// The distances of sorted draws from `centre`, in increasing order: those below it from the last on and those above it
/// from the first on, merged.
pub(super) fn folded(sorted: &[Ordered], centre: f64) -> Vec<Ordered> {
    let middle = sorted.partition_point(|draw| draw.0 < centre);
    let fold = |&(x, place): &Ordered| ((x - centre).abs(), place);
    let mut below = sorted[..middle].iter().rev().map(fold).peekable();
    let mut above = sorted[middle..].iter().map(fold).peekable();
    let mut out = Vec::with_capacity(sorted.len());
    loop {
        let next = match (below.peek(), above.peek()) {
            (Some(low), Some(high)) if low.0 <= high.0 => below.next(),
            (_, Some(_)) => above.next(),
            _ => below.next(),
        };
        match next {
            Some(draw) => out.push(draw),
            None => return out,
        }
    }
}

/// The quantile of sorted draws that R calls type 7: straight between neighbours.
pub(super) fn quantile(sorted: &[Ordered], probability: f64) -> f64 {
    let at = probability * (sorted.len() - 1) as f64;
    let below = sorted[at as usize].0;
    let above = sorted[(at as usize + 1).min(sorted.len() - 1)].0;
    let fraction = at.fract();
    let gap = above - below;
    if gap.is_finite() {
        // Rounding must not lead past the draw above.
        (below + fraction * gap).min(above)
    } else {
        (1.0 - fraction) * below + fraction * above
    }
}

/// The median of sorted draws.
pub(super) fn median(sorted: &[Ordered]) -> f64 {
    let size = sorted.len();
    sorted[(size - 1) / 2].0.midpoint(sorted[size / 2].0)
}

/// The normal scores of sorted draws, each in its place: Φ⁻¹((r - 3/8) / (S + 1/4)), where equal draws share the mean of
/// their ranks r.
pub(super) fn normal_scores(sorted: &[Ordered], scores: &mut Vec<f64>) {
    scores.resize(sorted.len(), 0.0);
    with_table(sorted.len(), |table| {
        let mut first = 0;
        for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
            // Ranks first + 1 to first + length: twice their mean, less the 2 where the table begins.
            let score = table[2 * first + equal.len() - 1];
            for &(_, place) in equal {
                scores[place] = score;
            }
            first += equal.len();
        }
    });
}

thread_local! {
    /// The table of the size last asked for: thousands of quantities have the same number of draws, and the
    /// quantiles would take longer than all else.
    static TABLE: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Hands over the scores of all ranks and midranks 1, 1½, 2, … of so many draws.
fn with_table(size: usize, read: impl FnOnce(&[f64])) {
    TABLE.with_borrow_mut(|table| {
        if table.len() + 1 != 2 * size {
            *table = scores_of_midranks(size);
        }
        read(table);
    });
}

fn scores_of_midranks(size: usize) -> Vec<f64> {
    let standard = Marginal::Normal { mean: 0.0, sd: 1.0 };
    let mut table = vec![0.0; 2 * size - 1];
    // The score of the middle rank is zero, the others are each other's negatives.
    for i in 0..size - 1 {
        let rank = 1.0 + 0.5 * i as f64;
        let score = standard.quantile((rank - 0.375) / (size as f64 + 0.25));
        table[i] = score;
        table[2 * (size - 1) - i] = -score;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Digits give the order that comparisons do: of draws far from zero, of labels, of both signs and sizes.
    #[test]
    fn digits_sort_as_comparisons_do() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut uniform = || rng.random::<f64>() - 0.5;
        let size = 3 * FEW;
        let draws: Vec<Vec<f64>> = vec![
            (0..size).map(|_| uniform()).collect(),
            (0..size).map(|_| 1e9 + 1e-6 * uniform()).collect(),
            (0..size).map(|_| (4.0 * uniform()).round()).collect(),
            (0..size).map(|_| 1.0 / uniform()).collect(),
            (0..size).map(|_| f64::MAX * uniform()).collect(),
            (0..size)
                .map(|_| uniform() * (600.0 * uniform()).exp())
                .collect(),
        ];
        for draws in draws {
            let mut expected: Vec<Ordered> = draws.iter().copied().zip(0..).collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(sorted(&draws) == expected);
            let centre = median(&expected);
            let mut far: Vec<f64> = draws.iter().map(|x| (x - centre).abs()).collect();
            far.sort_by(f64::total_cmp);
            let found: Vec<f64> = folded(&expected, centre).iter().map(|d| d.0).collect();
            assert!(found == far);
        }
    }
}
