//! What becomes of the records of a read, and what is refused.

use std::fmt::Write as _;
use std::fs;

use collapsar::elementary::Elementary;
use collapsar::quant::fragment::Layout;
use noodles_bam as bam;
use noodles_fasta as fasta;
use noodles_sam as sam;
use noodles_sam::alignment::io::Write as _;

use super::*;

const TARGETS: [(&str, &str); 3] = [
    ("t1", "ACGTTGCAAGCTTAGCCATGACGTTGCAAGCTTAGCCATG"),
    ("t2", "TTTTGGGGCCCCAAAATTTTGGGGCCCCAAAATTTTGGGG"),
    ("t3", "CATGGCTAAGCTTGCAACGTCATGGCTAAGCTTGCAACGT"),
];
const HEADER: &str = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:t1\tLN:40\n@SQ\tSN:t2\tLN:40\n@SQ\tSN:t3\tLN:40\n\
                      @PG\tID:a\n@PG\tID:a\n";

fn sequences() -> Arc<dyn Sequences + Send + Sync> {
    Arc::new(TARGETS.map(|(_, bases)| bases).to_vec())
}

/// SAM text from lines whose fields are separated by spaces.
fn sam_text(lines: &[&str]) -> String {
    let mut text = HEADER.to_owned();
    for line in lines {
        writeln!(text, "{}", line.replace(' ', "\t")).unwrap();
    }
    text
}

fn read_bytes(bytes: &[u8], bases: bool, workers: usize) -> Result<(Vec<Fragment>, Tally)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads");
    fs::write(&path, bytes).unwrap();
    let folder = format!("{}/", folder.path().display());
    let shorter = |mut error: crate::Error| {
        if let crate::Error::File { path, .. } = &mut error {
            *path = path.replace(&folder, "");
        }
        error
    };
    let mut alignments = Alignments::open(&path, workers).map_err(shorter)?;
    if bases {
        alignments.compare_with(sequences()).map_err(shorter)?;
    }
    let mut fragments = Vec::new();
    let mut fragment = Fragment::default();
    while alignments.next(&mut fragment).map_err(shorter)? {
        fragments.push(fragment.clone());
    }
    Ok((fragments, *alignments.tally()))
}

fn read(lines: &[&str]) -> (Vec<Fragment>, Tally) {
    read_bytes(sam_text(lines).as_bytes(), false, 0).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    read_bytes(bytes, false, 0).unwrap_err().to_string()
}

/// (target, start, end) of each place.
fn places(fragment: &Fragment) -> Vec<(u32, u32, u32)> {
    let all = fragment.placements.iter();
    all.map(|p| (p.transcript, p.start, p.end)).collect()
}

fn pair(first_forward: bool, second_forward: bool, first_left: bool) -> Layout {
    Layout::Pair {
        first_forward,
        second_forward,
        first_left,
    }
}

#[test]
fn pairs_one_after_the_other() {
    let (fragments, tally) = read(&[
        "r1 99 t1 1 9 5M = 21 25 ACGTT IIIII NM:i:0",
        "r1 147 t1 21 9 5M = 1 -25 ACGTT IIIII NM:i:1 MD:Z:2A2",
        "r1 419 t1 11 9 5M = 1 -15 CTTAG IIIII NM:i:0",
        "r1 339 t1 1 9 5M = 11 15 ACGTT IIIII NM:i:0",
        "r2 77 * 0 0 * * 0 0 ACGTT IIIII",
        "r2 141 * 0 0 * * 0 0 ACGTT IIIII",
        "r3 0 t3 1 9 5M * 0 0 CATGG IIIII",
    ]);
    assert_eq!(fragments.len(), 2);
    assert_eq!(places(&fragments[0]), [(0, 0, 25), (0, 0, 15)]);
    let layouts: Vec<Layout> = fragments[0].placements.iter().map(|p| p.layout).collect();
    assert_eq!(layouts, [pair(true, false, true), pair(false, true, true)]);
    // 10^(-40/10) / 3, nearly.
    assert!((fragments[0].placements[0].log_odds - (1e-4_f32 / 3.0 / 0.9999).ln()).abs() < 1e-5);
    assert_eq!(fragments[0].placements[1].log_odds, 0.0);
    assert!(fragments[0].paired && !fragments[1].paired);
    assert_eq!(
        fragments[1].placements[0].layout,
        Layout::Single { forward: true }
    );
    assert_eq!(
        tally,
        Tally {
            records: 7,
            reads: 3,
            aligned: 2,
            unaligned: 1,
            placements: 3,
            // The last read has no tag and there is no sequence.
            unscored: 1,
            ..Tally::default()
        }
    );
}

