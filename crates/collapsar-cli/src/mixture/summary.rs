//! What a fit prints: a page that a person can read.

use std::fmt::Write;

use collapsar::mixture::{Component, MixtureFit};
use collapsar_formats::Table;

use super::args::FitArgs;
use super::fit::{Fitted, USED};
use crate::text::{count, measured, short, table};

/// The table of components shows as many columns of the data as fit into this many characters.
const WIDTH: usize = 100;

pub(crate) fn of(args: &FitArgs, data: &Table, fitted: &Fitted, answer: &MixtureFit) -> String {
    let mut text = String::new();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    line(format_args!(
        "{}: {}, {}",
        args.data_name(),
        count(data.rows, "row"),
        count(data.columns.len(), "column")
    ));
    if fitted.compared.len() > 1 {
        line(format_args!("\n{}", comparison(fitted)));
    }
    text += &fitted.ended.lines();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    let mut used: Vec<(usize, &Component)> = answer
        .components
        .iter()
        .enumerate()
        .filter(|(_, component)| component.count >= USED)
        .collect();
    used.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight));
    line(format_args!(
        "{} of {} components in use\n",
        used.len(),
        answer.components.len()
    ));
    let shown = (1..=data.columns.len().min(8))
        .rev()
        .find(|&shown| shown == 1 || width(&components(&used, &data.columns[..shown])) <= WIDTH)
        .unwrap_or(1);
    line(format_args!(
        "{}",
        components(&used, &data.columns[..shown])
    ));
    let hidden = data.columns.len() - shown;
    let hidden = match hidden {
        0 => String::new(),
        _ => format!("; {} not shown", count(hidden, "column")),
    };
    line(format_args!(
        "columns: posterior mean ± its uncertainty [spread of the rows]{hidden}"
    ));
    match &args.out {
        Some(folder) => line(format_args!("all results are in {}", folder.display())),
        None => line(format_args!("--out DIR keeps all results")),
    }
    text
}

fn width(table: &str) -> usize {
    table
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

fn comparison(fitted: &Fitted) -> String {
    let head = ["components", "bound", "to the best", "in use", "passes", ""].map(String::from);
    let highest = fitted.ended.best().point.bound;
    let rows: Vec<Vec<String>> = fitted
        .compared
        .iter()
        .map(|line| {
            let mark = match (line.bound == highest, line.converged) {
                (true, _) => "best",
                (_, false) => "not converged",
                _ => "",
            };
            vec![
                line.components.to_string(),
                format!("{:.3}", line.bound),
                format!("{:.3}", line.bound - highest),
                line.used.to_string(),
                line.passes.to_string(),
                mark.to_owned(),
            ]
        })
        .collect();
    table(&head, &rows)
}

/// The components in use, the heaviest first.
fn components(used: &[(usize, &Component)], columns: &[String]) -> String {
    let mut head = ["component", "weight", "rows"].map(String::from).to_vec();
    head.extend(columns.iter().cloned());
    let rows: Vec<Vec<String>> = used
        .iter()
        .map(|(label, component)| {
            let mut cells = vec![
                label.to_string(),
                measured(component.weight, Some(component.weight_sd)),
                format!("{:.1}", component.count),
            ];
            cells.extend((0..columns.len()).map(|d| {
                let sd = component.mean_sd.as_ref().map(|sds| sds[d]);
                let spread = component.covariance.variance(d).sqrt();
                format!("{} [{}]", measured(component.mean[d], sd), short(spread))
            }));
            cells
        })
        .collect();
    table(&head, &rows)
}
