//! Decodes CRAM, whose records are differences from the target sequences.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use noodles_cram as cram;
use noodles_fasta as fasta;
use noodles_sam as sam;
use noodles_sam::alignment::Record as _;
use noodles_sam::alignment::record::data::field::Tag;

use super::containers::Containers;
use super::header::Header;
use super::record::Record;
use super::source::GivenSequences;
use super::trouble::Trouble;

pub(super) struct Cram {
    reader: cram::io::Reader<Containers<Box<dyn BufRead + Send>>>,
    dictionary: sam::Header,
    targets: fasta::Repository,
    container: cram::io::reader::Container,
    /// The records of the container, and the next one to hand out.
    records: Vec<Record>,
    next: usize,
}

impl Cram {
    pub(super) fn new(
        input: Box<dyn BufRead + Send>,
        sequences: GivenSequences,
    ) -> Result<(Self, Header), Trouble> {
        let mut reader = cram::io::Reader::new(Containers::new(input));
        reader.read_file_definition()?;
        let mut text = Vec::new();
        {
            let mut parts = reader.header_reader();
            let mut container = parts.container_reader()?;
            let mut lines = container.raw_sam_header_reader()?;
            lines.read_to_end(&mut text)?;
            lines.discard_to_end()?;
            drop(lines);
            container.discard_to_end()?;
        }
        let header = Header::parse(&text)?;
        let names = (0..).zip(&header.targets);
        let lookup = Lookup {
            indices: names
                .map(|(index, target)| (target.name.as_bytes().to_vec(), index))
                .collect(),
            sequences,
        };
        let cram = Cram {
            reader,
            dictionary: header.dictionary(),
            targets: fasta::Repository::new(lookup),
            container: cram::io::reader::Container::default(),
            records: Vec::new(),
            next: 0,
        };
        Ok((cram, header))
    }

    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, Trouble> {
        while self.next == self.records.len() {
            self.records.clear();
            self.next = 0;
            if self.reader.read_container(&mut self.container)? == 0 {
                return Ok(false);
            }
            self.decode()?;
        }
        std::mem::swap(record, &mut self.records[self.next]);
        self.next += 1;
        Ok(true)
    }

    fn decode(&mut self) -> Result<(), Trouble> {
        let compression = self.container.compression_header()?;
        for slice in self.container.slices() {
            let slice = slice?;
            let (core, external) = slice.decode_blocks()?;
            let records = slice
                .records(
                    self.targets.clone(),
                    &self.dictionary,
                    &compression,
                    &core,
                    &external,
                )
                .map_err(missing)?;
            for from in &records {
                self.records.push(plain(from, &self.dictionary)?);
            }
        }
        // It keeps a copy of each, which for a whole transcriptome would be hundreds of megabytes.
        self.targets.clear();
        Ok(())
    }
}

/// A sequence that is not there is not damage.
fn missing(error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::NotFound => Trouble::new(
            error.to_string(),
            "the sequences that the CRAM file was written with",
        )
        .hint("the FASTA file that the reads were aligned to"),
        _ => error.into(),
    }
}

fn plain(from: &cram::Record<'_>, dictionary: &sam::Header) -> Result<Record, Trouble> {
    let mut to = Record {
        bases: from.sequence().iter().collect(),
        ..Record::default()
    };
    to.take_places(from, dictionary)?;
    to.bases.make_ascii_uppercase();
    for op in from.cigar().iter() {
        to.cigar.push(op?);
    }
    for quality in from.quality_scores().iter() {
        to.qualities.push(quality?);
    }
    if to.qualities.iter().all(|&quality| quality == 0xff) {
        to.qualities.clear();
    }
    // Not all tags: the read group is looked up in a header that we do not keep.
    let data = from.data();
    let tags = [
        Tag::HIT_INDEX,
        Tag::EDIT_DISTANCE,
        Tag::MISMATCHED_POSITIONS,
    ];
    let tags = tags.iter().filter_map(|tag| Some((*tag, data.get(tag)?)));
    to.take_tags(tags.map(|(tag, value)| Ok((tag, value?))))?;
    Ok(to)
}

/// The target sequences by name, as the CRAM crate asks for them.
struct Lookup {
    indices: HashMap<Vec<u8>, u32>,
    sequences: GivenSequences,
}

impl fasta::repository::Adapter for Lookup {
    fn get(&mut self, name: &[u8]) -> Option<io::Result<fasta::Record>> {
        let bases = self
            .indices
            .get(name)
            .and_then(|&index| Some(self.sequences.get()?.sequence(index)));
        // None would be a panic there.
        Some(match bases {
            Some(bases) => Ok(fasta::Record::new(
                fasta::record::Definition::new(name, None),
                fasta::record::Sequence::from(bases.to_vec()),
            )),
            None => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("needs the sequence of {}", String::from_utf8_lossy(name)),
            )),
        })
    }
}
