//! What a fit prints: a page that a person can read.

use collapsar::mixture::Component;
use collapsar_run::mixture::{
    CategoryNames, ClassNames, MixturePosterior, MixtureResult, MixtureRows, StoredRows, USED,
};
use collapsar_run::name_of;

use super::args::FitArgs;
use crate::climb;
use crate::common::{COLUMNS, is_seen};
use crate::fit::verdict;
use crate::text::{count, measured, short, table};
use crate::verdict::without_exact;

/// The table of components shows as many columns of the data as fit into this many characters, and into those of a
/// terminal where a person sees them.
const WIDTH: usize = 100;

pub(crate) fn of(
    args: &FitArgs,
    rows: &MixtureRows,
    result: &MixtureResult,
    posterior: &MixturePosterior,
) -> String {
    let columns = rows.columns();
    let mut text = vec![format!(
        "{}: {}, {}\n",
        name_of(args.data()),
        count(rows.rows(), "row"),
        count(
            columns.len() + rows.categories().map_or(0, |of| of.columns.len()),
            "column"
        )
    )];
    if let Some(categories) = rows.categories() {
        text.push(categorical(&categories.names));
    }
    let (total, labels) = match rows {
        MixtureRows::Memory {
            weights, labels, ..
        } => (weights.as_ref().map(|of| of.iter().sum()), labels.as_ref()),
        MixtureRows::File(file) => (
            (file.stored.is_weighted()).then(|| result.model.total()),
            None,
        ),
    };
    if let MixtureRows::File(file) = rows {
        text.push(read_from(file));
    }
    if let Some(total) = total {
        let total = short(total);
        text.push(format!(
            "rows count by their weights, which add up to {total}\n"
        ));
    }
    if let Some(labels) = labels {
        let (known, classes) = (labels.known(), labels.names.len());
        let verb = if known == 1 { "has" } else { "have" };
        let (known, classes) = (count(known, "row"), count(classes, "class"));
        text.push(format!("{known} {verb} a label, of {classes}\n"));
    }
    let names = ClassNames(labels.map_or(&[], |labels| &labels.names));
    let gaps = result.model.gaps();
    if gaps.any() {
        let (values, rows) = (count(gaps.values, "value"), count(gaps.rows, "row"));
        let verb = if gaps.values == 1 { "is" } else { "are" };
        let empty = match gaps.empty {
            0 => String::new(),
            1 => "; 1 of them has no value, and says nothing".to_owned(),
            some => format!("; {some} of them have no value, and say nothing"),
        };
        text.push(format!("{values} {verb} missing in {rows}{empty}\n"));
    }
    if result.compared.len() > 1 {
        text.push(format!("\n{}\n", comparison(result)));
    }
    text.push(climb::lines(&result.climbed));
    let all = &posterior.fit.components;
    let mut used: Vec<(usize, &Component)> = all.iter().enumerate().collect();
    used.retain(|(_, component)| component.count >= USED);
    used.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight));
    let (in_use, offered) = (used.len(), all.len());
    text.push(format!("{in_use} of {offered} components in use\n\n"));
    let most = if is_seen() { COLUMNS } else { WIDTH };
    let categories = rows.categories().map_or(&[][..], |of| &of.names);
    let all = columns.len() + categories.len();
    let fits = |shown: usize| {
        let numbers = shown.min(columns.len());
        let columns = (&columns[..numbers], &categories[..shown - numbers]);
        components(&used, names, columns)
    };
    let shown = (1..=all.min(8))
        .rev()
        .find(|&shown| shown == 1 || width(&fits(shown)) <= most)
        .unwrap_or(1);
    text.push(fits(shown));
    let hidden = match all - shown {
        0 => String::new(),
        hidden => format!("; {} not shown", count(hidden, "column")),
    };
    let numbers = if columns.is_empty() {
        ""
    } else {
        "posterior mean ± its uncertainty [spread of the rows]"
    };
    let levels = match (columns.is_empty(), categories.is_empty()) {
        (_, true) => "",
        (true, _) => "the likeliest level and its probability",
        (false, _) => ", or the likeliest level and its probability",
    };
    text.push(format!("\ncolumns: {numbers}{levels}{hidden}\n"));
    if let Some(refused) = &posterior.refused {
        text.push(format!("mean field is all there is: {refused}\n"));
    }
    if let Some(draws) = &posterior.draws {
        let all = draws.chains() * draws.draws();
        let moved = draws.relabelled;
        text.push(format!(
            "components of {moved} of {all} draws had other places, and were matched to the fit's\n"
        ));
    }
    let converged = result.climbed.outcome.converged;
    let verdict = verdict(&posterior.result, converged);
    let verdict = if categories.is_empty() {
        verdict
    } else {
        without_exact(&verdict)
    };
    text.push(format!("{verdict}\n"));
    text.push(climb::kept_in(args.out.as_deref()));
    text.concat()
}

/// Where rows were that did not fit in memory, and what passes waited for.
fn read_from(file: &StoredRows) -> String {
    let stored = &file.stored;
    climb::read_from("rows", file.memory, stored.pass_bytes(), stored.reading())
}

fn width(table: &str) -> usize {
    let widths = table.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

fn comparison(result: &MixtureResult) -> String {
    let head = ["components", "bound", "to the best", "in use", "passes", ""];
    let highest = result.climbed.best().point.bound;
    let rows = result.compared.iter().map(|line| {
        vec![
            line.components.to_string(),
            format!("{:.3}", line.bound),
            format!("{:.3}", line.bound - highest),
            line.used.to_string(),
            line.passes.to_string(),
            climb::mark(line.bound == highest, line.converged),
        ]
    });
    table(0, &head, rows)
}

/// Which columns are categorical.
fn categorical(names: &[CategoryNames]) -> String {
    /// Columns that are named.
    const NAMED: usize = 6;
    let each = names.iter().take(NAMED).map(|of| {
        let levels = of.levels.len();
        format!("{} ({})", of.name, count(levels, "level"))
    });
    let mut each: Vec<String> = each.collect();
    if names.len() > NAMED {
        each.push(format!("{} more", names.len() - NAMED));
    }
    let columns = count(names.len(), "categorical column");
    format!("{columns}: {}\n", each.join(", "))
}

/// The components in use, the heaviest first.
fn components(
    used: &[(usize, &Component)],
    names: ClassNames<'_>,
    (columns, categories): (&[String], &[CategoryNames]),
) -> String {
    let mut head = vec!["component", "weight", "rows"];
    head.extend(columns.iter().map(String::as_str));
    head.extend(categories.iter().map(|of| of.name.as_str()));
    let rows = used.iter().map(|(label, component)| {
        let mut cells = vec![
            names.of(*label),
            measured(component.weight, Some(component.weight_sd)),
            format!("{:.1}", component.count),
        ];
        cells.extend((0..columns.len()).map(|d| {
            let sd = component.mean_sd.as_ref().map(|sds| sds[d]);
            let spread = component.covariance.variance(d).sqrt();
            format!("{} [{}]", measured(component.mean[d], sd), short(spread))
        }));
        cells.extend(
            categories
                .iter()
                .zip(&component.levels)
                .map(|(of, levels)| {
                    let (level, probability) = levels.likeliest();
                    let sd = levels.sds.get(level).copied();
                    format!("{} {}", of.levels[level], measured(probability, sd))
                }),
        );
        cells
    });
    table(0, &head, rows)
}
