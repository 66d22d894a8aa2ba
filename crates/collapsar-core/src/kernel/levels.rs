//! Every kernel gives the same bits with the registers of every level that the processor has.

use std::cell::Cell;

use pulp::{Arch, Scalar, WithSimd};

use super::{
    bag, gamma, gibbs, logarithm, logistic, product, softmax_columns, softmax_jacobian_columns,
};

/// A level of instructions.
#[derive(Debug, Clone, Copy)]
enum Level {
    /// What the processor has.
    Own,
    /// What every processor has, and fused products by `fused`.
    Plain,
    /// AVX2 and fused products.
    #[cfg(target_arch = "x86_64")]
    V3(pulp::x86::V3),
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    V4(pulp::x86::V4),
}

thread_local! {
    static LEVEL: Cell<Level> = const { Cell::new(Level::Own) };
}

pub(super) fn dispatch<Op: WithSimd>(op: Op, own: Arch) -> Op::Output {
    use pulp::Simd;
    match LEVEL.get() {
        Level::Own => own.dispatch(op),
        Level::Plain => Scalar.vectorize(op),
        #[cfg(target_arch = "x86_64")]
        Level::V3(simd) => Simd::vectorize(simd, op),
        #[cfg(target_arch = "x86_64")]
        Level::V4(simd) => Simd::vectorize(simd, op),
    }
}

/// The levels that the processor has.
fn levels() -> Vec<Level> {
    #[allow(unused_mut)] // where there is no further one
    let mut levels = vec![Level::Plain, Level::Own];
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(pulp::x86::V3::try_new().map(Level::V3));
        levels.extend(pulp::x86::V4::try_new().map(Level::V4));
    }
    levels
}

/// Runs a computation at every level, and compares what it returns with the plain one's.
fn same(what: &str, compute: impl Fn() -> Vec<f64>) {
    let mut plain: Option<Vec<u64>> = None;
    for level in levels() {
        LEVEL.set(level);
        let bits: Vec<u64> = compute().into_iter().map(f64::to_bits).collect();
        LEVEL.set(Level::Own);
        match &plain {
            None => plain = Some(bits),
            Some(plain) => assert!(*plain == bits, "{what} at {level:?}"),
        }
    }
}

/// Numbers without a pattern between 0 and 1.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    let number = |i: usize| (i * 2_654_435_761 + seed * 40_503) % 1_000_003;
    (0..count).map(|i| number(i) as f64 / 1_000_003.0).collect()
}

#[test]
fn matrix_products() {
    for (k, p, width) in [
        (1, 1, 1),
        (2, 3, 8),
        (3, 2, 7),
        (8, 6, 128),
        (13, 21, 77),
        (23, 5, 45),
        (2, 9, 12),
    ] {
        let left = numbers(k * p, 1);
        let features: Vec<f64> = numbers(p * width, 2).iter().map(|x| x - 0.5).collect();
        same("multiply", || {
            let mut out = vec![f64::NAN; k * width];
            product::multiply(&left, (k, p), &features, width, &mut out);
            out
        });
        // Responsibilities: some are nothing, some next to nothing.
        let weights: Vec<f64> = (numbers(k * width, 3).iter().enumerate())
            .map(|(i, x)| [*x, 0.0, x * 1e-290, 1.0][i % 7 % 4])
            .collect();
        same("accumulate", || {
            let mut lanes = numbers(k * p * product::LANES, 4);
            product::accumulate(&weights, &features, (k, p), width, &mut lanes);
            let mut sums = numbers(k * p, 5);
            product::gather(&lanes, &mut sums);
            lanes.extend(sums);
            lanes
        });
    }
}

#[test]
fn softmax() {
    let (rows, width) = (7, 45);
    let logits: Vec<f64> = (numbers(rows * width, 1).iter())
        .map(|x| 900.0 * x.powi(3) - 300.0)
        .collect();
    same("softmax", || {
        let mut r = logits.clone();
        let (mut highest, mut total) = (vec![0.0; width], vec![0.0; width]);
        let value = softmax_columns(&mut r, width, &mut highest, &mut total);
        let mut changes = logits.clone();
        softmax_jacobian_columns(&r, &mut changes, width, &mut vec![0.0; width]);
        [r, changes, vec![value]].concat()
    });
}

