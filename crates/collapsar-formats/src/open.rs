//! Decides how a path opens: `-` is standard input, gzip is seen through, and the beginning tells what there is.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// How much of a file is looked at: more than a line of any format is likely to have.
const HEAD: u64 = 1 << 16;

/// How NumPy's files begin.
pub(crate) const NPY: &[u8] = b"\x93NUMPY";
const PARQUET: &[u8] = b"PAR1";

/// What reads content, unzipped; it may go to another thread.
pub(crate) type ContentReader = BufReader<Box<dyn Read + Send>>;

/// An opened file.
pub(crate) struct Opened {
    /// The path as errors show it.
    pub(crate) name: String,
    /// The extension in lower case; that of the content where the file is compressed.
    pub(crate) extension: String,
    /// How many bytes there are, where that is known before they are read.
    pub(crate) length: Option<u64>,
    /// The beginning, unzipped.
    pub(crate) head: Vec<u8>,
    /// The whole, unzipped.
    pub(crate) reader: ContentReader,
}

impl Opened {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Self::new(Path::new("stdin"), None, io::stdin());
        }
        let refused = |error: io::Error| Error::file(path, &error);
        let file = File::open(path).map_err(refused)?;
        let length = file.metadata().map_err(refused)?.len();
        Self::new(path, Some(length), file)
    }

    /// What comes from any reader, under the name of a file.
    pub(crate) fn new(
        path: &Path,
        length: Option<u64>,
        reader: impl Read + Send + 'static,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let (mut head, mut reader) = peek(&name, Box::new(reader))?;
        let zipped = head.starts_with(b"\x1f\x8b");
        if zipped {
            // Of several members, as bgzip and concatenation make them.
            let packed = BufReader::with_capacity(1 << 16, reader);
            (head, reader) = peek(&name, Box::new(MultiGzDecoder::new(packed)))?;
        }
        Ok(Opened {
            name,
            extension: extension(path),
            length: length.filter(|_| !zipped),
            head,
            reader: BufReader::with_capacity(1 << 16, reader),
        })
    }

    /// The same, if it is text.
    pub(crate) fn text(self, expected: &str) -> Result<Self> {
        match self.not_text() {
            Some(found) => Err(Error::content(self.name, found, expected)),
            None => Ok(self),
        }
    }

    /// What it is, if that is not text.
    pub(crate) fn not_text(&self) -> Option<&'static str> {
        match self.head.as_slice() {
            head if head.starts_with(PARQUET) => Some("Parquet data"),
            [b'P', b'K', 3, 4, ..] => Some("a zip archive (as .npz and .xlsx are)"),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text"),
            head if head.starts_with(NPY) => Some("NPY data"),
            head if head.contains(&0) => Some("bytes that are not text"),
            _ => None,
        }
    }

    /// Whether it begins like one of NumPy's files, or is called one.
    pub(crate) fn is_npy(&self) -> bool {
        self.is(NPY, &["npy"])
    }

    /// Whether it begins like Parquet, or is called so. Only in a plain file: it is read from its end.
    pub(crate) fn is_parquet(&self) -> bool {
        self.length.is_some() && self.is(PARQUET, &["parquet", "pq"])
    }

    /// What the bytes say wins over the name, which people get wrong.
    fn is(&self, magic: &[u8], extensions: &[&str]) -> bool {
        let named = extensions.contains(&self.extension.as_str());
        self.head.starts_with(magic) || (named && !self.head.is_empty())
    }

    /// Everything there is.
    pub(crate) fn bytes(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.reader.read_to_end(&mut bytes);
        read.map_err(|error| text_error(&self.name, &error))?;
        Ok(bytes)
    }
}

/// The path as errors show it.
pub(crate) fn name_of(path: &Path) -> String {
    let path = if path == Path::new("-") {
        Path::new("stdin")
    } else {
        path
    };
    path.display().to_string()
}

/// Files of these names in the folder of `path`, plain and compressed.
pub(crate) fn beside(path: &Path, names: &[String]) -> impl Iterator<Item = PathBuf> {
    let names = names.iter();
    let all = names.flat_map(|name| [name.clone(), format!("{name}.gz")]);
    all.map(|name| path.with_file_name(name))
        .filter(|candidate| candidate.is_file())
}

/// Only decompression fails in these ways; a plain file gives the system's own errors.
pub(crate) fn text_error(path: &str, error: &io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match error.kind() {
        UnexpectedEof | InvalidData | InvalidInput => Error::damaged(path, "gzip", error),
        _ => Error::file(path, error),
    }
}

fn extension(path: &Path) -> String {
    let lower = |path: &Path| {
        let extension = path.extension().unwrap_or_default();
        extension.to_string_lossy().to_lowercase()
    };
    match lower(path).as_str() {
        "gz" => lower(Path::new(path.file_stem().unwrap_or_default())),
        other => other.to_owned(),
    }
}

type Peeked = (Vec<u8>, Box<dyn Read + Send>);

/// The beginning, and a reader of the whole. Not by seeking back: the path may be a pipe.
fn peek(path: &str, mut reader: Box<dyn Read + Send>) -> Result<Peeked> {
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| text_error(path, &error))?;
    let whole = Box::new(Cursor::new(head.clone()).chain(reader));
    Ok((head, whole))
}
