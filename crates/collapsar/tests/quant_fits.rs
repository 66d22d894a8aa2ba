//! What quantifications end at: searches, learned priors, threads, orders, real data, refusals.

#[allow(dead_code)] // the other tests of quantification use the rest of it
#[path = "plain/quant.rs"]
mod plain;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use collapsar::quant::{
    Abundances, Chains, Compression, Draws, Origins, Prior, Quant, Quantified, Reads, ReadsBuilder,
    Settings, Solver,
};
use collapsar::special::digamma;
use collapsar::{Direction, Driver, Error, Stop};
use plain::{ALL, Plain, Read, build, distance, families, ln_probability, look, placed, solve};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma};
use rayon::ThreadPoolBuilder;

fn run(reads: &Reads, settings: &Settings) -> Quantified {
    let solver = Solver::new(reads, settings).expect("settings in range");
    solver.run().expect("a run")
}

/// Families in which transcripts are copies of others.
fn duplicated(seed: u64) -> (usize, Vec<Read>) {
    let (transcripts, mut reads) = families(5, 150, 3.0, seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let copied: Vec<bool> = (0..transcripts).map(|_| rng.random_bool(0.5)).collect();
    for (alignments, _) in &mut reads {
        for index in 0..alignments.len() {
            let (id, lp) = alignments[index];
            if copied[id as usize] {
                alignments.push((transcripts as u32 + id, lp));
            }
        }
    }
    (2 * transcripts, reads)
}

#[test]
fn a_search_never_ends_lower() {
    let mut rises = 0;
    for seed in 0..12 {
        let (transcripts, reads) = duplicated(seed);
        let built = build(transcripts, &reads, Compression::default());
        for alpha in [0.3, 0.1, 0.01] {
            let without = solve(&built, alpha, false);
            let with = solve(&built, alpha, true);
            let gain = with.bound - without.bound;
            assert!(gain >= -1e-9, "{alpha}, seed {seed}: {gain:e}");
            rises += usize::from(gain > 1.0);
            // It says what its counts give.
            let twin = Plain {
                transcripts,
                alpha,
                reads: &reads,
            };
            let (bound, _) = twin.climb(twin.messages(&with.counts(&built)));
            let off = bound - with.bound;
            let merged = built.reads() * 1e-6 / 8.0;
            assert!(
                off > -1e-7 && off < merged + 1e-5,
                "{alpha}, seed {seed}: {off:e}"
            );
        }
    }
    assert!(rises >= 12, "{rises}");
}

/// Transcripts that no read tells apart: half of the reads each is a saddle, all of them to one
/// of the two is the optimum.
#[test]
fn saddles_are_left() {
    let reads: Vec<Read> = vec![(vec![(0, -2.0), (1, -2.0)], 10.0)];
    let built = build(2, &reads, Compression::default());
    let alpha = 0.01;
    let saddle = solve(&built, alpha, false);
    assert!(distance(&saddle.counts(&built), &[5.0, 5.0]) < 1e-9);
    let even = 10.0 * 2_f64.ln() - 20.0 + ln_probability(alpha, &[5.0, 5.0]);
    assert!((saddle.bound - even).abs() < 1e-9);
    let end = solve(&built, alpha, true);
    let mut counts = end.counts(&built);
    counts.sort_by(f64::total_cmp);
    assert!(distance(&counts, &[0.0, 10.0]) < 1e-6, "{counts:?}");
    let one = -20.0 + ln_probability(alpha, &[10.0, 0.0]);
    assert!(
        (end.bound - one).abs() < 1e-9 && one > even,
        "{} for {one}",
        end.bound
    );
}

/// The bound at a fixed prior, from the same start, without a search.
fn at(reads: &Reads, alpha: f64) -> f64 {
    solve(reads, alpha, false).bound
}

fn learned(search: bool) -> Settings {
    Settings {
        prior: Prior::Learned,
        tolerance: 1e-12,
        search,
        ..Settings::default()
    }
}

/// Slope and curvature of the bound as a function of ln prior.
fn derivatives(reads: &Reads, alpha: f64) -> (f64, f64) {
    let bound = |shift: f64| at(reads, alpha * shift.exp());
    let central = |h: f64| (bound(h) - bound(-h)) / (2.0 * h);
    let slope = (4.0 * central(0.5e-2) - central(1e-2)) / 3.0;
    let curvature = (bound(1e-2) - 2.0 * bound(0.0) + bound(-1e-2)) / 1e-4;
    (slope, curvature)
}

/// Families of transcripts with fractions drawn from the prior `alpha`, and reads from these; a
/// share of them tells transcripts of a family apart.
fn simulated(
    (families, reads): (usize, usize),
    alpha: f64,
    unique: f64,
    seed: u64,
) -> (usize, Vec<Read>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let gamma = Gamma::new(alpha, 1.0).expect("a positive prior");
    let mut sum = 0.0;
    let ends: Vec<f64> = (0..4 * families)
        .map(|_| {
            sum += gamma.sample(&mut rng);
            sum
        })
        .collect();
    let one = |_| {
        let point = sum * rng.random::<f64>();
        let from = ends.partition_point(|&end| end < point) as u32;
        if rng.random_bool(unique) {
            return (vec![(from, -1.0)], 1.0);
        }
        let family = from / 4 * 4..from / 4 * 4 + 4;
        let near = |id: u32| f64::from(u8::from(id != from)) * rng.random_range(-3.0..0.0);
        let mut near = near;
        (family.map(|id| (id, near(id))).collect(), 1.0)
    };
    (4 * families, (0..reads).map(one).collect())
}

#[test]
fn learned_priors_are_where_the_bound_is_highest() {
    for (seed, prior) in [(1, 1.0), (2, 0.3), (3, 0.1)] {
        let (transcripts, reads) = simulated((60, 3000), prior, 0.7, seed);
        let built = build(transcripts, &reads, Compression::default());
        let end = run(&built, &learned(false));
        assert!((end.bound - at(&built, end.alpha)).abs() < 1e-7);
        let (slope, curvature) = derivatives(&built, end.alpha);
        assert!(curvature < -1.0, "{curvature}");
        // A prior rests when it moves by a thousandth: how far that is in standard deviations.
        let off = slope / (-curvature).sqrt();
        assert!(off.abs() < 0.05, "{prior}: {off:e}");
        for shift in [-2.0, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 2.0_f64] {
            let other = at(&built, end.alpha * shift.exp());
            assert!(
                other < end.bound,
                "{prior}, {shift}: {other} over {}",
                end.bound
            );
        }
        // A search may end higher still.
        let searched = run(&built, &learned(true));
        assert!(searched.bound > end.bound - 1e-2, "{prior}");
    }
}

/// Reads that are unique make the bound exact: the learned prior is the likeliest, and the true
/// one is within its error.
#[test]
fn priors_are_learned_from_data_of_the_model() {
    for (seed, prior) in [(4, 1.0), (5, 0.3), (6, 0.05)] {
        let (transcripts, reads) = simulated((500, 10_000), prior, 1.0, seed);
        let built = build(transcripts, &reads, Compression::default());
        assert!(built.components().is_empty());
        let end = run(&built, &learned(true));
        let (slope, curvature) = derivatives(&built, end.alpha);
        let sd = (-curvature).sqrt().recip();
        assert!((slope * sd).abs() < 0.05, "{prior}: {slope} {sd}");
        let off = (end.alpha / prior).ln() / sd;
        assert!(off.abs() < 4.0, "{prior}: {} is {off} off", end.alpha);
    }
}

#[test]
fn threads_do_not_change_a_solution() {
    let (transcripts, reads) = simulated((150, 4000), 0.2, 0.3, 8);
    let built = build(transcripts, &reads, Compression::default());
    for settings in [
        learned(true),
        Settings {
            dense: 2,
            ..learned(false)
        },
    ] {
        let with = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| run(&built, &settings))
        };
        let one = with(1);
        for threads in [2, 5] {
            let many = with(threads);
            assert_eq!(one.bound.to_bits(), many.bound.to_bits());
            assert!(one == many, "{threads} threads");
        }
    }
}

