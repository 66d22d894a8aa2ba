//! Reads what a header says of the targets and of the order of the records.
//!
//! Our own, because the parser of `noodles-sam` refuses whole files for program lines that nobody reads, such
//! as two of one id, which merged files have.

use std::collections::HashSet;
use std::num::NonZero;

use noodles_sam as sam;
use noodles_sam::header::record::value::{Map, map::ReferenceSequence};

use super::Target;
use super::trouble::Trouble;
use crate::error::shortened;

/// A header's part that matters here.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) targets: Vec<Target>,
    /// The SO field of the first line.
    pub(super) order: String,
    pub(super) lines: u64,
}

impl Header {
    pub(super) fn parse(text: &[u8]) -> Result<Self, Trouble> {
        let mut header = Header::default();
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii_end();
            if line.is_empty() || line == b"\0" {
                continue;
            }
            header.lines += 1;
            header.take(line)?;
        }
        Ok(header)
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Trouble> {
        let mut fields = line.split(|&byte| byte == b'\t');
        let kind = fields.next().unwrap_or_default();
        // FASTQ begins its names with the same sign.
        if !matches!(kind, [b'@', b'A'..=b'Z', b'A'..=b'Z']) {
            let line = shortened(&String::from_utf8_lossy(line), 40);
            return Err(Trouble::new(
                format!("header line {} is {line:?}", self.lines),
                "@SQ lines and records, as alignments have them",
            ));
        }
        let value = |key: &[u8]| fields.clone().find_map(|field| field.strip_prefix(key));
        match kind {
            b"@HD" => {
                let order = value(b"SO:").unwrap_or_default();
                self.order = String::from_utf8_lossy(order).into_owned();
            }
            b"@SQ" => {
                let name = value(b"SN:").map(|name| String::from_utf8_lossy(name).into_owned());
                let length = value(b"LN:")
                    .and_then(|length| std::str::from_utf8(length).ok()?.parse().ok())
                    .filter(|&length: &u32| length > 0);
                let (Some(name), Some(length)) = (name, length) else {
                    return Err(Trouble::new(
                        format!("header line {} lacks a name or a length", self.lines),
                        "SN and LN fields in every @SQ line",
                    ));
                };
                self.targets.push(Target { name, length });
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses what cannot be used, once the header is whole.
    pub(super) fn check(&self) -> Result<(), Trouble> {
        const EXPECTED: &str = "one @SQ line for each transcript";
        if self.order == "coordinate" {
            return Err(
                Trouble::new("sorted by coordinate", "all alignments of a read together")
                    .hint("samtools collate or samtools sort -n"),
            );
        }
        if self.targets.is_empty() {
            return Err(Trouble::new("a header without target sequences", EXPECTED)
                .hint("samtools view -h"));
        }
        let mut names = HashSet::with_capacity(self.targets.len());
        match self.targets.iter().find(|t| !names.insert(&t.name)) {
            Some(twice) => {
                let found = format!("target {:?} is in the header twice", twice.name);
                Err(Trouble::new(found, EXPECTED))
            }
            None => Ok(()),
        }
    }

    /// The targets in the form in which the format crates look names up.
    pub(super) fn dictionary(&self) -> sam::Header {
        let targets = self.targets.iter().filter_map(|target| {
            let length = NonZero::new(target.length as usize)?;
            let name = target.name.as_bytes().into();
            Some((name, Map::<ReferenceSequence>::new(length)))
        });
        let mut header = sam::Header::default();
        *header.reference_sequences_mut() = targets.collect();
        header
    }
}
