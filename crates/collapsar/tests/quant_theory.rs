//! Quantifications against a plain twin that keeps every responsibility, and against the exact
//! evidence: nothing that makes them quick changes what they say, but for stated errors.

#[allow(dead_code)] // the other tests of quantification use the rest of it
#[path = "plain/quant.rs"]
mod plain;

use collapsar::laws::model::bound;
use collapsar::quant::{Compression, Prior, Quant, Quantified, Reads, Settings, Solver};
use collapsar::special::{digamma, ln_gamma};
use collapsar::{Collapsed, Direction, Driver, Fit, Stop};
use plain::{ALL, Plain, Read, build, distance, families, look, placed, solve};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const LN_10: f64 = std::f64::consts::LN_10;

fn plain((transcripts, reads): &(usize, Vec<Read>), alpha: f64) -> Plain<'_> {
    Plain {
        transcripts: *transcripts,
        alpha,
        reads,
    }
}

fn run(model: &Quant<'_>, direction: Direction, start: Vec<f64>) -> Fit {
    let fit = Driver::new(model, direction)
        .stop(Stop::Gain(1e-12) | Stop::Passes(100_000))
        .run(start)
        .expect("a run");
    assert!(fit.outcome.converged(), "{direction}: {}", fit.outcome);
    fit
}

/// The twin at these messages, by transcript: bound, statistics and the next VBEM step are those
/// of the library. Returns the next messages.
fn same(twin: &Plain<'_>, reads: &Reads, messages: &[f64]) -> Vec<f64> {
    let model = Quant::whole(reads, twin.alpha);
    let (bound, statistics, gradient) = look(&model, &placed(reads, messages));
    let (statistics, gradient) = (
        reads.by_transcript(&statistics),
        reads.by_transcript(&gradient),
    );
    let r = twin.responsibilities(messages);
    let counts = twin.counts(&r);
    for (m, (found, expected)) in statistics.iter().zip(&counts).enumerate() {
        // Relative for each transcript: small counts decide at small priors. Below 1e-57 of a read
        // exponentials may underflow.
        let error = (found - expected).abs() / (expected + 1e-45);
        assert!(
            error < 1e-12,
            "transcript {m}: {found:e} for {expected:e}, prior {}",
            twin.alpha
        );
    }
    // Bounds are differences of terms that may be larger.
    let terms: f64 = messages
        .iter()
        .zip(&counts)
        .map(|(m, n)| (m * n).abs())
        .sum();
    let expected = twin.bound(&r);
    let error = (bound - expected).abs() / (terms + expected.abs());
    assert!(error < 1e-13, "{bound} for {expected}: {error:e}");
    // E ln θ, but for the same number in all of them, which changes no q(Z).
    let next = twin.messages(&counts);
    let target = |m: usize| messages[m] + gradient[m];
    let most = (0..next.len()).fold(0, |a, b| if counts[b] > counts[a] { b } else { a });
    let shift = target(most) - next[most];
    for (m, next) in next.iter().enumerate() {
        let found = target(m) - shift;
        // The target is a sum of message and gradient.
        let terms = messages[m].abs() + messages[most].abs() + next.abs() + 1.0;
        let error = (found - next).abs() / terms;
        assert!(error < 1e-12, "message {m}: {found} for {next}");
    }
    next
}

/// Every iterate of VBEM, with weights from 1e-12 to 1 and priors that make messages of -1e6.
#[test]
fn vbem_is_that_of_every_responsibility() {
    for (seed, span) in [(1, 2.0), (2, 12.0 * LN_10), (3, 200.0)] {
        let problem = families(3, 60, span, seed);
        let reads = build(problem.0, &problem.1, ALL);
        for alpha in [2.0, 1.0, 0.1, 0.01, 1e-4, 1e-6] {
            let twin = plain(&problem, alpha);
            let mut messages = vec![0.0; problem.0];
            for _ in 0..40 {
                messages = same(&twin, &reads, &messages);
            }
        }
    }
}

