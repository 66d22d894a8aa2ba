//! Numbers with few digits near given ones, the same for those near one another.

use collapsar_core::elementary::Elementary;

/// Bits of each part that a number is made of.
const BITS: i32 = 8;
/// Parts at most: a double has no more digits.
const PARTS: usize = 8;

/// For each value and the unit it is measured in, a number within `near` units of it that is a sum of few
/// numbers of few digits. Values that are near one another, in comparison with their distance from zero,
/// have the same parts, so that their differences are not touched.
pub(super) fn share(values: &[(f64, f64)], near: f64) -> Vec<f64> {
    let mut rest: Vec<f64> = values.iter().map(|value| value.0).collect();
    let mut out = vec![0.0; values.len()];
    for _ in 0..PARTS {
        let mut far: Vec<f64> = (rest.iter().zip(values))
            .filter(|(rest, (_, unit))| rest.abs() > near * unit)
            .map(|(rest, _)| *rest)
            .collect();
        // The farthest first, so that its part serves others.
        far.sort_unstable_by(|a, b| b.abs().total_cmp(&a.abs()).then(b.total_cmp(a)));
        let mut parts: Vec<f64> = vec![];
        for value in far {
            // Those of like size are the last ones.
            let serves = |part: &f64| (value - part).abs() <= part.abs() / 8.0;
            if !parts.iter().rev().take(4).any(serves) {
                parts.push(rounded(value));
            }
        }
        if parts.is_empty() {
            break;
        }
        parts.sort_unstable_by(f64::total_cmp);
        for (rest, out) in rest.iter_mut().zip(&mut out) {
            let place = parts.partition_point(|part| part < rest);
            let beside = parts[place.saturating_sub(1)..parts.len().min(place + 1)].iter();
            let nearest = beside.min_by(|a, b| (*rest - *a).abs().total_cmp(&(*rest - *b).abs()));
            // What is not far itself goes along with its neighbours.
            if let Some(part) = nearest.filter(|part| (*rest - *part).abs() < part.abs() / 4.0) {
                *rest -= part;
                *out += part;
            }
        }
    }
    out
}

/// A number to its first bits.
fn rounded(value: f64) -> f64 {
    let scale = 2.0_f64.powi(value.abs().log2_().floor() as i32 - BITS + 1);
    let found = (value / scale).round() * scale;
    if found.is_finite() { found } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_their_parts() {
        let effects: Vec<(f64, f64)> = (0..50)
            .map(|k| (1e8 + f64::from(k % 7) - 3.0, 0.5))
            .collect();
        let found = share(&effects, 16.0);
        assert!(found.iter().all(|c| *c == found[0]), "{found:?}");
        assert!((found[0] - 1e8).abs() < 16.0);
        // A thousand units apart, and both near what is subtracted.
        let apart = share(&[(1e6, 1.0), (1.001e6, 1.0), (3.0, 1.0), (-1e6, 1.0)], 16.0);
        for (found, expected) in apart.iter().zip([1e6, 1.001e6, 3.0, -1e6]) {
            assert!((found - expected).abs() <= 16.0, "{found} {expected}");
        }
        assert_eq!(apart[2], 0.0);
    }

    #[test]
    fn few_digits() {
        for value in [1e8, -3.7e-6, 1234.5, f64::MIN_POSITIVE, 1e300] {
            let found = rounded(value);
            // Half a unit of the last of eight bits.
            assert!(
                (found - value).abs() <= value.abs() / 255.0,
                "{value} {found}"
            );
            assert_eq!(rounded(found), found);
        }
        assert!(share(&[(0.0, 1.0), (15.0, 1.0)], 16.0) == [0.0, 0.0]);
        assert!(share(&[], 16.0).is_empty());
    }
}
