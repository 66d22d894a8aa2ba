//! Reads the component each row starts in, one label a row.

use std::path::Path;

use crate::csv::Sheet;
use crate::error::{Error, Result, quoted};
use crate::open::Opened;
use crate::records::Record;
use crate::table::select;

/// Reads labels, whole numbers from 0, from CSV: the column named `label` or `component`, or else the
/// only column (row names apart), with or without a header.
///
/// # Errors
///
/// A file that cannot be read, has several columns and none of those names, or a label that is not a
/// whole number from 0.
pub fn read_labels(path: &Path) -> Result<Vec<usize>> {
    let mut input = Opened::open(path)?;
    "csv".clone_into(&mut input.extension);
    let name = input.name.clone();
    let mut sheet = Sheet::open(input)?;
    let is_label = |name: &&String| ["label", "component"].contains(&name.as_str());
    let named = sheet.names.iter().find(is_label);
    let named = named.filter(|_| sheet.has_header);
    let column = named.map(std::slice::from_ref);
    let selected = select(&name, &sheet.names, sheet.row_names, column)?;
    let &[index] = selected.indices.as_slice() else {
        let number = sheet.names.len();
        let found = format!("{number} columns, none named \"label\" or \"component\"");
        let error = Error::content(name, found, "one column of labels");
        return Err(error.trying("naming the column of labels \"label\" in the header"));
    };
    let mut labels = Vec::new();
    let mut row = Record::default();
    while sheet.next(&mut row)? {
        let text = row.get(index);
        let label = label(text).ok_or_else(|| {
            let found = format!("label {}", quoted(text));
            Error::line(&name, row.line, found, "a whole number from 0")
        })?;
        labels.push(label);
    }
    if labels.is_empty() {
        return Err(Error::empty(&name, "a header and no rows"));
    }
    Ok(labels)
}

/// `2`, or `2.0` and `2.000e+00` as numpy.savetxt writes it.
fn label(text: &str) -> Option<usize> {
    if let Ok(label) = text.parse() {
        return Some(label);
    }
    let number: f64 = text.parse().ok()?;
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    whole.then_some(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(content: &str) -> std::result::Result<Vec<usize>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::fs::write(&path, content).unwrap();
        let place = format!("{}/", folder.path().display());
        read_labels(&path).map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn one_column_or_a_named_one() {
        assert_eq!(labels("0\n2\n1\n"), Ok(vec![0, 2, 1]));
        assert_eq!(labels("cluster\n0\n1.0\n"), Ok(vec![0, 1]));
        assert_eq!(labels("0.000e+00\n3.000e+00\n"), Ok(vec![0, 3]));
        assert_eq!(
            labels("name,component,p\nx,4,0.5\ny,0,0.25\n"),
            Ok(vec![4, 0])
        );
        assert_eq!(labels("\"\",\"x\"\n\"1\",2\n\"2\",0\n"), Ok(vec![2, 0]));
    }

    #[test]
    fn refusals() {
        let texts: Vec<String> = [
            "0\n-1\n",
            "0\n1.5\n",
            "label\nsetosa\n",
            "a,b\n0,1\n",
            "label\n",
            "",
            "0\n\"1\n",
        ]
        .map(|text| labels(text).unwrap_err())
        .to_vec();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
