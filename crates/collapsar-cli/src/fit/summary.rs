//! What a fit prints: a page that a person can read.

use std::collections::BTreeMap;

use collapsar_bugs::{Prepared, Summary, UsedGrid};
use collapsar_run::fit::{ModelResult, ModelRun, Monitored, parted};
use collapsar_run::{Climbed, PosteriorKind};

use super::FitArgs;
use crate::check::list;
use crate::climb;
use crate::text::{count, significant, table};
use crate::verdict;

/// Most rows of the table that is printed.
const ROWS: usize = 40;

pub(crate) fn of(
    args: &FitArgs,
    run: &ModelRun,
    climbed: &Climbed,
    (monitored, result): (&Monitored, &ModelResult),
) -> String {
    let observed: Vec<&str> = run.observed.iter().map(|(name, _)| name.as_str()).collect();
    let observed = match run.data() {
        0 => "no data".to_owned(),
        data => format!(
            "{} in {}",
            count(data, "observed number"),
            observed.join(", ")
        ),
    };
    let parted = parted(&run.compiled).map(|parted| format!("{parted}\n"));
    let point = &climbed.best().point;
    let mut text = vec![format!(
        "{}: {observed}\n{}{}collapsed: {}; explicit: {}\n{}{}",
        run.source.name,
        grids(&run.prepared),
        enumerated(run),
        list(&run.class_names(point, true)),
        list(&run.class_names(point, false)),
        parted.unwrap_or_default(),
        climb::lines(climbed)
    )];
    text.extend(verdict::evidence(&result.signs, climbed.best().point.bound));
    let shown = shown(monitored);
    if !shown.is_empty() {
        text.push(format!("\n{}\n", table_of(monitored, &result.rows, &shown)));
    }
    let hidden = monitored.small.iter().filter(|small| **small).count() - shown.len();
    if hidden > 0 {
        text.push(format!("… and {hidden} more; --out writes all\n"));
    }
    if !monitored.left_out.is_empty() {
        let left_out = monitored.left_out.iter().map(|array| {
            let noun = if array.labels { "label" } else { "number" };
            format!("{} ({})", array.name, count(array.elements, noun))
        });
        let left_out: Vec<String> = left_out.collect();
        let left_out = left_out.join(", ");
        text.push(format!("not shown: {left_out}; --monitor shows them\n"));
    }
    text.push(format!(
        "{}\n",
        posterior(result, climbed.outcome.converged)
    ));
    text.push(climb::kept_in(args.out.as_deref()));
    text.concat()
}

/// Which numbers are known on a grid only, and how well: a line each.
pub(crate) fn grids(prepared: &Prepared) -> String {
    let told = prepared.grids().into_iter().map(|grid| {
        let UsedGrid { name, nodes, ends: (low, high), error } = grid;
        match error {
            None => format!("counts: {name} is summed from {low} to {high}\n"),
            Some(error) => {
                let (low, high) = (significant(low, 3), significant(high, 3));
                let error = if error < 1e-4 { "less than 1e-4".to_owned() } else { format!("{error:.0e}") };
                format!(
                    "grid: {name} is one of {nodes} values from {low} to {high}; with every other of them, means and sds change by {error} sd\n"
                )
            }
        }
    });
    told.collect()
}

/// What is enumerated, if anything: a line.
fn enumerated(run: &ModelRun) -> String {
    let Some(of) = &run.enumerated else {
        return String::new();
    };
    let arrays: Vec<String> = of.arrays.iter().map(|array| array.name.clone()).collect();
    let fits = count(of.states.len(), "state");
    format!("enumerated: {} (a fit for each of {fits})\n", list(&arrays))
}

/// Which posterior it is, and how far it may be trusted: a line each.
pub(crate) fn posterior(result: &ModelResult, converged: bool) -> String {
    let from = match result.draws {
        0 => String::new(),
        draws => format!("; what has no closed form is from {draws} draws"),
    };
    match result.kind {
        PosteriorKind::Exact => chains(result),
        kind => verdict::lines(kind, &result.signs, converged, &from),
    }
}

/// What chains say of themselves.
fn chains(result: &ModelResult) -> String {
    let Some((chains, _)) = &result.chains else {
        return String::new();
    };
    let draws = chains
        .chains
        .iter()
        .map(|chain| chain.first().map_or(0, Vec::len));
    let draws: usize = draws.sum();
    let constant = result.rows.iter().all(|row| row.sd == 0.0);
    let renamed = match chains.relabelled {
        Some(renamed) if renamed > 0 => {
            format!("states of labels renamed as in the fit: {renamed} of {draws} draws\n")
        }
        _ => String::new(),
    };
    let said = verdict::of_chains(&result.signs, draws, chains.chains.len(), constant);
    format!("{renamed}{said}")
}

/// The places of what is printed: where there is too much, the smallest arrays first.
fn shown(monitored: &Monitored) -> Vec<usize> {
    let array = |place: usize| monitored.quantities[place].element.array.as_str();
    let places = (0..monitored.small.len()).filter(|&place| monitored.small[place]);
    let mut places: Vec<usize> = places.collect();
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for &place in &places {
        *sizes.entry(array(place)).or_default() += 1;
    }
    places.sort_by_key(|&place| sizes[array(place)]);
    places.truncate(ROWS);
    places.sort_unstable();
    places
}

fn table_of(monitored: &Monitored, rows: &[Summary], shown: &[usize]) -> String {
    let cells = |&place: &usize| {
        let row = rows[place];
        // What is zero but for rounding is shown as zero.
        let [low, median, high] = row.quantiles;
        let tiny = 1e-12 * (high - low);
        let clear = |number: f64| if number.abs() < tiny { 0.0 } else { number };
        let numbers = [row.mean, row.sd, low, median, high];
        let mut cells = vec![monitored.quantities[place].to_string()];
        cells.extend(numbers.map(|number| significant(clear(number), 4)));
        cells
    };
    let head = ["name", "mean", "sd", "2.5%", "median", "97.5%"];
    table(1, &head, shown.iter().map(cells))
}
