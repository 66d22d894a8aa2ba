//! Densities, traces and ranks of exact draws, chain by chain.

use collapsar_text::count as words;
use serde_json::{Value, json};

use crate::chart;
use crate::page::{Figure, Part, Section, Table, cell};
use crate::safe;
use crate::saved::Chains;

use collapsar::elementary::Elementary;

/// Numbers that can be chosen.
const MOST: usize = 24;
/// Points of a trace, of each chain.
const POINTS: usize = 150;
/// Points of a density.
const GRID: usize = 80;
/// Bins of ranks.
const BINS: usize = 20;

/// Pictures of the draws of one number, which a list changes.
pub(crate) fn section(chains: &Chains) -> Option<Section> {
    let usable = |draws: &&Vec<Vec<f64>>| draws.iter().all(|chain| chain.len() > 3);
    if !chains.draws.iter().take(1).any(|draws| usable(&draws)) {
        return None;
    }
    let mut section = Section::new("draws", "Draws");
    let names: Vec<&String> = chains.names.iter().take(MOST).collect();
    section.push(Part::Choice {
        label: "Show".into(),
        names: safe::names(&names),
        charts: "density trace ranks".into(),
    });
    let alone = chains.draws[0].len() == 1;
    if chains.names.len() > MOST {
        section.text(format!(
            "The first {MOST} of {} numbers can be chosen; draws.csv has all.",
            chains.names.len()
        ));
    }
    let shown = &chains.draws[..names.len()];
    let count = shown[0].len();
    let each = shown[0][0].len();
    let choices = |of: fn(&[Vec<f64>]) -> Vec<Value>| -> Option<Vec<Value>> {
        Some(shown.iter().map(|draws| of(draws).into()).collect())
    };
    let chain = json!({"field": "chain", "type": "nominal", "title": "chain"});
    let rows = shown.iter().zip(&names).flat_map(|(draws, name)| {
        draws
            .iter()
            .zip(1..)
            .map(|(draws, chain): (&Vec<f64>, usize)| {
                let (mean, sd) = moments(draws);
                vec![safe::name(name), chain.to_string(), cell(mean), cell(sd)]
            })
    });
    section.push(Part::Figure(Figure {
        id: "density".into(),
        title: (if alone { "Density" } else { "Density of each chain" }).into(),
        label: format!("Density curves of {}", words(count, "chain")),
        caption: if alone {
            format!("Kernel density of {each} draws.")
        } else {
            format!("Kernel densities of {each} draws of each of {count} chains; where chains have mixed, curves agree.")
        },
        table: Some(Table::new("Means of chains", &["name", "chain", "mean", "sd"], rows, "draws.csv has all draws")),
        spec: density_spec("value", json!({"name": "table"}), alone),
        choices: choices(densities),
    }));
    if alone {
        // Independent draws have no order and nothing to agree with.
        return Some(section);
    }
    let every = each.div_ceil(POINTS);
    section.push(Part::Figure(Figure {
        id: "trace".into(),
        title: "Traces".into(),
        label: format!("Traces of {count} chains"),
        caption: match every {
            1 => "All draws, in their order.".to_owned(),
            every => format!("One draw in {every}, in their order."),
        },
        table: None,
        spec: chart::plain(
            220,
            json!({"name": "table"}),
            json!({"type": "line", "strokeWidth": 1}),
            json!({
                "x": {"field": "draw", "type": "quantitative", "scale": {"nice": false}},
                "y": {"field": "value", "type": "quantitative", "scale": {"zero": false}},
                "color": chain,
            }),
        ),
        choices: choices(traces),
    }));
    section.push(Part::Figure(Figure {
        id: "ranks".into(),
        title: "Ranks".into(),
        label: format!("Counts of the ranks of draws of {count} chains"),
        caption: "How often the draws of a chain have ranks in each twentieth of all draws: level where chains have mixed.".into(),
        table: None,
        spec: chart::plain(
            220,
            json!({"name": "table"}),
            json!({"type": "line", "interpolate": "step-after"}),
            json!({
                "x": {"field": "rank", "type": "quantitative", "title": "rank among all draws", "scale": {"nice": false}},
                "y": {"field": "count", "type": "quantitative", "scale": {"zero": true}},
                "color": chain,
            }),
        ),
        choices: choices(ranks),
    }));
    Some(section)
}

/// The density of one number, for each chain.
pub(crate) fn density(name: &str, chains: &[Vec<f64>]) -> Figure {
    let title = safe::name(name);
    Figure {
        id: "density".into(),
        label: format!("Density of {title}"),
        caption: String::new(),
        table: None,
        spec: density_spec(&title, chart::values(densities(chains)), chains.len() == 1),
        choices: None,
        title,
    }
}

