//! Decides what format a table is in, which reader gets it and which of its columns are taken.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Problem, Result};
use crate::records::text_error;
use crate::{csv, npy, parquet};

/// A table of finite numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The columns' names; `1`, `2`, … where the file gives none.
    pub columns: Vec<String>,
    /// How many rows.
    pub rows: usize,
    /// The values, row by row: `rows` times `columns.len()`.
    pub values: Vec<f64>,
    /// Columns left out without being asked: row names, which are not data.
    pub skipped: Vec<String>,
}

/// Reads a table of numbers from CSV, TSV, NPY or Parquet; `-` reads CSV from standard input.
///
/// `columns` selects by name or by index from 1, in the order given; a name wins over an index. Without
/// it every column is taken and must be numeric, except row names: a first column that is unnamed or
/// named `rownames`, and the index that pandas writes into Parquet.
///
/// # Errors
///
/// A file that cannot be read, is damaged, or holds anything but finite numbers in those columns.
pub fn read_table(path: &Path, columns: Option<&[String]>) -> Result<Table> {
    let columns = columns.filter(|columns| !columns.is_empty());
    if path == Path::new("-") {
        return text("stdin", "", std::io::stdin(), columns);
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::file(path, &error))?;
    let length = file
        .metadata()
        .map_err(|error| Error::file(path, &error))?
        .len();
    let extension = extension(path);
    let mut magic = Vec::new();
    (&file)
        .take(6)
        .read_to_end(&mut magic)
        .map_err(|error| Error::file(path, &error))?;
    // What the bytes say wins over the name, which people get wrong. Not by seeking back: the path may
    // be a pipe, which the text reader is happy with.
    let binary = matches!(extension.as_str(), "npy" | "parquet" | "pq");
    if magic.is_empty() && binary {
        return Err(Error::empty(&name, "an empty file"));
    }
    if magic.starts_with(b"\x93NUMPY") || extension == "npy" {
        return npy::read(
            &name,
            BufReader::new(Cursor::new(magic).chain(file)),
            length,
            columns,
        );
    }
    if magic.starts_with(b"PAR1") || binary {
        return parquet::read(&name, file, columns);
    }
    text(&name, &extension, Cursor::new(magic).chain(file), columns)
}

/// The extension in lower case; that of the content where the file is compressed.
pub(crate) fn extension(path: &Path) -> String {
    let lower = |path: &Path| {
        path.extension()
            .map(|e| e.to_string_lossy().to_lowercase())
            .unwrap_or_default()
    };
    match lower(path).as_str() {
        "gz" => lower(Path::new(path.file_stem().unwrap_or_default())),
        other => other.to_owned(),
    }
}

fn text(
    path: &str,
    extension: &str,
    reader: impl Read,
    columns: Option<&[String]>,
) -> Result<Table> {
    let (head, reader) = open_text(path, reader)?;
    csv::read(path, extension, &head, reader, columns)
}

/// A reader of text, unzipped.
pub(crate) type TextReader<'a> = BufReader<Box<dyn Read + 'a>>;

/// Unzips if need be and looks at the beginning, which must be text; gives it and a reader of the whole.
pub(crate) fn open_text<'a>(
    path: &str,
    reader: impl Read + 'a,
) -> Result<(Vec<u8>, TextReader<'a>)> {
    let (head, reader) = unzip(path, reader)?;
    let Some(found) = not_text(&head) else {
        return Ok((head, reader));
    };
    let expected = "CSV or TSV in UTF-8, or a .npy or .parquet file";
    Err(Error::content(path, found, expected))
}

/// Unzips if need be and looks at the beginning; gives it and a reader of the whole.
pub(crate) fn unzip<'a>(path: &str, reader: impl Read + 'a) -> Result<(Vec<u8>, TextReader<'a>)> {
    let (mut head, mut reader) = peek(path, Box::new(reader))?;
    if head.starts_with(b"\x1f\x8b") {
        (head, reader) = peek(path, Box::new(MultiGzDecoder::new(BufReader::new(reader))))?;
    }
    Ok((head, BufReader::with_capacity(1 << 16, reader)))
}

/// What a file is that begins like this, if that is not text.
pub(crate) fn not_text(head: &[u8]) -> Option<&'static str> {
    match head {
        bytes if bytes.starts_with(b"PAR1") => Some("Parquet data"),
        bytes if bytes.starts_with(b"\x93NUMPY") => Some("NPY data"),
        bytes if bytes.starts_with(b"PK\x03\x04") => Some("a zip archive (as .npz and .xlsx are)"),
        bytes if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            Some("UTF-16 text")
        }
        bytes if bytes.contains(&0) => Some("bytes that are not text"),
        _ => None,
    }
}

/// How much of a file is looked at: more than a line of any format is likely to have.
const HEAD: u64 = 1 << 16;

type Peeked<'a> = (Vec<u8>, Box<dyn Read + 'a>);

fn peek<'a>(path: &str, mut reader: Box<dyn Read + 'a>) -> Result<Peeked<'a>> {
    let mut head = Vec::new();
    reader
        .by_ref()
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(|error| text_error(path, &error))?;
    let whole = Box::new(Cursor::new(head.clone()).chain(reader));
    Ok((head, whole))
}

/// The columns to take from a file, and those left out without being asked.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// Zero-based, in the order wanted.
    pub(crate) indices: Vec<usize>,
    /// Their names.
    pub(crate) names: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

/// Chooses among the columns `names`; `row_names` is the one that is not data.
pub(crate) fn choose(
    path: &str,
    names: &[String],
    row_names: Option<usize>,
    wanted: Option<&[String]>,
) -> Result<Chosen> {
    let name_of = |indices: &[usize]| indices.iter().map(|&i| names[i].clone()).collect();
    let Some(wanted) = wanted else {
        // A table of row names only is taken for data.
        let row_names = row_names.filter(|_| names.len() > 1);
        let indices: Vec<usize> = (0..names.len()).filter(|&i| Some(i) != row_names).collect();
        let skipped = row_names.map(|i| names[i].clone()).into_iter().collect();
        return Ok(Chosen {
            names: name_of(&indices),
            indices,
            skipped,
        });
    };
    let mut indices = Vec::with_capacity(wanted.len());
    for column in wanted {
        let index = find_column(path, names, "columns", column)?;
        if indices.contains(&index) {
            let column = names[index].clone();
            return Err(Error::of(path, Problem::Repeated { column }));
        }
        indices.push(index);
    }
    Ok(Chosen {
        names: name_of(&indices),
        indices,
        skipped: Vec::new(),
    })
}

/// The column that an option names, or numbers from 1.
pub(crate) fn find_column(
    path: &str,
    names: &[String],
    option: &'static str,
    column: &str,
) -> Result<usize> {
    let named: Vec<usize> = (0..names.len()).filter(|&i| names[i] == column).collect();
    let number = column.parse().ok();
    let column = column.to_owned();
    let problem = match (named.as_slice(), number) {
        (&[index], _) => return Ok(index),
        ([], Some(number)) if (1..=names.len()).contains(&number) => return Ok(number - 1),
        ([], _) => Problem::NoColumn {
            column,
            columns: names.to_vec(),
        },
        (several, _) => Problem::Ambiguous {
            option,
            column,
            indices: several.iter().map(|index| index + 1).collect(),
        },
    };
    Err(Error::of(path, problem))
}
