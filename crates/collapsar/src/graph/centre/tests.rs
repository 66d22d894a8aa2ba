//! Changes of variables and when there are any.

use super::*;
use crate::graph::{Atom, Graph, Kind};

/// Numbers with a mean and a precision that are not known.
fn sample(numbers: &[f64]) -> Graph {
    let mut graph = Graph::default();
    let mean = graph.declare("mean", Kind::Gaussian, 1).unwrap();
    let precision = graph.declare("precision", Kind::Gamma, 1).unwrap();
    let [mu, ln_tau, tau] =
        [(mean, 0), (precision, 0), (precision, 1)].map(|(variable, part)| Atom { variable, part });
    let factor = graph.factor("all");
    graph.add(-0.5e-8, &[mu, mu], factor);
    graph.add(-1.0, &[tau], factor);
    for y in numbers {
        graph.add(0.5, &[ln_tau], factor);
        graph.add(-0.5 * y * y, &[tau], factor);
        graph.add(*y, &[tau, mu], factor);
        graph.add(-0.5, &[tau, mu, mu], factor);
    }
    graph
}

#[test]
fn what_is_far_is_moved_near() {
    let near: Vec<f64> = (0..40).map(|k| 20.0 + f64::from(k % 5)).collect();
    assert_eq!(sample(&near).centre(&BTreeSet::new()).unwrap(), None);
    for place in [1e3, -1e5, 1e6, 1e8] {
        let far: Vec<f64> = near.iter().map(|x| x - 22.0 + place).collect();
        let found = sample(&far).centre(&BTreeSet::new()).unwrap().unwrap();
        let moved = found.of(0, 0).unwrap();
        // Within 16 deviations of 1.4, or of what sums of squares still show: the parts of a rate, n/2 y², n yμ and
        // n/2 μ², are 2n y² together, of which 1e-14 is added; over a shape of n/2 that is (2e-7 y)².
        let known = 16.0 * f64::max(1.5, 2e-7 * f64::abs(place));
        assert!(
            (moved.constant - place).abs() <= known,
            "{place}: {moved:?}"
        );
        assert!(moved.follows.is_empty());
    }
}

#[test]
fn changes_after_one_another() {
    let of = |constant: f64, follows: &[(u32, f64)]| Moved {
        constant,
        follows: follows.to_vec(),
    };
    let first = Centring(BTreeMap::from([
        ((0, 0), of(5.0, &[(1, -2.0), (2, 0.5)])),
        ((2, 0), of(1.0, &[])),
    ]));
    let second = Centring(BTreeMap::from([
        ((0, 0), of(0.0, &[(1, 3.0)])),
        ((1, 0), of(7.0, &[(2, 4.0)])),
    ]));
    let both = first.then(&second);
    let last = [0.3, -1.7, 2.9];
    let apply = |change: &Centring, at: [f64; 3]| {
        [0, 1, 2].map(|v: u32| change.restored(v, 0, at[v as usize], |o| at[o as usize]))
    };
    let expected = apply(&first, apply(&second, last));
    let found = apply(&both, last);
    for (found, expected) in found.iter().zip(expected) {
        // A few roundings of numbers below a hundred.
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }
    assert_eq!(first.then(&Centring::default()), first);
}
