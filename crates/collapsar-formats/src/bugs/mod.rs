//! Decides which format the data of a model are in, and puts several files together.
//!
//! | File | Decides |
//! |---|---|
//! | `json` | how numbers, lists and objects of JSON become arrays |
//! | `sparse` | which objects of JSON are sparse matrices |
//! | `tokens` | how the text of an R dump is cut into words, numbers and marks |
//! | `assignments` | which assignments and lists of R are data, and in which order their numbers run |
//! | `columns` | how the columns of a table become vectors |

mod assignments;
mod columns;
mod json;
mod sparse;
mod tokens;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use collapsar::Hint;
use collapsar_bugs::{Array, Data, Sparse};

use crate::error::{Error, Result};
use crate::npy;
use crate::records::text_error;
use crate::table::{extension, not_text, unzip};

const FORMATS: &str = "data as JSON, an R dump, CSV, TSV or NPY";

/// One named thing of a file.
#[derive(Debug)]
enum Item {
    Array(Array),
    Sparse(Sparse),
}

/// The named things of one file.
type Items = BTreeMap<String, Item>;

/// Reads the data of a model from any number of files: JSON, R dumps (also the lists of WinBUGS), CSV and
/// TSV (a vector for each column) and NPY (named after the file); gzip is seen through and `-` is
/// standard input.
///
/// # Errors
///
/// A file that cannot be read or holds anything but named numbers, and a name that is given twice.
pub fn read_data(paths: &[PathBuf]) -> Result<Data> {
    let mut data = Data::default();
    let mut givers: BTreeMap<String, String> = BTreeMap::new();
    for path in paths {
        let (file, items) = read_file(path)?;
        for (name, item) in items {
            if let Some(before) = givers.get(&name) {
                let found = format!("{name:?}, which {before} gives as well");
                let hint = Hint::plain("leaving one of the two out");
                return Err(Error::content(file, found, "each name once").with_hint(hint));
            }
            givers.insert(name.clone(), file.clone());
            match item {
                Item::Array(array) => drop(data.arrays.insert(name, array)),
                Item::Sparse(matrix) => drop(data.sparse.insert(name, matrix)),
            }
        }
    }
    Ok(data)
}

/// The path as errors show it and what the file holds.
fn read_file(path: &Path) -> Result<(String, Items)> {
    if path == Path::new("-") {
        let items = read(Path::new(""), "stdin", None, std::io::stdin())?;
        return Ok(("stdin".to_owned(), items));
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::file(path, &error))?;
    let length = file.metadata().map_err(|error| Error::file(path, &error))?;
    let items = read(path, &name, Some(length.len()), file)?;
    Ok((name, items))
}

fn read(path: &Path, name: &str, length: Option<u64>, file: impl Read) -> Result<Items> {
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(|error| Error::file(name, &error))?;
    let length = length.filter(|_| !start.starts_with(b"\x1f\x8b"));
    let extension = extension(path);
    let (head, mut reader) = unzip(name, file)?;
    if head.starts_with(b"\x93NUMPY") || extension == "npy" {
        return array(path, name, length, reader);
    }
    let refused = |found: &str| Error::content(name, found, FORMATS);
    if let Some(found) = not_text(&head) {
        return Err(refused(found));
    }
    if head.starts_with(b"\xef\xbb\xbf") {
        // The mark that some programs put at the beginning of UTF-8.
        reader
            .read_exact(&mut [0; 3])
            .map_err(|error| text_error(name, &error))?;
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    if text.trim_ascii().is_empty() {
        return Err(refused("an empty file"));
    }
    let is_object = text.trim_ascii_start().starts_with(b"{");
    match extension.as_str() {
        "csv" | "tsv" => columns::read(name, &extension, text, reader),
        "json" => json::read(name, reader),
        // No assignment begins with a brace, so the name is wrong and not the content.
        _ if is_object => json::read(name, reader),
        "r" | "txt" | "dump" => assignments::read(name, reader),
        _ if begins_like_an_assignment(text) => assignments::read(name, reader),
        _ => {
            let hint = Hint::plain("a name that ends in .json, .R, .csv or .tsv");
            Err(refused("text of an unknown kind").with_hint(hint))
        }
    }
}

/// Whether text of no known name is an R dump: a name and an arrow, a list, or a comment first.
fn begins_like_an_assignment(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    if text.starts_with(b"#") {
        return true;
    }
    let quote = text.first().filter(|byte| b"\"'`".contains(byte));
    let end = match quote {
        Some(quote) => text[1..]
            .iter()
            .position(|byte| byte == quote)
            .map(|at| at + 2),
        None => text.iter().position(|&byte| !tokens::in_name(byte)),
    };
    let Some(end) = end else { return false };
    let rest = text[end..].trim_ascii_start();
    end > 0
        && (rest.starts_with(b"<-")
            || rest.starts_with(b"=")
            || (&text[..end] == b"list" && rest.starts_with(b"(")))
}

/// The one array of a NumPy file.
fn array(path: &Path, name: &str, length: Option<u64>, mut reader: impl BufRead) -> Result<Items> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let Some(stem) = stem.filter(|stem| !stem.is_empty()) else {
        let expected = "a file, since its name is that of the array";
        return Err(Error::content(name, "NPY data without a name", expected));
    };
    let stem = stem.strip_suffix(".npy").unwrap_or(&stem).to_owned();
    let (dims, values) = if let Some(length) = length {
        npy::read_array(name, reader, length)?
    } else {
        // The reader checks what the header claims against the length, which zipped data do not tell.
        let mut bytes = Vec::new();
        reader
            .read_to_end(&mut bytes)
            .map_err(|error| text_error(name, &error))?;
        let length = bytes.len() as u64;
        npy::read_array(name, Cursor::new(bytes), length)?
    };
    Ok(Items::from([(stem, Item::Array(Array { dims, values }))]))
}

/// Puts a thing of a file beside the others.
fn push(items: &mut Items, path: &str, line: u64, name: String, item: Item) -> Result<()> {
    if items.contains_key(&name) {
        let found = format!("{name:?} for the second time");
        return Err(Error::line(path, line, found, "each name once"));
    }
    items.insert(name, item);
    Ok(())
}

/// An index as the language writes it, such as `x[2,1]`, from indices counted from 0.
fn indexed(name: &str, indices: &[usize]) -> String {
    if indices.is_empty() {
        return name.to_owned();
    }
    let shown: Vec<String> = indices
        .iter()
        .map(|index| (index + 1).to_string())
        .collect();
    format!("{name}[{}]", shown.join(","))
}
