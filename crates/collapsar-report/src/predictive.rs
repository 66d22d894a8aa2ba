//! Posterior predictive checks: data beside their replicates, where a model has them under names such as `y.rep`.

use std::collections::BTreeMap;

use collapsar_bugs::Array;
use collapsar_formats::read_data;
use collapsar_text::count;
use serde_json::{Value, json};

use crate::draws::{curve, moments};
use crate::page::{Figure, Part, Section, Table, cell};
use crate::saved::{Chains, Row, SavedRun};
use crate::{chart, safe};

/// What a replicate is called beyond the name of the data.
const ENDINGS: [&str; 8] = [
    ".rep", "_rep", ".pred", "_pred", ".new", "_new", ".sim", "_sim",
];
/// Data that are drawn at most.
const POINTS: usize = 400;
/// Replicated data sets whose densities are drawn.
const CURVES: usize = 20;

/// Data and what the model makes of them.
struct Check {
    name: String,
    /// The observed number and its replicate's row.
    pairs: Vec<(f64, Row)>,
}

pub(crate) fn section(run: &SavedRun, rows: &[Row], chains: Option<&Chains>) -> Section {
    let mut section = Section::new("predictive", "Predictive checks");
    if !rows.iter().any(|row| base(array(&row.name)).is_some()) {
        return section;
    }
    let data = match data(run) {
        Ok(data) => data,
        Err(why) => {
            section.text(format!("Data beside their replicates are left out: {why}."));
            return section;
        }
    };
    for (place, check) in checks(rows, &data).iter().enumerate() {
        section.push(Part::Figure(intervals(check, place)));
        if let Some(chains) = chains {
            let replicates = replicates(check, chains);
            if replicates.first().is_some_and(|one| one.len() > 3) {
                section.push(Part::Figure(densities(check, place, &replicates)));
            }
        }
    }
    section
}

fn array(name: &str) -> &str {
    name.split('[').next().unwrap_or_default()
}

/// Whether a number is called as one of a replicate is.
pub(crate) fn is_replicate(name: &str) -> bool {
    name.contains('[') && base(array(name)).is_some()
}

/// The name of the data that an array replicates.
fn base(name: &str) -> Option<&str> {
    let ended = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let begun = || {
        let beginnings = ["rep.", "rep_"];
        beginnings.iter().find_map(|begin| name.strip_prefix(begin))
    };
    ended.or_else(begun)
}

fn data(run: &SavedRun) -> Result<BTreeMap<String, Array>, String> {
    let mut files = vec![];
    for input in &run.run.inputs {
        files.push(run.input(input)?);
    }
    let data = read_data(&files).map_err(|error| safe::name(&error.to_string()))?;
    Ok(data.arrays)
}

/// Every array of rows that replicates data, with as many indices.
fn checks(rows: &[Row], data: &BTreeMap<String, Array>) -> Vec<Check> {
    let mut checks: Vec<Check> = vec![];
    for row in rows {
        let name = array(&row.name);
        let observed = base(name).and_then(|base| data.get(base));
        let observed = observed.and_then(|array| element(array, &row.name));
        let Some(observed) = observed.filter(|value| value.is_finite()) else {
            continue;
        };
        let pair = (observed, row.clone());
        match checks.iter_mut().find(|check| check.name == name) {
            Some(check) => check.pairs.push(pair),
            None => checks.push(Check {
                name: name.to_owned(),
                pairs: vec![pair],
            }),
        }
    }
    checks.retain(|check| check.pairs.len() > 1);
    checks
}

/// The number of data at the indices of a name such as `y.rep[1,2]`.
fn element(array: &Array, name: &str) -> Option<f64> {
    let (_, indices) = name.split_once('[')?;
    let indices: Option<Vec<usize>> = indices
        .strip_suffix(']')?
        .split(',')
        .map(|index| index.trim().parse().ok())
        .collect();
    let indices = indices.filter(|indices| indices.len() == array.dims.len())?;
    let mut place = 0;
    for (&index, &length) in indices.iter().zip(&array.dims) {
        if index == 0 || index > length {
            return None;
        }
        place = place * length + index - 1;
    }
    array.values.get(place).copied()
}

