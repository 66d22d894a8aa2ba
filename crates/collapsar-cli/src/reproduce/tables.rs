//! The tables of the first experiment as Markdown, the paper's figures beside ours, and its raw runs as CSV.

use std::fmt::Write as _;
use std::io;

use collapsar::Direction;

use super::measure::{Column, Row};

/// HRL12, table 1: average iterations for R = 1..5.
const PAPER: [(Direction, [f64; 5]); 4] = [
    (
        Direction::Pr,
        [3100.37, 15698.57, 5767.12, 1613.09, 3046.25],
    ),
    (Direction::Hs, [1371.55, 5501.25, 5922.4, 358.03, 172.39]),
    (Direction::Fr, [416.18, 1161.35, 5091.0, 792.10, 494.24]),
    (
        Direction::Vbem,
        [f64::INFINITY, f64::INFINITY, f64::INFINITY, 992.07, 429.57],
    ),
];

/// All tables, as Markdown that is also readable as it is.
pub(super) fn tables(rows: &[Row], columns: &[Column]) -> String {
    let mut text = String::new();
    let mut add = |title: &str, cell: &dyn Fn(usize, usize) -> String| {
        let head = (1..=columns.len()).map(|r| format!("R={r}"));
        let mut cells = vec![std::iter::once("method".to_owned()).chain(head).collect()];
        for (row, kind) in rows.iter().enumerate() {
            let line = (0..columns.len()).map(|column| cell(row, column));
            cells.push(std::iter::once(kind.name()).chain(line).collect());
        }
        write!(text, "{title}\n\n{}\n", markdown(&cells)).expect("a string takes all");
    };
    add(
        "Iterations to come within 10 nats of the best known bound: those of all runs, over the runs that did \
         (in brackets the paper's)",
        &|row, column| {
            let ours = number(columns[column].cost(row, |run| run.iterations as f64), 1);
            let paper = PAPER
                .iter()
                .find(|(direction, _)| *direction == rows[row].direction && !rows[row].jumps)
                .and_then(|(_, figures)| figures.get(column));
            paper.map_or(ours.clone(), |&p| format!("{ours} ({})", number(p, 2)))
        },
    );
    add(
        "Passes over the data, in the same measure",
        &|row, column| number(columns[column].cost(row, |run| run.passes), 1),
    );
    if let Some(vbem) = rows
        .iter()
        .position(|r| r.direction == Direction::Vbem && !r.jumps)
    {
        add(
            "Passes of vbem for one pass of each (> where vbem never came within 10 nats, < where the other never did)",
            &|row, column| columns[column].ratio(vbem, row),
        );
        add(
            "Mean final bound less that of vbem from the same starts, ± its standard error",
            &|row, column| {
                let (mean, error) = columns[column].difference(row, vbem);
                // The sign of a rounded zero says nothing.
                let mean = if mean.abs() < 0.005 { 0.0 } else { mean };
                format!("{mean:+.2} ± {error:.2}")
            },
        );
    }
    add("Share of runs that came within 10 nats", &|row, column| {
        let runs = columns[column].runs[row].len();
        let share = columns[column].successes(row) as f64 / runs as f64;
        format!("{:.1}%", 100.0 * share)
    });
    add("Passes of one run, wherever it ended", &|row, column| {
        number(columns[column].passes_per_run(row), 1)
    });
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// A table whose first line is its head, padded so that columns stand under one another.
pub(super) fn markdown(cells: &[Vec<String>]) -> String {
    let width = |column: usize| cells.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..cells[0].len()).filter_map(width).collect();
    let mut text = String::new();
    for (index, line) in cells.iter().enumerate() {
        let mut columns = line.iter().zip(&widths);
        if let Some((name, width)) = columns.next() {
            write!(text, "| {name:<width$} |").expect("a string takes all");
        }
        for (cell, width) in columns {
            write!(text, " {cell:>width$} |").expect("a string takes all");
        }
        text.push('\n');
        if index == 0 {
            for (column, width) in widths.iter().enumerate() {
                let right = if column == 0 { '-' } else { ':' };
                write!(text, "|-{:-<width$}{right}", "").expect("a string takes all");
            }
            text.push_str("|\n");
        }
    }
    text
}

/// A number with commas between thousands, as the paper writes them.
pub(super) fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "∞".to_owned();
    }
    let text = format!("{value:.decimals$}");
    let whole = text.split('.').next().unwrap_or_default();
    let (mut grouped, digits) = (String::new(), whole.len());
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (digits - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + &text[whole.len()..]
}

/// Every run, one to a line.
pub(super) fn raw(file: &mut dyn io::Write, rows: &[Row], columns: &[Column]) -> io::Result<()> {
    writeln!(file, "R,method,restart,bound,iterations,passes,outcome")?;
    for (index, column) in columns.iter().enumerate() {
        for (row, runs) in rows.iter().zip(&column.runs) {
            for (restart, run) in runs.iter().enumerate() {
                writeln!(
                    file,
                    "{},\"{}\",{restart},{},{},{},{}",
                    index + 1,
                    row.name(),
                    run.bound,
                    run.iterations,
                    run.passes,
                    run.outcome
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::measure::tests::column;

    #[test]
    fn tables_stand_in_columns() {
        let rows = Row::all(&[Direction::Vbem, Direction::Fr]);
        let text = tables(&rows, &[column()]);
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
        assert!(text.contains("| fr     | -2.00 ± 2.52 |"), "{text}");
        assert!(text.contains("| vbem   | 66.7% |"), "{text}");
    }

    #[test]
    fn numbers_as_the_paper_writes_them() {
        assert_eq!(number(15698.57, 2), "15,698.57");
        assert_eq!(number(1_234_567.0, 0), "1,234,567");
        assert_eq!(number(-1634.0, 1), "-1,634.0");
        assert_eq!(number(-634.0, 1), "-634.0");
        assert_eq!(number(f64::INFINITY, 1), "∞");
    }

    #[test]
    fn raw_runs_are_one_to_a_line() {
        let rows = Row::all(&[Direction::Vbem, Direction::Fr]);
        let mut file = Vec::new();
        raw(&mut file, &rows, &[column()]).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert_eq!(text.lines().count(), 7);
        assert_eq!(
            text.lines().nth(4),
            Some("1,\"fr\",0,-99,30,60,gain below 1e-6")
        );
    }
}
