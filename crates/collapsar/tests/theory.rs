//! HRL12's theory holds on the mixture, against a plain reference that keeps every responsibility.

mod common;
#[allow(dead_code)] // `evidence` uses the rest of it
mod reference;

use collapsar::laws::model::bound;
use collapsar::mixture::{Covariance, Mixture, Scale, Settings, Start, Weights};
use collapsar::{Collapsed, Direction, Driver, Outcome, Potential, Stop};
use common::{blobs, kinds, settings, trace};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use reference::{Parameters, Precision, Reference, Rule, inner, softmax};

/// A model with its reference.
fn pair(
    values: &[f64],
    columns: usize,
    components: usize,
    kind: (Covariance, Weights),
) -> (Mixture, Reference) {
    let mut scale = vec![0.4; columns * columns];
    scale
        .iter_mut()
        .step_by(columns + 1)
        .enumerate()
        .for_each(|(i, s)| *s = 1.5 + i as f64);
    let settings = Settings {
        concentration: Some(0.7),
        location: Some((0..columns).map(|i| 1.0 - i as f64).collect()),
        mean_precision: Some(0.3),
        degrees_of_freedom: Some(columns as f64 + 0.5),
        scale: Some(Scale::Matrix(scale)),
        ..settings(components, kind)
    };
    let model = Mixture::new(values, columns, &settings).expect("a prior inside its domain");
    let reference = Reference::new(values, model.prior(), components, kind);
    (model, reference)
}

