//! Topics of documents that workers hold are those of one process: the same laws, the same answers, the same bits for any number
//! of workers, also after some were lost.

#[allow(dead_code)] // the other tests of topics use the rest of it
mod plain;

use std::sync::{Arc, Mutex};

use collapsar::laws::model::conforms;
use collapsar::topics::machines::{Asker, Cuts, Exchange, FarCorpus, FarTopics, Piece, Worker};
use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics};
use collapsar::{
    Advice, Checkpoint, Collapsed, Direction, Driver, Fit, Point, Potential, Result, Stop,
};
use plain::{corpus, distance, drawn, given, look, model};

/// Workers in this process, some of which are replaced by others that know nothing.
struct Here {
    workers: Mutex<Vec<Worker>>,
    replaced: Option<Box<dyn Fn() -> Vec<Worker> + Sync>>,
    /// Before which tasks one is lost.
    losses: fn(usize) -> bool,
    tasks: Mutex<usize>,
}

impl Exchange for Here {
    fn ask(&self, task: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut workers = self.workers.lock().expect("no panic");
        let mut tasks = self.tasks.lock().expect("no panic");
        *tasks += 1;
        if let Some(replaced) = &self.replaced
            && (self.losses)(*tasks)
        {
            let lost = *tasks % workers.len();
            workers[lost] = replaced().swap_remove(lost);
        }
        // In another order than that of the chunks.
        Ok(workers.iter_mut().rev().map(|w| w.answer(task)).collect())
    }

    fn prepare(&self, task: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.ask(task)
    }
}

impl Here {
    fn new(workers: Vec<Worker>) -> Self {
        Self {
            workers: Mutex::new(workers),
            replaced: None,
            losses: |_| true,
            tasks: Mutex::new(0),
        }
    }
}

fn workers(parts: &[Arc<Corpus>], cuts: &Cuts, count: u64) -> Vec<Worker> {
    let shares = cuts.shared(count).into_iter();
    let worker = |pieces: Vec<Piece>| {
        let words = parts[0].vocabulary();
        let mut worker = Worker::new(cuts.count(), cuts.chunk_rows(), words);
        for piece in pieces {
            let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
            for document in piece.first_row..piece.first_row + piece.rows {
                let (own, often) = parts[piece.source].document(document as usize);
                words.extend(own);
                counts.extend(often);
                starts.push(words.len());
            }
            worker
                .hold("part", &piece, (&starts, &words, &counts))
                .expect("documents of a corpus");
        }
        worker
    };
    shares.map(worker).collect()
}

fn cuts(parts: &[Arc<Corpus>], chunk: u64) -> Cuts {
    let sources = parts.iter().enumerate();
    let sources = sources.map(|(n, part)| (format!("part {n}"), part.documents() as u64));
    Cuts::new(sources.collect(), chunk).expect("documents")
}

