//! Decides which column or field holds the text and which the documents' names.

use crate::error::{Error, Result};

/// The column of that name, or of that number from 1.
pub(super) fn named(path: &str, names: &[String], wanted: &str) -> Result<usize> {
    let same: Vec<usize> = (0..names.len()).filter(|&i| names[i] == wanted).collect();
    match same.as_slice() {
        [index] => Ok(*index),
        [] => match wanted.parse::<usize>() {
            Ok(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
            _ => Err(Error::NoColumn {
                path: path.to_owned(),
                column: wanted.to_owned(),
                columns: names.to_vec(),
            }),
        },
        several => Err(Error::Format {
            path: path.to_owned(),
            found: format!("{} columns named {wanted:?}", several.len()),
            expected: "one",
            hint: Some(format!("its number, such as {}", several[0] + 1)),
        }),
    }
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
        .ok_or_else(|| Error::NoText {
            path: path.to_owned(),
            noun,
            columns: names.to_vec(),
            text: texts.iter().map(|&i| names[i].clone()).collect(),
        })
}
