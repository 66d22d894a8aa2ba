//! Any bytes at all: an error of one line or a result, and never a panic.

use std::path::Path;

use proptest::prelude::*;

use super::testing::{Files, gzip};
use super::*;

fn survives(content: &[u8]) {
    let files = Files::new();
    for name in ["a.ec", "a.tsv", "quant.sf"] {
        files.write(name, content);
    }
    let path = files.folder().join("a.ec");
    let all = [
        read_classes(&path).err(),
        read_genes(&path).err(),
        read_lengths(&path).err(),
        read_transcripts(&path).err(),
        read_quantification(files.folder()).err(),
        read_prob(&path).err(),
    ];
    for error in all.into_iter().flatten() {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

fn read_prob(path: &Path) -> crate::Result<()> {
    let mut reader = ProbReader::open(path)?;
    let mut entries = Vec::new();
    while reader.next(&mut entries)? {}
    Ok(())
}

const WHOLE: [&str; 7] = [
    "# Ntotal 2\n# Nmap 2\n# M 3\n# LOGFORMAT\na 2 1 -1.5 0 -9\nb 1 3 -2e1\n",
    "# M 2\ng a 10 7.5\ng b 20 11\n",
    "2\n2\na\nb\n1\t0\t1\t7\n2\t0\t1\t0.5\t0.5\t2\n",
    "0\t0\n1\t1\n2\t0,1\n",
    ">a b\nACGT\nAC\n>c\nGGN\n",
    "1\th\texon\t11\t50\t.\t+\t.\tgene_id \"G1\"; transcript_id \"T1\"\n",
    "Name\tLength\tEffectiveLength\tTPM\tNumReads\na\t10\t7.000\t1.000000\t2.000\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
    }

    #[test]
    fn any_text_of_numbers(text in "[0-9 ,.#%>ACG\"\\-e\t\n]{0,80}") {
        survives(text.as_bytes());
    }

    /// A few bytes of a whole file changed, and the end cut off; plain and compressed.
    #[test]
    fn changed_and_cut(
        text in prop::sample::select(&WHOLE[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        compressed in any::<bool>(),
    ) {
        let mut bytes = if compressed { gzip(text) } else { text.as_bytes().to_vec() };
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        survives(&bytes);
    }
}
