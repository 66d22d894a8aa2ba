//! Rows on a plane with an ellipse for each component, or components alone.

use collapsar::elementary::Elementary;
use collapsar::mixture::{Component, Matrix};
use collapsar_run::mixture::ClassNames;
use collapsar_text::thousands;
use serde_json::{Value, json};

use super::{COMPONENTS, Used, component_table};
use crate::fit::percent;
use crate::page::Figure;
use crate::plane::{Plane, entry_of};
use crate::{chart, safe};

/// Rows that are drawn, about.
const ROWS: usize = 1500;

/// Rows on a plane with an ellipse for each component; a histogram where there is one column.
pub(crate) fn cloud(
    values: &[f64],
    label: &dyn Fn(usize) -> usize,
    columns: &[String],
    used: &[Used],
) -> Figure {
    let width = columns.len().max(1);
    let rows = values.len() / width;
    let picked: Vec<usize> = (0..rows).filter(|&row| is_picked(row, rows)).collect();
    let of = |row: usize| &values[row * width..(row + 1) * width];
    let shown = &used[..used.len().min(COMPONENTS)];
    let component = |k: usize| {
        if shown.iter().any(|(of, _)| *of == k) {
            k.to_string()
        } else {
            "other".to_owned()
        }
    };
    let sampled = match picked.len() {
        all if all == rows => format!("All {} rows", thousands(all)),
        some => format!(
            "A random sample of {} of {} rows",
            thousands(some),
            thousands(rows)
        ),
    };
    let (order, colour) = colours(shown);
    let Some(plane) = Plane::of(values, width) else {
        return histogram(values, label, &colour, columns, used);
    };
    let mut points: Vec<Value> = vec![];
    for &row in &picked {
        let [x, y] = plane.project(of(row));
        points.push(json!({
            "x": chart::rounded(x), "y": chart::rounded(y), "row": row + 1, "component": component(label(row)),
        }));
    }
    let curves = ellipses(&plane, shown);
    let [x, y] = axes(&plane, columns);
    let spec = chart::layers(
        440,
        json!({"values": []}),
        json!([
            {"data": {"values": points}, "mark": {"type": "point", "filled": true, "size": 22, "opacity": 0.6},
             "encoding": {"x": x, "y": y, "color": colour,
                "shape": {"field": "component", "type": "nominal", "sort": order, "title": "component"},
                "tooltip": [{"field": "row", "type": "quantitative"}, {"field": "component", "type": "nominal"}]}},
            outlines(&curves, [&x, &y], &colour),
            numbers(&plane, shown, [&x, &y]),
        ]),
    );
    let plane_words = words_of(&plane);
    Figure {
        id: "rows-plane".into(),
        title: String::new(),
        label: format!(
            "Scatter of rows in {} components with their ellipses",
            used.len()
        ),
        caption: format!(
            "{sampled}{plane_words}, by their most probable component. Lines hold 95% of a component's rows, dashed ones its mean with a probability of 95%; numbers stand at the means."
        ),
        table: Some(component_table(columns, ClassNames(&[]), used)),
        spec,
        choices: None,
    }
}

/// The numbers of components in the order of their colours, and the colours.
fn colours(shown: &[Used]) -> (Vec<String>, Value) {
    let order: Vec<String> = shown.iter().map(|(k, _)| k.to_string()).collect();
    let colour =
        json!({"field": "component", "type": "nominal", "sort": order, "title": "component"});
    (order, colour)
}

/// The components' numbers where their means are: colours repeat, and not all readers or prints tell them apart.
fn numbers(plane: &Plane, shown: &[Used], [x, y]: [&Value; 2]) -> Value {
    let places = shown.iter().map(|(k, component)| {
        let [x, y] = plane.project(&component.mean);
        json!({"x": chart::rounded(x), "y": chart::rounded(y), "component": k.to_string()})
    });
    json!({
        "data": {"values": places.collect::<Vec<_>>()},
        "mark": {"type": "text", "fontSize": 14, "fontWeight": "bold", "dy": -1},
        "encoding": {"x": x, "y": y, "text": {"field": "component", "type": "nominal"}},
    })
}

/// Where 95% of a component's rows are, and its mean.
fn ellipses(plane: &Plane, shown: &[Used]) -> Vec<Value> {
    let mut curves: Vec<Value> = vec![];
    for (k, component) in shown {
        let curve = plane.ellipse(&component.mean, &component.covariance, 48);
        curves.extend(curve.iter().enumerate().map(|(at, [x, y])| {
            json!({"x": chart::rounded(*x), "y": chart::rounded(*y), "at": at, "component": k.to_string(), "of": "component"})
        }));
        let Some(uncertainty) = mean_covariance(component) else {
            continue;
        };
        let curve = plane.ellipse(&component.mean, &uncertainty, 32);
        curves.extend(curve.iter().enumerate().map(|(at, [x, y])| {
            json!({"x": chart::rounded(*x), "y": chart::rounded(*y), "at": at, "component": k.to_string(), "of": "mean"})
        }));
    }
    curves
}

fn outlines(curves: &[Value], [x, y]: [&Value; 2], colour: &Value) -> Value {
    json!({
        "data": {"values": curves}, "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": x, "y": y, "color": colour, "order": {"field": "at", "type": "quantitative"}, "detail": {"field": "of"},
            "strokeDash": {"condition": {"test": "datum.of === 'mean'", "value": [3, 2]}, "value": []},
        },
    })
}

fn axes(plane: &Plane, columns: &[String]) -> [Value; 2] {
    let titles = if plane.own {
        [safe::name(&columns[0]), safe::name(&columns[1])]
    } else {
        [
            "first principal direction".to_owned(),
            "second principal direction".to_owned(),
        ]
    };
    let axis = |field: &str, title: &str| json!({"field": field, "type": "quantitative", "title": title, "scale": {"zero": false}});
    [axis("x", &titles[0]), axis("y", &titles[1])]
}

