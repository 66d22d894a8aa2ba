//! Tables and annotations of all kinds.

use super::super::testing::{gzip, one, refusals};
use super::*;

fn pairs(content: impl AsRef<[u8]>) -> Vec<(String, String)> {
    let map = one(content, read_genes).unwrap();
    for (transcript, gene) in map.pairs() {
        assert_eq!(map.gene(transcript), Some(gene));
        assert!(map.genes.iter().any(|known| known == gene));
    }
    let owned = |(a, b): (&str, &str)| (a.to_owned(), b.to_owned());
    map.pairs().map(owned).collect()
}

fn expected(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |&(a, b): &(&str, &str)| (a.to_owned(), b.to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn tables() {
    let all = expected(&[("t2", "g"), ("t1", "g"), ("t3", "h")]);
    for content in [
        "t2\tg\nt1\tg\nt3\th\n",
        "t2\tg\tA\t5\r\nt1\tg\tA\r\n\r\nt3\th",
        "transcript_id\tgene_id\tgene_symbol\tlength\nt2\tg\tG\t10\nt1\tg\tG\t1\nt3\th\tH\t2\n",
        "tx gene\nt2 g\nt1   g\nt3 h\nt1 g\n",
        "\"\",\"TXNAME\",\"GENEID\"\n\"1\",\"t2\",\"g\"\n\"2\",\"t1\",\"g\"\n\"3\",\"t3\",\"h\"\n",
        "# a comment\nGene stable ID,Transcript_ID\ng,t2\ng,t1\nh,t3\n",
        "gene_symbol\tgene_id\ttarget_id\nG\tg\tt2\nG\tg\tt1\nH\th\tt3\n",
    ] {
        assert_eq!(pairs(content), all, "{content}");
    }
    assert_eq!(pairs(gzip("t2,g\nt1,g\nt3,h\n")), all);
    let map = one("t2\tg\nt1\tg\nt3\th\n", read_genes).unwrap();
    assert_eq!(map.genes, ["g", "h"]);
    assert_eq!(map.gene("t4"), None);
}

const GTF: &str = "#!genome-build GRCh38
1\thavana\tgene\t11\t99\t.\t+\t.\tgene_id \"G1\"; gene_version \"5\"; gene_name \"A;B\";
1\thavana\ttranscript\t11\t99\t.\t+\t.\tgene_id \"G1\"; gene_version \"5\"; transcript_id \"T1\"; transcript_version \"2\";
1\thavana\texon\t11\t50\t.\t+\t.\tgene_id \"G1\"; transcript_id \"T1\"; transcript_version \"2\"; exon_number \"1\";
1\tBestRefSeq\tgene\t11\t99\t.\t+\t.\tgene_id \"G2\"; transcript_id \"\"; db_xref \"GeneID:1\";
1\tBestRefSeq\texon\t11\t99\t.\t+\t.\ttranscript_id \"T2.1\"; gene_id \"G2\";
1\tRefSeq\tCDS\t11\t99\t.\t+\t.\ttranscript_id \"unknown_transcript_1\"; gene_id \"G2\";
1\tRefSeq\tCDS\t11\t99\t.\t+\t.\ttranscript_id \"unknown_transcript_1\"; gene_id \"G1\";
";

#[test]
fn gtf() {
    assert_eq!(pairs(GTF), expected(&[("T1", "G1"), ("T2.1", "G2")]));
    let map = one(GTF.replace('\n', "\r\n"), read_genes).unwrap();
    assert_eq!(map.gene("T1.2"), Some("G1"));
    assert_eq!(map.gene("T1.3"), None);
}

/// Lines of Ensembl, GENCODE, FlyBase and NCBI, one of them before its gene.
const GFF3: &str = "##gff-version 3
1\tensembl\tmRNA\t11\t99\t.\t+\t.\tID=transcript:T0;Parent=gene:G0;version=4
1\tensembl\tncRNA_gene\t11\t99\t.\t+\t.\tID=gene:G0;gene_id=G0;version=1
1\tensembl\tgene\t11\t99\t.\t+\t.\tID=gene:G1;biotype=protein_coding;gene_id=G1;version=5
1\tensembl\tmRNA\t11\t99\t.\t+\t.\tID=transcript:T1;Parent=gene:G1;transcript_id=T1;version=2
1\tensembl\texon\t11\t99\t.\t+\t.\tParent=transcript:T1;Name=E1;version=1
1\tensembl\tCDS\t11\t99\t.\t+\t0\tID=CDS:P1;Parent=transcript:T1;protein_id=P1
###
chr1\tHAVANA\ttranscript\t11\t99\t.\t+\t.\tID=T2.1;Parent=G2.3;gene_id=G2.3;transcript_id=T2.1;level=2
2L\tFlyBase\tgene\t11\t99\t.\t+\t.\tID=FBgn1;Name=CG1
2L\tFlyBase\tmRNA\t11\t99\t.\t+\t.\tID=FBtr1;Name=CG1-RA;Parent=FBgn1
NC_1\tBestRefSeq\tpseudogene\t11\t99\t.\t+\t.\tID=gene-DDX;Dbxref=GeneID:1;gene=DDX
NC_1\tBestRefSeq\ttranscript\t11\t99\t.\t+\t.\tID=rna-NR_1.2;Parent=gene-DDX;transcript_id=NR_1.2
NC_1\tBestRefSeq\texon\t11\t99\t.\t+\t.\tID=exon-x;Parent=gene-DDX
##FASTA
>chr1
ACGT
";

#[test]
fn gff3() {
    assert_eq!(
        pairs(GFF3),
        expected(&[
            ("T2.1", "G2.3"),
            ("T0", "G0"),
            ("T1", "G1"),
            ("FBtr1", "FBgn1"),
            ("NR_1.2", "DDX")
        ])
    );
    let map = one(GFF3, read_genes).unwrap();
    assert_eq!(map.gene("T0.4"), Some("G0"));
}

#[test]
fn texts_of_refusals() {
    let two_genes = GTF.replace("\"T2.1\"", "\"T1\"");
    let without = GTF.replace("transcript_id", "x");
    let broken = GTF.to_owned() + "1\t2\n";
    let contents: [&[u8]; 13] = [
        b"",
        b"\n\n",
        b"# only a comment\n",
        b"tx gene\n",
        b"t1\n",
        b"t1\tg\nt2\t\n",
        b"t1 g\n\nt2 g\nt1 h\n",
        b"tx gene\n1 t1 g\n",
        b"t1\t\xff\n",
        two_genes.as_bytes(),
        without.as_bytes(),
        broken.as_bytes(),
        &gzip(GTF)[..100],
    ];
    insta::assert_snapshot!(refusals(&contents, read_genes));
}
