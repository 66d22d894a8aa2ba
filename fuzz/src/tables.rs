//! Tables of numbers: text, NumPy's arrays, Parquet, and the labels that a fit may start from.

use collapsar_formats::{read_data, read_labels, read_table, read_table_with_labels};

use crate::files::{choice, file, told};

/// CSV, TSV and text between spaces; the first byte chooses the name.
pub(crate) fn csv(bytes: &[u8]) {
    let (choice, rest) = choice(bytes, 4);
    let path = file(["t.csv", "t.tsv", "t.txt", "data.csv"][choice], rest);
    if choice == 3 {
        told(read_data(&[path]));
        return;
    }
    told(read_table(&path, None));
    told(read_table(&path, Some(&["2".into(), "1".into()])));
    told(read_table_with_labels(&path, None, "2"));
    told(read_labels(&path));
}

/// NumPy's arrays, as tables and as data of models.
pub(crate) fn npy(bytes: &[u8]) {
    let path = file("t.npy", bytes);
    told(read_table(&path, None));
    told(read_table_with_labels(&path, None, "1"));
    told(read_data(&[path]));
}

/// Parquet.
pub(crate) fn parquet(bytes: &[u8]) {
    let path = file("t.parquet", bytes);
    told(read_table(&path, None));
    told(read_table_with_labels(&path, None, "1"));
}
