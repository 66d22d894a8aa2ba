//! Documents in a file are fitted to the bits of documents in memory.

#[allow(dead_code)] // the other tests of topics use the rest of it
mod plain;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use collapsar::topics::{
    Alpha, Beta, Corpus, CorpusWriter, Settings, Start, StoredCorpus, StoredDocuments, Topics,
    TopicsResponse,
};
use collapsar::{Checkpoint, Collapsed, Direction, Driver, Fit, Point, Potential, Stop, Warm};
use plain::{corpus, drawn, given, model};
use rayon::ThreadPoolBuilder;

/// Bytes of blocks: of a document each, of some, of all.
const SEGMENTS: [usize; 3] = [1, 3000, 1 << 20];

fn stored(corpus: &Corpus, folder: &Path, segment: usize) -> Arc<StoredCorpus> {
    let path = folder.join("documents");
    let mut writer = CorpusWriter::create(&path, corpus.vocabulary()).expect("a file");
    for index in 0..corpus.documents() {
        let (words, counts) = corpus.document(index);
        let mut both: Vec<(u32, f32)> = words.iter().copied().zip(counts.iter().copied()).collect();
        both.sort_by_key(|entry| entry.0);
        let (words, counts): (Vec<u32>, Vec<f32>) = both.into_iter().unzip();
        writer.push(&words, &counts).expect("a document");
    }
    writer.finish().expect("room");
    Arc::new(StoredCorpus::open(&path, segment).expect("the file"))
}

fn in_file(
    corpus: &Arc<StoredCorpus>,
    settings: &Settings,
    folder: &Path,
) -> Topics<StoredDocuments> {
    Topics::stored(Arc::clone(corpus), settings, &folder.join("counts")).expect("settings in range")
}

fn learned() -> Settings {
    Settings {
        alpha: Alpha::Learned,
        beta: Beta::Learned,
        ..Settings::new(4)
    }
}

/// Documents in ascending order of words, some of them empty, as files have them.
fn documents() -> Arc<Corpus> {
    let (drawn, _) = drawn((700, 40, 300), &[0.1, 0.2, 0.3, 0.4], 0.05, 3);
    let document = |index: usize| -> Vec<(u32, f32)> {
        let (words, counts) = drawn.document(index);
        let mut all: Vec<(u32, f32)> = words.iter().copied().zip(counts.iter().copied()).collect();
        all.sort_by_key(|entry| entry.0);
        if index.is_multiple_of(97) {
            vec![]
        } else {
            all
        }
    };
    let all: Vec<Vec<(u32, f32)>> = (0..700).map(document).collect();
    corpus(&all, 300)
}

fn climb<M: Collapsed>(model: &M, start: Vec<f64>, direction: Direction, steps: u64) -> Fit {
    let stop = Stop::Gain(1e-9) | Stop::Iterations(steps);
    Driver::new(model, direction)
        .stop(stop)
        .run(start)
        .expect("a climb")
}

fn counts(model: &Topics<StoredDocuments>, warm: &Warm) -> Vec<f64> {
    let mut all = vec![];
    (model.local())
        .each(warm, &mut |block, counts| {
            assert_eq!(all.len(), block.first * model.topics());
            all.extend_from_slice(counts);
            Ok(ControlFlow::Continue(()))
        })
        .expect("counts");
    all
}

#[test]
fn climbs_are_those_of_memory_bit_for_bit() {
    let (corpus, folder) = (documents(), tempfile::tempdir().expect("a folder"));
    let fixed = given(&[0.05, 0.1, 0.1, 0.3], 0.02, 3);
    for (settings, start) in [(learned(), Start::Annealed), (fixed, Start::Random)] {
        let memory = model(&corpus, &settings);
        for segment in SEGMENTS {
            let file = stored(&corpus, folder.path(), segment);
            let of_file = in_file(&file, &settings, folder.path());
            assert_eq!(of_file.fingerprint(), memory.fingerprint());
            let (begin, passes) = memory.start(start, 7).expect("a start");
            assert_eq!(
                of_file.start(start, 7).expect("a start"),
                (begin.clone(), passes)
            );
            let directions: &[Direction] = if segment == 3000 {
                &[Direction::Auto, Direction::Vbem, Direction::Lbfgs]
            } else {
                &[Direction::Auto]
            };
            for &direction in directions {
                // Enough that momentum has moved counts on.
                let expected = climb(&memory, begin.clone(), direction, 28);
                for threads in [1, 3] {
                    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
                    let found = pool
                        .expect("threads")
                        .install(|| climb(&of_file, begin.clone(), direction, 28));
                    assert_eq!(found.passes, expected.passes);
                    let at = [&found.point, &expected.point];
                    let [a, b] = at.map(|p| (&p.messages, &p.statistics, &p.gradient, p.bound));
                    assert_eq!(a, b, "{direction}, segments of {segment}");
                    let numbers = 700 * 4;
                    assert_eq!(found.point.warm[..], expected.point.warm[numbers..]);
                    assert_eq!(
                        counts(&of_file, &found.point.warm),
                        expected.point.warm[..numbers]
                    );
                }
            }
        }
    }
    // Nothing is left but the documents.
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1);
}