fn normal(rng: &mut impl Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// Messages of a random q(Z): those of random responsibilities, each moved at random.
fn random_messages(model: &Mixture, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (start, _) = model.start(&Start::Random, seed).expect("a start");
    start.iter().map(|m| m + 0.3 * normal(&mut rng)).collect()
}

fn responsibilities(model: &Mixture, messages: &[f64]) -> DMatrix<f64> {
    let mut r = DMatrix::zeros(model.rows(), model.components());
    model
        .responsibilities(messages, |n, row| {
            r.row_mut(n).copy_from_slice(row);
        })
        .expect("finite densities");
    r
}

/// Parameters that have nothing to do with the data.
fn random_parameters(reference: &Reference, rng: &mut impl Rng) -> Parameters {
    let mut q = reference.prior();
    let (d, spherical) = (
        reference.columns(),
        reference.covariance == Covariance::Spherical,
    );
    let positive = |rng: &mut dyn Rng| f64::exp(normal(&mut &mut *rng));
    for a in q.weights.iter_mut().flatten() {
        *a = positive(rng);
    }
    for (kappa, m) in &mut q.means {
        *kappa = positive(rng);
        m.apply(|x| *x += 2.0 * normal(rng));
    }
    for Precision { freedom, scale } in &mut q.precisions {
        *freedom = d as f64 - 1.0 + positive(rng);
        let factor = DMatrix::from_fn(d, d, |_, _| normal(rng));
        let full = &factor * factor.transpose() + DMatrix::identity(d, d) * 0.1;
        if spherical {
            scale[(0, 0)] = full.trace();
        } else if reference.covariance == Covariance::Diagonal {
            scale.set_diagonal(&full.diagonal());
        } else {
            scale.clone_from(&full);
        }
    }
    q
}

/// 1. HRL12 (7): the collapsed bound exceeds the mean-field bound by a divergence.
#[test]
fn collapsed_bound_is_mean_field_plus_divergence() {
    for kind in kinds() {
        for (rows, columns, components) in [(30, 2, 3), (12, 1, 2), (20, 3, 4)] {
            let values = blobs(rows, columns, 3);
            let (model, reference) = pair(&values, columns, components, kind);
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            for seed in 0..4 {
                let messages = random_messages(&model, seed);
                let collapsed = bound(&model, &messages).expect("inside the domain");
                let r = responsibilities(&model, &messages);
                let best = reference.posterior(&r);
                // Sums of some hundred terms of the size of the bound, in two orders; the
                // divergence of a random q(X) is larger, up to some thousand nats.
                let at_best = reference.mean_field(&r, &best);
                assert!(
                    (collapsed - at_best).abs() < 1e-13 * collapsed.abs(),
                    "{kind:?}: {collapsed} {at_best}"
                );
                let q = random_parameters(&reference, &mut rng);
                let (mean_field, gap) = (
                    reference.mean_field(&r, &q),
                    reference.divergence(&q, &best),
                );
                assert!(gap > 1.0, "{gap}");
                assert!(
                    (collapsed - mean_field - gap).abs() < 1e-13 * (mean_field.abs() + gap),
                    "{kind:?}: {collapsed} is not {mean_field} + {gap}"
                );
                // The other direction, as HRL12 prints it, is another number (maths §1.8).
                let printed = reference.divergence(&best, &q);
                assert!((gap - printed).abs() > 1e-3 * gap, "{gap} {printed}");
            }
        }
    }
}

/// A derivative along a unit vector by central differences, extrapolated to a step of zero.
fn derivative(function: impl Fn(f64) -> f64, step: f64) -> f64 {
    let central = |h: f64| (function(h) - function(-h)) / (2.0 * h);
    (4.0 * central(0.5 * step) - central(step)) / 3.0
}

/// 2. At q = q* both bounds have the same gradient, in messages and in HRL12's logits.
#[test]
fn gradients_agree_at_the_best_parameters() {
    for kind in kinds() {
        let values = blobs(12, 2, 3);
        let (model, reference) = pair(&values, 2, 3, kind);
        let messages = random_messages(&model, 1);
        let r = responsibilities(&model, &messages);
        let best = reference.posterior(&r);
        // Fourth power of the step, 1e-12, and 1e-14 of the bound, some hundred, over it.
        let (step, tolerance) = (1e-3, 1e-8);
        for i in 0..messages.len() {
            let at = |h: f64| {
                let mut there = messages.clone();
                there[i] += h;
                there
            };
            let collapsed = derivative(|h| bound(&model, &at(h)).expect("inside"), step);
            let mean_field = derivative(
                |h| reference.mean_field(&responsibilities(&model, &at(h)), &best),
                step,
            );
            assert!(
                (collapsed - mean_field).abs() < tolerance * (1.0 + collapsed.abs()),
                "{kind:?}, message {i}: {collapsed} {mean_field}"
            );
        }
        let logits = r.map(f64::ln);
        let gradient = reference.logits(&best) - &logits;
        for (n, k) in (0..4).flat_map(|n| (0..3).map(move |k| (n, k))) {
            let at = |h: f64| {
                let mut there = logits.clone();
                there[(n, k)] += h;
                softmax(&there)
            };
            let collapsed = derivative(|h| reference.bound(&at(h)), step);
            let mean_field = derivative(|h| reference.mean_field(&at(h), &best), step);
            assert!(
                (collapsed - mean_field).abs() < tolerance,
                "{kind:?}, row {n}"
            );
            // HRL12 (15): the metric turns the natural gradient into it.
            let mut unit = DMatrix::zeros(12, 3);
            unit[(n, k)] = 1.0;
            let expected = inner(&r, &gradient, &unit);
            assert!(
                (collapsed - expected).abs() < tolerance,
                "{kind:?}, row {n}"
            );
        }
    }
}

/// Second derivatives by differences, extrapolated, with a step for each coordinate.
fn hessian(function: impl Fn(&[f64]) -> f64, at: &[f64], steps: &[f64]) -> DMatrix<f64> {
    let dim = at.len();
    let entry = |i: usize, j: usize, share: f64| {
        let (hi, hj) = (share * steps[i], share * steps[j]);
        let value = |a: f64, b: f64| {
            let mut there = at.to_vec();
            there[i] += a * hi;
            there[j] += b * hj;
            function(&there)
        };
        (value(1.0, 1.0) - value(1.0, -1.0) - value(-1.0, 1.0) + value(-1.0, -1.0))
            / (4.0 * hi * hj)
    };
    DMatrix::from_fn(dim, dim, |i, j| {
        (4.0 * entry(i, j, 0.5) - entry(i, j, 1.0)) / 3.0
    })
}

/// The matrix of a Hessian product.
fn matrix(potential: &impl Potential, at: &[f64]) -> DMatrix<f64> {
    let dim = at.len();
    let mut columns = DMatrix::zeros(dim, dim);
    let mut image = vec![0.0; dim];
    for i in 0..dim {
        let mut unit = vec![0.0; dim];
        unit[i] = 1.0;
        potential
            .hessian_product(at, &unit, &mut image)
            .expect("inside the domain");
        columns.set_column(i, &DVector::from_column_slice(&image));
    }
    columns
}

/// 3. HRL12 (11): the Hessians of the two bounds differ by the covariance term JFJ.
#[test]
fn hessians_differ_by_the_covariance_term() {
    for kind in kinds() {
        for (columns, components) in [(1, 2), (2, 2), (1, 3)] {
            let values = blobs(8, columns, 3);
            let (model, reference) = pair(&values, columns, components, kind);
            let messages = random_messages(&model, 2);
            let best = reference.posterior(&responsibilities(&model, &messages));
            let metric = matrix(model.local(), &messages);
            let mut statistics = vec![0.0; messages.len()];
            model
                .local()
                .value_and_gradient(&messages, &mut statistics)
                .expect("inside the domain");
            let covariance = matrix(model.posterior(), &statistics);
            let expected = &metric * covariance * &metric;

            // A hundredth of each coordinate's own Fisher length, in which unit the Hessians are
            // of size one.
            let units: Vec<f64> = metric.diagonal().iter().map(|j| 1.0 / j.sqrt()).collect();
            let steps: Vec<f64> = units.iter().map(|u| 0.01 * u).collect();
            let collapsed = hessian(|m| bound(&model, m).expect("inside"), &messages, &steps);
            let mean_field = hessian(
                |m| reference.mean_field(&responsibilities(&model, m), &best),
                &messages,
                &steps,
            );
            let scaled = |h: &DMatrix<f64>| {
                DMatrix::from_fn(h.nrows(), h.ncols(), |i, j| h[(i, j)] * units[i] * units[j])
            };
            let (difference, expected) = (scaled(&(collapsed - mean_field)), scaled(&expected));
            // The fourth power of a logit's change, 0.01 times features of size three, with a
            // factor for the sixth derivative; rounding is 1e-14 over the square of the step.
            let tolerance = 2e-5;
            let error = (&difference - &expected).amax();
            assert!(
                error < tolerance,
                "{kind:?}, {columns} columns: off by {error:e}"
            );
            let eigenvalues = SymmetricEigen::new(difference).eigenvalues;
            assert!(eigenvalues.min() > -tolerance, "{kind:?}: {eigenvalues}");
            assert!(eigenvalues.max() > 1e-2, "{kind:?}: {eigenvalues}");
        }
    }
}

/// 4. HRL12, section 4.2: a unit step along the natural gradient is the textbook update.
#[test]
fn a_vbem_step_is_the_textbook_update() {
    for kind in kinds() {
        for (rows, columns, components) in [(30, 2, 3), (12, 1, 2), (600, 3, 4)] {
            let values = blobs(rows, columns, 4);
            let (model, reference) = pair(&values, columns, components, kind);
            let (start, _) = model.start(&Start::Random, 1).expect("a start");
            let before = responsibilities(&model, &start);
            let expected = softmax(&reference.logits(&reference.posterior(&before)));
            let fit = Driver::new(&model, Direction::Vbem)
                .stop(Stop::Iterations(1))
                .run(start)
                .expect("a step");
            let found = responsibilities(&model, &fit.point.messages);
            // Logits of size ten to hundred, each with some tens of roundings.
            let error = (found - expected).amax();
            assert!(error < 1e-12, "{kind:?}: {error:e}");
        }
    }
}

/// 5. Runs on messages are runs that keep every responsibility, iterate by iterate.
#[test]
fn message_runs_equal_runs_with_every_responsibility() {
    let rules = [
        (Direction::Vbem, Rule::Vbem),
        (Direction::Fr, Rule::FletcherReeves),
        (Direction::Pr, Rule::PolakRibiere),
        (Direction::Hs, Rule::HestenesStiefel),
    ];
    for kind in kinds() {
        let values = blobs(150, 2, 6);
        let (model, reference) = pair(&values, 2, 6, kind);
        for (direction, rule) in rules {
            let (start, _) = model.start(&Start::Random, 2).expect("a start");
            let logits = responsibilities(&model, &start).map(f64::ln);
            let expected = reference.climb(rule, logits, 30);
            let (found, fit) = trace(&model, direction, 30, start);
            // A run may reach its optimum a little earlier.
            let arrived = fit.outcome == Outcome::Stationary && found.len() > 20;
            assert!(
                found.len() == 30 || arrived,
                "{kind:?}, {direction}: {}",
                fit.outcome
            );
            // Rounding of 1e-14 a step, which conjugate directions may amplify some tenfold
            // a step where the bound is curved upwards, never for long.
            for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(
                    (found - expected).abs() < 1e-11 * expected.abs(),
                    "{kind:?}, {direction}, iteration {}: {found} {expected}",
                    i + 1
                );
            }
        }
    }
}