#[test]
fn pairs_in_other_orders() {
    // All first mates, then all second mates, as after sorting by name.
    let (fragments, _) = read(&[
        "r 99 t1 1 9 5M = 21 25 ACGTT IIIII NM:i:0",
        "r 355 t1 6 9 5M = 31 25 ACGTT IIIII NM:i:0",
        "r 403 t1 31 9 5M = 6 25 ACGTT IIIII NM:i:0",
        "r 147 t1 21 9 5M = 1 -25 ACGTT IIIII NM:i:0",
    ]);
    assert_eq!(places(&fragments[0]), [(0, 5, 35), (0, 0, 25)]);
    // minimap2: the others name the place of the best.
    let (fragments, tally) = read(&[
        "r 99 t1 1 9 5M = 21 25 ACGTT IIIII NM:i:0",
        "r 355 t2 2 9 5M t1 21 0 * * NM:i:0",
        "r 355 t3 3 9 5M t1 21 0 * * NM:i:0",
        "r 147 t1 21 9 5M = 1 -25 ACGTT IIIII NM:i:0",
        "r 403 t2 12 9 5M t1 1 0 * * NM:i:0",
        "r 403 t2 30 9 5M t1 1 0 * * NM:i:0",
    ]);
    assert_eq!(places(&fragments[0]), [(0, 0, 25), (1, 1, 16)]);
    assert_eq!((tally.split, tally.orphans), (0, 0));
    // Two pairs at one place are told apart by their numbers.
    let (fragments, _) = read(&[
        "r 99 t1 1 9 5M = 21 25 ACGTT IIIII HI:i:1 NM:i:0",
        "r 355 t1 1 9 6M = 21 25 * * HI:i:2 NM:i:0",
        "r 403 t1 21 9 7M = 1 25 * * HI:i:2 NM:i:0",
        "r 147 t1 21 9 5M = 1 -25 ACGTT IIIII HI:i:1 NM:i:0",
    ]);
    assert_eq!(places(&fragments[0]), [(0, 0, 27), (0, 0, 25)]);
    // The mate's number in the name.
    let (fragments, tally) = read(&[
        "r/1 99 t1 1 9 5M = 21 25 ACGTT IIIII NM:i:0",
        "r/2 147 t1 21 9 5M = 1 -25 ACGTT IIIII NM:i:0",
    ]);
    assert_eq!((fragments[0].name.as_str(), tally.reads), ("r", 1));
}

#[test]
fn mates_apart() {
    let (fragments, tally) = read(&[
        "orphan 73 t1 1 9 5M = 1 0 ACGTT IIIII NM:i:0",
        "orphan 133 t1 1 0 * = 1 0 ACGTT IIIII",
        "orphan 329 t2 3 9 5M = 3 0 * * NM:i:0",
        "split 65 t1 1 9 5M t2 1 0 ACGTT IIIII NM:i:0",
        "split 129 t2 1 9 5M t1 1 0 TTTTG IIIII NM:i:0",
        "outward 83 t1 1 9 5M = 21 25 ACGTT IIIII NM:i:0",
        "outward 163 t1 21 9 5M = 1 -25 ACGTT IIIII NM:i:0",
        "short 99 t1 1 9 5M = 1 5 ACGTT IIIII NM:i:0",
        "short 147 t1 1 9 5M = 1 -5 ACGTT IIIII NM:i:0",
        "pieces 16 t1 1 9 5M * 0 0 ACGTT IIIII NM:i:0",
        "pieces 2064 t2 1 9 5M * 0 0 TTTTG IIIII NM:i:0",
    ]);
    let names: Vec<&str> = fragments.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["orphan", "outward", "short", "pieces"]);
    let orphan = Layout::Orphan {
        first: true,
        forward: true,
    };
    assert!(fragments[0].paired && fragments[0].placements.iter().all(|p| p.layout == orphan));
    assert_eq!(places(&fragments[0]), [(0, 0, 5), (1, 2, 7)]);
    assert_eq!(fragments[1].placements[0].layout, pair(false, true, true));
    assert_eq!(fragments[2].placements[0].layout, pair(true, false, true));
    assert_eq!(places(&fragments[3]), [(0, 0, 5)]);
    assert_eq!(
        (
            tally.split,
            tally.orphans,
            tally.supplementary,
            tally.aligned,
            tally.reads
        ),
        (1, 1, 1, 4, 5)
    );
}