#[test]
fn gamma_functions() {
    let x: Vec<f64> = numbers(77, 1).iter().map(|x| 1e-3 + 40.0 * x * x).collect();
    let n: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    same("gamma", || {
        let (mut digamma, mut exp, mut trigamma, mut below) =
            (x.clone(), x.clone(), x.clone(), x.clone());
        let sums = vec![
            gamma::digamma_in_place(&mut digamma),
            gamma::trigamma_sum(&x, 0.3),
            gamma::weighted_ln_sum(&x, &n),
        ];
        gamma::exp_digamma_in_place(&mut exp);
        gamma::trigamma_in_place(&mut trigamma);
        gamma::exp_below(&x, 41.0, &mut below);
        [sums, digamma, exp, trigamma, below].concat()
    });
}

#[test]
fn logarithms() {
    let x: Vec<f64> = numbers(77, 1).iter().map(|x| 1e-9 + 40.0 * x * x).collect();
    same("ln", || {
        // One that is not normal, in the middle.
        let mut ln = [&x, &[0.0, 5e-324][..], &x].concat();
        logarithm::ln_in_place(&mut ln);
        ln
    });
}

#[test]
fn logistic_functions() {
    let shapes: Vec<f64> = numbers(37, 1).iter().map(|x| 0.1 + 5.0 * x).collect();
    let naturals: Vec<f64> = numbers(37, 2).iter().map(|x| 30.0 * x * x).collect();
    same("logistic", || {
        let (mut means, mut values) = (naturals.clone(), vec![f64::NAN; 37]);
        let sum = logistic::values_and_means(&mut means, &shapes, &mut values);
        let mut variances = naturals.clone();
        logistic::variances(&mut variances, &shapes);
        let (mut predictors, mut out) = (numbers(111, 3), vec![0.5; 3]);
        logistic::add_values(&mut predictors, &shapes, &mut out);
        let (mut products, mut scaled) = (vec![0.0; 37], vec![0.0; 111]);
        logistic::sum_of_products(&numbers(111, 4), &numbers(111, 5), &mut products);
        logistic::scale(&numbers(111, 6), &shapes, &mut scaled);
        let parts = [means, values, variances, predictors, out, products, scaled];
        [parts.concat(), vec![sum]].concat()
    });
}

#[test]
fn bags_and_tokens() {
    for width in [8, 24] {
        let rows = numbers(6 * width, 1);
        same("bag", || {
            let (mut products, mut sum) = (vec![0.0; 7], numbers(width, 2));
            let bag = bag::Bag {
                ids: &[4, 0, 5, 1, 3, 3, 2],
                counts: &[1.0, 2.5, 7.0, 1.0, 3.0, 0.25, 2.0],
                rows: &rows,
            };
            bag::sweep(bag, &numbers(width, 3), &mut products, &mut sum);
            [products, sum].concat()
        });
        same("gibbs", || {
            // Six words with three tokens each, all in the topics that their number gives.
            let topic = |token: usize| token * 5 % (width - 3);
            let (mut words, mut totals) = (vec![0.0; 6 * width], vec![0.0; width]);
            let mut document = vec![0.0; width];
            let mut topics: Vec<u16> = (0..18).map(|token| topic(token) as u16).collect();
            for token in 0..18 {
                words[token / 3 * width + topic(token)] += 1.0;
                totals[topic(token)] += 1.0;
                document[topic(token)] += 1.0;
            }
            let alpha: Vec<f64> = (0..width)
                .map(|k| if k < width - 3 { 0.3 } else { 0.0 })
                .collect();
            let mut counts = gibbs::Counts {
                words: &mut words,
                totals: &mut totals,
                alpha: &alpha,
                beta: 0.1,
                beta_total: 0.6,
            };
            for sweep in 0..20 {
                let mut tokens = gibbs::Tokens {
                    words: &[0, 1, 2, 3, 4, 5],
                    counts: &[3; 6],
                    topics: &mut topics,
                    document: &mut document,
                    uniforms: &numbers(18, sweep),
                };
                gibbs::sweep(&mut counts, &mut tokens, &mut gibbs::Scratch::default());
            }
            [document, topics.into_iter().map(f64::from).collect()].concat()
        });
    }
}