/// A start from responsibilities is a VBEM step from them, in any units of theirs; from labels, if
/// they are certain.
#[test]
fn starts_from_responsibilities_are_a_vbem_step_from_them() {
    for kind in kinds() {
        // More rows than a block has.
        for (rows, columns, components) in [(300, 2, 3), (12, 1, 2), (20, 3, 4)] {
            let values = blobs(rows, columns, 3);
            let (model, reference) = pair(&values, columns, components, kind);
            let mut rng = ChaCha8Rng::seed_from_u64(8);
            let given: Vec<f64> = (0..rows * components).map(|_| rng.random()).collect();
            let mut r = DMatrix::from_row_slice(rows, components, &given);
            for mut row in r.row_iter_mut() {
                row /= row.sum();
            }
            let expected = softmax(&reference.logits(&reference.posterior(&r)));
            let (start, passes) = model
                .start(&Start::Responsibilities(given), 0)
                .expect("a start");
            let found = responsibilities(&model, &start);
            assert_eq!(passes, 1);
            assert!(
                (&found - &expected).amax() < 1e-10,
                "{kind:?}: {}",
                (found - expected).amax()
            );

            let labels: Vec<usize> = (0..rows).map(|_| rng.random_range(0..components)).collect();
            let mut certain = vec![0.0; rows * components];
            for (row, &label) in labels.iter().enumerate() {
                certain[row * components + label] = 2.0;
            }
            assert_eq!(
                model.start(&Start::Responsibilities(certain), 0).ok(),
                model.start(&Start::Labels(labels), 0).ok()
            );
        }
    }
}

/// Responsibilities that say nothing about a row are refused by its number.
#[test]
fn starts_from_unusable_responsibilities_are_refused() {
    let kind = (Covariance::Full, Weights::Dirichlet);
    let (model, _) = pair(&blobs(10, 2, 3), 2, 3, kind);
    let words = |given: Vec<f64>| {
        let refused = model.start(&Start::Responsibilities(given), 0);
        refused.expect_err("no start").to_string()
    };
    assert!(words(vec![1.0; 29]).contains("10 rows of 3"));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let mut given = vec![1.0; 30];
        given[13] = bad;
        assert!(words(given).contains("row 5"));
    }
    let mut given = vec![1.0; 30];
    given[12..15].fill(0.0);
    assert!(words(given).contains("row 5"));
}
