//! Alignments of public and simulated reads, where they are at hand.

use std::path::{Path, PathBuf};

use collapsar::quant::fragment::Layout;
use collapsar_formats::{Alignments, Fragment, Tally};

/// A file of the shared data.
fn shared(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("COLLAPSAR_DATA") else {
        eprintln!("skipped: COLLAPSAR_DATA is not set");
        return None;
    };
    Some(Path::new(&folder).join("quant").join(name))
}

/// The counts, the fragments with one place, and the sum of all log odds.
fn read(path: &Path, workers: usize, check: impl Fn(&Fragment)) -> (Tally, u64, f64) {
    let mut alignments = Alignments::open(path, workers).unwrap();
    let targets = alignments.targets().to_vec();
    let mut fragment = Fragment::default();
    let (mut unique, mut sum) = (0, 0.0);
    while alignments.next(&mut fragment).unwrap() {
        assert!(!fragment.name.is_empty());
        unique += u64::from(fragment.placements.len() == 1);
        for place in &fragment.placements {
            let target = &targets[place.transcript as usize];
            assert!(place.start < place.end && place.end <= target.length);
            assert!(place.log_odds <= 0.0 && place.log_odds.is_finite());
            sum += f64::from(place.log_odds);
        }
        check(&fragment);
    }
    (*alignments.tally(), unique, sum)
}

/// Mates that face each other, as `--no-discordant` leaves them.
fn inward(fragment: &Fragment) {
    for place in &fragment.placements {
        let Layout::Pair {
            first_forward,
            second_forward,
            first_left,
        } = place.layout
        else {
            panic!("{}: {:?}", fragment.name, place.layout);
        };
        assert!(fragment.paired && first_forward != second_forward);
        assert_eq!(first_left, first_forward, "{}", fragment.name);
    }
}

#[test]
fn simulated_pairs() {
    let Some(path) = shared("chr19_sim20k.bam") else {
        return;
    };
    // As many as BitSeq finds for them; the 200,000 reads behind them have 72,140 with one place.
    let expected = Tally {
        records: 116_992,
        reads: 20_000,
        aligned: 20_000,
        placements: 58_496,
        ..Tally::default()
    };
    let (tally, unique, sum) = read(&path, 0, inward);
    assert_eq!(tally, expected);
    for workers in 1..3 {
        let other = read(&path, workers, inward);
        assert_eq!(other, (tally, unique, sum));
    }
}

#[test]
fn real_pairs() {
    let Some(path) = shared("airway_SRR1039508.bam") else {
        return;
    };
    let (tally, _, _) = read(&path, 0, inward);
    assert_eq!(
        tally,
        Tally {
            records: 124_398,
            reads: 36_291,
            aligned: 36_291,
            placements: 62_199,
            ..Tally::default()
        }
    );
}

#[test]
fn single_reads() {
    let Some(path) = shared("bitseq_example_c0b0.sam.gz") else {
        return;
    };
    let (tally, _, _) = read(&path, 0, |fragment| {
        let single = |layout| matches!(layout, Layout::Single { .. });
        assert!(!fragment.paired && fragment.placements.iter().all(|p| single(p.layout)));
    });
    assert_eq!(
        tally,
        Tally {
            records: 21_413,
            reads: 4_817,
            aligned: 4_663,
            unaligned: 154,
            placements: 21_259,
            ..Tally::default()
        }
    );
}
