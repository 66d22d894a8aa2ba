//! What a fit prints: a page that a person can read.

use std::fmt::Write;

use collapsar::graph::Role;

use super::Fitted;
use super::source::names;
use crate::files::name_of;
use crate::text::{count, significant, table};

pub(crate) fn of(fitted: &Fitted<'_>) -> String {
    let mut text = String::new();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    let args = fitted.args;
    let observed: Vec<String> = fitted
        .observed
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let observed = match fitted.data() {
        0 => "no data".to_owned(),
        data => format!(
            "{} in {}",
            count(data, "observed number"),
            observed.join(", ")
        ),
    };
    line(format_args!("{}: {observed}", name_of(&args.source.model)));
    let list = |names: Vec<String>| match names.as_slice() {
        [] => "nothing".to_owned(),
        _ => names.join(", "),
    };
    let compiled = fitted.compiled;
    line(format_args!(
        "collapsed: {}; explicit: {}",
        list(names(compiled, |role| role == Role::Collapsed)),
        list(names(compiled, |role| role != Role::Collapsed)),
    ));
    text += &fitted.ended.lines();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    let shown = fitted.chosen.rows();
    if !shown.is_empty() {
        line(format_args!("\n{}", rows(fitted, &shown)));
    }
    let hidden = fitted.chosen.printable() - shown.len();
    if hidden > 0 {
        line(format_args!("… and {hidden} more; --out writes all"));
    }
    if !fitted.chosen.left_out.is_empty() {
        let left_out = fitted.chosen.left_out.join(", ");
        line(format_args!("not shown: {left_out}; --monitor shows them"));
    }
    if fitted.draws > 0 {
        line(format_args!(
            "what has no closed form is from {} draws of q",
            fitted.draws
        ));
    }
    match &args.out {
        Some(folder) => line(format_args!("all results are in {}", folder.display())),
        None => line(format_args!("--out DIR keeps all results")),
    }
    text
}

fn rows(fitted: &Fitted<'_>, shown: &[usize]) -> String {
    let name = |place: usize| fitted.chosen.quantities[place].to_string();
    // Filled up to the longest, so that names begin in one column.
    let width = shown.iter().map(|&place| name(place).chars().count());
    let width = width.max().unwrap_or(0).max("name".len());
    let cells = |place: usize| {
        let row = fitted.rows[place];
        // What is zero but for rounding is shown as zero.
        let range = row.quantiles[2] - row.quantiles[0];
        let clear = |number: f64| {
            if number.abs() < 1e-12 * range {
                0.0
            } else {
                number
            }
        };
        let numbers = [row.mean, row.sd]
            .into_iter()
            .chain(row.quantiles)
            .map(clear);
        let mut cells = vec![format!("{:width$}", name(place))];
        cells.extend(numbers.map(|number| significant(number, 4)));
        cells
    };
    let mut head = vec![format!("{:width$}", "name")];
    head.extend(["mean", "sd", "2.5%", "median", "97.5%"].map(String::from));
    let rows: Vec<Vec<String>> = shown.iter().map(|&place| cells(place)).collect();
    table(&head, &rows)
}