/// What `work` makes of topics of documents in parts that so many workers hold.
fn with_workers<T>(
    parts: &[Arc<Corpus>],
    (count, chunk): (u64, u64),
    settings: &Settings,
    work: impl FnOnce(&FarTopics<'_>) -> T,
) -> T {
    let cuts = cuts(parts, chunk);
    let exchange = Here::new(workers(parts, &cuts, count));
    let words = parts[0].vocabulary();
    let corpus = FarCorpus::new(Asker::new(&exchange, cuts), words).expect("words");
    let made = work(&corpus.with(settings).expect("a model"));
    // Nothing is kept of what nothing refers to, but by the last pass.
    for worker in exchange.workers.lock().expect("no panic").iter() {
        assert!(worker.passes() <= 6, "{} passes", worker.passes());
    }
    made
}

/// A corpus with documents without words, some of them a chunk of their own.
fn odd() -> Arc<Corpus> {
    let some = drawn((40, 25, 30), &[0.3; 4], 0.1, 3).0;
    let mut documents: Vec<Vec<(u32, f32)>> = vec![];
    for index in 0..some.documents() {
        let (words, counts) = some.document(index);
        documents.push(words.iter().copied().zip(counts.iter().copied()).collect());
        if index % 11 == 3 {
            documents.resize(documents.len() + 9, vec![]);
        }
    }
    documents.push(vec![(31, 0.5)]);
    corpus(&documents, 33)
}

fn parts() -> [Arc<Corpus>; 3] {
    let of = |documents, seed| drawn((documents, 40, 33), &[0.2; 5], 0.1, seed).0;
    [of(70, 1), odd(), of(3, 2)]
}

fn learned(topics: usize) -> Settings {
    Settings::new(topics)
}

/// As the driver looks: the point, and its bound.
fn seen(model: &impl Collapsed, messages: &[f64], warm: Option<&Point>) -> Point {
    let mut point = Point {
        messages: messages.to_vec(),
        statistics: vec![0.0; messages.len()],
        gradient: vec![0.0; messages.len()],
        ..Point::default()
    };
    if let Some(warm) = warm {
        point.warm = warm.warm.clone();
    }
    let (local, posterior) = model.evaluate(&mut point).expect("finite messages");
    let pairs = messages.iter().zip(&point.statistics);
    point.bound = local + posterior - pairs.map(|(m, s)| m * s).sum::<f64>();
    point
}

fn close(a: &[f64], b: &[f64], what: &str) {
    let size = a.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    // Sums of some thousand numbers in another order.
    assert!(distance(a, b) <= 1e-11 * size, "{what}: {a:?} and {b:?}");
}

#[test]
fn bound_gradient_and_priors_are_those_of_one_process() {
    for settings in [given(&[0.3, 0.1, 2.0], 0.2, 3), learned(3)] {
        let documents = odd();
        let near = model(&documents, &settings);
        let (messages, _) = near.start(Start::Random, 5).expect("a start");
        let first = look(&near, &messages, vec![]);
        // Where VBEM's step leads, from the counts of the first look.
        let second = look(&near, &first.gradient, first.warm.clone());
        for (workers, chunk) in [(1, 1000), (3, 4), (40, 1)] {
            with_workers(
                &[Arc::clone(&documents)],
                (workers, chunk),
                &settings,
                |far| {
                    let own = far.start(Start::Random, 5).expect("a start");
                    assert_eq!(own, (messages.clone(), 0));
                    let one = seen(far, &messages, None);
                    let two = seen(far, &first.gradient, Some(&one));
                    for (near, far) in [(&first, &one), (&second, &two)] {
                        close(&[near.bound], &[far.bound], "bound");
                        close(&near.statistics, &far.statistics, "statistics");
                        close(&near.gradient, &far.gradient, "target");
                        // Of which those of documents are elsewhere.
                        let priors = near.warm.len() - settings.topics - 1;
                        close(&near.warm[priors..], &far.warm, "priors");
                    }
                    let along: Vec<f64> = (0..messages.len()).map(|i| (i as f64).sin()).collect();
                    let mut products = [vec![0.0; along.len()], vec![0.0; along.len()]];
                    near.metric_product(&second, &along, &mut products[0])
                        .expect("a product");
                    far.metric_product(&two, &along, &mut products[1])
                        .expect("a product");
                    close(&products[0], &products[1], "product");
                },
            );
        }
    }
}

/// Documents that are always settled, of which the laws are.
struct Exact<'a, 'b>(&'a FarTopics<'b>);

impl<'b> Collapsed for Exact<'_, 'b> {
    type Local = <FarTopics<'b> as Collapsed>::Local;
    type Posterior = <FarTopics<'b> as Collapsed>::Posterior;

    fn local(&self) -> &Self::Local {
        self.0.local()
    }

    fn posterior(&self) -> &Self::Posterior {
        self.0.posterior()
    }

    fn advice(&self) -> Advice<'_> {
        Advice::default()
    }

    fn constant(&self) -> f64 {
        self.0.constant()
    }

    fn fingerprint(&self) -> String {
        self.0.fingerprint()
    }
}

#[test]
fn laws_hold_through_the_exchange() {
    let settings = given(&[0.5; 3], 0.5, 3);
    let documents = [drawn((12, 15, 9), &[0.5; 3], 0.3, 1).0];
    with_workers(&documents, (2, 5), &settings, |far| {
        let (mut messages, _) = far.start(Start::Random, 1).expect("a start");
        // Near zero no word is settled, and differences have digits.
        for message in &mut messages {
            *message *= 0.3;
        }
        if let Err(broken) = conforms(&Exact(far), &messages, 3) {
            panic!("{broken}");
        }
    });
}

