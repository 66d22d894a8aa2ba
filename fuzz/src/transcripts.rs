//! Texts of quantification: BitSeq's probabilities and lengths, classes of reads, sequences, genes.

use collapsar_formats::{
    ProbReader, read_classes, read_genes, read_lengths, read_transcripts, reads_format,
    strip_gencode, strip_version,
};

use crate::files::{file, told};

/// BitSeq's `.prob`.
pub(crate) fn prob(bytes: &[u8]) {
    let path = file("reads.prob", bytes);
    let _ = reads_format(&path);
    let Some(mut reader) = told(ProbReader::open(&path)) else {
        return;
    };
    let mut entries = vec![];
    while told(reader.next(&mut entries)) == Some(true) {
        let _ = (reader.name(), reader.line());
    }
}

/// BitSeq's `.tr`.
pub(crate) fn lengths(bytes: &[u8]) {
    told(read_lengths(&file("reads.tr", bytes)));
}

/// Classes of reads, as salmon and alevin-fry write them.
pub(crate) fn classes(bytes: &[u8]) {
    let path = file("eq_classes.txt", bytes);
    let _ = reads_format(&path);
    told(read_classes(&path));
}

/// Sequences of transcripts.
pub(crate) fn fasta(bytes: &[u8]) {
    let Some(transcripts) = told(read_transcripts(&file("transcripts.fa", bytes))) else {
        return;
    };
    for (index, name) in transcripts.names().iter().enumerate() {
        let _ = (strip_version(name), strip_gencode(name));
        assert_eq!(transcripts.sequence(index).len(), transcripts.length(index));
    }
}

/// Maps from transcripts to genes: tables, GTF and GFF3.
pub(crate) fn genes(bytes: &[u8]) {
    let Some(map) = told(read_genes(&file("genes", bytes))) else {
        return;
    };
    for (transcript, _) in map.pairs() {
        assert!(map.gene(transcript).is_some(), "{transcript:?} has a gene");
    }
}
