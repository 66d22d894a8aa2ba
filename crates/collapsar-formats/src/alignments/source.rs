//! Hands out the records of a SAM, BAM or CRAM file one by one, in the same plain fields.

use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use collapsar::limits::RECORD;
use collapsar::quant::fragment::Sequences;
use noodles_bam as bam;
use noodles_sam as sam;

use super::Target;
use super::ahead::Ahead;
use super::bytes::{Bytes, Kind};
use super::cram::Cram;
use super::header::Header;
use super::record::Record;
use super::trouble::Trouble;

type Input = Box<dyn BufRead + Send>;

/// The sequences that reads are compared with, once they are known.
pub(super) type GivenSequences = Arc<OnceLock<SharedSequences>>;
/// As the CRAM crate shares them.
pub(super) type SharedSequences = Arc<dyn Sequences + Send + Sync>;

/// The longest name of a target, with its zero.
const LONGEST_NAME: u32 = 1 << 16;

pub(super) enum Source {
    Sam(sam::io::Reader<Input>, sam::Record, Box<sam::Header>),
    /// With whether the file has been read to its last block. Its records need no header.
    Bam(
        bam::io::Reader<Input>,
        bam::Record,
        Box<sam::Header>,
        Arc<AtomicBool>,
    ),
    Cram(Box<Cram>),
}

impl Source {
    pub(super) fn new(bytes: Bytes, sequences: &GivenSequences) -> Result<(Self, Header), Trouble> {
        let (source, header) = match bytes.kind {
            Kind::Sam => {
                let mut reader = sam::io::Reader::new(bytes.reader);
                let mut text = Vec::new();
                reader.header_reader().read_to_end(&mut text)?;
                let header = Header::parse(&text)?;
                let dictionary = Box::new(header.dictionary());
                (
                    Source::Sam(reader, sam::Record::default(), dictionary),
                    header,
                )
            }
            Kind::Bam => {
                let ahead: Input = Box::new(Ahead::new(bytes.reader));
                let mut reader = bam::io::Reader::from(ahead);
                let header = bam_header(&mut reader)?;
                let (buffer, none) = (bam::Record::default(), Box::default());
                (Source::Bam(reader, buffer, none, bytes.whole), header)
            }
            Kind::Cram => {
                let (cram, header) = Cram::new(bytes.reader, Arc::clone(sequences))?;
                (Source::Cram(Box::new(cram)), header)
            }
        };
        header.check()?;
        Ok((source, header))
    }

    pub(super) fn format(&self) -> &'static str {
        match self {
            Source::Sam(..) => "SAM",
            Source::Bam(..) => "BAM",
            Source::Cram(_) => "CRAM",
        }
    }

    /// Fills `record` with the next one; false at the end.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, Trouble> {
        match self {
            Source::Sam(reader, buffer, dictionary) => {
                if reader.read_record(buffer)? == 0 {
                    return Ok(false);
                }
                record.clear();
                from_sam(buffer, dictionary, record)?;
            }
            Source::Bam(reader, buffer, dictionary, whole) => {
                check_length(reader.get_mut())?;
                if reader.read_record(buffer)? == 0 {
                    if !whole.load(Ordering::Acquire) {
                        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                    }
                    return Ok(false);
                }
                record.clear();
                from_bam(buffer, dictionary, record)?;
            }
            Source::Cram(cram) => return cram.read(record),
        }
        Ok(true)
    }
}

/// The binary list of targets counts; the text may lack it.
fn bam_header(reader: &mut bam::io::Reader<Input>) -> Result<Header, Trouble> {
    let mut parts = reader.header_reader();
    parts.read_magic_number()?;
    let mut lines = parts.raw_sam_header_reader()?;
    let mut text = Vec::new();
    lines.read_to_end(&mut text)?;
    lines.discard_to_end()?;
    let mut header = Header::parse(&text)?;
    let targets = bam_targets(reader.get_mut())?;
    if header.targets.is_empty() {
        header.targets = targets;
    } else if header.targets.len() != targets.len() {
        header.check()?;
        return Err(Trouble::new(
            format!(
                "a header with {} targets as text and {} as numbers",
                header.targets.len(),
                targets.len()
            ),
            "the same",
        ));
    }
    Ok(header)
}

/// Names and lengths of targets. Not by the format crate, which takes memory for as many as the file claims.
fn bam_targets(input: &mut Input) -> io::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for _ in 0..number(input)? {
        let length = number(input)?;
        if length == 0 || length > LONGEST_NAME {
            let cause = format!("a name of {length} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
        }
        let mut name = vec![0; length as usize];
        input.read_exact(&mut name)?;
        name.pop_if(|last| *last == 0);
        targets.push(Target {
            name: String::from_utf8_lossy(&name).into_owned(),
            length: number(input)?,
        });
    }
    if let Some(target) = targets.iter().find(|target| target.length == 0) {
        let cause = format!("target {:?} has no length", target.name);
        return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
    }
    Ok(targets)
}

fn number(input: &mut Input) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Refuses a record that claims to be longer than any, where its length can be seen before memory is taken for it.
fn check_length(input: &mut Input) -> io::Result<()> {
    let length = input.fill_buf()?.first_chunk().copied();
    let length = length.map_or(0, u32::from_le_bytes);
    if length > RECORD {
        let cause = format!("a record of {length} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
    }
    Ok(())
}

fn from_sam(from: &sam::Record, dictionary: &sam::Header, to: &mut Record) -> Result<(), Trouble> {
    to.take_places(from, dictionary)?;
    for op in from.cigar().iter() {
        to.cigar.push(op.map_err(io::Error::other)?);
    }
    to.bases.extend_from_slice(from.sequence().as_ref());
    to.bases.make_ascii_uppercase();
    let qualities = from.quality_scores();
    to.qualities
        .extend(qualities.as_ref().iter().map(|q| q.saturating_sub(b'!')));
    Ok(to.take_tags(from.data().iter())?)
}

fn from_bam(from: &bam::Record, dictionary: &sam::Header, to: &mut Record) -> Result<(), Trouble> {
    to.take_places(from, dictionary)?;
    for op in from.cigar().iter() {
        to.cigar.push(op?);
    }
    let sequence = from.sequence();
    let packed = sequence.as_bytes();
    to.bases.resize(2 * packed.len(), 0);
    let (pairs, _) = to.bases.as_chunks_mut();
    for (pair, &two) in pairs.iter_mut().zip(packed) {
        *pair = TWO_BASES[usize::from(two)];
    }
    to.bases.truncate(sequence.len());
    to.qualities
        .extend_from_slice(from.quality_scores().as_bytes());
    Ok(to.take_tags(from.data().iter())?)
}

/// BAM packs two bases into a byte.
static TWO_BASES: [[u8; 2]; 256] = {
    let letters = *b"=ACMGRSVTWYHKDBN";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [letters[byte >> 4], letters[byte & 15]];
        byte += 1;
    }
    table
};