fn climbed(far: &FarTopics<'_>, start: Start, direction: Direction) -> Fit {
    let (messages, passes) = far.start(start, 11).expect("a start");
    Driver::new(far, direction)
        .spent(passes)
        .stop(Stop::Gain(1e-5) | Stop::Passes(120))
        .run(messages)
        .expect("a climb")
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

fn told(fit: &Fit) -> (Vec<u64>, Vec<u64>, u64, u64) {
    let point = &fit.point;
    let bound = point.bound.to_bits();
    (bits(&point.messages), bits(&point.warm), bound, fit.passes)
}

#[test]
fn fits_are_the_same_bits_for_any_number_of_workers() {
    let directions = [Direction::Auto, Direction::Vbem, Direction::Lbfgs];
    for (start, direction) in Start::ALL.into_iter().zip(directions) {
        for settings in [learned(4), given(&[0.1; 4], 0.1, 2)] {
            let fit = |count| {
                with_workers(&parts(), (count, 8), &settings, |far| {
                    told(&climbed(far, start, direction))
                })
            };
            let alone = fit(1);
            for count in [2, 3, 8, 40] {
                assert_eq!(fit(count), alone, "{start}, {count} workers");
            }
        }
    }
}

#[test]
fn a_climb_ends_where_that_of_one_process_does() {
    let documents = odd();
    let settings = given(&[1.0; 3], 1.0, 5);
    let near = model(&documents, &settings);
    let (start, _) = near.start(Start::Random, 1).expect("a start");
    let expected = Driver::new(&near, Direction::Auto)
        .run(start.clone())
        .expect("a climb");
    with_workers(&[documents], (3, 4), &settings, |far| {
        let fit = Driver::new(far, Direction::Auto)
            .run(start)
            .expect("a climb");
        let (found, expected) = (fit.point.bound, expected.point.bound);
        assert!((found - expected).abs() < 1e-4, "{found} and {expected}");
        let fit = far.fit(&fit.point);
        assert_eq!(fit.documents(), 0);
        assert_eq!(fit.vocabulary(), 33);
    });
}

#[test]
fn lost_workers_change_no_bit() {
    // Early and late, in each kind of task, one after another, and while others are brought to know what they lack.
    let moments: [fn(usize) -> bool; 3] = [
        |task| [1, 2, 3, 7, 33, 40, 90, 91, 92, 160].contains(&task),
        |task| [36, 37, 45, 46, 150, 155, 300].contains(&task),
        |task| task % 97 == 95 && task < 1000,
    ];
    for settings in [learned(4), given(&[0.1; 4], 0.1, 2)] {
        let run = |far: &FarTopics<'_>| {
            let fit = climbed(far, Start::Annealed, Direction::Auto);
            assert!(fit.iterations > 20);
            told(&fit)
        };
        let expected = with_workers(&parts(), (3, 8), &settings, run);
        for losses in moments {
            let cuts = cuts(&parts(), 8);
            let mut exchange = Here::new(workers(&parts(), &cuts, 3));
            let again = cuts.clone();
            exchange.replaced = Some(Box::new(move || workers(&parts(), &again, 3)));
            exchange.losses = losses;
            let corpus = FarCorpus::new(Asker::new(&exchange, cuts), 33).expect("words");
            let found = run(&corpus.with(&settings).expect("a model"));
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn workers_that_are_always_lost_end_the_climb() {
    // Small, as it is made anew for each of a thousand losses.
    let parts = [drawn((3, 5, 33), &[0.3; 2], 0.1, 1).0];
    let cuts = cuts(&parts, 8);
    let mut exchange = Here::new(workers(&parts, &cuts, 1));
    let again = cuts.clone();
    exchange.replaced = Some(Box::new(move || workers(&parts, &again, 1)));
    let corpus = FarCorpus::new(Asker::new(&exchange, cuts), 33).expect("words");
    let far = corpus.with(&learned(2)).expect("a model");
    let (messages, _) = far.start(Start::Random, 1).expect("no counts yet");
    let run = Driver::new(&far, Direction::Vbem).run(messages);
    assert_eq!(
        run.expect_err("no climb").to_string(),
        "workers: a task that workers could not do after 1000 losses"
    );
}

#[test]
fn a_resumed_climb_has_the_same_bits_for_any_number_of_workers() {
    let settings = learned(4);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("checkpoint.json");
    let stopped = with_workers(&parts(), (2, 8), &settings, |far| {
        let (messages, passes) = far.start(Start::Annealed, 11).expect("a start");
        let driver = Driver::new(far, Direction::Auto)
            .spent(passes)
            .stop(Stop::Iterations(30))
            .checkpoint(&file, 10);
        driver.run(messages).expect("a climb").point.bound
    });
    let resume = |count| {
        with_workers(&parts(), (count, 8), &settings, |far| {
            let checkpoint = Checkpoint::read(&file).expect("a checkpoint");
            let driver = Driver::new(far, Direction::Auto);
            let stop = Stop::Gain(1e-5) | Stop::Iterations(60);
            let fit = driver.stop(stop).resume(checkpoint).expect("a climb");
            assert!(fit.point.bound > stopped);
            told(&fit)
        })
    };
    let alone = resume(1);
    for count in [2, 5] {
        assert_eq!(resume(count), alone);
    }
}

#[test]
fn what_cannot_be_used_is_refused_in_one_sentence() {
    let piece = |rows| Piece {
        source: 0,
        first_row: 4,
        rows,
        first_chunk: 2,
    };
    let mut worker = Worker::new(9, 2, 3);
    let mut refused = |rows, words: &[u32], counts: &[f32]| {
        let starts: Vec<usize> = (0..=words.len()).collect();
        let held = worker.hold("a.txt", &piece(rows), (&starts, words, counts));
        held.expect_err("a refusal").to_string()
    };
    assert_eq!(
        refused(2, &[0, 1, 2], &[1.0; 3]),
        "a.txt: 3 documents, expected 2, as when they were counted"
    );
    assert_eq!(
        refused(3, &[0, 1, 3], &[1.0; 3]),
        "a.txt, document 7: word 3 of a vocabulary of 3, expected words counted from 0"
    );
    assert_eq!(
        refused(3, &[0, 1, 2], &[1.0, -1.0, 1.0]),
        "a.txt, document 6: word 1 with count -1, expected a positive count up to 16777216"
    );
    let empty = Arc::clone(&odd());
    let cuts = Cuts::new(vec![("a".into(), 3)], 2).expect("documents");
    let mut worker = Worker::new(2, 2, 33);
    let all = Piece {
        source: 0,
        first_row: 0,
        rows: 3,
        first_chunk: 0,
    };
    worker
        .hold("a", &all, (&[0, 0, 0, 0], &[], &[]))
        .expect("documents without words");
    let exchange = Here::new(vec![worker]);
    let none = FarCorpus::new(Asker::new(&exchange, cuts), 33).expect_err("no words");
    assert_eq!(
        none.to_string(),
        "corpus: no words, expected at least one document with a word"
    );
    let parts = [empty];
    let settings = learned(3);
    with_workers(&parts, (2, 8), &settings, |far| {
        let mut point = seen(far, &vec![0.0; 99], None);
        point.messages[6] = f64::NAN;
        let error = far.evaluate(&mut point).expect_err("no number");
        assert!(error.is_recoverable());
        assert_eq!(
            error.to_string(),
            "messages of word 3: NaN, expected finite numbers"
        );
    });
    let exchange = Here::new(workers(&parts, &self::cuts(&parts, 8), 2));
    let asker = Asker::new(&exchange, self::cuts(&parts, 8));
    let corpus = FarCorpus::new(asker, 33).expect("words");
    let many = corpus.with(&Settings {
        alpha: Alpha::Symmetric(0.1),
        beta: Beta::Given(0.1),
        ..Settings::new(1_000_000)
    });
    let many = many.expect_err("more topics than tokens").to_string();
    assert!(many.contains("no more topics than the corpus has tokens"));
    assert_eq!(corpus.filled(), 41);
    assert_eq!(corpus.documents(), parts[0].documents() as u64);
    let near = Topics::new(Arc::clone(&parts[0]), &settings).expect("a model");
    assert_eq!(corpus.tokens(), near.corpus().tokens());
    assert_eq!(near.local().dim(), 99);
}

mod random_bytes {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_task_panics(kind in 0_u8..32, bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let parts = [odd()];
            let mut worker = workers(&parts, &cuts(&parts, 8), 1).remove(0);
            let mut task = b"clps\x01".to_vec();
            task.extend([0; 16]);
            task.push(kind);
            task.extend(bytes);
            let _ = worker.answer(&task);
        }
    }
}
