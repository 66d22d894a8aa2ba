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
use std::io::Read;
use std::path::{Path, PathBuf};

use collapsar_bugs::{Array, Data, Sparse};

use crate::error::{Error, Result};
use crate::npy;
use crate::open::{Opened, text_error};

const FORMATS: &str = "data as JSON, an R dump, CSV, TSV or NPY";

/// One named thing of a file.
#[derive(Debug)]
enum Item {
    Array(Array),
    Sparse(Sparse),
    /// No numbers: what there is instead.
    Text(String),
}

/// The named things of one file.
type Items = BTreeMap<String, Item>;

/// Reads the data of a model from any number of files: JSON, R dumps (also the lists of WinBUGS), CSV and
/// TSV (a vector for each column) and NPY (named after the file); gzip is seen through and `-` is
/// standard input.
///
/// # Errors
///
/// A file that cannot be read or holds anything but named numbers and texts, and a name that is given twice.
pub fn read_data(paths: &[PathBuf]) -> Result<Data> {
    let mut data = Data::default();
    let mut givers: BTreeMap<String, String> = BTreeMap::new();
    for path in paths {
        let input = Opened::open(path)?;
        let file = input.name.clone();
        for (name, item) in read(path, input)? {
            if let Some(before) = givers.get(&name) {
                let found = format!("{name:?}, which {before} gives as well");
                let error = Error::content(file, found, "each name once");
                return Err(error.trying("leaving one of the two out"));
            }
            givers.insert(name.clone(), file.clone());
            match item {
                Item::Array(array) => drop(data.arrays.insert(name, array)),
                Item::Sparse(matrix) => drop(data.sparse.insert(name, matrix)),
                Item::Text(found) => drop(data.texts.insert(name, found)),
            }
        }
    }
    Ok(data)
}

fn read(path: &Path, mut input: Opened) -> Result<Items> {
    if input.is_npy() {
        return array(path, input);
    }
    input = input.text(FORMATS)?;
    if input.head.starts_with(b"\xef\xbb\xbf") {
        // The mark that some programs put at the beginning of UTF-8.
        input.head.drain(..3);
        let read = input.reader.read_exact(&mut [0; 3]);
        read.map_err(|error| text_error(&input.name, &error))?;
    }
    let text = input.head.trim_ascii_start();
    if text.is_empty() {
        return Err(Error::content(input.name, "an empty file", FORMATS));
    }
    match input.extension.as_str() {
        "csv" | "tsv" => columns::read(input),
        "json" => json::read(input),
        // No assignment begins with a brace, so the name is wrong and not the content.
        _ if text.starts_with(b"{") => json::read(input),
        "r" | "txt" | "dump" => assignments::read(input),
        _ if begins_like_an_assignment(text) => assignments::read(input),
        _ => {
            let error = Error::content(input.name, "text of an unknown kind", FORMATS);
            Err(error.trying("a name that ends in .json, .R, .csv or .tsv"))
        }
    }
}

/// Whether text of no known name is an R dump: a name and an arrow, a list, or a comment first.
fn begins_like_an_assignment(text: &[u8]) -> bool {
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
fn array(path: &Path, input: Opened) -> Result<Items> {
    if path == Path::new("-") {
        let expected = "a file, since its name is that of the array";
        return Err(Error::content(
            input.name,
            "NPY data without a name",
            expected,
        ));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".npy").unwrap_or(&stem).to_owned();
    let (dims, values) = npy::read_array(input)?;
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
