//! Draws from posteriors against exact ones, by enumeration and by formula.
//!
//! Seeds are fixed, and errors are allowed five standard errors: of batches of draws where they
//! follow from one another.

#[allow(dead_code)] // the other tests of quantification use the rest of it
#[path = "plain/quant.rs"]
mod plain;

use collapsar::quant::{Abundances, Chains, Compression, Draws, Origins, Quantified, Reads};
use plain::{ALL, Exact, Plain, Read, build, distance, solve};
use rayon::ThreadPoolBuilder;

const ERRORS: f64 = 5.0;
const BATCHES: usize = 50;

fn draw(reads: &Reads, solution: &Quantified, draws: usize, thin: usize, seed: u64) -> Draws {
    let chains = Chains { draws, thin, seed };
    let drawn = Draws::new(reads, solution, chains, None).expect("chains in range");
    drawn.expect("no interrupt")
}

/// All draws of each transcript's counts.
fn counts(reads: &Reads, draws: &Draws) -> Vec<Vec<f64>> {
    let mut all = vec![vec![]; reads.transcripts()];
    for index in 0..draws.len() {
        for (all, count) in all.iter_mut().zip(draws.counts(reads, index)) {
            all.push(count);
        }
    }
    all
}

/// The mean of `values` and its standard error, by the means of batches.
fn mean(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let size = values.len() / BATCHES;
    let square = |batch: &[f64]| (batch.iter().sum::<f64>() / size as f64 - mean).powi(2);
    let squares: f64 = values.chunks_exact(size).map(square).sum();
    (mean, (squares / (BATCHES * (BATCHES - 1)) as f64).sqrt())
}

/// Mean of a function of the draws against its expectation; returns the error in standard errors.
fn agrees(case: &str, drawn: &[f64], expected: f64) -> f64 {
    let (mean, error) = mean(drawn);
    let off = (mean - expected).abs();
    // Something that is nearly certain may never be otherwise in so many draws.
    let allowed = ERRORS * error + 1e-3 * expected.abs().min(1.0);
    assert!(
        off <= allowed,
        "{case}: {mean} for {expected}, {:.1} errors",
        off / error
    );
    if error > 0.0 { off / error } else { 0.0 }
}

fn exact(transcripts: usize, reads: &[Read], alpha: f64) -> Exact {
    Plain {
        transcripts,
        alpha,
        reads,
    }
    .exact()
}

/// Small problems with few optima that a chain would not leave: rows of one read and of many, of
/// two and three transcripts, with reads of their own and without, in two components.
fn problems() -> Vec<(&'static str, usize, Vec<Read>)> {
    let even = vec![
        (vec![(0, -1.0), (1, -1.2)], 1.0),
        (vec![(1, -3.0), (2, -2.0)], 1.0),
        (vec![(0, -2.0), (1, -3.0), (2, -2.5)], 2.0),
        (vec![(2, -1.0)], 1.0),
        (vec![(4, -1.0), (3, -0.7)], 4.0),
        (vec![(4, -1.0)], 1.0),
    ];
    let many = vec![
        (vec![(0, -1.0), (1, -1.1), (2, -1.7), (3, -3.0)], 40.0),
        (vec![(0, -1.0)], 6.0),
        (vec![(1, -2.0)], 9.0),
        (vec![(3, -2.0), (1, -2.7)], 3.0),
    ];
    let lopsided = vec![
        (vec![(0, -1.0), (1, -6.0), (2, -7.0)], 30.0),
        (vec![(1, -1.0), (2, -2.0)], 5.0),
    ];
    vec![
        ("even", 6, even),
        ("many", 5, many),
        ("lopsided", 3, lopsided),
    ]
}