#[test]
fn the_order_of_reads_does_not_matter() {
    let (transcripts, mut reads) = simulated((30, 2000), 0.3, 0.3, 9);
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let first = build(transcripts, &reads, Compression::default());
    for (alignments, _) in &mut reads {
        alignments.shuffle(&mut rng);
    }
    reads.shuffle(&mut rng);
    let second = build(transcripts, &reads, Compression::default());
    assert_eq!(first.components(), second.components());
    assert_eq!(first.order(), second.order());
    for alpha in [1.0, 0.05] {
        let (a, b) = (solve(&first, alpha, true), solve(&second, alpha, true));
        let error = (a.bound - b.bound).abs() / a.bound.abs();
        assert!(error < 1e-13, "{alpha}: {error:e}");
        let moved = distance(&a.counts(&first), &b.counts(&second));
        assert!(moved < 1e-4, "{alpha}: {moved:e}");
    }
}

#[test]
fn the_order_of_transcripts_permutes_answers() {
    let (transcripts, reads) = simulated((30, 2000), 0.3, 0.3, 10);
    let mut numbers: Vec<u32> = (0..transcripts as u32).collect();
    numbers.shuffle(&mut ChaCha8Rng::seed_from_u64(10));
    let renumber = |(alignments, count): &Read| {
        let entries = alignments
            .iter()
            .map(|&(id, lp)| (numbers[id as usize], lp));
        (entries.collect(), *count)
    };
    let other: Vec<Read> = reads.iter().map(renumber).collect();
    // Rows are merged by their first transcript, another one here: nothing is merged.
    let (first, second) = (
        build(transcripts, &reads, ALL),
        build(transcripts, &other, ALL),
    );
    assert_eq!(first.components().len(), second.components().len());
    for alpha in [1.0, 0.05] {
        let (a, b) = (solve(&first, alpha, false), solve(&second, alpha, false));
        let error = (a.bound - b.bound).abs() / a.bound.abs();
        assert!(error < 1e-13, "{alpha}: {error:e}");
        let moved = b.counts(&second);
        let back: Vec<f64> = numbers.iter().map(|&m| moved[m as usize]).collect();
        let moved = distance(&a.counts(&first), &back);
        assert!(moved < 1e-4, "{alpha}: {moved:e}");
    }
}

