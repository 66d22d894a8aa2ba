use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::{Covariance, Mixture, Scale, Weights};
use super::*;
use collapsar_core::random::StandardNormal;
use collapsar_core::{Collapsed, Direction, Driver, Jumps, Stop};

const COLUMNS: usize = 2;

/// Rows around three centres that overlap a little.
fn rows(count: usize, rng: &mut impl Rng) -> Vec<f64> {
    let mut values = vec![];
    for _ in 0..count {
        let u: f64 = rng.random();
        let (centre, spread) = match u {
            u if u < 0.5 => ([0.0, 0.0], 1.0),
            u if u < 0.8 => ([4.0, 1.0], 0.7),
            _ => ([1.0, 5.0], 1.2),
        };
        let common: f64 = rng.sample(StandardNormal);
        for c in centre {
            let own: f64 = rng.sample(StandardNormal);
            values.push(10.0 + 3.0 * (c + spread * (0.8 * own + 0.6 * common)));
        }
    }
    values
}

fn of(values: &[f64]) -> Observations<'_> {
    Observations {
        values,
        columns: COLUMNS,
        weights: None,
        labels: None,
    }
}

fn kinds() -> impl Iterator<Item = Settings> {
    Covariance::ALL.into_iter().flat_map(|covariance| {
        Weights::ALL.map(|weights| Settings {
            covariance,
            weights,
            ..Settings::new(4)
        })
    })
}

/// Steps of one.
fn whole(rows: usize) -> OnlineOptions {
    OnlineOptions {
        rows: rows as f64,
        decay: 0.0,
        ..OnlineOptions::default()
    }
}

fn gappy(values: &[f64]) -> Vec<f64> {
    let each = values.iter().enumerate();
    each.map(|(i, x)| if i % 7 == 3 { f64::NAN } else { *x })
        .collect()
}

fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        // The same sums in another order.
        assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{what}: {a} {b}");
    }
}

/// Means, covariances, counts and weights of all components.
fn numbers(fit: &MixtureFit) -> Vec<f64> {
    let each = fit.components.iter().flat_map(|c| {
        let variances = (0..COLUMNS).map(|d| c.scale.variance(d));
        let own = [c.weight, c.count, c.mean_precision, c.degrees_of_freedom];
        let all: Vec<f64> = own
            .into_iter()
            .chain(c.mean.clone())
            .chain(variances)
            .collect();
        all
    });
    each.collect()
}

#[test]
fn a_batch_of_everything_that_counts_for_everything_is_a_step_of_vbem() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let complete = rows(60, &mut rng);
    let labels: Vec<usize> = (0..60).map(|n| n * 5 % 4).collect();
    let weights: Vec<f64> = (0..60).map(|n| 0.5 + f64::from(n % 3)).collect();
    let known: Vec<Option<usize>> = (0..60).map(|n| (n % 5 == 0).then_some(n % 3)).collect();
    for settings in kinds() {
        for values in [complete.clone(), gappy(&complete)] {
            let plain = of(&values);
            let labelled = Observations {
                weights: Some(&weights),
                labels: Some(&known),
                ..plain
            };
            for given in [plain, labelled] {
                let total = given.weights.map_or(60.0, |weights| weights.iter().sum());
                let options = OnlineOptions {
                    rows: total,
                    ..whole(60)
                };
                let start = Start::Labels(labels.clone());
                let mut online = OnlineMixture::new(given, &settings, options, &start, 0)
                    .expect("rows and options");
                let model = Mixture::of(given, &settings).expect("rows");
                assert_eq!(online.prior(), model.prior());
                let (mut messages, _) = model.start(&start, 0).expect("a start");
                for _ in 0..3 {
                    let mut statistics = vec![0.0; messages.len()];
                    let value = model.local().value_and_gradient(&messages, &mut statistics);
                    let score = online.learn(given).expect("a batch");
                    // A fit of complete rows leaves the scatter that tied components share out of its local part.
                    if settings.covariance != Covariance::Tied || model.gaps().any() {
                        let expected = value.expect("a point") + model.constant();
                        assert_same(&[score.rows, score.bound], &[total, expected], "score");
                    }
                    model
                        .posterior()
                        .value_and_gradient(&statistics, &mut messages)
                        .expect("statistics");
                    let point = Point {
                        statistics,
                        ..Point::default()
                    };
                    let expected = model.fit(&point).expect("a fit");
                    let found = online.fit().expect("a fit");
                    assert_same(&numbers(&found), &numbers(&expected), "step");
                }
                assert_eq!(online.batches(), 3);
            }
        }
    }
}

