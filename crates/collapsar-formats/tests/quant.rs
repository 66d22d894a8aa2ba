//! The quantification's readers on real files, where they are at hand.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use collapsar_formats::{
    ProbHeader, ProbReader, read_classes, read_genes, read_lengths, read_quantification,
    read_transcripts, strip_version,
};

/// A file of the shared data.
fn shared(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("COLLAPSAR_DATA") else {
        eprintln!("skipped: COLLAPSAR_DATA is not set");
        return None;
    };
    Some(Path::new(&folder).join("quant").join(name))
}

/// Reads, entries and the sum of the logarithms.
fn totals(path: &Path) -> (ProbHeader, u64, u64, f64) {
    let mut reader = ProbReader::open(path).unwrap();
    let (mut reads, mut number, mut sum) = (0, 0, 0.0);
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap() {
        reads += 1;
        number += entries.len() as u64;
        sum += entries.iter().map(|entry| entry.1).sum::<f64>();
        assert_eq!(entries.last().map(|entry| entry.0), Some(0));
    }
    (*reader.header(), reads, number, sum)
}

#[test]
fn probabilities() {
    let Some(path) = shared("chr19_sim200k.uniform.prob.gz") else {
        return;
    };
    let (header, reads, entries, sum) = totals(&path);
    assert_eq!((header.reads, header.mapped), (200_000, 200_000));
    assert_eq!(header.transcripts, 11_372);
    assert_eq!((reads, entries), (200_000, 783_639));
    assert!(sum.is_finite() && sum < 0.0);
    let (header, reads, ..) = totals(&path.with_file_name("bitseq_example.uniform.prob.gz"));
    assert_eq!((header.reads, reads, header.transcripts), (4817, 4663, 55));
}

#[test]
fn transcripts_lengths_and_genes() {
    let Some(path) = shared("chr19_ensembl_cdna.fa.gz") else {
        return;
    };
    let transcripts = read_transcripts(&path).unwrap();
    let lengths = read_lengths(&path.with_file_name("chr19_sim200k.uniform.tr.gz")).unwrap();
    let genes = read_genes(&path.with_file_name("chr19_tx2gene.tsv.gz")).unwrap();
    assert_eq!((transcripts.len(), lengths.len()), (11_372, 11_372));
    let known: HashSet<&str> = genes.pairs().map(|(_, gene)| gene).collect();
    assert_eq!((genes.pairs().count(), known.len()), (11_372, 1943));
    for (index, row) in lengths.iter().enumerate() {
        assert_eq!(transcripts.names()[index], row.name);
        assert_eq!(transcripts.length(index) as f64, row.length);
        assert!(genes.gene(&row.name).is_some());
    }
    assert_eq!(strip_version(&transcripts.names()[0]), "ENST00000339924");
    assert_eq!(
        genes.gene(&transcripts.names()[0]),
        Some("ENSG00000221957.8")
    );
    let old = read_lengths(&path.with_file_name("bitseq_example_ensSelect1.tr")).unwrap();
    assert_eq!((old.len(), old[0].effective), (55, None));
    let headless = read_genes(&path.with_file_name("airway_tx2gene.tsv.gz")).unwrap();
    assert_eq!(
        headless.gene("ENST00000456328.2"),
        Some("ENSG00000223972.5")
    );
}

#[test]
fn salmon() {
    let Some(path) = shared("chr19_sim200k.salmon_eqclasses.txt.gz") else {
        return;
    };
    let read = read_classes(&path).unwrap();
    assert_eq!((read.names.len(), read.transcripts), (11_372, 11_372));
    assert_eq!(read.classes.len(), 13_474);
    assert!(read.classes.iter().all(|class| class.weights.is_some()));
    let reads: f64 = read.classes.iter().map(|class| class.count).sum();
    assert_eq!(reads, 200_000.0);
    let folder = tempfile::tempdir().unwrap();
    let result = path.with_file_name("chr19_sim200k.salmon_vb.quant.sf.gz");
    std::fs::copy(result, folder.path().join("quant.sf.gz")).unwrap();
    let result = read_quantification(folder.path()).unwrap();
    assert_eq!(result.names, read.names);
    assert!((result.counts.iter().sum::<f64>() - 200_000.0).abs() < 5.0);
}
