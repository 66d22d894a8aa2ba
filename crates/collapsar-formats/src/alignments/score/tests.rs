//! The rules of the score, and that every kind of evidence gives the same.

use std::fmt::Write as _;

use noodles_sam::alignment::record::cigar::Op;
use proptest::prelude::*;

use super::*;

use collapsar::elementary::Elementary;

fn cigar(text: &str) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut length = 0;
    for byte in text.bytes() {
        let kind = match byte {
            b'M' => Kind::Match,
            b'I' => Kind::Insertion,
            b'D' => Kind::Deletion,
            b'N' => Kind::Skip,
            b'S' => Kind::SoftClip,
            b'H' => Kind::HardClip,
            b'P' => Kind::Pad,
            b'=' => Kind::SequenceMatch,
            b'X' => Kind::SequenceMismatch,
            digit => {
                length = 10 * length + usize::from(digit - b'0');
                continue;
            }
        };
        ops.push(Op::new(kind, length));
        length = 0;
    }
    ops
}

fn score(record: &Record, target: Option<&[u8]>) -> Score {
    let shape = Shape::of(&record.cigar).unwrap();
    let letters = if record.bases.is_empty() {
        Letters::NONE
    } else {
        Letters::fit(&record.bases, &record.qualities, &shape).unwrap()
    };
    let scorer = Scorer::default();
    scorer.score(record, &shape, letters, target, 0).unwrap()
}

fn record(ops: &str, bases: &str, md: &str) -> Record {
    Record {
        cigar: cigar(ops),
        bases: bases.as_bytes().to_vec(),
        qualities: vec![30; bases.len()],
        md: md.as_bytes().to_vec(),
        ..Record::default()
    }
}

/// Tolerance of sums in another order.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * (1.0 + a.abs())
}

#[test]
fn mismatches_by_quality() {
    let mut one = record("8M", "ACGTACGT", "3A4");
    let error: f64 = 1e-3;
    assert!(close(
        score(&one, None).log_odds,
        (error / 3.0 / (1.0 - error)).ln_()
    ));
    one.qualities[3] = 0;
    let error = 10_f64.powf_(-0.2);
    let lowest = (error / 3.0 / (1.0 - error)).ln_();
    assert!(close(score(&one, None).log_odds, lowest));
    one.qualities.clear();
    let error: f64 = 0.01;
    assert!(close(
        score(&one, None).log_odds,
        (error / 3.0 / (1.0 - error)).ln_()
    ));
    // No letters at all.
    one.bases.clear();
    assert!(close(
        score(&one, None).log_odds,
        (error / 3.0 / (1.0 - error)).ln_()
    ));
}

#[test]
fn unknown_clipped_and_inserted_bases_say_nothing() {
    let blank = (0.25_f64 / 0.999).ln_();
    assert!(close(
        score(&record("4M", "ANGT", "1C2"), None).log_odds,
        blank
    ));
    assert!(close(
        score(&record("4M", "ACGT", "1N2"), None).log_odds,
        blank
    ));
    let n = record("4M", "ANGT", "");
    assert!(close(score(&n, Some(b"ANGT")).log_odds, blank));
    assert!(close(score(&n, Some(b"ACGT")).log_odds, blank));
    let mut clipped = record("2S4M3S", "TTACGTAAA", "4");
    assert!(close(score(&clipped, None).log_odds, 5.0 * blank));
    clipped.cigar = cigar("2H2S2M3S");
    clipped.bases.truncate(7);
    clipped.qualities.truncate(7);
    clipped.md = b"2".to_vec();
    let hard = (0.25_f64 / 0.99).ln_();
    assert!(close(
        score(&clipped, None).log_odds,
        5.0 * blank + 2.0 * hard
    ));
    let inserted = score(&record("2M3I2M", "ACTTTGT", "4"), None).log_odds;
    let open = 1e-4_f64.ln_() + 2.0 * 0.5_f64.ln_();
    assert!(close(inserted, open + 3.0 * blank));
    let deleted = score(&record("2M3D2M", "ACGT", "2^TTT2"), None).log_odds;
    assert!(close(deleted, open));
}

#[test]
fn a_number_of_mismatches_alone() {
    let mut one = record("4M1D4M", "ACGTACGT", "");
    one.nm = Some(3);
    let error: f64 = 1e-3;
    let mismatch = (error / 3.0 / (1.0 - error)).ln_();
    let found = score(&one, None);
    assert!(close(found.log_odds, 1e-4_f64.ln_() + 2.0 * mismatch) && found.known);
    one.nm = None;
    let found = score(&one, None);
    assert!(close(found.log_odds, 1e-4_f64.ln_()) && !found.known);
}

