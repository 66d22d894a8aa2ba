//! Opens a file or standard input and finds out how its bytes are packed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::MultiGzDecoder;
use noodles_bgzf as bgzf;

use super::trouble::Trouble;

/// The empty block that ends every whole BGZF file (SAM specification, 4.1.2).
const LAST_BLOCK: [u8; 28] = [
    0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0,
    0, 0, 0, 0,
];

/// Bytes read from the system at a time.
const BUFFER: usize = 1 << 17;

/// Bytes after decompression, and how they were packed.
pub(super) struct Bytes {
    pub(super) reader: Box<dyn BufRead + Send>,
    pub(super) kind: Kind,
    /// Whether a BGZF file has been read to its last block; always true for other files.
    pub(super) whole: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sam,
    Bam,
    Cram,
}

const EXPECTED: &str = "alignments as SAM, BAM or CRAM";

impl Kind {
    /// The kind of decompressed bytes.
    fn of(head: &[u8]) -> Result<Self, Trouble> {
        match head {
            [] => Err(Trouble::new("no bytes at all", EXPECTED)),
            [b'@', ..] => Ok(Kind::Sam),
            [b'B', b'A', b'M', 1, ..] => Ok(Kind::Bam),
            [b'>', ..] => Err(Trouble::new("sequences as FASTA", EXPECTED)),
            _ => Err(
                Trouble::new("neither a header nor a known format", EXPECTED)
                    .hint("samtools view -h"),
            ),
        }
    }
}

/// Opens `path`, `-` for standard input; with `workers` threads that inflate BGZF blocks besides this one.
pub(super) fn open(path: &Path, workers: usize) -> Result<Bytes, Trouble> {
    let mut input: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    let mut head = Vec::new();
    input.by_ref().take(18).read_to_end(&mut head)?;
    let packing = Packing::of(&head);
    let whole = Arc::new(AtomicBool::new(packing != Packing::Blocks));
    let tail = Tail {
        inner: Cursor::new(head).chain(input),
        last: [0; LAST_BLOCK.len()],
        whole: Arc::clone(&whole),
    };
    let buffered = BufReader::with_capacity(BUFFER, tail);
    let mut reader: Box<dyn BufRead + Send> = match (packing, NonZero::new(workers)) {
        (Packing::Blocks, None) => Box::new(bgzf::io::Reader::new(buffered)),
        (Packing::Blocks, Some(workers)) => Box::new(
            bgzf::io::MultithreadedReader::with_worker_count(workers, buffered),
        ),
        (Packing::Gzip, _) => Box::new(BufReader::with_capacity(
            BUFFER,
            MultiGzDecoder::new(buffered),
        )),
        (Packing::None | Packing::Cram, _) => Box::new(buffered),
    };
    let kind = match packing {
        Packing::Cram => Kind::Cram,
        _ => Kind::of(reader.fill_buf()?)?,
    };
    Ok(Bytes {
        reader,
        kind,
        whole,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// BGZF: gzip in blocks that say how long they are.
    Blocks,
    Gzip,
    Cram,
    None,
}

impl Packing {
    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, _, 4, ..] if head.get(12..14) == Some(b"BC") => Packing::Blocks,
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [b'C', b'R', b'A', b'M', ..] => Packing::Cram,
            _ => Packing::None,
        }
    }
}

/// Remembers the last bytes, because the reader of blocks takes a missing last block for the end.
struct Tail<R> {
    inner: R,
    last: [u8; LAST_BLOCK.len()],
    whole: Arc<AtomicBool>,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let new = &buffer[count.saturating_sub(self.last.len())..count];
        self.last.rotate_left(new.len());
        let kept = self.last.len() - new.len();
        self.last[kept..].copy_from_slice(new);
        if count == 0 && self.last == LAST_BLOCK {
            self.whole.store(true, Ordering::Release);
        }
        Ok(count)
    }
}
