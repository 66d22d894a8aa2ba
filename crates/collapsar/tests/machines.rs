//! A mixture whose rows workers hold is the mixture of one process: the same laws, the same answers, the same bits for any number
//! of workers.

mod common;

use std::sync::Mutex;

use collapsar::laws::model::conforms;
use collapsar::mixture::machines::{
    Asker, Cuts, Exchange, FarMixture, FarMixtures, FarStart, Piece, Worker,
};
use collapsar::mixture::{Covariance, Mixture, Settings, Start};
use collapsar::{Collapsed, Direction, Driver, Fit, Point, Result, Stop};
use common::{blobs, kinds, settings};

/// Workers in this process, which forget what they know now and then where they are to be replaced.
struct Here {
    workers: Mutex<Vec<Worker>>,
    replaced: Option<Box<dyn Fn() -> Vec<Worker> + Sync>>,
    prepared: Mutex<Vec<u8>>,
    tasks: Mutex<usize>,
}

impl Here {
    fn new(workers: Vec<Worker>) -> Self {
        Self {
            workers: Mutex::new(workers),
            replaced: None,
            prepared: Mutex::default(),
            tasks: Mutex::new(0),
        }
    }
}

impl Exchange for Here {
    fn ask(&self, task: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut workers = self.workers.lock().expect("no panic");
        let mut tasks = self.tasks.lock().expect("no panic");
        *tasks += 1;
        if let Some(replaced) = &self.replaced {
            let lost = *tasks % workers.len();
            let mut fresh = replaced().swap_remove(lost);
            let prepared = self.prepared.lock().expect("no panic");
            if !prepared.is_empty() {
                fresh.answer(&prepared);
            }
            workers[lost] = fresh;
        }
        // In another order than that of the chunks.
        Ok(workers.iter_mut().rev().map(|w| w.answer(task)).collect())
    }

    fn prepare(&self, task: &[u8]) -> Result<Vec<Vec<u8>>> {
        let answers = self.ask(task);
        *self.prepared.lock().expect("no panic") = task.to_vec();
        answers
    }
}

fn workers(parts: &[Vec<f64>], columns: usize, cuts: &Cuts, count: u64) -> Vec<Worker> {
    let shares = cuts.shared(count).into_iter();
    let worker = |pieces: Vec<Piece>| {
        let mut worker = Worker::new(cuts.count(), cuts.chunk_rows(), columns);
        for piece in pieces {
            let first = piece.first_row as usize * columns;
            let end = first + piece.rows as usize * columns;
            worker
                .hold(&piece, &parts[piece.source][first..end])
                .expect("as many rows as the piece has");
        }
        worker
    };
    shares.map(worker).collect()
}

fn cuts(parts: &[Vec<f64>], columns: usize, chunk_rows: u64) -> Cuts {
    let sources = parts.iter().enumerate();
    let sources = sources.map(|(n, rows)| (format!("part {n}"), (rows.len() / columns) as u64));
    Cuts::new(sources.collect(), chunk_rows).expect("rows")
}

/// What `work` makes of a mixture of rows in parts that so many workers hold.
fn with_workers<T>(
    (parts, columns): (&[Vec<f64>], usize),
    (count, chunk_rows): (u64, u64),
    settings: &Settings,
    work: impl FnOnce(&FarMixture<'_>) -> T,
) -> T {
    let cuts = cuts(parts, columns, chunk_rows);
    let exchange = Here::new(workers(parts, columns, &cuts, count));
    let mixtures = FarMixtures::new(Asker::new(&exchange, cuts), columns, settings);
    let mixtures = mixtures.expect("data that vary");
    work(&mixtures.with(settings.components).expect("a model"))
}

fn evaluated(model: &impl Collapsed, messages: &[f64]) -> (f64, Point) {
    let mut point = Point {
        messages: messages.to_vec(),
        statistics: vec![0.0; messages.len()],
        gradient: vec![0.0; messages.len()],
        ..Point::default()
    };
    let (local, posterior) = model.evaluate(&mut point).expect("inside the domain");
    (local + posterior + model.constant(), point)
}

fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    let size = a.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance * size, "{what}: {x} and {y}");
    }
}