/// A run that is interrupted before it begins says so, and has the reads of each transcript alone.
#[test]
fn interrupted_runs_say_so() {
    let (transcripts, reads) = families(3, 60, 3.0, 1);
    let built = build(transcripts, &reads, Compression::default());
    let flag = AtomicBool::new(true);
    let solver = Solver::new(&built, &Settings::default()).expect("settings in range");
    let end = solver.interrupt(&flag).run().expect("a run");
    assert!(end.interrupted && end.bound.is_finite());
    assert_eq!(end.counts(&built).iter().sum::<f64>(), built.unique_reads());
    let whole = solve(&built, 1.0, true);
    assert!(!whole.interrupted);
    let draws = Draws::new(&built, &whole, Chains::default(), Some(&flag)).expect("in range");
    assert!(draws.is_none());
}

/// A file of the shared data.
fn shared(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("COLLAPSAR_DATA") else {
        eprintln!("skipped: COLLAPSAR_DATA is not set");
        return None;
    };
    Some(Path::new(&folder).join("quant").join(name))
}

/// A compressed file as text.
fn unpacked(path: &Path) -> String {
    let file = std::fs::File::open(path).expect("the shared data");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("text");
    text
}

/// The alignments of a line of a `.prob` file: a name, their number, then transcript and log-probability of each.
fn alignments(line: &str) -> Vec<(u32, f64)> {
    let fields: Vec<&str> = line.split_whitespace().skip(2).collect();
    let pairs = fields.chunks_exact(2).map(|pair| {
        let (id, lp) = (pair[0].parse(), pair[1].parse());
        (id.expect("a transcript"), lp.expect("a number"))
    });
    pairs.collect()
}