#[test]
fn refusals() {
    for (ops, md, text) in [
        (
            "4M100N4M",
            "8",
            "x: read r skips an intron: the reads were aligned to a genome, expected alignments to transcripts; \
             try bowtie2 on the transcripts, or STAR --quantMode TranscriptomeSAM",
        ),
        (
            "8S",
            "8",
            "x: read r is aligned without a single base, expected a CIGAR that places some",
        ),
        (
            "8M",
            "3A5",
            "x: read r has the MD tag \"3A5\", which does not fit its CIGAR, expected one that covers the same \
             bases; try samtools calmd",
        ),
        (
            "8M",
            "3A3A9A",
            "x: read r has the MD tag \"3A3A9A\", which does not fit its CIGAR, expected one that covers the same \
             bases; try samtools calmd",
        ),
    ] {
        let one = record(ops, "ACGTACGT", md);
        let trouble = Shape::of(&one.cigar)
            .and_then(|shape| {
                let letters = Letters::fit(&one.bases, &one.qualities, &shape).unwrap();
                Scorer::default().score(&one, &shape, letters, None, 0)
            })
            .unwrap_err();
        let place = crate::FilePlace::Read("r".to_owned());
        assert_eq!(trouble.at("x", "SAM", place).to_string(), text);
    }
}

/// An alignment drawn piece by piece, told in three ways.
#[derive(Debug, Clone)]
struct Drawn {
    plain: Vec<Op>,
    explicit: Vec<Op>,
    bases: Vec<u8>,
    qualities: Vec<u8>,
    target: Vec<u8>,
    md: String,
    nm: u32,
}

fn push(ops: &mut Vec<Op>, kind: Kind, length: usize) {
    match ops.last_mut() {
        Some(last) if last.kind() == kind => *last = Op::new(kind, last.len() + length),
        _ => ops.push(Op::new(kind, length)),
    }
}

/// Pieces are (kind, length, letter): 0 to 4 matches, 5 a mismatch, 6 an unknown base, 7 an insertion, 8 a
/// deletion.
fn drawn(pieces: Vec<(u8, usize, usize)>, clips: (usize, usize), quality: u8) -> Drawn {
    let letter = |index: usize| b"ACGT"[index % 4];
    let mut all = Drawn {
        plain: Vec::new(),
        explicit: Vec::new(),
        bases: Vec::new(),
        qualities: Vec::new(),
        target: Vec::new(),
        md: String::new(),
        nm: 0,
    };
    let mut run = 0;
    let clip = |all: &mut Drawn, length: usize| {
        if length > 0 {
            push(&mut all.plain, Kind::SoftClip, length);
            push(&mut all.explicit, Kind::SoftClip, length);
            all.bases.resize(all.bases.len() + length, b'A');
        }
    };
    clip(&mut all, clips.0);
    // Gaps inside only, as aligners write them.
    let ends = [(0, 1, 0)];
    for (kind, length, seed) in ends.into_iter().chain(pieces).chain(ends) {
        for base in 0..length {
            let base = letter(seed + base);
            match kind {
                0..=4 => {
                    push(&mut all.plain, Kind::Match, 1);
                    push(&mut all.explicit, Kind::SequenceMatch, 1);
                    all.bases.push(base);
                    all.target.push(base);
                    run += 1;
                }
                5 | 6 => {
                    push(&mut all.plain, Kind::Match, 1);
                    push(&mut all.explicit, Kind::SequenceMismatch, 1);
                    let wrong = letter(b"ACGT".iter().position(|&b| b == base).unwrap() + 1);
                    all.bases.push(if kind == 5 { wrong } else { b'N' });
                    all.target.push(base);
                    write!(all.md, "{run}{}", char::from(base)).unwrap();
                    (run, all.nm) = (0, all.nm + 1);
                }
                7 => {
                    push(&mut all.plain, Kind::Insertion, 1);
                    push(&mut all.explicit, Kind::Insertion, 1);
                    all.bases.push(base);
                    all.nm += 1;
                }
                _ => {
                    let begins = all.plain.last().map(|op| op.kind()) != Some(Kind::Deletion);
                    if begins {
                        write!(all.md, "{run}^").unwrap();
                        run = 0;
                    }
                    push(&mut all.plain, Kind::Deletion, 1);
                    push(&mut all.explicit, Kind::Deletion, 1);
                    all.target.push(base);
                    all.md.push(char::from(base));
                    all.nm += 1;
                }
            }
        }
    }
    all.md += &run.to_string();
    clip(&mut all, clips.1);
    all.qualities = (0..all.bases.len())
        .map(|i| quality.wrapping_mul(i as u8 + 1) % 60)
        .collect();
    all
}

proptest! {
    #[test]
    fn every_evidence_gives_the_same(
        pieces in proptest::collection::vec((0_u8..9, 1_usize..4, 0_usize..4), 0..12),
        clips in (0_usize..4, 0_usize..4),
        quality in any::<u8>(),
    ) {
        let all = drawn(pieces, clips, quality);
        let record = Record {
            bases: all.bases.clone(),
            qualities: all.qualities.clone(),
            ..Record::default()
        };
        let tag = Record { cigar: all.plain.clone(), md: all.md.clone().into_bytes(), nm: Some(all.nm), ..record.clone() };
        let compared = Record { cigar: all.plain.clone(), ..record.clone() };
        let explicit = Record { cigar: all.explicit.clone(), ..record };
        let expected = score(&tag, None);
        prop_assert!(expected.known && expected.log_odds <= 0.0);
        prop_assert!(close(expected.log_odds, score(&compared, Some(&all.target)).log_odds));
        prop_assert!(close(expected.log_odds, score(&explicit, None).log_odds));
        prop_assert!(close(expected.log_odds, score(&explicit, Some(&all.target)).log_odds));
    }
}