/// Messages of any size side by side, so that products of weights and exponentials underflow in
/// some rows, in all of a row's entries or in some of them.
#[test]
fn messages_of_any_size_underflow_nowhere() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for seed in 0..20 {
        let problem = families(4, 80, 12.0 * LN_10, seed);
        let reads = build(problem.0, &problem.1, ALL);
        let sizes = [0.0, 1.0, 300.0, 560.0, 600.0, 720.0, 760.0, 1e4, 1e6];
        let messages: Vec<f64> = (0..problem.0)
            .map(|_| -sizes[rng.random_range(0..sizes.len())] * rng.random_range(0.99..1.0))
            .collect();
        same(&plain(&problem, 1e-6), &reads, &messages);
        // All of them far below zero.
        let lower: Vec<f64> = messages.iter().map(|m| m - 1e6).collect();
        same(&plain(&problem, 1e-6), &reads, &lower);
    }
}

/// Proportional reads and repeats within a read are the same thing written otherwise.
#[test]
fn proportional_reads_are_one_row() {
    let reads: Vec<Read> = (0..30)
        .map(|n| {
            let scale = -f64::from(n % 7) * 0.5;
            (vec![(0, scale), (1, scale - 1.0), (2, scale - 2.5)], 1.0)
        })
        .collect();
    let repeats: Vec<Read> = (reads.iter())
        .map(|(entries, count)| {
            // A half and a half, in any order.
            let half = |e: &(u32, f64)| (e.0, e.1 - 2_f64.ln());
            let entries = entries.iter().rev().chain(entries).map(half).collect();
            (entries, *count)
        })
        .collect();
    let merged = build(4, &reads, Compression::default());
    assert_eq!((merged.rows(), merged.entries()), (1, 3));
    assert_eq!((merged.reads(), merged.alignments()), (30.0, 90));
    let twin = Plain {
        transcripts: 4,
        alpha: 0.5,
        reads: &reads,
    };
    let again = build(4, &repeats, Compression::default());
    assert_eq!((again.rows(), again.alignments()), (1, 180));
    for reads in [&merged, &again] {
        same(&twin, reads, &[0.3, -0.2, 1.0, 0.0]);
    }
}

/// Merging costs N grain²/8 nats at most, and only lowers the bound: it is a restriction of q(Z).
#[test]
fn merging_costs_the_square_of_the_grain() {
    // Log ratios near each other, so that rows do merge.
    let problem = families(2, 4000, 3.0, 7);
    let unmerged = build(problem.0, &problem.1, ALL);
    let best = solve(&unmerged, 1.0, false);
    let mut worst: f64 = 0.0;
    for grain in [1e-3, 1e-2, 0.1, 0.5] {
        let compression = Compression { grain, ..ALL };
        let merged = build(problem.0, &problem.1, compression);
        let end = solve(&merged, 1.0, false);
        let loss = best.bound - end.bound;
        let most = merged.reads() * grain * grain / 8.0;
        assert!(
            loss > -1e-8 && loss < most + 1e-8,
            "{grain}: {loss:e}, {most:e}"
        );
        worst = worst.max(loss / most);
        if grain > 0.1 {
            assert!(merged.rows() < unmerged.rows() / 2, "{}", merged.rows());
        }
        let moved = distance(&end.counts(&merged), &best.counts(&unmerged));
        assert!(moved < 20.0 * grain, "{grain}: {moved:e}");
        // Chains merge further, in the same way.
        let coarser = unmerged.coarser(grain).expect("a grain in range");
        let end = solve(&coarser, 1.0, false);
        let loss = best.bound - left_out(&unmerged) - end.bound;
        assert!(
            loss > -1e-8 && loss < most + 1e-8,
            "coarser {grain}: {loss:e}, {most:e}"
        );
        assert_eq!(coarser.reads(), unmerged.reads());
        assert_eq!(coarser.components().len(), unmerged.components().len());
    }
    assert!(worst > 0.02, "grains of a half do cost: {worst}");
}

/// What coarser reads leave out: the probability of each read's best alignment.
fn left_out(reads: &Reads) -> f64 {
    let model = Quant::whole(reads, 1.0);
    let transcripts = reads.transcripts() as f64;
    model.constant() - (ln_gamma(transcripts) - ln_gamma(transcripts + reads.reads()))
}