/// The optimum of simulated pairs on chromosome 19 with noise, prior 1, found by another program.
#[test]
fn the_optimum_of_chromosome_19() {
    let Some(path) = shared("chr19_sim200k.uniform.prob.gz") else {
        return;
    };
    let expected: Vec<f64> = unpacked(&path.with_file_name("chr19_sim200k.ref_alpha1.alphas.gz"))
        .lines()
        .map(|x| x.trim().parse().expect("a number"))
        .collect();
    assert_eq!(expected.len(), 11_373);
    let fine = Compression {
        grain: 1e-5,
        ..Compression::default()
    };
    let builder =
        |compression| ReadsBuilder::new(expected.len(), compression).expect("a grain in range");
    let mut builders = [builder(Compression::default()), builder(fine)];
    for line in unpacked(&path)
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let entries = alignments(line);
        for builder in &mut builders {
            builder.push(&entries, 1.0).expect("a read");
        }
    }
    let [usual, fine] = builders.map(|builder| builder.finish().expect("reads"));
    let farthest = |a: &[f64], b: &[f64]| {
        let apart = |(a, b): (&f64, &f64)| (a - b).abs() / b.max(1.0);
        a.iter().zip(b).map(apart).fold(0.0, f64::max)
    };
    let check = |case: &str, reads: &Reads, end: &Quantified, tolerance: f64| {
        let off = end.bound + 3_784_235.120_2;
        assert!(off.abs() < tolerance, "{case}: {off:e}");
        let parameters: Vec<f64> = end.counts(reads).iter().map(|n| n + 1.0).collect();
        let worst = farthest(&parameters, &expected);
        // The other program stopped where two pairs of transcripts had most of a read to exchange
        // yet, for 2e-5 nats.
        assert!(worst < 1e-2, "{case}: {worst:e}");
        let near = parameters
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a - b).abs() / b);
        let near = near.filter(|error| *error < 1e-3).count();
        assert!(near >= expected.len() - 10, "{case}: {near}");
        eprintln!("{case}: bound off by {off:e}, parameters by {worst:e}, {near} near");
        parameters
    };
    let solved = |reads: &Reads| {
        let settings = Settings {
            prior: Prior::Given(1.0),
            ..Settings::default()
        };
        run(reads, &settings)
    };
    let end = solved(&usual);
    assert_eq!((usual.reads(), usual.unique_reads()), (200_000.0, 72_140.0));
    // Transcripts whose reads are all their own are components by themselves.
    let shared = usual.components().iter().map(|c| c.places.len()).sum();
    let counts = end.counts(&usual);
    let alone = usual.order().iter().skip(shared);
    let alone = alone.filter(|&&m| counts[m as usize] > 0.0).count();
    assert_eq!(usual.components().len() + alone, 1101);
    assert_eq!(
        usual.components().iter().map(|c| c.places.len()).max(),
        Some(94)
    );
    let ours = check("the default grain", &usual, &end, 2e-3);
    assert!(end.cut_error < 1e-6, "{:e}", end.cut_error);
    let fine_end = solved(&fine);
    let finer = check("a fine grain", &fine, &fine_end, 2e-4);
    let apart = farthest(&ours, &finer);
    assert!(apart < 1e-3, "{apart:e}");
    // At the other program's parameters the bound is what it says, and there is a way up.
    let whole = Quant::whole(&fine, 1.0);
    let messages: Vec<f64> = expected.iter().map(|&a| digamma(a)).collect();
    let (bound, ..) = look(&whole, &placed(&fine, &messages));
    let (said, gain) = (bound + 3_784_235.120_152, fine_end.bound - bound);
    assert!(
        said.abs() < 1e-4 && gain > 0.0 && gain < 1e-4,
        "{said:e} {gain:e}"
    );
    eprintln!("the other program: bound off by {said:e}, below ours by {gain:e}");

    let whole = Quant::whole(&usual, 1.0);
    for direction in [Direction::Auto, Direction::Fr] {
        let fit = Driver::new(&whole, direction)
            .stop(Stop::Gain(1e-8) | Stop::Iterations(2000))
            .run(vec![0.0; usual.transcripts()])
            .expect("a run");
        assert!(fit.outcome.converged(), "{direction}: {}", fit.outcome);
        let end = Quantified::of_fit(&usual, 1.0, &fit);
        let parameters = check(direction.name(), &usual, &end, 2e-3);
        let apart = farthest(&ours, &parameters);
        eprintln!(
            "{direction}: {} iterations, {apart:e} from components",
            fit.iterations
        );
        assert!(apart < 1e-3, "{direction}: {apart:e}");
    }
}