#[test]
fn bound_and_gradient_are_those_of_one_process() {
    let columns = 3;
    for kind in kinds() {
        let values = blobs(700, columns, 5);
        let settings = settings(4, kind);
        let near = Mixture::new(&values, columns, &settings).expect("data that vary");
        let (messages, _) = near.start(&Start::Random, 3).expect("a start");
        let (expected, point) = evaluated(&near, &messages);
        // One source in chunks of whole blocks: its random start has the same numbers too.
        with_workers((&[values], columns), (3, 128), &settings, |far| {
            let (own, passes) = far.start(FarStart::Random, 3).expect("a start");
            assert_eq!(passes, 1);
            // Sums of 700 numbers in another order.
            close(&messages, &own, 1e-9, "messages");
            let (bound, other) = evaluated(far, &messages);
            close(&[expected], &[bound], 1e-12, "bound");
            close(&point.statistics, &other.statistics, 1e-12, "statistics");
            close(&point.gradient, &other.gradient, 1e-9, "gradient");
            close(&[near.constant()], &[far.constant()], 1e-12, "constant");
            let along: Vec<f64> = (0..messages.len()).map(|i| (i as f64).sin()).collect();
            let mut products = [vec![0.0; along.len()], vec![0.0; along.len()]];
            near.metric_product(&point, &along, &mut products[0])
                .expect("a product");
            far.metric_product(&point, &along, &mut products[1])
                .expect("a product");
            close(&products[0], &products[1], 1e-11, "product");
        });
    }
}

#[test]
fn laws_hold_through_the_exchange() {
    for kind in kinds() {
        let parts = [blobs(17, 2, 7), blobs(23, 2, 8)];
        with_workers((&parts, 2), (2, 8), &settings(3, kind), |far| {
            let (mut messages, _) = far.start(FarStart::Random, 1).expect("a start");
            // Near zero no row is settled, and differences have digits.
            for message in &mut messages {
                *message *= 0.1;
            }
            if let Err(broken) = conforms(far, &messages, 3) {
                panic!("{kind:?}: {broken}");
            }
        });
    }
}