#[test]
fn clips_reach_as_far_as_the_target() {
    let (fragments, _) = read(&[
        "a 0 t1 2 9 3S5M * 0 0 AAACGTTG IIIIIIII NM:i:0",
        "b 0 t1 31 9 2H5M9S * 0 0 TTAGCAAAAAAAAA IIIIIIIIIIIIII NM:i:0",
    ]);
    assert_eq!(places(&fragments[0]), [(0, 0, 6)]);
    assert_eq!(places(&fragments[1]), [(0, 28, 40)]);
}

#[test]
fn letters_of_the_primary_record() {
    // t3 begins with the complement of t1's end: the read lies on both strands, in either order.
    let primary = "r 0 t1 1 9 8M * 0 0 ACGATGCN IIII#III NM:i:2 MD:Z:3T3A0";
    let turned = "r 272 t3 13 9 8M * 0 0 * *";
    let same = "r 256 t1 21 9 8M * 0 0 * *";
    let clipped = "r 256 t1 21 9 2H6M * 0 0 * *";
    let read = |lines: &[&str]| read_bytes(sam_text(lines).as_bytes(), true, 0).unwrap().0;
    let one = read(&[primary, turned, same, clipped]);
    let odds: Vec<f32> = one[0].placements.iter().map(|p| p.log_odds).collect();
    assert_eq!(odds[0], odds[1]);
    assert_eq!(odds[0], odds[2]);
    assert!(odds[3] < odds[0] - 2.0);
    let mut other = read(&[clipped, same, turned, primary]);
    other[0].placements.reverse();
    assert_eq!(one, other);
    // Without a primary record nothing can be compared, and the next read does not see the letters.
    let last = turned.replacen('r', "s", 1);
    let (fragments, tally) =
        read_bytes(sam_text(&[primary, turned, &last]).as_bytes(), true, 0).unwrap();
    assert_eq!(
        (fragments[1].placements[0].log_odds, tally.unscored),
        (0.0, 1)
    );
}