/// Component by component is the whole, where there is one optimum.
#[test]
fn components_are_the_whole() {
    for seed in 0..5 {
        let problem = families(6, 150, 5.0, seed);
        let reads = build(problem.0, &problem.1, Compression::default());
        assert!(reads.components().len() > 1);
        for alpha in [1.0, 2.0] {
            let whole = Quant::whole(&reads, alpha);
            let parts = solve(&reads, alpha, true);
            // Newton's steps are few: a wrong metric takes twice as many.
            assert!(parts.iterations < 16, "{}", parts.iterations);
            for direction in [Direction::Auto, Direction::Fr, Direction::Vbem] {
                let fit = run(&whole, direction, vec![0.0; problem.0]);
                let found = Quantified::of_fit(&reads, alpha, &fit);
                let error = (found.bound - parts.bound).abs() / parts.bound.abs();
                assert!(error < 1e-12, "{direction}: {error:e}");
                let error = distance(&found.counts(&reads), &parts.counts(&reads));
                assert!(error < 1e-4, "{direction}: {error:e}");
            }
            // Neither does it matter how a component is climbed.
            let settings = Settings {
                prior: Prior::Given(alpha),
                tolerance: 1e-12,
                dense: 2,
                ..Settings::default()
            };
            let solver = Solver::new(&reads, &settings).expect("settings in range");
            let auto = solver.run().expect("a run");
            let error = (auto.bound - parts.bound).abs() / parts.bound.abs();
            assert!(error < 1e-12, "dense: {error:e}");
            let error = distance(&auto.counts(&reads), &parts.counts(&reads));
            assert!(error < 1e-4, "dense: {error:e}");
        }
    }
}

/// The total is the sum over components, what they have in common, and transcripts that share
/// no reads: at any messages, at any prior.
#[test]
fn bounds_of_components_add_up() {
    let problem = families(6, 40, 5.0, 3);
    let reads = build(problem.0, &problem.1, Compression::default());
    for alpha in [1.0, 0.1, 0.01, 1e-4] {
        let whole = Quant::whole(&reads, alpha);
        let solution = solve(&reads, alpha, true);
        // Messages of the solution's posterior.
        let counts = placed(&reads, &solution.counts(&reads));
        let messages: Vec<f64> = counts.iter().map(|n| digamma(alpha + n)).collect();
        let there = bound(&whole, &messages).expect("finite");
        let error = (there - solution.bound).abs() / solution.bound.abs();
        assert!(error < 1e-10, "{alpha}: {error:e}");
    }
}

/// Below a prior of one, optima are many, but from the same start a component ends where a plain
/// run on it does.
#[test]
fn components_end_where_plain_runs_do() {
    for seed in 0..4 {
        let problem = families(6, 400, 3.0, 10 + seed);
        let reads = build(problem.0, &problem.1, Compression::default());
        for alpha in [0.3, 0.1, 0.01] {
            let parts = solve(&reads, alpha, false);
            let counts = placed(&reads, &parts.counts(&reads));
            for (index, component) in reads.components().iter().enumerate() {
                let model = Quant::component(&reads, alpha, index);
                let fit = run(&model, Direction::Vbem, vec![0.0; component.places.len()]);
                let moved = distance(&fit.point.statistics, &counts[component.places.clone()]);
                assert!(moved < 1e-3, "{alpha}, component {index}: {moved:e}");
            }
        }
    }
}

/// What a cut leaves out is what it says at most.
#[test]
fn cuts_cost_no_more_than_they_say() {
    let mut visible = 0;
    let mut nearest: f64 = 0.0;
    for seed in 0..10 {
        let problem = families(4, 120, 14.0, 20 + seed);
        let all = build(problem.0, &problem.1, ALL);
        for cut in [1e-2, 1e-3, 1e-4] {
            let less = build(problem.0, &problem.1, Compression { cut, ..ALL });
            assert!(less.entries() < all.entries());
            let end = solve(&less, 1.0, false);
            let best = solve(&all, 1.0, false);
            let lost = best.bound - end.bound;
            assert!(
                lost > -1e-9 && lost <= end.cut_error,
                "{lost:e}, {:e}",
                end.cut_error
            );
            assert_eq!(best.cut_error, 0.0);
            visible += usize::from(lost > 1e-2);
            nearest = nearest.max(lost / end.cut_error);
            // From where the cut problem ends, smaller priors gain no more either.
            let end = solve(&less, 0.1, false);
            let twin = plain(&problem, 0.1);
            let (rest, _) = twin.climb(twin.messages(&end.counts(&less)));
            let lost = rest - end.bound;
            assert!(
                lost > -1e-9 && lost <= end.cut_error,
                "{lost:e}, {:e}",
                end.cut_error
            );
        }
    }
    assert!(visible >= 10, "{visible}");
    // The largest message of all is not that of the transcripts that were cut.
    assert!(nearest > 0.02, "{nearest}");
}