#[test]
fn chains_have_the_exact_posterior() {
    let mut worst: f64 = 0.0;
    for (name, transcripts, reads) in problems() {
        let built = build(transcripts, &reads, Compression::default());
        for alpha in [1.0, 0.3, 0.05] {
            let solution = solve(&built, alpha, true);
            let truth = exact(transcripts, &reads, alpha);
            let draws = draw(&built, &solution, 60_000, 1, 1);
            for (m, drawn) in counts(&built, &draws).iter().enumerate() {
                let case = |what: &str| format!("{name}, prior {alpha}, transcript {m}, {what}");
                let mut check = |what: &str, of: &dyn Fn(f64) -> f64| {
                    let values: Vec<f64> = drawn.iter().map(|&n| of(n)).collect();
                    worst = worst.max(agrees(&case(what), &values, truth.mean(m, of)));
                };
                check("count", &|n| n);
                check("square", &|n| n * n);
                check("present", &|n| f64::from(u8::from(n > 0.0)));
            }
        }
    }
    eprintln!("worst of the chains: {worst:.2} standard errors");
}

/// Every draw has all reads, whole ones, and those of their own at least.
#[test]
fn draws_keep_all_reads() {
    let (transcripts, reads) = plain::families(5, 300, 3.0, 1);
    let built = build(transcripts, &reads, Compression::default());
    let solution = solve(&built, 0.1, true);
    let draws = draw(&built, &solution, 50, 3, 2);
    let mut own = vec![0.0; transcripts];
    for (alignments, count) in reads.iter().filter(|read| read.0.len() == 1) {
        own[alignments[0].0 as usize] += count;
    }
    assert_eq!((draws.len(), draws.is_empty()), (50, false));
    for index in 0..draws.len() {
        let counts = draws.counts(&built, index);
        assert_eq!(counts.iter().sum::<f64>(), built.reads());
        assert!(
            counts
                .iter()
                .zip(&own)
                .all(|(n, own)| n >= own && n.fract() == 0.0)
        );
    }
    let other = draw(&built, &solution, 50, 3, 3);
    assert_ne!(draws, other, "another seed");
    // Seeds decide draws from the collapsed posterior as well.
    let lengths = vec![1.0; transcripts];
    let abundances = |seed| {
        let origins = Origins::Collapsed(&solution);
        let abundances = Abundances::new(&built, origins, &lengths, (50, seed));
        abundances.expect("lengths in range").transcripts()
    };
    assert_eq!(abundances(1), abundances(1));
    assert_ne!(abundances(1), abundances(2), "another seed");
}

/// Chains see rows whose log ratios differ by a third of a nat as one, at their mean.
#[test]
fn chains_merge_near_rows() {
    let row = |ratio: f64| vec![(0, -1.0), (1, -1.0 - ratio)];
    let near: Vec<Read> = [0.02, 0.08, 0.05].map(|ratio| (row(ratio), 3.0)).to_vec();
    let same: Vec<Read> = vec![(row(0.05), 9.0)];
    let (near_built, same_built) = (build(2, &near, ALL), build(2, &same, ALL));
    assert_eq!((near_built.rows(), same_built.rows()), (3, 1));
    let drawn = [&near_built, &same_built].map(|reads| {
        let solution = solve(reads, 1.0, false);
        counts(reads, &draw(reads, &solution, 20_000, 1, 5))
    });
    // From starts that differ by rounding, chains send reads by the same numbers.
    let differ = distance(&drawn[0][0], &drawn[1][0]);
    assert!(differ <= 1.0, "{differ}");
    // Rows farther apart stay apart, whatever their mean.
    let far: Vec<Read> = [-0.35, 0.05, 0.45].map(|ratio| (row(ratio), 3.0)).to_vec();
    let far = build(2, &far, ALL);
    let apart = counts(&far, &draw(&far, &solve(&far, 1.0, false), 20_000, 1, 5));
    assert!(distance(&apart[0], &drawn[1][0]) > 1.0);
    let truth = exact(2, &same, 1.0);
    for (m, drawn) in drawn[0].iter().enumerate() {
        agrees("merged", drawn, truth.mean(m, |n| n));
        let squares: Vec<f64> = drawn.iter().map(|n| n * n).collect();
        agrees("merged, square", &squares, truth.mean(m, |n| n * n));
    }
}