#[test]
fn refusals() {
    let text = |line: &str| sam_text(&[line]).into_bytes();
    let sorted = HEADER.replace("unsorted", "coordinate");
    let twice = HEADER.replace("t2", "t1");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            Vec::new(),
            "reads: no bytes at all, expected alignments as SAM, BAM or CRAM",
        ),
        (
            b">t1\nACGT\n".to_vec(),
            "reads: sequences as FASTA, expected alignments as SAM, BAM or CRAM",
        ),
        (
            b"r\t0\tt1\t1\n".to_vec(),
            "reads: neither a header nor a known format, expected alignments as SAM, BAM or CRAM; try \
             samtools view -h",
        ),
        (
            b"@r1\nACGT\n+\nIIII\n".to_vec(),
            "reads: header line 1 is \"@r1\", expected @SQ lines and records, as alignments have them",
        ),
        (
            b"@SQ\tSN:t1\n".to_vec(),
            "reads: header line 1 lacks a name or a length, expected SN and LN fields in every @SQ line",
        ),
        (
            b"@HD\tVN:1.6\n".to_vec(),
            "reads: a header without target sequences, expected one @SQ line for each transcript; try \
             samtools view -h",
        ),
        (
            twice.into_bytes(),
            "reads: target \"t1\" is in the header twice, expected one @SQ line for each transcript",
        ),
        (
            sorted.into_bytes(),
            "reads: sorted by coordinate, expected all alignments of a read together; try samtools collate \
             or samtools sort -n",
        ),
        (
            HEADER.as_bytes().to_vec(),
            "reads: a header without records, expected at least one alignment",
        ),
        (
            text("r 0 t1 39 9 5M * 0 0 ACGTT IIIII"),
            "reads: line 7 (read r) ends at base 43 of \"t1\", which has 40, expected an end inside the target",
        ),
        (
            text("r 0 t1 1 9 6M * 0 0 ACGTT IIIII"),
            "reads: line 7 (read r) has 5 bases and 5 qualities, which do not fit its CIGAR, expected as many \
             as the CIGAR covers",
        ),
        (
            text("r 0 t1 1 9 2M9N3M * 0 0 ACGTT IIIII"),
            "reads: line 7 (read r) skips an intron: the reads were aligned to a genome, expected alignments \
             to transcripts; try bowtie2 on the transcripts, or STAR --quantMode TranscriptomeSAM",
        ),
        (
            text("r 1 t1 1 9 5M * 0 0 ACGTT IIIII"),
            "reads: line 7 (read r) has two mates but is neither the first nor the second, expected flag 64 \
             or 128",
        ),
        (
            text("* 0 t1 1 9 5M * 0 0 ACGTT IIIII"),
            "reads: line 7 has no name, expected the read's name in every record",
        ),
        (
            text("r 0 t9 1 9 5M * 0 0 ACGTT IIIII"),
            "reads: damaged or incomplete SAM file (line 7: invalid reference sequence name), expected a \
             whole one; try writing or downloading it again",
        ),
        (
            text("r 0 t1 1"),
            "reads: damaged or incomplete SAM file (line 7: unexpected EOL), expected a whole one; try \
             writing or downloading it again",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(refusal(&bytes), expected);
    }
    let mixed = sam_text(&[
        "r 0 t1 1 9 5M * 0 0 ACGTT IIIII",
        "r 73 t1 1 9 5M * 0 0 ACGTT IIIII",
    ]);
    assert_eq!(
        refusal(mixed.as_bytes()),
        "reads: read r has records with a mate and without one, expected a name for each read"
    );
    let again = sam_text(&[
        "r 0 t1 1 9 5M * 0 0 ACGTT IIIII",
        "s 0 t1 1 9 5M * 0 0 ACGTT IIIII",
        "r 256 t1 1 9 5M * 0 0 ACGTT IIIII",
    ]);
    assert_eq!(
        refusal(again.as_bytes()),
        "reads: line 9 (read r) comes back after records of other reads, expected all alignments of a read \
         together; try samtools collate or samtools sort -n"
    );
    let missing = Path::new("no such folder").join("reads.bam");
    let error = Alignments::open(&missing, 0).err().unwrap().to_string();
    assert!(
        error.ends_with("reads.bam: no such file or folder"),
        "{error}"
    );
}

#[test]
fn sequences_of_another_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads.sam");
    fs::write(&path, HEADER).unwrap();
    let mut alignments = Alignments::open(&path, 0).unwrap();
    assert_eq!(alignments.targets()[2].name, "t3");
    let error = alignments
        .compare_with(Arc::new(vec!["ACGT"]))
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with(
            "target \"t1\" has 40 bases in the header and 4 in the sequences, expected the sequences that \
             the reads were aligned to"
        ),
        "{error}"
    );
}

/// Pairs with a mismatch, an indel and clips, enough for several blocks.
fn sample() -> String {
    let mut text = HEADER.replacen("@PG\tID:a\n", "", 1);
    for read in 0..3000 {
        let lines = [
            "99 t1 1 9 8M = 21 25 ACGATGCA IIIIIIII NM:i:1 MD:Z:3T4",
            "147 t1 21 9 3M1I4M2S = 1 -25 ACGATTGCAA III#IIIIII NM:i:1 MD:Z:7",
            "355 t2 1 9 8M = 9 25 TTTTGGGG IIIIIIII NM:i:0 MD:Z:8",
            "403 t2 9 9 4M1D3M = 1 -25 CCCCAAA IIIIIII NM:i:1 MD:Z:4^A3",
        ];
        for line in lines {
            writeln!(text, "r{read}\t{}", line.replace(' ', "\t")).unwrap();
        }
    }
    text
}

fn header_of(text: &str) -> (sam::Header, Vec<sam::alignment::RecordBuf>) {
    let mut reader = sam::io::Reader::new(text.as_bytes());
    let header = reader.read_header().unwrap();
    let records = reader.record_bufs(&header).map(|r| r.unwrap()).collect();
    (header, records)
}

fn to_bam(text: &str) -> Vec<u8> {
    let (header, records) = header_of(text);
    let mut writer = bam::io::Writer::new(Vec::new());
    writer.write_header(&header).unwrap();
    for record in &records {
        writer.write_alignment_record(&header, record).unwrap();
    }
    writer.try_finish().unwrap();
    writer.into_inner().into_inner()
}

