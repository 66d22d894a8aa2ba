//! Decides which column or field holds the text and which the documents' names.

use collapsar::Hint;

use crate::error::{Error, Result, listed};
use crate::table::find_column;

use super::options::CorpusOptions;

/// The columns of the text and, where they were asked for, of the documents' names.
pub(super) fn select(
    path: &str,
    names: &[String],
    options: &CorpusOptions,
    is_text: impl Fn(usize) -> bool,
) -> Result<(usize, Option<usize>)> {
    let find = |option, column: &Option<String>| {
        let column = column.as_ref();
        let found = column.map(|column| find_column(path, names, option, column));
        found.transpose()
    };
    let id = find("id_column", &options.id_column)?;
    let text = match find("text_column", &options.text_column)? {
        Some(text) => text,
        None => text(path, "column", names, is_text, id)?,
    };
    Ok((text, id))
}

/// The column of the text where none was asked for: the one named so, else the only one of text.
pub(super) fn text(
    path: &str,
    noun: &'static str,
    names: &[String],
    is_text: impl Fn(usize) -> bool,
    id: Option<usize>,
) -> Result<usize> {
    let only = |indices: &[usize]| match indices {
        [index] => Some(*index),
        _ => None,
    };
    let others: Vec<usize> = (0..names.len()).filter(|&i| Some(i) != id).collect();
    let named = |same: fn(&str) -> bool| -> Vec<usize> {
        let columns = others.iter().copied();
        columns.filter(|&i| same(&names[i])).collect()
    };
    let exactly = named(|name| name == "text");
    let nearly = named(|name| name.eq_ignore_ascii_case("text"));
    let texts: Vec<usize> = others.into_iter().filter(|&i| is_text(i)).collect();
    only(&exactly)
        .or_else(|| only(&nearly))
        .or_else(|| only(&texts))
        .ok_or_else(|| {
            let text: Vec<String> = texts.iter().map(|&i| names[i].clone()).collect();
            no_text(path, noun, names, &text)
        })
}

/// The error of columns or fields of which it is not clear which one holds the text; `text` are those that do.
pub(crate) fn no_text(path: &str, noun: &str, columns: &[String], text: &[String]) -> Error {
    let Some(last) = text.last() else {
        let found = match columns {
            [] => format!("no {noun}s"),
            columns => format!("{noun}s {} hold no text", listed(columns)),
        };
        return Error::content(path, found, "one with text");
    };
    let found = format!("{noun}s {} hold text", listed(text));
    let error = Error::content(path, found, "one of them to be named \"text\"");
    error.with_hint(Hint::set("text_column", format!("{last:?}")))
}