/// The collapsed posterior is a Dirichlet: moments of fractions by formula, of groups too, whose
/// variances have the covariances in them.
#[test]
fn collapsed_draws_have_the_moments_of_the_dirichlet() {
    let (_, transcripts, reads) = problems().swap_remove(0);
    let built = build(transcripts, &reads, Compression::default());
    let lengths = vec![1.0; transcripts];
    let draws = 40_000;
    let tolerance = ERRORS / (draws as f64).sqrt();
    for alpha in [2.0, 1.0, 0.05] {
        let solution = solve(&built, alpha, true);
        let counts = solution.counts(&built);
        let total = alpha * transcripts as f64 + built.reads();
        let abundances =
            Abundances::new(&built, Origins::Collapsed(&solution), &lengths, (draws, 1));
        let abundances = abundances.expect("lengths in range");
        assert_eq!(abundances.draws(), draws);
        let groups: Vec<Vec<u32>> = vec![vec![0, 1], vec![1, 2, 4], vec![0, 3], (0..6).collect()];
        let alone = (0..transcripts as u32).map(|m| vec![m]);
        let groups: Vec<Vec<u32>> = alone.chain(groups).collect();
        let mut found = abundances.transcripts();
        found.extend(abundances.groups(&groups[transcripts..]));
        for (group, (in_reads, in_tpm)) in groups.iter().zip(found) {
            let a: f64 = group.iter().map(|&m| alpha + counts[m as usize]).sum();
            let mean = a / total;
            let variance = a * (total - a).max(0.0) / (total * total * (total + 1.0));
            let sd = variance.sqrt();
            for (unit, summary) in [(built.reads(), in_reads), (1e6, in_tpm)] {
                let off = (summary.mean / unit - mean).abs();
                assert!(
                    off <= tolerance * sd + 1e-12,
                    "{group:?}: {summary:?} for {mean}"
                );
                // The error of a standard deviation has the fourth moment in it: large where a
                // small prior makes most draws nothing and a few large.
                let heavy = (1.0 + 1.0 / a).sqrt() * 1.5;
                let off = (summary.sd / unit - sd).abs();
                assert!(
                    off <= heavy * tolerance * sd + 1e-12,
                    "{group:?}: {summary:?} for {sd}"
                );
                assert!(summary.lower <= summary.mean || a < 0.5);
                assert!(summary.upper >= summary.mean || a < 0.5);
            }
        }
    }
}

/// Draws of fractions from chains are those of the exact posterior, a mixture of Dirichlets.
#[test]
fn exact_draws_have_the_moments_of_the_mixture() {
    let mut worst: f64 = 0.0;
    for (name, transcripts, reads) in problems() {
        let built = build(transcripts, &reads, Compression::default());
        let lengths = vec![1.0; transcripts];
        for alpha in [1.0, 0.05] {
            let solution = solve(&built, alpha, true);
            let truth = exact(transcripts, &reads, alpha);
            let draws = draw(&built, &solution, 20_000, 3, 7);
            let abundances = Abundances::new(&built, Origins::Exact(&draws), &lengths, (1, 0));
            let abundances = abundances.expect("lengths in range");
            assert_eq!(abundances.draws(), draws.len());
            let drawn = counts(&built, &draws);
            for (m, (in_reads, in_tpm)) in abundances.transcripts().iter().enumerate() {
                let case = format!("{name}, prior {alpha}, transcript {m}");
                // The counts are those of the chains.
                let (mean, error) = mean(&drawn[m]);
                assert!((in_reads.mean - mean).abs() < 1e-9, "{case}");
                // Reads that wander slowly make fractions do so: as many draws as count for one.
                let spread = truth.mean(m, |n| n * n) - truth.mean(m, |n| n).powi(2);
                let slow = (error * error * drawn[m].len() as f64 / spread.max(1e-9)).max(1.0);
                let (mean, variance) = truth.fraction(m);
                let sd = variance.sqrt();
                let tolerance = ERRORS * (slow / drawn[m].len() as f64).sqrt() * sd;
                let off = (in_tpm.mean / 1e6 - mean).abs();
                assert!(off <= tolerance, "{case}: {in_tpm:?} for {mean}");
                worst = worst.max(ERRORS * off / tolerance);
                let heavy = 1.5 * (1.0 + 1.0 / (alpha + truth.mean(m, |n| n))).sqrt();
                let off = (in_tpm.sd / 1e6 - sd).abs();
                assert!(off <= heavy * tolerance, "{case}: {in_tpm:?} for {sd}");
                worst = worst.max(ERRORS * off / (heavy * tolerance));
            }
        }
    }
    eprintln!("worst of fractions: {worst:.2} standard errors");
}

