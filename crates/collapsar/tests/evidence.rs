//! The bound and the predictive density against exact evidences, an oracle and changes of units.

mod common;
#[allow(dead_code)] // `theory` uses the rest of it
mod reference;

use std::f64::consts::TAU;

use collapsar::family::{
    Dirichlet, Family, NormalGamma, NormalGammaOrdinary, NormalWishart, NormalWishartOrdinary,
    StickBreaking,
};
use collapsar::laws::model::bound;
use collapsar::mixture::{
    Covariance, Defaults, Mixture, MixtureFit, Prior, Scale, Settings, Start, Weights,
};
use collapsar::special::{ln_gamma, log_sum_exp};
use collapsar::{Direction, Driver, Fit, Potential, Restarts, Stop};
use common::{blobs, kinds, settings, trace};
use reference::Reference;

type Kind = (Covariance, Weights);

/// A prior that depends on nothing but the number of columns.
fn fixed(components: usize, columns: usize, kind: Kind) -> Settings {
    let mut scale = vec![0.4; columns * columns];
    scale
        .iter_mut()
        .step_by(columns + 1)
        .enumerate()
        .for_each(|(i, s)| *s = 1.5 + i as f64);
    Settings {
        concentration: Some(0.7),
        location: Some((0..columns).map(|i| 1.0 - i as f64).collect()),
        mean_precision: Some(0.3),
        degrees_of_freedom: Some(columns as f64 + 0.5),
        scale: Some(Scale::Matrix(scale)),
        ..settings(components, kind)
    }
}

fn mixture(values: &[f64], columns: usize, settings: &Settings) -> Mixture {
    Mixture::new(values, columns, settings).expect("a prior inside its domain")
}

fn runs(model: &Mixture, starts: usize) -> Restarts {
    Restarts::run(starts, |seed| {
        let (start, _) = model.start(&Start::Random, seed as u64)?;
        Driver::new(model, Direction::Vbem)
            .stop(Stop::Gain(1e-11) | Stop::Iterations(10_000))
            .run(start)
    })
    .expect("runs")
}

fn best_of(model: &Mixture, starts: usize) -> Fit {
    runs(model, starts).best().clone()
}

/// Φ(ξ + t) − Φ(ξ) of a family.
fn ratio(family: &impl Potential, prior: &[f64], posterior: &[f64]) -> f64 {
    let value = |at: &[f64]| {
        family
            .value_and_gradient(at, &mut vec![0.0; at.len()])
            .expect("inside the domain")
    };
    value(posterior) - value(prior)
}

/// ln p(data | labels): each block's log-partition function with its data over that without.
fn ln_blocks(
    values: &[f64],
    labels: &[usize],
    components: usize,
    covariance: Covariance,
    prior: &Prior,
) -> f64 {
    let d = prior.location.len();
    let rows = || values.chunks(d).zip(labels);
    let squares = |y: &[f64]| -> Vec<f64> {
        (0..d)
            .flat_map(|i| (i..d).map(move |j| (i, j)))
            .map(|(i, j)| y[i] * y[j])
            .collect()
    };
    let constant = -0.5 * (labels.len() * d) as f64 * TAU.ln();
    let wishart = |means: usize| NormalWishartOrdinary {
        means: vec![prior.location.clone(); means],
        mean_precisions: vec![prior.mean_precision; means],
        degrees_of_freedom: prior.degrees_of_freedom,
        scale: prior.scale.clone(),
    };
    let add = |to: &mut [f64], what: &[f64]| {
        for (t, w) in to.iter_mut().zip(what) {
            *t += w;
        }
    };
    if covariance == Covariance::Tied {
        let family = NormalWishart::tied(d, components);
        let natural = family.natural(&wishart(components)).expect("in the domain");
        let mut after = natural.clone();
        for (y, &k) in rows() {
            after[k] += 1.0;
            after[components] += 1.0;
            add(&mut after[components + 1 + k * d..][..d], y);
            add(&mut after[components + 1 + components * d..], &squares(y));
        }
        return constant + ratio(&family, &natural, &after);
    }
    let diagonal: Vec<f64> = prior.scale.iter().step_by(d + 1).copied().collect();
    let gamma = |freedom: f64, scales: Vec<f64>| NormalGammaOrdinary {
        mean: prior.location.clone(),
        mean_precision: prior.mean_precision,
        degrees_of_freedom: freedom,
        scales,
    };
    let nu0 = prior.degrees_of_freedom;
    let block = |k: usize| {
        let own = || rows().filter(|(_, label)| **label == k).map(|(y, _)| y);
        let fill = |natural: &[f64], freedom: f64, quadratic: &dyn Fn(&[f64]) -> Vec<f64>| {
            let mut after = natural.to_vec();
            for y in own() {
                after[0] += 1.0;
                after[1] += freedom;
                add(&mut after[2..2 + d], y);
                add(&mut after[2 + d..], &quadratic(y));
            }
            after
        };
        match covariance {
            Covariance::Diagonal => {
                let family = NormalGamma::diagonal(d);
                let natural = family
                    .natural(&gamma(nu0, diagonal.clone()))
                    .expect("inside");
                let each = |y: &[f64]| y.iter().map(|x| x * x).collect();
                ratio(&family, &natural, &fill(&natural, 1.0, &each))
            }
            Covariance::Spherical => {
                let family = NormalGamma::spherical(d);
                let total = diagonal.iter().sum();
                let natural = family
                    .natural(&gamma(nu0 * d as f64, vec![total]))
                    .expect("inside");
                let sum = |y: &[f64]| vec![y.iter().map(|x| x * x).sum()];
                ratio(&family, &natural, &fill(&natural, d as f64, &sum))
            }
            _ => {
                let family = NormalWishart::new(d);
                let natural = family.natural(&wishart(1)).expect("inside");
                ratio(&family, &natural, &fill(&natural, 1.0, &squares))
            }
        }
    };
    constant + (0..components).map(block).sum::<f64>()
}

