//! Reads BitSeq's lengths of transcripts.

use std::path::Path;

use crate::error::{Error, Result, count};

use super::float::float;
use crate::lines::{Lines, fields, first, shown, whole};

const EXPECTED: &str = "a .tr file as BitSeq's parseAlignment writes it";

/// One transcript of a `.tr` file.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptLength {
    /// The gene, unless BitSeq knew of `none`.
    pub gene: Option<String>,
    /// The transcript.
    pub name: String,
    /// Its length.
    pub length: f64,
    /// The length that reads can begin in; BitSeq's may be 0 or less for short transcripts.
    pub effective: Option<f64>,
}

/// Reads a `.tr` file: lines of a gene, a transcript, its length and perhaps its effective length, in the
/// order in which `.prob` files number transcripts; `-` is standard input.
///
/// # Errors
///
/// A file that cannot be read, a line of another kind, a name twice, and a number of transcripts other
/// than `# M` says.
pub fn read_lengths(path: &Path) -> Result<Vec<TranscriptLength>> {
    let mut input = Lines::open(path, EXPECTED)?;
    let (mut rows, mut lines): (Vec<TranscriptLength>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut claimed = None;
    while input.next_filled()? {
        let bytes = &input.bytes;
        if bytes.starts_with(b"#") {
            let mut parts = fields(&bytes[1..]);
            if parts.next() == Some(b"M") {
                let number = parts.next().and_then(whole);
                claimed = Some(number.ok_or_else(|| {
                    input.refuse(shown(bytes), "# M and the number of transcripts")
                })?);
            }
            continue;
        }
        rows.push(row(&input)?);
        lines.push(input.line);
    }
    let found = rows.len() as u64;
    if let Some(claimed) = claimed
        && found != claimed
    {
        let cause = format!("{} where # M says {claimed}", count(found, "transcript"));
        return Err(Error::damaged(&input.path, ".tr", cause));
    }
    if rows.is_empty() {
        return Err(Error::content(&input.path, "no transcripts", EXPECTED));
    }
    let names = rows.iter().map(|row| &row.name);
    input.unique(names, &lines)?;
    Ok(rows)
}

fn row(input: &Lines) -> Result<TranscriptLength> {
    let [Some(gene), Some(name), Some(length), effective, None] = first(&input.bytes) else {
        let expected = "a gene, a transcript, its length and perhaps its effective length";
        return Err(input.refuse(shown(&input.bytes), expected));
    };
    let name = input.decode(name)?;
    let number = |noun: &str, field: &[u8], least: f64, expected: &'static str| {
        let accepted = float(field).filter(|number| number.is_finite() && *number > least);
        accepted.ok_or_else(|| {
            let found = format!("{noun} {} of {name:?}", shown(field));
            input.refuse(found, expected)
        })
    };
    Ok(TranscriptLength {
        gene: (gene != b"none")
            .then(|| input.decode(gene).map(str::to_owned))
            .transpose()?,
        name: name.to_owned(),
        length: number("length", length, 0.0, "a number above 0")?,
        effective: effective
            .map(|field| number("effective length", field, f64::MIN, "a finite number"))
            .transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{gzip, one, refusals};
    use super::*;

    #[test]
    fn three_or_four_columns() {
        let rows = one(
            "# M 3\r\ng a 10 7.5\r\nnone b 20\r\nnone c 3 -2",
            read_lengths,
        )
        .unwrap();
        let expected = |gene: &str, name: &str, length, effective| TranscriptLength {
            gene: (gene != "none").then(|| gene.to_owned()),
            name: name.to_owned(),
            length,
            effective,
        };
        assert_eq!(
            rows,
            [
                expected("g", "a", 10.0, Some(7.5)),
                expected("none", "b", 20.0, None),
                expected("none", "c", 3.0, Some(-2.0))
            ]
        );
        assert_eq!(one(gzip("g\ta\t1\n"), read_lengths).unwrap().len(), 1);
    }

    #[test]
    fn texts_of_refusals() {
        let contents: [&[u8]; 11] = [
            b"",
            b"# M 0\n",
            b"# M two\n",
            b"# M 2\ng a 10\n",
            b"# M 1\ng a 10\ng b 20\n",
            b"g a\n",
            b"g a 10 7 3\n",
            b"g a -10\n",
            b"g a 10 NaN\n",
            b"g a 10\n\nh a 20\n",
            b"g \xff 10\n",
        ];
        insta::assert_snapshot!(refusals(&contents, read_lengths));
    }
}