#[test]
fn a_stream_comes_to_what_all_rows_say() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (all, held_out) = (rows(20_000, &mut rng), rows(5_000, &mut rng));
    let mean = |fit: &MixtureFit| {
        let density = fit.predictive().expect("a density");
        let scores = density.score(&held_out, COLUMNS).expect("rows").ln_density;
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    for settings in kinds() {
        let model = Mixture::new(&all, COLUMNS, &settings).expect("rows");
        let (messages, _) = model.start(&Start::KMeans, 1).expect("a start");
        let climb = Driver::new(&model, Direction::Auto)
            .search(&model as &dyn Jumps)
            .stop(Stop::Gain(1e-3))
            .run(messages)
            .expect("a climb");
        let best = mean(&model.fit(&climb.point).expect("a fit"));
        let options = OnlineOptions {
            rows: 20_000.0,
            ..OnlineOptions::default()
        };
        let first = of(&all[..400 * COLUMNS]);
        let mut online = OnlineMixture::new(first, &settings, options, &Start::KMeans, 1)
            .expect("rows and options");
        let begin = mean(&online.fit().expect("a fit"));
        for batch in all.chunks(100 * COLUMNS) {
            online.learn(of(batch)).expect("a batch");
        }
        let found = mean(&online.fit().expect("a fit"));
        assert_eq!(online.batches(), 200);
        // Two hundredths of a nat for a row of two numbers.
        assert!(
            found > best - 0.02 && found > begin,
            "{:?} {:?}: {begin} {found} {best}",
            settings.covariance,
            settings.weights
        );
    }
}

#[test]
fn values_may_go_missing_on_the_way() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (first, second) = (rows(80, &mut rng), gappy(&rows(40, &mut rng)));
    for settings in kinds() {
        let begin = || {
            OnlineMixture::new(of(&first), &settings, whole(80), &Start::KMeans, 4)
                .expect("rows and options")
        };
        let slow = OnlineOptions {
            rows: 120.0,
            decay: 0.6,
            offset: 2.0,
        };
        let (mut late, mut early) = (begin(), begin());
        early.admit_gaps();
        for online in [&mut late, &mut early] {
            online.learn(of(&first)).expect("a batch");
            *online = online.clone().with_options(slow).expect("options");
            online.learn(of(&second)).expect("a batch");
            online.learn(of(&first)).expect("a batch");
        }
        let (late, early) = (late.fit().expect("a fit"), early.fit().expect("a fit"));
        assert_same(&numbers(&late), &numbers(&early), "gaps");
    }
}

#[test]
fn threads_and_what_is_saved_do_not_matter() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let all = rows(3000, &mut rng);
    for settings in kinds() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("threads").install(|| {
                let first = of(&all);
                let options = OnlineOptions::default();
                let mut online = OnlineMixture::new(first, &settings, options, &Start::KMeans, 1)
                    .expect("rows and options");
                online.learn(first).expect("a batch");
                // Written down in between.
                let json = serde_json::to_string(&online).expect("JSON");
                let mut online: OnlineMixture = serde_json::from_str(&json).expect("JSON");
                online.learn(of(&gappy(&all))).expect("a batch");
                online
            })
        };
        assert_eq!(run(1), run(4));
    }
}

#[test]
fn refusals_say_what_is_wrong_and_leave_things_as_they_are() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let all = rows(50, &mut rng);
    let settings = Settings::new(3);
    let base = OnlineOptions::default();
    for (options, name) in [
        (OnlineOptions { rows: 0.0, ..base }, "total_samples"),
        (OnlineOptions { decay: 1.5, ..base }, "learning_decay"),
        (
            OnlineOptions {
                offset: 0.5,
                ..base
            },
            "learning_offset",
        ),
    ] {
        let refused = OnlineMixture::new(of(&all), &settings, options, &Start::KMeans, 1);
        let told = refused.expect_err(name).to_string();
        assert!(told.contains(name), "{told}");
    }
    let few = OnlineMixture::new(of(&all[..4]), &settings, base, &Start::KMeans, 1);
    let told = few.expect_err("two rows").to_string();
    assert!(told.contains("2 rows for 3 components"), "{told}");
    let start = Start::KMeans;
    let mut online = OnlineMixture::new(of(&all), &settings, base, &start, 1).expect("rows");
    let before = online.clone();
    let mut refuse = |batch: Observations<'_>| {
        let told = online.learn(batch).expect_err("refused").to_string();
        assert_eq!(online, before);
        told
    };
    let wide = Observations {
        columns: 5,
        ..of(&all)
    };
    assert_eq!(
        refuse(wide),
        "data: rows of 5 columns, expected 2, as the rows before them have"
    );
    assert!(refuse(of(&[])).contains("no rows"));
    assert!(refuse(of(&[f64::NAN; 4])).contains("no value"));
    assert!(refuse(of(&[1.0, f64::INFINITY])).contains("finite number"));
    let labels = [Some(3)];
    let labelled = Observations {
        labels: Some(&labels),
        ..of(&[1.0, 2.0])
    };
    assert!(refuse(labelled).contains("components"));
    // One row is enough to learn from.
    let one = online.learn(of(&[12.0, 9.0])).expect("a row");
    assert_eq!(one.rows, 1.0);
    let given = Settings {
        location: Some(vec![0.0, 0.0]),
        scale: Some(Scale::Identity(2.0)),
        ..settings
    };
    let constant = [1.0, 2.0].repeat(10);
    let online = OnlineMixture::new(of(&constant), &given, base, &Start::KMeans, 1);
    assert_eq!(
        online.expect("a given prior").prior().scale,
        [2.0, 0.0, 0.0, 2.0]
    );
}