/// ln p(labels).
fn ln_labels(labels: &[usize], components: usize, weights: Weights, concentration: f64) -> f64 {
    let count = |k: usize| labels.iter().filter(|l| **l == k).count() as f64;
    let counts: Vec<f64> = (0..components).map(count).collect();
    match weights {
        Weights::Dirichlet => {
            let prior = vec![concentration; components];
            let after: Vec<f64> = counts.iter().map(|c| concentration + c).collect();
            ratio(&Dirichlet::new(components), &prior, &after)
        }
        Weights::DirichletProcess => {
            let prior = [1.0, concentration].repeat(components);
            let mut after = prior.clone();
            StickBreaking::add_counts(&counts, &mut after);
            ratio(&StickBreaking::new(components), &prior, &after)
        }
    }
}

/// Every labelling of `rows` rows.
fn labellings(rows: usize, components: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..components.pow(rows as u32)).map(move |mut code| {
        let mut digit = |_| {
            let label = code % components;
            code /= components;
            label
        };
        (0..rows).map(&mut digit).collect()
    })
}

/// 6. On data small enough to enumerate, the bound is at most the log evidence.
#[test]
fn the_bound_is_at_most_the_exact_evidence() {
    for kind in kinds() {
        for (rows, columns) in [(6, 1), (5, 2)] {
            let values = blobs(rows, columns, 8);
            let mut smaller = f64::NEG_INFINITY;
            for components in [1, 2, 3] {
                let model = mixture(&values, columns, &fixed(components, columns, kind));
                let prior = model.prior();
                let reference = Reference::new(&values, prior, components, kind);
                let joints: Vec<f64> = labellings(rows, components)
                    .map(|labels| {
                        let joint = ln_labels(&labels, components, kind.1, prior.concentration)
                            + ln_blocks(&values, &labels, components, kind.0, prior);
                        // The plain reference is another derivation; sums of terms of size ten.
                        let plain = reference.ln_joint(&labels);
                        assert!(
                            (joint - plain).abs() < 1e-13 * joint.abs(),
                            "{joint} {plain}"
                        );
                        joint
                    })
                    .collect();
                let exact = log_sum_exp(&joints);
                let bound = best_of(&model, 10).point.bound;
                let rounding = 1e-13 * exact.abs(); // of some ten terms of the size of the bound
                assert!(bound <= exact + rounding, "{kind:?}: {bound} > {exact}");
                if components == 1 {
                    // One labelling, so there is nothing to bound.
                    assert!(
                        (bound - exact).abs() <= rounding,
                        "{kind:?}: {bound} {exact}"
                    );
                } else {
                    // No labelling is better than the best q(Z), since q(Z) may be that labelling.
                    let highest = joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    assert!(bound < exact && bound >= highest - rounding, "{kind:?}");
                }
                if kind.1 == Weights::DirichletProcess {
                    // Labels beyond K are possible: all K bound one evidence, from below.
                    let evidence = process_evidence(&values, kind.0, prior);
                    assert!(
                        smaller < exact && exact < evidence,
                        "{kind:?}: {exact} {evidence}"
                    );
                    smaller = exact;
                }
            }
        }
    }
}