fn to_cram(text: &str) -> Vec<u8> {
    let (header, records) = header_of(text);
    let targets: Vec<fasta::Record> = TARGETS
        .iter()
        .map(|(name, bases)| {
            fasta::Record::new(
                fasta::record::Definition::new(*name, None),
                fasta::record::Sequence::from(bases.as_bytes().to_vec()),
            )
        })
        .collect();
    let mut bytes = Vec::new();
    let mut writer = noodles_cram::io::writer::Builder::default()
        .set_reference_sequence_repository(fasta::Repository::new(targets))
        .build_from_writer(&mut bytes);
    writer.write_header(&header).unwrap();
    for record in &records {
        writer.write_alignment_record(&header, record).unwrap();
    }
    writer.try_finish(&header).unwrap();
    drop(writer);
    bytes
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_format_gives_the_same() {
    let text = sample();
    let expected = read_bytes(text.as_bytes(), false, 0).unwrap();
    assert_eq!((expected.1.aligned, expected.1.placements), (3000, 6000));
    let bam = to_bam(&text);
    let cram = to_cram(&text);
    for workers in 0..3 {
        assert_eq!(read_bytes(&bam, false, workers).unwrap(), expected);
    }
    assert_eq!(
        read_bytes(&gzip(text.as_bytes()), false, 0).unwrap(),
        expected
    );
    assert_eq!(read_bytes(&cram, true, 0).unwrap(), expected);
    // The same without tags, by comparison.
    let bare: Vec<&str> = text
        .lines()
        .map(|line| line.split_once("\tNM").map_or(line, |(before, _)| before))
        .collect();
    let bare = read_bytes((bare.join("\n") + "\n").as_bytes(), true, 0).unwrap();
    assert_eq!(bare, expected);
    let error = read_bytes(&cram, false, 0).unwrap_err().to_string();
    assert_eq!(
        error,
        "reads: record 1 needs the sequence of t1, expected the sequences that the CRAM file was written with; \
         try the FASTA file that the reads were aligned to"
    );
}

#[test]
fn incomplete_files() {
    let text = sample();
    let bam = to_bam(&text);
    let cram = to_cram(&text);
    let gz = gzip(text.as_bytes());
    // Without the last block, in the middle of a block, in the header of a block, of the file.
    for length in [bam.len() - 28, bam.len() - 10, bam.len() / 2, 40, 10] {
        for workers in 0..2 {
            let error = read_bytes(&bam[..length], false, workers)
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("reads: damaged or incomplete "),
                "{length}: {error}"
            );
        }
    }
    let error = refusal(&bam[..bam.len() - 28]);
    assert_eq!(
        error,
        "reads: damaged or incomplete BAM file (record 12001: it ends too early), expected a whole one; try \
         writing or downloading it again"
    );
    // The last container, of 38 bytes, holds nothing: its first bytes are enough to know that it is there.
    for length in [cram.len() - 38, cram.len() - 25, cram.len() / 2, 40, 10] {
        let error = read_bytes(&cram[..length], true, 0)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("reads: damaged or incomplete "),
            "{length}: {error}"
        );
    }
    for length in [gz.len() - 4, gz.len() / 2] {
        let error = refusal(&gz[..length]);
        assert!(
            error.starts_with("reads: damaged or incomplete "),
            "{length}: {error}"
        );
    }
}

/// Damage is refused or not noticed, and never stops the program.
#[test]
fn damaged_files() {
    let short: Vec<String> = sample()
        .lines()
        .take(45)
        .map(|line| line.to_owned() + "\n")
        .collect();
    let text = short.concat();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 33) as usize) % below
    };
    let mut refused = [0; 3];
    for (kind, whole) in [to_bam(&text), to_cram(&text), text.clone().into_bytes()]
        .iter()
        .enumerate()
    {
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..=random(3) {
                let index = random(bytes.len());
                bytes[index] = random(256) as u8;
            }
            refused[kind] += usize::from(read_bytes(&bytes, true, random(2)).is_err());
        }
    }
    assert!(
        refused[0] > 250 && refused[1] > 150 && refused[2] > 100,
        "{refused:?}"
    );
}
