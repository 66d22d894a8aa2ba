//! Every mixture obeys the laws of collapsed models, and every direction obeys its laws on them.

mod common;

use collapsar::laws::model::{
    conforms, curvature, direction, never_falls, rules_agree_on_stationarity, search_never_falls,
    squared_norm, threads_do_not_matter, vbem_step_cannot_fall,
};
use collapsar::mixture::{Covariance, Mixture, Mixtures, Scale, Settings, Start, Weights};
use collapsar::{Collapsed, Direction, Driver, Stop};
use common::{blobs, kinds, settings};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Rows, columns and components: one column, one component, as many components as rows.
const SHAPES: [(usize, usize, usize); 5] =
    [(40, 2, 3), (15, 1, 2), (30, 3, 1), (25, 4, 4), (4, 2, 4)];

fn start(model: &Mixture, seed: u64) -> Vec<f64> {
    model
        .start(&Start::Random, seed)
        .expect("a start from random responsibilities")
        .0
}

/// Messages shrunk until every component has some part in every row.
///
/// Where all rows are settled the metric is a small difference of numbers near one, and laws of
/// its digits say nothing.
fn softened(model: &Mixture, mut messages: Vec<f64>) -> Vec<f64> {
    loop {
        let mut least = 1.0_f64;
        model
            .responsibilities(&messages, |_, r| {
                least = r.iter().copied().fold(least, f64::min);
            })
            .expect("finite densities");
        if least > 1e-3 {
            return messages;
        }
        for message in &mut messages {
            *message *= 0.5;
        }
    }
}

/// Runs `law` on a mixture of every kind and shape, and a random start.
fn on_every_mixture(
    shapes: &[(usize, usize, usize)],
    law: impl Fn(&Mixture, &[f64]) -> Result<(), String>,
) {
    for kind in kinds() {
        for &(rows, columns, components) in shapes {
            let values = blobs(rows, columns, 7);
            let model = Mixture::new(&values, columns, &settings(components, kind))
                .expect("data that vary");
            if let Err(broken) = law(&model, &start(&model, 1)) {
                panic!("{kind:?}, {rows} x {columns}, {components} components: {broken}");
            }
        }
    }
}

#[test]
fn points_conform() {
    on_every_mixture(&SHAPES, |model, start| {
        conforms(model, &softened(model, start.to_vec()), 3)
    });
}

#[test]
fn climbs_never_fall() {
    on_every_mixture(&SHAPES, |model, start| {
        for direction in Direction::ALL {
            never_falls(model, direction, start)?;
            search_never_falls(model, direction, start)?;
        }
        Ok(())
    });
}

#[test]
fn directions_end_at_stationary_points() {
    on_every_mixture(&SHAPES, rules_agree_on_stationarity);
}

#[test]
fn curvature_at_the_optimum() {
    // With a component for each row all rows are settled, and differences are rounding.
    on_every_mixture(&SHAPES[..4], |model, start| {
        let fit = Driver::new(model, Direction::Vbem)
            .stop(Stop::Gain(1e-13) | Stop::Iterations(20_000))
            .run(start.to_vec())
            .map_err(|e| e.to_string())?;
        let messages = &fit.point.messages;
        // The law allows for what is left of the gradient; here it must be next to nothing.
        let norm = squared_norm(model, messages).map_err(|e| e.to_string())?;
        assert!(norm < 1e-10, "{norm:e}");
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..3 {
            curvature(model, messages, &direction(model, messages, &mut rng)?)?;
        }
        Ok(())
    });
}

/// 3000 rows are three chunks of the sum over data.
#[test]
fn threads_do_not_matter_to_several_chunks() {
    for kind in kinds() {
        let values = blobs(3000, 3, 11);
        let model = Mixture::new(&values, 3, &settings(5, kind)).expect("data that vary");
        threads_do_not_matter(&model, &start(&model, 2)).expect("the same bits");
    }
}

#[test]
fn duplicated_rows() {
    for kind in kinds() {
        let few = blobs(3, 2, 13);
        let values = few.repeat(10);
        let model = Mixture::new(&values, 2, &settings(4, kind)).expect("data that vary");
        let start = start(&model, 3);
        conforms(&model, &softened(&model, start.clone()), 1).expect("a conforming point");
        for direction in Direction::ALL {
            search_never_falls(&model, direction, &start).expect("no fall");
        }
        rules_agree_on_stationarity(&model, &start).expect("stationary points");
    }
}

/// Few cases with a fixed seed: each runs some twenty laws.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 192,
        rng_seed: RngSeed::Fixed(17),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource(
            "proptest-regressions",
        ))),
        ..ProptestConfig::default()
    }
}

/// Log-uniform over powers of ten.
fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|power| 10_f64.powf(power))
}

/// A mixture with any hyperparameters, and its data.
fn mixture() -> impl Strategy<Value = (Settings, usize, Vec<f64>)> {
    let kind = (
        prop::sample::select(&Covariance::ALL[..]),
        prop::sample::select(&Weights::ALL[..]),
    );
    let shape = (1..=5_usize, 1..=3_usize, 0..40_usize, any::<u64>());
    let hyperparameters = (
        magnitude(-6.0, 6.0),
        magnitude(-8.0, 6.0),
        magnitude(-2.0, 6.0),
        magnitude(-6.0, 6.0),
    );
    (kind, shape, hyperparameters).prop_map(|(kind, (components, columns, more, seed), h)| {
        let values = blobs(components + more, columns, seed);
        let least = match kind.0 {
            Covariance::Full | Covariance::Tied => columns as f64 - 1.0,
            Covariance::Diagonal | Covariance::Spherical => 0.0,
        };
        let settings = Settings {
            concentration: Some(h.0),
            mean_precision: Some(h.1),
            degrees_of_freedom: Some(least + h.2),
            scale: Some(Scale::Identity(h.3)),
            ..settings(components, kind)
        };
        (settings, columns, values)
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_hyperparameters((settings, columns, values) in mixture(), seed: u64) {
        let model = Mixture::new(&values, columns, &settings).expect("a prior inside its domain");
        let start = start(&model, seed);
        vbem_step_cannot_fall(&model, &start).map_err(TestCaseError::fail)?;
        let softened = softened(&model, start.clone());
        conforms(&model, &softened, seed).map_err(TestCaseError::fail)?;
        for direction in Direction::ALL {
            search_never_falls(&model, direction, &start).map_err(TestCaseError::fail)?;
        }
    }
}

/// What is found once for all numbers of components is what each would find.
#[test]
fn mixtures_of_the_same_data_are_those_made_one_by_one() {
    let values = blobs(30, 3, 5);
    for kind in kinds() {
        let all = Mixtures::new(&values, 3, &settings(4, kind)).expect("mixtures");
        for components in 1..=4 {
            let one = Mixture::new(&values, 3, &settings(components, kind)).expect("a mixture");
            let other = all.with(components).expect("a mixture");
            assert_eq!(one.prior(), other.prior(), "{kind:?}");
            assert_eq!(one.fingerprint(), other.fingerprint());
            assert_eq!(start(&one, 1), start(&other, 1), "{kind:?}");
        }
        for wrong in [0, 5] {
            let refused = all.with(wrong).expect_err("none or too many");
            let found = format!("components is {wrong}, expected 1 to 4");
            assert_eq!(refused.to_string(), found);
        }
    }
}