/// ln p(data) under the untruncated Dirichlet process: a sum over partitions, by the Chinese
/// restaurant's probabilities.
fn process_evidence(values: &[f64], covariance: Covariance, prior: &Prior) -> f64 {
    let rows = values.len() / prior.location.len();
    let alpha = prior.concentration;
    let mut partitions = vec![vec![]];
    for _ in 0..rows {
        partitions = partitions
            .iter()
            .flat_map(|labels: &Vec<usize>| {
                let blocks = labels.iter().max().map_or(0, |m| m + 1);
                (0..=blocks).map(move |next| [labels.as_slice(), &[next]].concat())
            })
            .collect();
    }
    let joint = |labels: &Vec<usize>| {
        let blocks = labels.iter().max().map_or(0, |m| m + 1);
        let sizes = (0..blocks).map(|k| labels.iter().filter(|l| **l == k).count() as f64);
        let seats: f64 = sizes.map(|size| alpha.ln() + ln_gamma(size)).sum();
        let partition = seats + ln_gamma(alpha) - ln_gamma(alpha + rows as f64);
        partition + ln_blocks(values, labels, blocks, covariance, prior)
    };
    log_sum_exp(&partitions.iter().map(joint).collect::<Vec<_>>())
}

/// 7. An optimum of the authors' data under their priors, found by another program.
#[test]
fn the_oracle_of_the_authors_data() {
    let Some(folder) = std::env::var_os("COLLAPSAR_DATA") else {
        eprintln!("skipped: COLLAPSAR_DATA is not set");
        return;
    };
    let path = std::path::Path::new(&folder).join("mixture/gpclust_twoD_506x2.csv");
    let text = std::fs::read_to_string(&path).expect("the shared data");
    let values: Vec<f64> = text
        .lines()
        .skip(1)
        .flat_map(|line| line.split(','))
        .map(|field| field.parse().expect("a number"))
        .collect();
    let settings = Settings {
        weights: Weights::DirichletProcess,
        concentration: Some(10.0),
        mean_precision: Some(1e-6),
        degrees_of_freedom: Some(3.0),
        scale: Some(Scale::Identity(1e-3)),
        defaults: Defaults::Paper, // the location is the data's mean
        ..Settings::new(4)
    };
    let model = mixture(&values, 2, &settings);
    assert_eq!(model.rows(), 506);
    let runs = runs(&model, 200);
    // One optimum of many, and not the best: as many digits as the oracle has.
    let oracle = 1_103.119_87;
    let nearest = runs
        .fits
        .iter()
        .map(|fit| (fit.point.bound - oracle).abs())
        .fold(f64::INFINITY, f64::min);
    assert!(nearest < 1e-5, "the nearest optimum is {nearest} away");
    let best = runs.best().point.bound;
    assert!(best > oracle + 26.0, "{best}");
}

/// 8a. Relabelling components leaves the bound alone.
#[test]
fn labels_are_names_only() {
    for covariance in Covariance::ALL {
        let values = blobs(40, 2, 9);
        let kind = (covariance, Weights::Dirichlet);
        let model = mixture(&values, 2, &settings(4, kind));
        let (messages, _) = model.start(&Start::Random, 1).expect("a start");
        let features = messages.len() / 4;
        let expected = bound(&model, &messages).expect("inside the domain");
        for order in [[1, 0, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1], [1, 2, 3, 0]] {
            let permuted: Vec<f64> = order
                .iter()
                .flat_map(|&k| &messages[k * features..(k + 1) * features])
                .copied()
                .collect();
            let found = bound(&model, &permuted).expect("inside the domain");
            // The same terms added in another order.
            assert!(
                (found - expected).abs() < 1e-13 * expected.abs(),
                "{found} {expected}"
            );
        }
    }
}

/// The bounds of twenty VBEM steps from the same random responsibilities.
fn twenty(model: &Mixture) -> Vec<f64> {
    let (start, _) = model.start(&Start::Random, 4).expect("a start");
    trace(model, Direction::Vbem, 20, start).0
}

