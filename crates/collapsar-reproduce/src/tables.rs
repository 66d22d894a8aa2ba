//! The tables of the first experiment as Markdown, the paper's figures beside ours.

use collapsar_text::{grouped, markdown};

use crate::measure::{Comparison, Measure, mean_difference};

/// HRL12, table 1: average iterations for R = 1..5; vbem did not find the best bound where R is small.
const PAPER: [(&str, [f64; 5]); 4] = [
    ("pr", [3100.37, 15698.57, 5767.12, 1613.09, 3046.25]),
    ("hs", [1371.55, 5501.25, 5922.4, 358.03, 172.39]),
    ("fr", [416.18, 1161.35, 5091.0, 792.10, 494.24]),
    ("vbem", [NEVER, NEVER, NEVER, 992.07, 429.57]),
];
const NEVER: f64 = f64::INFINITY;

/// A table under its title, with a row of cells for each method.
pub(crate) fn section(
    title: &str,
    head: impl IntoIterator<Item = impl ToString>,
    rows: impl IntoIterator<Item = (String, Vec<String>)>,
) -> String {
    let head = head.into_iter().map(|name| name.to_string()).collect();
    let head = std::iter::once(("method".to_owned(), head));
    let lines = head.chain(rows).map(|(name, mut cells)| {
        cells.insert(0, name);
        cells
    });
    format!("{title}\n\n{}\n", markdown(&lines.collect::<Vec<_>>()))
}

/// Our number, and the paper's in brackets where it has one.
pub(crate) fn beside(ours: String, paper: Option<String>) -> String {
    match paper {
        Some(paper) => format!("{ours} ({paper})"),
        None => ours,
    }
}

/// All tables, with a column for each data set.
pub(crate) fn tables(columns: &[Comparison]) -> String {
    let methods = &columns[0].methods;
    let mut text = String::new();
    let mut add = |title: &str, cell: &dyn Fn(usize, usize) -> String| {
        let head = (1..=columns.len()).map(|r| format!("R={r}"));
        let rows = methods.iter().enumerate().map(|(row, method)| {
            let cells = (0..columns.len()).map(|column| cell(row, column));
            (method.name.clone(), cells.collect())
        });
        text += &section(title, head, rows);
    };
    add(
        "Iterations to come within 10 nats of the best known bound: those of all runs, over the runs that did \
         (in brackets the paper's)",
        &|row, column| {
            let paper = PAPER.iter().find(|(name, _)| *name == methods[row].name);
            let paper = paper.and_then(|(_, figures)| figures.get(column));
            let ours = grouped(columns[column].cost(row, Measure::Iterations), 1);
            beside(ours, paper.map(|&figure| grouped(figure, 2)))
        },
    );
    add(
        "Passes over the data, in the same measure",
        &|row, column| grouped(columns[column].cost(row, Measure::Passes), 1),
    );
    if let Some(vbem) = columns[0].vbem() {
        add(
            "Passes of vbem for one pass of each (> where vbem never came within 10 nats, < where the other never did)",
            &|row, column| columns[column].ratio(vbem, row),
        );
        add(
            "Mean final bound less that of vbem from the same starts, ± its standard error",
            &|row, column| {
                let (mean, error) = mean_difference(&columns[column].differences(row, vbem));
                format!("{mean} ± {error:.2}")
            },
        );
    }
    add("Share of runs that came within 10 nats", &|row, column| {
        let runs = columns[column].methods[row].runs.len();
        let fraction = columns[column].successes(row) as f64 / runs as f64;
        format!("{:.1}%", 100.0 * fraction)
    });
    add("Passes of one run, wherever it ended", &|row, column| {
        let (mean, _) = columns[column].methods[row].mean(Measure::Passes);
        grouped(mean, 1)
    });
    text.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::comparison;

    #[test]
    fn tables_stand_in_columns() {
        let text = tables(&[comparison()]);
        let first: Vec<&str> = text.lines().skip(2).take(4).collect();
        assert_eq!(
            first,
            [
                "| method |           R=1 |",
                "|--------|--------------:|",
                "| vbem   |     500.0 (∞) |",
                "| fr     | 60.0 (416.18) |",
            ]
        );
        for line in [
            "| fr     | -2.00 ± 2.52 |",
            "| vbem   | 66.7% |",
            "| fr     |  40.0 |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