fn climbed(far: &FarMixture<'_>, start: FarStart, direction: Direction) -> Fit {
    let (messages, passes) = far.start(start, 11).expect("a start");
    Driver::new(far, direction)
        .spent(passes)
        .search(far)
        .stop(Stop::Gain(1e-6) | Stop::Passes(150))
        .run(messages)
        .expect("a climb")
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn fits_are_the_same_bits_for_any_number_of_workers() {
    let starts = [
        FarStart::KMeans,
        FarStart::Random,
        FarStart::PlusPlus,
        FarStart::Rows,
    ];
    for (kind, start) in kinds().zip(starts.into_iter().cycle()) {
        let parts = [blobs(333, 2, 1), blobs(100, 2, 2), blobs(5, 2, 3)];
        let settings = settings(4, kind);
        let fit = |count| {
            with_workers((&parts, 2), (count, 16), &settings, |far| {
                let fit = climbed(far, start, Direction::Auto);
                let components = far.fit(&fit.point).expect("components");
                (
                    bits(&fit.point.messages),
                    fit.point.bound.to_bits(),
                    (fit.passes, fit.jumps_tried),
                    components,
                )
            })
        };
        let alone = fit(1);
        for count in [2, 3, 4, 8, 40] {
            assert_eq!(fit(count), alone, "{kind:?}, {count} workers");
        }
    }
}

#[test]
fn a_lost_worker_changes_no_bit() {
    let parts = [blobs(333, 2, 1), blobs(100, 2, 2)];
    let settings = Settings::new(4);
    let kept = with_workers((&parts, 2), (3, 16), &settings, |far| {
        climbed(far, FarStart::KMeans, Direction::Auto).point
    });
    let cuts = cuts(&parts, 2, 16);
    let mut exchange = Here::new(workers(&parts, 2, &cuts, 3));
    let again = cuts.clone();
    exchange.replaced = Some(Box::new(move || workers(&parts, 2, &again, 3)));
    let mixtures = FarMixtures::new(Asker::new(&exchange, cuts), 2, &settings);
    let mixtures = mixtures.expect("data that vary");
    let far = mixtures.with(4).expect("a model");
    let lost = climbed(&far, FarStart::KMeans, Direction::Auto).point;
    assert_eq!(bits(&lost.messages), bits(&kept.messages));
    assert_eq!(lost.bound.to_bits(), kept.bound.to_bits());
}

#[test]
fn k_means_finds_what_one_process_finds() {
    // Far apart, so that any good start ends in the same place.
    let mut values = vec![];
    for centre in [0.0, 50.0, 100.0] {
        let rows = blobs(200, 2, 9);
        values.extend(rows.iter().map(|x| x + centre));
    }
    let settings = Settings::new(3);
    let near = Mixture::new(&values, 2, &settings).expect("data that vary");
    let (start, _) = near.start(&Start::KMeans, 0).expect("a start");
    let expected = Driver::new(&near, Direction::Vbem)
        .run(start)
        .expect("a climb");
    with_workers((&[values], 2), (4, 64), &settings, |far| {
        let (start, passes) = far.start(FarStart::KMeans, 0).expect("a start");
        assert_eq!(passes, 7);
        let fit = Driver::new(far, Direction::Vbem)
            .run(start)
            .expect("a climb");
        close(
            &[expected.point.bound],
            &[fit.point.bound],
            1e-9,
            "the bound",
        );
    });
}

#[test]
fn default_priors_are_those_of_one_process() {
    for kind in Covariance::ALL {
        let values = blobs(300, 3, 2);
        let settings = Settings {
            covariance: kind,
            ..Settings::new(2)
        };
        let near = Mixture::new(&values, 3, &settings).expect("data that vary");
        with_workers((&[values], 3), (2, 32), &settings, |far| {
            close(
                &near.prior().location,
                &far.prior().location,
                1e-13,
                "location",
            );
            close(&near.prior().scale, &far.prior().scale, 1e-12, "scale");
        });
    }
}

/// What is refused of two parts, in words.
fn refused(parts: &[Vec<f64>], columns: usize, settings: &Settings) -> String {
    let each = [1, 3].map(|count| {
        let cuts = cuts(parts, columns, 4);
        let exchange = Here::new(workers(parts, columns, &cuts, count));
        let mixtures = FarMixtures::new(Asker::new(&exchange, cuts), columns, settings);
        mixtures.expect_err("data that cannot be used").to_string()
    });
    assert_eq!(each[0], each[1]);
    each[0].clone()
}

#[test]
fn refusals_name_the_part_and_the_row() {
    let mut parts = [blobs(20, 2, 1), blobs(20, 2, 2)];
    parts[1][2 * 13 + 1] = f64::NAN;
    assert_eq!(
        refused(&parts, 2, &Settings::new(2)),
        "part 1, row 14, column 2: a missing value, expected a number: rows with gaps are fitted by one machine alone"
    );
    parts[1][2 * 13 + 1] = 1e200;
    assert_eq!(
        refused(&parts, 2, &Settings::new(2)),
        "part 1, row 14, column 2: 1e200, expected a finite number no larger than 1e140; rescale the column"
    );
    let constant = [vec![1.0, 3.0, 2.0, 3.0], vec![5.0, 3.0]];
    assert!(
        refused(&constant, 2, &Settings::new(2))
            .starts_with("column 2: the constant 3, expected a column that varies")
    );
    assert!(
        refused(&constant, 2, &Settings::new(4))
            .starts_with("data: 3 rows for 4 components, expected at least as many rows")
    );
}

#[test]
fn a_worker_of_another_model_or_another_version_is_not_believed() {
    let parts = [blobs(40, 2, 1)];
    let cuts = cuts(&parts, 2, 8);
    let exchange = Here::new(workers(&parts, 2, &cuts, 2));
    let mixtures = FarMixtures::new(Asker::new(&exchange, cuts), 2, &Settings::new(3));
    let mixtures = mixtures.expect("data that vary");
    let earlier = mixtures.with(2).expect("a model");
    let _later = mixtures.with(3).expect("another");
    let error = earlier
        .start(FarStart::Random, 0)
        .expect_err("a model that is gone");
    assert_eq!(
        error.to_string(),
        "workers: a worker that is prepared for another model"
    );
    let mut workers = exchange.workers.lock().expect("no panic");
    let answer = workers[0].answer(b"clps\x63");
    assert!(String::from_utf8_lossy(&answer).contains("a task of format 99, expected format 1"));
}

mod random_bytes {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_task_panics(kind in 0_u8..32, bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let parts = [blobs(20, 2, 1)];
            let cuts = cuts(&parts, 2, 8);
            let mut worker = workers(&parts, 2, &cuts, 1).remove(0);
            let mut task = b"clps\x01".to_vec();
            task.extend([0; 16]);
            task.push(kind);
            task.extend(bytes);
            let _ = worker.answer(&task);
        }
    }
}