fn refusal<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "accepted".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn bad_reads_are_refused() {
    let mut builder = ReadsBuilder::new(3, Compression::default()).expect("settings in range");
    builder.push(&[(0, -1.0)], 1.0).expect("a read");
    let before = format!("{builder:?}");
    let bad: [(&[(u32, f64)], f64); 9] = [
        (&[], 1.0),
        (&[(3, -1.0)], 1.0),
        (&[(0, f64::NAN)], 1.0),
        (&[(1, -1.0), (2, f64::NEG_INFINITY)], 1.0),
        (&[(0, f64::INFINITY)], 1.0),
        (&[(0, -1.0)], 0.5),
        (&[(0, -1.0)], 0.0),
        (&[(0, -1.0)], f64::NAN),
        (&[(0, -1.0)], -2.0),
    ];
    let refusals: Vec<String> = bad
        .iter()
        .map(|(alignments, count)| refusal(builder.push(alignments, *count)))
        .collect();
    assert_eq!(format!("{builder:?}"), before, "as before");
    assert_eq!(
        refusals,
        [
            "read: no alignment, expected at least one",
            "read: transcript 3, expected one of 3",
            "read: a log-probability of NaN, expected a finite number",
            "read: a log-probability of -inf, expected a finite number",
            "read: a log-probability of inf, expected a finite number",
            "read: a count of 0.5, expected a positive whole number",
            "read: a count of 0, expected a positive whole number",
            "read: a count of NaN, expected a positive whole number",
            "read: a count of -2, expected a positive whole number",
        ]
    );
    let none = ReadsBuilder::new(3, Compression::default()).expect("settings in range");
    assert_eq!(
        refusal(none.finish()),
        "reads: none with an alignment, expected at least one"
    );
}