#[test]
fn derivatives_are_those_of_memory() {
    let (corpus, folder) = (documents(), tempfile::tempdir().expect("a folder"));
    let settings = learned();
    let memory = model(&corpus, &settings);
    let file = stored(&corpus, folder.path(), 3000);
    let of_file = in_file(&file, &settings, folder.path());
    let (at, _) = memory.start(Start::Documents, 5).expect("a start");
    let along: Vec<f64> = (0..at.len())
        .map(|i| ((i * 31 % 17) as f64 - 8.0) / 8.0)
        .collect();
    let dim = at.len();
    let of = |potential: &dyn Potential| {
        let (mut gradient, mut product) = (vec![0.0; dim], vec![0.0; dim]);
        let value = potential
            .value_and_gradient(&at, &mut gradient)
            .expect("finite");
        potential
            .hessian_product(&at, &along, &mut product)
            .expect("finite");
        (value, gradient, product)
    };
    assert_eq!(of(of_file.local()), of(memory.local()));
}

/// Products that underflow are redone in logs, wherever documents are.
#[test]
fn tiny_products_are_those_of_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |index: u32| match index % 3 {
        0 => vec![(0, 3.0), (1, 1.0)],
        1 => vec![(1, 2.0), (2, 1.0)],
        _ => vec![(0, 1.0), (2, 5.0)],
    };
    let corpus = corpus(&(0..60).map(of).collect::<Vec<_>>(), 3);
    let settings = given(&[1e-3, 1e-3], 1e-3, 3);
    let (memory, file) = (
        model(&corpus, &settings),
        stored(&corpus, folder.path(), 100),
    );
    let of_file = in_file(&file, &settings, folder.path());
    // A word that no topic has much of, each in another.
    let messages = [-1.0, -900.0, -900.0, -1.0, -700.0, -2.0];
    let look = |model: &dyn Fn(&mut Point)| {
        let mut point = Point {
            messages: messages.to_vec(),
            statistics: vec![0.0; 6],
            gradient: vec![0.0; 6],
            ..Point::default()
        };
        for _ in 0..3 {
            model(&mut point);
        }
        (point.statistics, point.bound)
    };
    let expected = look(&|point| {
        memory.evaluate(point).expect("finite");
    });
    let found = look(&|point| {
        of_file.evaluate(point).expect("finite");
    });
    assert_eq!(found.0, expected.0);
    assert!(found.0.iter().all(|x| x.is_finite()));
}

/// Counts in files do not come back with a checkpoint: documents settle again, and the climb goes on.
#[test]
fn resumed_climbs_go_on() {
    let (corpus, folder) = (documents(), tempfile::tempdir().expect("a folder"));
    let file = stored(&corpus, folder.path(), 3000);
    let model = in_file(&file, &learned(), folder.path());
    let (begin, _) = model.start(Start::Annealed, 1).expect("a start");
    let whole = climb(&model, begin.clone(), Direction::Auto, 10_000)
        .point
        .bound;
    let path = folder.path().join("kept");
    let stopped = Driver::new(&model, Direction::Auto).stop(Stop::Iterations(9));
    let stopped = stopped.checkpoint(&path, 3).run(begin).expect("a climb");
    let checkpoint = Checkpoint::read(&path).expect("a checkpoint");
    let on = Driver::new(&model, Direction::Auto).stop(Stop::Gain(1e-9) | Stop::Iterations(10_000));
    let mut last = f64::NEG_INFINITY;
    let on = on.watch(move |step, _| {
        assert!(step.bound >= last, "{} after {last}", step.bound);
        last = step.bound;
    });
    let fit = on.resume(checkpoint).expect("the same model");
    assert!(fit.outcome.converged() && fit.iterations > 9);
    assert!(fit.point.bound > stopped.point.bound);
    // Another climb from the same topics: optima of one start differ by less than a hundredth.
    let apart = (fit.point.bound - whole).abs();
    assert!(
        apart < 0.01 * whole.abs(),
        "{} and {whole}",
        fit.point.bound
    );
}

#[test]
fn results_are_those_of_memory() {
    let (corpus, folder) = (documents(), tempfile::tempdir().expect("a folder"));
    let memory = model(&corpus, &learned());
    let (begin, _) = memory.start(Start::Annealed, 3).expect("a start");
    let expected = climb(&memory, begin.clone(), Direction::Auto, 40).point;
    let fit = memory.fit(&expected);
    for segment in SEGMENTS {
        let file = stored(&corpus, folder.path(), segment);
        let of_file = in_file(&file, &learned(), folder.path());
        let point = climb(&of_file, begin.clone(), Direction::Auto, 40).point;
        let found = of_file.fit(&point);
        assert_eq!(
            (found.alpha.clone(), found.beta),
            (fit.alpha.clone(), fit.beta)
        );
        assert_eq!(found.word_counts, fit.word_counts);
        assert_eq!(found.documents(), 0);
        assert_eq!(
            of_file.typical_documents(&point, 5).expect("documents"),
            fit.typical_documents_of_all(5)
        );
        assert_eq!(
            of_file.correlations(&point).expect("documents"),
            fit.topic_correlations()
        );
        assert_eq!(
            of_file.quality(&found, 10).expect("documents"),
            fit.quality(&corpus, 10).expect("the vocabulary")
        );
        for response in [TopicsResponse::MeanField, TopicsResponse::Documents] {
            let whole = memory.variances(&expected, response).expect("an optimum");
            let mut all = vec![];
            let mut each = |first: usize, rows: &[f64]| {
                assert_eq!(all.len(), first * 4);
                all.extend_from_slice(rows);
                Ok(())
            };
            let parts = of_file
                .variances_of_each(&point, response, &mut each)
                .expect("an optimum");
            assert_eq!(all, whole.proportions);
            assert_eq!(parts.shares, whole.shares);
            assert_eq!(parts.missing_information, whole.missing_information);
        }
    }
}