/// `values` and the prior of `settings` in other units: y ↦ shift + scale y, column by column.
fn in_units(
    values: &[f64],
    settings: &Settings,
    shift: &[f64],
    scale: &[f64],
) -> (Vec<f64>, Settings) {
    let d = shift.len();
    let place = |y: &[f64]| -> Vec<f64> { (0..d).map(|i| shift[i] + scale[i] * y[i]).collect() };
    let mut other = settings.clone();
    other.location = settings.location.as_deref().map(place);
    let Some(Scale::Matrix(matrix)) = &settings.scale else {
        unreachable!("settings with a matrix")
    };
    let entry = |(at, s): (usize, &f64)| s * scale[at / d] * scale[at % d];
    other.scale = Some(Scale::Matrix(
        matrix.iter().enumerate().map(entry).collect(),
    ));
    (values.chunks(d).flat_map(place).collect(), other)
}

/// 8b. Other units change the bound by the log of the change of units, and nothing else.
#[test]
fn units_do_not_matter() {
    for kind in kinds() {
        let values = blobs(50, 2, 10);
        let settings = fixed(3, 2, kind);
        // Spherical covariances remain so under a common scale only.
        let scale = if kind.0 == Covariance::Spherical {
            [0.37, 0.37]
        } else {
            [1e4, -0.37]
        };
        let expected = twenty(&mixture(&values, 2, &settings));
        let (other, other_settings) = in_units(&values, &settings, &[-17.0, 0.3], &scale);
        let found = twenty(&mixture(&other, 2, &other_settings));
        let change = -50.0 * scale.iter().map(|s: &f64| s.abs().ln()).sum::<f64>();
        // Rounding decides at which of the last steps a converged run becomes stationary.
        assert!(found.len().abs_diff(expected.len()) <= 4 && found.len() > 10);
        for (found, expected) in found.iter().zip(&expected) {
            // Standardised data agree to rounding; twenty steps carry it along.
            assert!(
                (found - expected - change).abs() < 1e-12 * found.abs(),
                "{kind:?}: {found} {expected} {change}"
            );
        }
    }
}

/// 8c. Data far from the origin lose no digits but their own.
#[test]
fn far_from_the_origin() {
    for kind in kinds() {
        // Multiples of 2⁻²⁰ remain exact beside a million.
        let unit = f64::from(1 << 20);
        let values: Vec<f64> = blobs(50, 2, 10)
            .iter()
            .map(|y| (y * unit).round() / unit)
            .collect();
        let settings = fixed(3, 2, kind);
        let (far, far_settings) = in_units(&values, &settings, &[1e6, -1e6], &[1.0, 1.0]);
        let (near_model, far_model) = (
            mixture(&values, 2, &settings),
            mixture(&far, 2, &far_settings),
        );
        for (near, far) in twenty(&near_model).iter().zip(&twenty(&far_model)) {
            // Shifted data are exact, but for the mean: some 1e-10, which both the data and
            // the prior's location are shifted by.
            assert!((near - far).abs() < 1e-9, "{kind:?}: {near} {far}");
        }
        let reference = Reference::new(&far, far_model.prior(), 3, kind);
        let labels: Vec<usize> = (0..50).map(|n| n % 3).collect();
        let (start, _) = far_model.start(&Start::Labels(labels), 0).expect("a start");
        let mut r = nalgebra::DMatrix::zeros(50, 3);
        far_model
            .responsibilities(&start, |n, row| r.row_mut(n).copy_from_slice(row))
            .expect("finite densities");
        let (found, plain) = (
            bound(&far_model, &start).expect("inside"),
            reference.bound(&r),
        );
        assert!((found - plain).abs() < 1e-9, "{kind:?}: {found} {plain}");
    }
}

fn fitted(model: &Mixture) -> MixtureFit {
    model.fit(&best_of(model, 3).point).expect("a fit")
}