fn density_spec(axis: &str, data: Value, alone: bool) -> Value {
    let colour = if alone {
        json!({"value": chart::colour(0)})
    } else {
        json!({"field": "chain", "type": "nominal", "title": "chain"})
    };
    chart::plain(
        220,
        data,
        json!({"type": "line"}),
        json!({
            "x": {"field": "x", "type": "quantitative", "title": axis, "scale": {"zero": false}},
            "y": {"field": "density", "type": "quantitative", "axis": {"labels": false, "ticks": false}},
            "color": colour,
        }),
    )
}

/// Mean and standard deviation.
pub(crate) fn moments(draws: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    let squares: f64 = draws.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// Gaussian kernels of Silverman's width, over the range of all chains.
fn densities(chains: &[Vec<f64>]) -> Vec<Value> {
    let all = || chains.iter().flatten().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
        (l.min(x), h.max(x))
    });
    let mut values = vec![];
    for (place, draws) in chains.iter().enumerate() {
        values.extend(curve(draws, low, high).into_iter().map(|(x, density)| {
            json!({"chain": place + 1, "x": chart::rounded(x), "density": chart::rounded(density)})
        }));
    }
    values
}

/// The density of draws between two ends; nothing where they are all the same.
pub(crate) fn curve(draws: &[f64], low: f64, high: f64) -> Vec<(f64, f64)> {
    let (_, sd) = moments(draws);
    let mut sorted = draws.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartiles = (sorted[3 * sorted.len() / 4] - sorted[sorted.len() / 4]) / 1.34;
    let spread = if quartiles > 0.0 {
        sd.min(quartiles)
    } else {
        sd
    };
    let width = 0.9 * spread * (draws.len() as f64).powf_(-0.2);
    if width.is_nan() || width <= 0.0 {
        return vec![];
    }
    let density = |index: usize| {
        let x = low + (high - low) * index as f64 / (GRID - 1) as f64;
        let kernels = draws
            .iter()
            .map(|draw| (-0.5 * ((x - draw) / width).powi(2)).exp_());
        let sum: f64 = kernels.sum();
        let area = draws.len() as f64 * width * std::f64::consts::TAU.sqrt();
        (x, sum / area)
    };
    (0..GRID).map(density).collect()
}

fn traces(chains: &[Vec<f64>]) -> Vec<Value> {
    let mut values = vec![];
    for (place, draws) in chains.iter().enumerate() {
        for (draw, &value) in draws
            .iter()
            .enumerate()
            .step_by(draws.len().div_ceil(POINTS))
        {
            values.push(
                json!({"chain": place + 1, "draw": draw + 1, "value": chart::rounded(value)}),
            );
        }
    }
    values
}

fn ranks(chains: &[Vec<f64>]) -> Vec<Value> {
    let each = chains.iter().enumerate();
    let mut all: Vec<(f64, usize)> = each
        .flat_map(|(place, draws)| draws.iter().map(move |&x| (x, place)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = vec![[0_usize; BINS]; chains.len()];
    for (rank, (_, place)) in all.iter().enumerate() {
        counts[*place][rank * BINS / all.len()] += 1;
    }
    let mut values = vec![];
    for (place, counts) in counts.iter().enumerate() {
        for bin in 0..=BINS {
            // A step has an end.
            let count = counts[bin.min(BINS - 1)];
            values
                .push(json!({"chain": place + 1, "rank": bin * all.len() / BINS, "count": count}));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_integrates_to_one_and_ranks_add_up() {
        let draws: Vec<f64> = (0..400)
            .map(|i| (f64::from(i) * 0.618_034).fract())
            .collect();
        let chains = [draws.clone(), draws];
        let points: Vec<(f64, f64)> = densities(&chains)[..GRID]
            .iter()
            .map(|v| (v["x"].as_f64().unwrap(), v["density"].as_f64().unwrap()))
            .collect();
        let area: f64 = points
            .windows(2)
            .map(|w| (w[1].0 - w[0].0) * (w[0].1 + w[1].1) / 2.0)
            .sum();
        // What kernels put outside of the range is missing.
        assert!((0.9..1.01).contains(&area), "{area}");
        let counted: u64 = ranks(&chains)
            .chunks(BINS + 1)
            .flat_map(|bins| bins[..BINS].iter().map(|v| v["count"].as_u64().unwrap()))
            .sum();
        assert_eq!(counted, 800);
    }
}