#[test]
fn settings_out_of_range_are_refused() {
    let reads = build(
        2,
        &[(vec![(0, -1.0), (1, -2.0)], 3.0)],
        Compression::default(),
    );
    let solution = solve(&reads, 1.0, true);
    let compression = |cut, grain| refusal(ReadsBuilder::new(2, Compression { cut, grain }));
    let solver = |prior, tolerance| {
        let settings = Settings {
            prior,
            tolerance,
            ..Settings::default()
        };
        refusal(Solver::new(&reads, &settings))
    };
    let given = |alpha| solver(Prior::Given(alpha), 1e-8);
    let chains = |draws, thin| {
        let seed = 0;
        refusal(Draws::new(
            &reads,
            &solution,
            Chains { draws, thin, seed },
            None,
        ))
    };
    let abundances = |lengths: &[f64], draws| {
        refusal(Abundances::new(
            &reads,
            Origins::Collapsed(&solution),
            lengths,
            (draws, 0),
        ))
    };
    assert_eq!(
        [
            compression(1.0, 0.0),
            compression(-0.1, 0.0),
            compression(f64::NAN, 0.0),
            compression(0.0, 2.0),
            compression(0.0, f64::NAN),
            refusal(reads.coarser(-1.0)),
            given(0.0),
            given(-1.0),
            given(f64::NAN),
            given(1e7),
            solver(Prior::Learned, 0.0),
            solver(Prior::Learned, f64::NAN),
            solver(Prior::Learned, f64::INFINITY),
            chains(0, 1),
            chains(1, 0),
            abundances(&[1.0], 1),
            abundances(&[1.0, 0.0], 1),
            abundances(&[f64::NAN, 1.0], 1),
            abundances(&[1.0, 1.0], 0),
        ],
        [
            "cut is 1, expected a ratio from 0 to below 1",
            "cut is -0.1, expected a ratio from 0 to below 1",
            "cut is NaN, expected a ratio from 0 to below 1",
            "grain is 2, expected nats from 0 to 1",
            "grain is NaN, expected nats from 0 to 1",
            "grain is -1, expected nats from 0 to 1",
            "prior is 0, expected auto or a positive number, 1e-6 to 1e6",
            "prior is -1, expected auto or a positive number, 1e-6 to 1e6",
            "prior is NaN, expected auto or a positive number, 1e-6 to 1e6",
            "prior is 10000000, expected auto or a positive number, 1e-6 to 1e6",
            "tolerance is 0, expected a positive number of nats",
            "tolerance is NaN, expected a positive number of nats",
            "tolerance is inf, expected a positive number of nats",
            "draws is 0, expected at least 1",
            "thin is 0, expected at least 1",
            "effective lengths: 1, expected one for each of 2 transcripts",
            "transcript 2: an effective length of 0, expected a positive number",
            "transcript 1: an effective length of NaN, expected a positive number",
            "draws is 0, expected at least 1",
        ]
    );
}

/// Transcripts in a row, each pair of neighbours with reads that fit both alike.
fn chain(transcripts: u32, mut count: impl FnMut() -> f64) -> Reads {
    let even = 0.5_f64.ln();
    let reads = (1..transcripts).map(|m| (vec![(m - 1, even), (m, even)], count()));
    let reads: Vec<Read> = reads.collect();
    build(transcripts as usize, &reads, Compression::default())
}

fn climbed(model: &Quant<'_>, direction: Direction, start: Vec<f64>) -> collapsar::Fit {
    let driver = Driver::new(model, direction).stop(Stop::Gain(1e-8) | Stop::Iterations(20_000));
    let fit = driver.run(start).expect("a run");
    assert!(fit.outcome.converged(), "{direction}");
    fit
}

/// Long steps lead to saddles of a chain, where two neighbours share what one of them would better have: `lbfgs` stayed at one, with a
/// squared norm of 2e-8.
#[test]
fn no_rule_ends_at_a_saddle_of_a_chain() {
    let reads = chain(500, || 1.0);
    let alpha = 0.1;
    let model = Quant::whole(&reads, alpha);
    let start = vec![0.0; reads.transcripts()];
    for direction in Direction::ALL {
        let end = climbed(&model, direction, start.clone());
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let near = (end.point.messages.iter()).map(|m| m + rng.random_range(-0.01..0.01));
        let again = climbed(&model, Direction::Vbem, near.collect());
        let rise = again.point.bound - end.point.bound;
        assert!(rise < 1e-4, "{direction}: {rise:e} nats above");
    }
}

/// With hundreds of reads on each pair Newton's first steps, taken whole, put every other transcript out, which cost thousands of nats.
#[test]
fn newton_keeps_transcripts_of_a_chain() {
    for seed in 1..4 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let reads = chain(500, || f64::from(rng.random_range(1..=1000)));
        let model = Quant::whole(&reads, 0.1);
        let start = vec![0.0; reads.transcripts()];
        let ends = [Direction::Vbem, Direction::Newton]
            .map(|direction| climbed(&model, direction, start.clone()));
        let [vbem, newton] = ends.map(|end| (end.point.bound, end.passes));
        assert!(newton.0 > vbem.0 - 50.0, "{newton:?} {vbem:?}");
    }
}