/// 9a. With one component the predictive density is a ratio of evidences.
#[test]
fn predictive_density_is_a_ratio_of_evidences() {
    for kind in kinds() {
        let values = blobs(12, 2, 11);
        let settings = fixed(1, 2, kind);
        let model = mixture(&values, 2, &settings);
        let fit = fitted(&model);
        let density = fit.predictive().expect("a density");
        let evidence = |values: &[f64]| {
            let model = mixture(values, 2, &fixed(1, 2, (kind.0, Weights::Dirichlet)));
            let (start, _) = model.start(&Start::Random, 0).expect("a start");
            bound(&model, &start).expect("inside the domain")
        };
        for y in [[1.0, 2.0], [-6.0, 9.0], [300.0, -50.0]] {
            let more = [&values[..], &y].concat();
            let known = evidence(&more) - evidence(&values);
            let expected = if kind.1 == Weights::Dirichlet {
                known
            } else {
                // A new component's share: its datum has the prior's density, but where
                // covariances are tied, one that knows the common precision.
                let blocks = |values: &[f64], labels: &[usize]| {
                    ln_blocks(values, labels, 2, kind.0, model.prior())
                };
                let mut labels = vec![0; 13];
                labels[12] = 1;
                let new = blocks(&more, &labels) - blocks(&values, &labels[..12]);
                let weight: f64 = 13.0 / 13.7;
                assert!((fit.unused_weight - 0.7 / 13.7).abs() < 1e-15);
                log_sum_exp(&[weight.ln() + known, (1.0 - weight).ln() + new])
            };
            let found = density.ln_density(&y, &mut vec![]);
            // Differences of bounds of size hundred.
            assert!(
                (found - expected).abs() < 1e-12,
                "{kind:?}, {y:?}: {found} {expected}"
            );
        }
    }
}

/// 9b. The predictive density of one column integrates to one, unused weight included.
#[test]
fn predictive_density_integrates_to_one() {
    for kind in kinds() {
        let model = mixture(&blobs(25, 1, 12), 1, &fixed(3, 1, kind));
        let fit = fitted(&model);
        assert_eq!(fit.unused_weight > 0.0, kind.1 == Weights::DirichletProcess);
        let density = fit.predictive().expect("a density");
        // y = 3 sinh u: the tails fall as a power of y, hence exponentially in u, and the
        // trapezium rule converges faster than any power of its step.
        let step = 0.01;
        let integral: f64 = (-4000..=4000)
            .map(|i| {
                let u = step * f64::from(i);
                let y = 3.0 * u.sinh();
                step * 3.0 * u.cosh() * density.ln_density(&[y], &mut vec![]).exp()
            })
            .sum();
        // At u = 40 the prior's tail, with 1.5 degrees of freedom, is e⁻⁶⁰.
        assert!((integral - 1.0).abs() < 1e-12, "{kind:?}: {integral}");
    }
}

/// 9c. Draws have the density that they are said to have.
#[test]
fn draws_have_the_predictive_density() {
    for kind in kinds() {
        let values = blobs(40, 2, 13);
        let fit = fitted(&mixture(&values, 2, &fixed(3, 2, kind)));
        let density = fit.predictive().expect("a density");
        let draws = density.sample(10_000, 1);
        let scores = density.score(&draws, 2).expect("finite draws");

        // The mean of h / p over draws from p is one for any density h: a normal at each
        // component's mean in turn, lighter in its tails than p.
        for component in &fit.components {
            let sd = [1.0, 2.0];
            let ratios: Vec<f64> = draws
                .chunks(2)
                .zip(&scores.ln_density)
                .map(|(y, ln_density)| {
                    let square: f64 = (0..2)
                        .map(|i| ((y[i] - component.mean[i]) / sd[i]).powi(2))
                        .sum();
                    (-0.5 * square - (TAU * sd[0] * sd[1]).ln() - ln_density).exp()
                })
                .collect();
            let n = ratios.len() as f64;
            let mean = ratios.iter().sum::<f64>() / n;
            let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
            let error = (variance / n).sqrt();
            // Five standard errors, which must be small enough to say something.
            assert!(error < 0.1, "{error}");
            assert!(
                (mean - 1.0).abs() < 5.0 * error,
                "{kind:?}: {mean} ± {error}"
            );
        }

        // Tail probabilities of draws are uniform: twenty bins.
        let mut bins = [0.0; 20];
        for tail in density.tail(&draws, &scores.ln_density, 2) {
            bins[(tail * 20.0) as usize] += 1.0;
        }
        let square: f64 = bins.iter().map(|b| (b - 500.0_f64).powi(2) / 500.0).sum();
        // Both sides are 10,000 draws, so half the sum is chi-squared with 19 degrees of
        // freedom, beyond 56 once in 50,000 times.
        assert!(square / 2.0 < 56.0, "{kind:?}: {square} {bins:?}");
    }
}