/// A read that a cut keeps away from where nearly all reads are: it takes its message with it.
#[test]
fn cuts_say_enough_where_messages_move() {
    let reads: Vec<Read> = vec![
        (vec![(1, 0.0)], 1e4),
        (vec![(0, 0.0), (2, 0.0), (1, 5e-4_f64.ln())], 1.0),
    ];
    let problem = (3, reads);
    let cut = Compression { cut: 1e-3, ..ALL };
    let less = build(3, &problem.1, cut);
    for alpha in [1.0, 0.1, 0.01] {
        let end = solve(&less, alpha, true);
        let twin = plain(&problem, alpha);
        let (rest, _) = twin.climb(twin.messages(&end.counts(&less)));
        let lost = rest - end.bound;
        assert!(
            lost > 1.0 && lost <= end.cut_error,
            "{lost}, {}",
            end.cut_error
        );
    }
}

/// Noise that every read may come from, barely: it glues all components, and the cut parts them.
#[test]
fn noise_glues_nothing() {
    let (transcripts, mut reads) = families(8, 200, 5.0, 4);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for (alignments, _) in &mut reads {
        let best = alignments.iter().map(|e| e.1).fold(f64::MIN, f64::max);
        let noise = best - LN_10 * rng.random_range(13.0..20.0);
        alignments.push((transcripts as u32 - 1, noise));
    }
    let all = build(transcripts, &reads, ALL);
    let less = build(
        transcripts,
        &reads,
        Compression {
            grain: 0.0,
            ..Compression::default()
        },
    );
    assert_eq!(all.components().len(), 1);
    assert!(less.components().len() >= 8);
    assert!(all.entries() > less.entries() + reads.len() / 2);
    for alpha in [1.0, 0.1] {
        let (best, end) = (solve(&all, alpha, false), solve(&less, alpha, false));
        let lost = (best.bound - end.bound).abs();
        let rounding = 1e-13 * best.bound.abs();
        assert!(end.cut_error < 1e-9, "{:e}", end.cut_error);
        assert!(
            lost <= end.cut_error + rounding,
            "{lost:e}, {:e}",
            end.cut_error
        );
        let moved = distance(&best.counts(&all), &end.counts(&less));
        assert!(moved < 1e-5, "{moved:e}");
        assert!(end.counts(&less)[transcripts - 1] == 0.0);
    }
}

/// Few reads, so that all their origins can be tried: the bound is below the evidence, near it,
/// and equal to it where reads are unique.
#[test]
fn bounds_are_below_the_evidence() {
    let mut nearest = f64::MAX;
    for seed in 0..20 {
        let problem = families(1, 9, 4.0, 40 + seed);
        let reads = build(problem.0, &problem.1, ALL);
        for alpha in [2.0, 1.0, 0.1, 0.01] {
            let twin = plain(&problem, alpha);
            let evidence = twin.exact().evidence;
            let bound = solve(&reads, alpha, true).bound;
            let gap = evidence - bound;
            let shared = reads.reads() - reads.unique_reads();
            assert!(gap > 0.0 && gap < shared, "{alpha}: {bound} of {evidence}");
            nearest = nearest.min(gap);
        }
    }
    assert!(nearest < 0.2, "{nearest}");
    for count in 1..6_u32 {
        let unique: Vec<Read> = (0..count)
            .map(|id| (vec![(id, -f64::from(id) - 2.0)], f64::from(id + 1)))
            .collect();
        for alpha in [2.0, 1.0, 0.1, 1e-4] {
            let problem = (6, unique.clone());
            let reads = build(6, &unique, Compression::default());
            let evidence = plain(&problem, alpha).exact().evidence;
            for bound in [
                solve(&reads, alpha, true).bound,
                bound(&Quant::whole(&reads, alpha), &[0.0; 6]).expect("finite"),
            ] {
                let error = (evidence - bound).abs() / evidence.abs();
                assert!(error < 1e-13, "{alpha}: {error:e}");
            }
        }
    }
}