fn words_of(plane: &Plane) -> String {
    if plane.own {
        String::new()
    } else {
        format!(
            ", on the plane that shows {} of the variance of the standardised columns",
            percent(plane.share)
        )
    }
}

/// Components without rows: ellipses on a plane, or densities where there is one column.
pub(crate) fn components(columns: &[String], used: &[Used]) -> Figure {
    let shown = &used[..used.len().min(COMPONENTS)];
    let (_, colour) = colours(shown);
    let gaussians: Vec<_> = shown
        .iter()
        .map(|(_, c)| (c.weight, c.mean.as_slice(), &c.covariance))
        .collect();
    let Some(plane) = Plane::of_gaussians(&gaussians) else {
        return densities(&columns[0], shown, &colour);
    };
    let [x, y] = axes(&plane, columns);
    Figure {
        id: "components-plane".into(),
        title: String::new(),
        label: format!("Ellipses of {} components", used.len()),
        caption: format!(
            "Components{}. Lines hold 95% of a component's rows, dashed ones its mean with a probability of 95%; numbers stand at the means.",
            words_of(&plane)
        ),
        table: Some(component_table(columns, ClassNames(&[]), used)),
        spec: chart::layers(
            440,
            json!({"values": []}),
            json!([
                outlines(&ellipses(&plane, shown), [&x, &y], &colour),
                numbers(&plane, shown, [&x, &y]),
            ]),
        ),
        choices: None,
    }
}

/// The densities of components of one column, times their weights.
fn densities(column: &str, shown: &[Used], colour: &Value) -> Figure {
    const POINTS: i32 = 40;
    let mut values: Vec<Value> = vec![];
    for (k, component) in shown {
        let deviation = component.covariance.variance(0).sqrt();
        let highest = component.weight / (deviation * std::f64::consts::TAU.sqrt());
        values.extend((-POINTS..=POINTS).map(|point| {
            let z = 4.0 * f64::from(point) / f64::from(POINTS);
            json!({
                "x": chart::rounded(component.mean[0] + z * deviation),
                "density": chart::rounded(highest * (-0.5 * z * z).exp_()), "component": k.to_string(),
            })
        }));
    }
    Figure {
        id: "components-density".into(),
        title: String::new(),
        label: format!("Densities of {} components", shown.len()),
        caption: "The density of each component, times its weight.".into(),
        table: None,
        spec: chart::plain(
            320,
            chart::values(values),
            json!({"type": "line", "strokeWidth": 2}),
            json!({
                "x": {"field": "x", "type": "quantitative", "title": safe::name(column), "scale": {"zero": false}},
                "y": {"field": "density", "type": "quantitative"},
                "color": colour,
            }),
        ),
        choices: None,
    }
}

/// How uncertain a component's mean is: its deviations, with the correlations that its rows have.
fn mean_covariance(component: &Component) -> Option<Matrix> {
    let sds = component.mean_sd.as_ref()?;
    let width = sds.len();
    let rows = &component.covariance;
    let deviation = |d: usize| rows.variance(d).sqrt();
    let entry = |i: usize, j: usize| {
        let correlation = entry_of(rows, i, j) / (deviation(i) * deviation(j));
        sds[i] * sds[j] * correlation
    };
    let square: Vec<Vec<f64>> = (0..width)
        .map(|i| (0..width).map(|j| entry(i, j)).collect())
        .collect();
    let finite = square.iter().flatten().all(|x| x.is_finite());
    finite.then_some(Matrix::Full(square))
}

/// Rows of one column: counts by component.
fn histogram(
    values: &[f64],
    label: &dyn Fn(usize) -> usize,
    colour: &Value,
    columns: &[String],
    used: &[Used],
) -> Figure {
    const BINS: usize = 40;
    let all = || values.iter().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
        (l.min(x), h.max(x))
    });
    let wide = ((high - low) / BINS as f64).max(f64::MIN_POSITIVE);
    let mut counts = std::collections::BTreeMap::new();
    for (row, value) in all().enumerate() {
        let bin = (((value - low) / wide) as usize).min(BINS - 1);
        *counts.entry((bin, label(row))).or_insert(0_usize) += 1;
    }
    let bars: Vec<Value> = counts
        .iter()
        .map(|((bin, k), count)| {
            let from = low + wide * *bin as f64;
            json!({"from": chart::rounded(from), "to": chart::rounded(from + wide), "component": k.to_string(), "rows": count})
        })
        .collect();
    Figure {
        id: "rows-histogram".into(),
        title: String::new(),
        label: "Histogram of rows by component".into(),
        caption: format!(
            "All {} rows in {BINS} bins, by their most probable component.",
            thousands(values.len())
        ),
        table: Some(component_table(columns, ClassNames(&[]), used)),
        spec: chart::plain(
            320,
            chart::values(bars),
            json!({"type": "bar"}),
            json!({
                "x": {"field": "from", "type": "quantitative", "bin": {"binned": true}, "title": safe::name(&columns[0]), "scale": {"zero": false}},
                "x2": {"field": "to"},
                "y": {"field": "rows", "type": "quantitative", "stack": "zero"},
                "color": colour,
            }),
        ),
        choices: None,
    }
}

/// Whether a row is in the sample: by its number alone, so that the same rows are drawn every time.
fn is_picked(row: usize, rows: usize) -> bool {
    // The finaliser of splitmix64, whose values are as good as random.
    let mut z = (row as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    rows <= ROWS || (z as f64 / u64::MAX as f64) < ROWS as f64 / rows as f64
}
