use super::*;

fn read(
    text: &str,
    columns: Option<&str>,
    categorical: &[&str],
    labels: Option<&str>,
) -> std::result::Result<MixedTable, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text).expect("a file");
    let columns: Option<Vec<String>> =
        columns.map(|all| all.split(',').map(str::to_owned).collect());
    let categorical: Vec<String> = categorical.iter().map(|name| (*name).to_owned()).collect();
    let place = format!("{}/", folder.path().display());
    let read = read_mixed_table(&path, columns.as_deref(), &categorical, labels);
    read.map_err(|error| error.to_string().replace(&place, ""))
}

fn category(of: &Category) -> (&str, Vec<&str>, Vec<u32>) {
    let levels = of.levels.iter().map(String::as_str).collect();
    (&of.name, levels, of.column.codes.clone())
}

#[test]
fn text_is_categorical_by_type_and_numbers_where_they_are_named() {
    let text = "x,kind,y,n\n1,b,2,10\n3,,4,9\n5,\"a, b\",,9\n7,NA,8,\n9,b,1,10\n";
    let (table, categories) = read(text, None, &[], None).expect("a table").split();
    assert_eq!(table.columns, ["x", "y", "n"]);
    assert_eq!(categories.len(), 1);
    let expected = ("kind", vec!["a, b", "b"], vec![1, MISSING, 0, MISSING, 1]);
    assert_eq!(category(&categories[0]), expected);
    let mixed = read(text, Some("n,kind,x"), &["4", "kind"], None).expect("a table");
    let (table, categories) = mixed.split();
    assert_eq!((table.columns.len(), table.values[4]), (1, 9.0));
    // Numbers are in their order.
    let expected = ("n", vec!["9", "10"], vec![1, 0, 0, MISSING, 1]);
    assert_eq!(category(&categories[0]), expected);
    // A table of nothing but levels.
    let (table, categories) = read("a,b\nx,true\ny,false\nx,false\n", None, &[], None)
        .expect("a table")
        .split();
    assert_eq!(
        (table.columns.len(), table.values.len(), table.rows),
        (0, 0, 3)
    );
    assert_eq!(category(&categories[1]).1, ["false", "true"]);
}

#[test]
fn labels_are_no_data() {
    let text = "x,kind,y\n1,b,p\n3,,q\n5,a,p\n7,a,q\n";
    let mixed = read(text, None, &[], Some("kind")).expect("a table");
    let labels = mixed.labels.clone().expect("labels");
    assert_eq!(labels.labels, [Some(1), None, Some(0), Some(0)]);
    let (table, categories) = mixed.split();
    assert_eq!((table.columns.len(), categories.len()), (1, 1));
}

#[test]
fn refusals() {
    let rows = |row: &dyn Fn(usize) -> String, count: usize| -> String {
        let all: Vec<String> = (0..count).map(row).collect();
        format!("x,k\n{}\n", all.join("\n"))
    };
    let names = rows(&|n| format!("{n},row {n}"), 40);
    let mixed = rows(&|n| format!("{n},{}", if n == 7 { "?!" } else { "4" }), 12);
    let many = rows(&|n| format!("{n},c{}", n % 10_001), 20_002);
    let told = [
        read(&names, None, &[], None),
        read(&mixed, None, &[], None),
        read("x,k\n1,b\n2,5\n3,b\n", None, &[], None),
        read(&many, None, &["k"], None),
        read("x,k\n1,2\n2,3\n", None, &["z"], None),
        read("x,k\n1,2\n2,3\n", Some("x"), &["k"], None),
    ];
    let told = told.map(|read| {
        let told = read.expect_err("refused");
        told.split("; try").next().unwrap_or_default().to_owned()
    });
    let expected = [
        "a.csv: column \"k\" has 40 levels in 40 rows, expected levels that rows share",
        "a.csv: column \"k\" has numbers and text (\"?!\" in line 9), expected numbers, or a column named as categorical",
        "a.csv: column \"k\" has numbers and text (\"b\" in line 2), expected numbers, or a column named as categorical",
        "a.csv: column \"k\" has more than 10000 levels in 20002 rows, expected levels that rows share",
        "a.csv: no column \"z\", expected \"x\", \"k\" or an index from 1 to 2",
        "a.csv: categorical column \"k\" is not among the columns taken, expected one of those",
    ];
    assert_eq!(told, expected);
    // Who names a column of names has it.
    let (_, categories) = read(&names, None, &["k"], None).expect("a table").split();
    assert_eq!(categories[0].levels.len(), 40);
    assert!(read(&mixed, None, &["k"], None).is_ok());
    let (_, categories) = read("x,k\n1,\n2,NA\n", None, &["k"], None)
        .expect("a table")
        .split();
    assert_eq!(category(&categories[0]), ("k", vec![], vec![MISSING; 2]));
}
