//! Decides what a file of reads is, by its content.

use std::path::Path;

use crate::error::Result;
use crate::open::Opened;

/// What reads are given by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadsFormat {
    /// SAM, BAM or CRAM.
    Alignments,
    /// BitSeq's probabilities.
    Prob,
    /// Equivalence classes, or nothing that is known.
    Classes,
}

/// Tells from the first bytes, unzipped, what a file of reads is; its reader says what is wrong with one
/// that is none of them.
///
/// # Errors
///
/// A file that cannot be read.
pub fn reads_format(path: &Path) -> Result<ReadsFormat> {
    Ok(match Opened::open(path)?.head.as_slice() {
        [b'@', ..] | [b'B', b'A', b'M', 1, ..] | [b'C', b'R', b'A', b'M', ..] => {
            ReadsFormat::Alignments
        }
        [b'#', ..] => ReadsFormat::Prob,
        _ => ReadsFormat::Classes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::testing::gzip;

    #[test]
    fn by_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads");
        for (content, format) in [
            (&b"@HD\tVN:1.6\n"[..], ReadsFormat::Alignments),
            (b"BAM\x01\0\0\0\0", ReadsFormat::Alignments),
            (b"CRAM\x03\0", ReadsFormat::Alignments),
            (b"# Ntotal 3\n", ReadsFormat::Prob),
            (b"2\n1\na\nb\n", ReadsFormat::Classes),
            (b"0\t0\n1\t1\n", ReadsFormat::Classes),
            (b"", ReadsFormat::Classes),
        ] {
            for content in [content.to_vec(), gzip(content)] {
                std::fs::write(&path, content).unwrap();
                assert_eq!(reads_format(&path).unwrap(), format);
            }
        }
        let absent = reads_format(&folder.path().join("absent")).unwrap_err();
        assert!(
            absent
                .to_string()
                .ends_with("absent: no such file or folder")
        );
    }
}