/// Intervals have 2.5% on either side: of a beta distribution with a formula, and of counts by
/// enumeration.
#[test]
fn intervals_hold_their_mass() {
    let draws = 20_000;
    let tolerance = ERRORS * (0.025 * 0.975 / draws as f64).sqrt();
    for others in [0.0, 4.0, 99.0] {
        // A fraction with Beta(1, 1 + others).
        let mut reads: Vec<Read> = vec![(vec![(1, -1.0)], others)];
        if others == 0.0 {
            reads = vec![(vec![(0, -1.0)], 1.0)];
        }
        let built = build(2, &reads, Compression::default());
        let solution = solve(&built, 1.0, true);
        let origins = Origins::Collapsed(&solution);
        let abundances =
            Abundances::new(&built, origins, &[1.0, 1.0], (draws, 3)).expect("lengths");
        let of = usize::from(others == 0.0);
        let power = 1.0 + others.max(1.0);
        let below = |x: f64| 1.0 - (1.0 - x).powf(power);
        let (in_reads, in_tpm) = abundances.transcripts()[of];
        for (unit, summary) in [(built.reads(), in_reads), (1e6, in_tpm)] {
            let (lower, upper) = (below(summary.lower / unit), below(summary.upper / unit));
            assert!((lower - 0.025).abs() < tolerance, "{lower}");
            assert!((upper - 0.975).abs() < tolerance, "{upper}");
        }
    }
    let (_, transcripts, reads) = problems().swap_remove(1);
    let built = build(transcripts, &reads, Compression::default());
    for alpha in [1.0, 0.05] {
        let solution = solve(&built, alpha, true);
        let truth = exact(transcripts, &reads, alpha);
        let draws = draw(&built, &solution, draws, 3, 9);
        let lengths = vec![1.0; transcripts];
        let abundances = Abundances::new(&built, Origins::Exact(&draws), &lengths, (1, 0));
        for (m, (counts, _)) in abundances
            .expect("lengths")
            .transcripts()
            .iter()
            .enumerate()
        {
            let below = |x: f64| truth.mean(m, |n| f64::from(u8::from(n < x)));
            let above = |x: f64| truth.mean(m, |n| f64::from(u8::from(n > x)));
            // Counts are whole, and draws are not independent of one another.
            let most = 0.025 + 4.0 * tolerance;
            assert!(below(counts.lower) <= most, "{alpha}, {m}: {counts:?}");
            assert!(above(counts.upper) <= most, "{alpha}, {m}: {counts:?}");
            let least = 0.025 - 4.0 * tolerance;
            assert!(
                below(counts.lower + 1.0) >= least,
                "{alpha}, {m}: {counts:?}"
            );
            assert!(
                above(counts.upper - 1.0) >= least,
                "{alpha}, {m}: {counts:?}"
            );
        }
    }
}

