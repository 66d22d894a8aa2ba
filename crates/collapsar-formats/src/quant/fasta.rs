//! Decides which sequences are transcripts.

use std::path::Path;

use crate::error::{Error, Result};

use crate::lines::{Lines, fields, shown};

const EXPECTED: &str = "transcripts in FASTA";

/// Names and sequences of transcripts, in the order of their file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcripts {
    names: Vec<String>,
    sequences: Vec<u8>,
    /// Where each sequence begins, and the end of the last.
    starts: Vec<usize>,
}

impl Transcripts {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none, which no file gives.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Their names, each up to the first white space.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The sequence of one: IUPAC letters in upper case, T for U.
    pub fn sequence(&self, index: usize) -> &[u8] {
        &self.sequences[self.starts[index]..self.starts[index + 1]]
    }

    /// The length of one.
    pub fn length(&self, index: usize) -> usize {
        self.starts[index + 1] - self.starts[index]
    }
}

/// Reads transcripts from FASTA; `-` is standard input.
///
/// # Errors
///
/// A file that cannot be read or is not FASTA, a name twice, a sequence that is empty or has letters that
/// no nucleotide has.
pub fn read_transcripts(path: &Path) -> Result<Transcripts> {
    let mut input = Lines::open(path, EXPECTED)?;
    let mut lines = Vec::new();
    let mut all = Transcripts {
        names: Vec::new(),
        sequences: Vec::new(),
        starts: vec![0],
    };
    while input.next_filled()? {
        let bytes = &input.bytes;
        if let Some(header) = bytes.strip_prefix(b">") {
            close(&mut all, &lines, &input.path)?;
            let name = fields(header).next();
            let name = name.filter(|_| !header[0].is_ascii_whitespace());
            let name = name.ok_or_else(|| input.refuse(shown(bytes), "a name after >"))?;
            all.names.push(input.decode(name)?.to_owned());
            lines.push(input.line);
            continue;
        }
        let Some(name) = all.names.last() else {
            let found = format!("{} at the beginning", shown(bytes));
            let expected = "transcripts in FASTA, which begins with >";
            let error = Error::content(&input.path, found, expected);
            if bytes[0] != b'@' {
                return Err(error);
            }
            return Err(error.trying("the FASTA that the reads were aligned to"));
        };
        let start = all.sequences.len();
        let letters = bytes.trim_ascii().iter();
        all.sequences
            .extend(letters.map(|&byte| LETTERS[usize::from(byte)]));
        if let Some(odd) = all.sequences[start..].iter().position(|&byte| byte == 0) {
            let letter = shown(&bytes.trim_ascii()[odd..=odd]);
            let found = format!("{letter} in the sequence of {name:?}");
            return Err(input.refuse(found, "a letter of a nucleotide"));
        }
    }
    close(&mut all, &lines, &input.path)?;
    if all.is_empty() {
        return Err(Error::content(&input.path, "blank lines", EXPECTED));
    }
    input.unique(&all.names, &lines)?;
    all.sequences.shrink_to_fit();
    Ok(all)
}

/// Ends the last sequence, which must not be empty.
fn close(all: &mut Transcripts, lines: &[u64], path: &str) -> Result<()> {
    let (Some(name), Some(&line)) = (all.names.last(), lines.last()) else {
        return Ok(());
    };
    if all.starts.last() == Some(&all.sequences.len()) {
        let found = format!("no sequence for {name:?}");
        return Err(Error::line(path, line, found, "at least one nucleotide"));
    }
    all.starts.push(all.sequences.len());
    Ok(())
}

/// What each byte of a sequence becomes; 0 for what does not belong there.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let known = b"ACGTRYSWKMBDHVN";
    let mut index = 0;
    while index < known.len() {
        letters[known[index] as usize] = known[index];
        letters[known[index].to_ascii_lowercase() as usize] = known[index];
        index += 1;
    }
    letters[b'U' as usize] = b'T';
    letters[b'u' as usize] = b'T';
    letters
};

#[cfg(test)]
mod tests {
    use super::super::testing::{gzip, one, refusals};
    use super::*;

    #[test]
    fn lines_are_joined() {
        let text = ">a some words\nACgt\nuN \n\n>b|c\tx\nRyswkmbdhv\n";
        let all = one(text, read_transcripts).unwrap();
        assert_eq!((all.len(), all.is_empty()), (2, false));
        assert_eq!(all.names(), ["a", "b|c"]);
        assert_eq!(all.sequence(0), b"ACGTTN");
        assert_eq!(all.sequence(1), b"RYSWKMBDHV");
        assert_eq!((all.length(0), all.length(1)), (6, 10));
        for other in [
            text.replace('\n', "\r\n").into_bytes(),
            text.trim_end().as_bytes().to_vec(),
            gzip(text),
            [gzip(&text[..20]), gzip(&text[20..])].concat(),
        ] {
            assert_eq!(one(other, read_transcripts), Ok(all.clone()));
        }
    }

    #[test]
    fn texts_of_refusals() {
        let contents: [&[u8]; 11] = [
            b"",
            b"\n\n",
            b"ACGT\n",
            b"@read\nACGT\n+\nIIII\n",
            b">a\nACGT\n>b\n>c\nA\n",
            b">a\nACGT\n>b",
            b">a\nACGT\n> b\nA\n",
            b">\nACGT\n",
            b">a\nACGT\n\n>a x\nACGT\n",
            b">a\nMKELV\n",
            b">\xff\nACGT\n",
        ];
        insta::assert_snapshot!(refusals(&contents, read_transcripts));
    }
}