/// Observed numbers against the intervals of their replicates.
fn intervals(check: &Check, place: usize) -> Figure {
    let all = &check.pairs;
    let inside = |(observed, row): &&(f64, Row)| {
        let [low, _, high] = row.quantiles;
        (low..=high).contains(observed)
    };
    let within = all.iter().filter(inside).count();
    let every = all.len().div_ceil(POINTS);
    let values: Vec<Value> = all
        .iter()
        .step_by(every)
        .map(|pair| {
            let (observed, row) = pair;
            let [low, _, high] = row.quantiles;
            json!({
                "name": safe::name(&row.name), "observed": chart::rounded(*observed),
                "mean": chart::rounded(row.mean), "low": chart::rounded(low), "high": chart::rounded(high),
                "inside": if inside(&pair) { "inside" } else { "outside" },
            })
        })
        .collect();
    let (low, high) = range(all.iter().map(|(observed, _)| *observed));
    let axis = |field: &str, title: &str| json!({"field": field, "type": "quantitative", "title": title, "scale": {"zero": false}});
    let colour = json!({"field": "inside", "type": "nominal", "title": "of its interval", "sort": ["inside", "outside"]});
    let name = safe::name(&check.name);
    let rows = all.iter().map(|(observed, row)| {
        let [low, _, high] = row.quantiles;
        vec![
            safe::name(&row.name),
            cell(*observed),
            cell(row.mean),
            cell(low),
            cell(high),
        ]
    });
    let thinned = match every {
        1 => String::new(),
        every => format!(" One in {every} is drawn."),
    };
    Figure {
        id: format!("predictive-{place}"),
        title: format!("{name} beside the data"),
        label: format!("Observed numbers against 95% intervals of {name}"),
        caption: format!(
            "{within} of {} lie inside the 95% interval of their replicate; of a model that fits about 95% do. The line is where both are equal.{thinned}",
            count(all.len(), "observed number")
        ),
        table: Some(Table::new(
            "Observed numbers and replicates",
            &["name", "observed", "mean", "2.5%", "97.5%"],
            rows,
            "posterior.csv has all",
        )),
        spec: chart::layers(
            320,
            chart::values(values),
            json!([
                {"data": {"values": [{"a": chart::rounded(low)}, {"a": chart::rounded(high)}]},
                 "mark": {"type": "line", "color": "var(--soft)", "strokeDash": [4, 3]},
                 "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "a", "type": "quantitative"}}},
                {"mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.6},
                 "encoding": {"x": axis("observed", "observed"), "y": axis("low", "replicated"), "y2": {"field": "high"}, "color": colour}},
                {"mark": {"type": "point", "filled": true, "size": 32, "opacity": 0.9}, "encoding": {
                    "x": axis("observed", "observed"), "y": axis("mean", "replicated"), "color": colour,
                    "shape": colour, "tooltip": [{"field": "name"}, {"field": "observed"}, {"field": "low"}, {"field": "high"}]}},
            ]),
        ),
        choices: None,
    }
}

/// Replicated data sets, one for each draw.
fn replicates(check: &Check, chains: &Chains) -> Vec<Vec<f64>> {
    let place: BTreeMap<&str, usize> = (chains.names.iter().enumerate())
        .map(|(place, name)| (name.as_str(), place))
        .collect();
    let columns: Option<Vec<&Vec<Vec<f64>>>> = check
        .pairs
        .iter()
        .map(|(_, row)| place.get(row.name.as_str()).map(|&at| &chains.draws[at]))
        .collect();
    let Some(columns) = columns else {
        return vec![];
    };
    let lengths: Vec<usize> = columns
        .first()
        .map_or(vec![], |chains| chains.iter().map(Vec::len).collect());
    let draws = lengths
        .iter()
        .enumerate()
        .flat_map(|(chain, &length)| (0..length).map(move |draw| (chain, draw)));
    draws
        .map(|(chain, draw)| columns.iter().map(|of| of[chain][draw]).collect())
        .collect()
}

type Statistic = (&'static str, fn(&[f64]) -> f64);

const STATISTICS: [Statistic; 4] = [
    ("mean", |data| moments(data).0),
    ("sd", |data| moments(data).1),
    ("smallest", |data| range(data.iter().copied()).0),
    ("largest", |data| range(data.iter().copied()).1),
];

/// Densities of the data and of some of their replicates, with what statistics say of all replicates.
fn densities(check: &Check, place: usize, replicates: &[Vec<f64>]) -> Figure {
    let observed: Vec<f64> = check.pairs.iter().map(|(observed, _)| *observed).collect();
    let every = replicates.len().div_ceil(CURVES);
    let shown: Vec<&Vec<f64>> = replicates.iter().step_by(every).collect();
    let all = shown.iter().flat_map(|one| one.iter());
    let (low, high) = range(all.chain(&observed).copied());
    let mut values: Vec<Value> = vec![];
    let sets = shown.iter().map(|one| one.as_slice());
    let sets = sets
        .map(|set| (set, "replicates"))
        .chain([(observed.as_slice(), "data")]);
    for (number, (set, kind)) in sets.enumerate() {
        values.extend(curve(set, low, high).into_iter().map(|(x, density)| {
            json!({"x": chart::rounded(x), "density": chart::rounded(density), "set": number, "of": kind})
        }));
    }
    let rows = STATISTICS.iter().map(|(name, of)| {
        let at = of(&observed);
        let mut drawn: Vec<f64> = replicates.iter().map(|one| of(one)).collect();
        drawn.sort_by(f64::total_cmp);
        let quantile = |p: f64| drawn[((drawn.len() - 1) as f64 * p).round() as usize];
        let above = drawn.iter().filter(|&&value| value >= at).count();
        vec![
            (*name).to_owned(),
            cell(at),
            cell(quantile(0.025)),
            cell(quantile(0.975)),
            format!("{:.3}", above as f64 / drawn.len() as f64),
        ]
    });
    let name = safe::name(&check.name);
    let colour =
        json!({"field": "of", "type": "nominal", "title": null, "sort": ["data", "replicates"]});
    Figure {
        id: format!("replicates-{place}"),
        title: format!("Densities of the data and of {name}"),
        label: format!(
            "Density of the data over those of {} replicates",
            shown.len()
        ),
        caption: format!(
            "The data and {} of {} replicated data sets, one a draw. The table has statistics of the data, the interval that holds them in 95% of the replicates, and how often a replicate has as much: near 0 or 1 the model does not make data like these.",
            shown.len(),
            replicates.len()
        ),
        table: Some(Table::new(
            "Statistics of data and replicates",
            &["statistic", "data", "2.5%", "97.5%", "P(replicate ≥ data)"],
            rows,
            "all are here",
        )),
        spec: chart::plain(
            240,
            chart::values(values),
            json!({"type": "line"}),
            json!({
                "x": {"field": "x", "type": "quantitative", "title": "value", "scale": {"zero": false}},
                "y": {"field": "density", "type": "quantitative", "axis": {"labels": false, "ticks": false}},
                "detail": {"field": "set"},
                "color": colour,
                "strokeWidth": {"condition": {"test": "datum.of === 'data'", "value": 3}, "value": 1},
                "opacity": {"condition": {"test": "datum.of === 'data'", "value": 1}, "value": 0.45},
            }),
        ),
        choices: None,
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicates_find_their_data() {
        let array = Array {
            dims: vec![2, 3],
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN],
        };
        assert_eq!(element(&array, "y.rep[2,1]"), Some(4.0));
        assert_eq!(element(&array, "y.rep[3,1]"), None);
        assert_eq!(element(&array, "y.rep[1]"), None);
        let row = |name: &str| Row {
            name: name.to_owned(),
            mean: 0.0,
            sd: 1.0,
            quantiles: [-1.0, 0.0, 3.5],
            r_hat: None,
            ess: None,
        };
        let rows = ["y.rep[1,1]", "y.rep[2,2]", "y.rep[2,3]", "z_rep[1]", "mu"].map(row);
        let found = checks(&rows, &BTreeMap::from([("y".to_owned(), array)]));
        // What was not observed has nothing to be compared with.
        assert_eq!(found.len(), 1);
        let observed: Vec<f64> = found[0]
            .pairs
            .iter()
            .map(|(observed, _)| *observed)
            .collect();
        assert_eq!(observed, [1.0, 5.0]);
        assert!(
            intervals(&found[0], 0)
                .caption
                .starts_with("1 of 2 observed numbers lie inside")
        );
    }
}