/// TPM go by effective length, leave out what has none, and add up to a million.
#[test]
fn tpm_go_by_length() {
    let reads: Vec<Read> = vec![
        (vec![(0, -1.0)], 1000.0),
        (vec![(1, -1.0)], 2000.0),
        (vec![(2, -1.0)], 4000.0),
        (vec![(3, -1.0)], 500.0),
    ];
    let built = build(5, &reads, Compression::default());
    let lengths = [100.0, 400.0, 400.0, f64::INFINITY, 1000.0];
    let solution = solve(&built, 0.01, true);
    let draws = draw(&built, &solution, 2000, 1, 1);
    let share = [10.0, 5.0, 10.0, 0.0, 0.0].map(|rate| 1e6 * rate / 25.0);
    for origins in [Origins::Collapsed(&solution), Origins::Exact(&draws)] {
        let abundances = Abundances::new(&built, origins, &lengths, (2000, 1)).expect("lengths");
        let estimates = abundances.estimates();
        assert_eq!(estimates.counts, [1000.0, 2000.0, 4000.0, 500.0, 0.0]);
        assert!(
            distance(&estimates.tpm, &share) < 1e-6,
            "{:?}",
            estimates.tpm
        );
        let summaries = abundances.transcripts();
        let means: Vec<f64> = summaries.iter().map(|s| s.1.mean).collect();
        assert!((means.iter().sum::<f64>() - 1e6).abs() < 1e-3);
        assert_eq!(means[3], 0.0);
        for (m, (mean, share)) in means.iter().zip(share).enumerate() {
            assert!(
                (mean - share).abs() < 0.01 * share + 10.0,
                "{m}: {mean} for {share}"
            );
        }
        let (all_reads, all_tpm) = abundances.groups(&[vec![0, 1, 2, 3, 4]])[0];
        assert!((all_reads.mean - 7500.0).abs() < 1e-6 && all_reads.sd < 1e-6);
        assert!((all_tpm.mean - 1e6).abs() < 1e-3 && all_tpm.sd < 1e-3);
    }
}

/// Estimates from chains give the reads of transcripts that are rarely there to the others.
#[test]
fn rare_transcripts_are_left_out_of_estimates() {
    let reads: Vec<Read> = vec![
        (vec![(0, -1.0), (1, -1.2), (2, -4.0)], 30.0),
        (vec![(0, -1.0)], 10.0),
        (vec![(3, -1.0), (4, -1.0)], 1.0),
        (vec![(5, -1.0)], 2.0),
    ];
    let built = build(7, &reads, Compression::default());
    let solution = solve(&built, 0.02, true);
    // Every sweep is a draw.
    let draws = draw(&built, &solution, 3000, 1, 1);
    let lengths = vec![1.0; 7];
    let abundances =
        Abundances::new(&built, Origins::Exact(&draws), &lengths, (1, 0)).expect("lengths");
    let estimates = abundances.estimates().counts;
    let drawn = counts(&built, &draws);
    let present = |m: usize| drawn[m].iter().filter(|n| **n > 0.0).count();
    assert!(
        present(1) < 1500 && present(2) < 1500,
        "{} {}",
        present(1),
        present(2)
    );
    assert!((estimates[0] - 40.0).abs() < 1e-9 && estimates[1] == 0.0 && estimates[2] == 0.0);
    // Of two that are alike one is kept, the likelier.
    let likelier = if present(3) > present(4) { 3 } else { 4 };
    assert!((estimates[likelier] - 1.0).abs() < 1e-9, "{estimates:?}");
    assert_eq!(estimates[7 - likelier], 0.0);
    assert_eq!((estimates[5], estimates[6]), (2.0, 0.0));
}

#[test]
fn threads_do_not_change_draws() {
    let (transcripts, reads) = plain::families(400, 6000, 3.0, 8);
    let built = build(transcripts, &reads, Compression::default());
    let lengths: Vec<f64> = (0..transcripts).map(|m| 100.0 + m as f64).collect();
    let groups: Vec<Vec<u32>> = (0..400).map(|f| (4 * f..4 * f + 4).collect()).collect();
    let everything = || {
        let solution = solve(&built, 0.1, true);
        let draws = draw(&built, &solution, 40, 2, 1);
        let answers = [Origins::Collapsed(&solution), Origins::Exact(&draws)].map(|origins| {
            let abundances = Abundances::new(&built, origins, &lengths, (40, 1)).expect("lengths");
            let (transcripts, groups) = (abundances.transcripts(), abundances.groups(&groups));
            (abundances.estimates(), transcripts, groups)
        });
        (answers, draws)
    };
    let with = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(everything)
    };
    let one = with(1);
    // Equality of floats is that of their bits here: nothing is zero with a sign, or NaN.
    assert!(one == with(2), "two threads");
    assert!(one == with(5), "five threads");
}
