//! The bound, with all constants, of responsibilities or labels that somebody else found.
//!
//! The statistics are made here, by plain loops and apart from the library's pass, so that a
//! peer's answer is not judged by the code that competes with it.

use collapsar::mixture::{Mixture, Settings};
use collapsar::{Collapsed, Potential};
use serde_json::{Value, json};

use crate::{Failure, Words, npy};

pub(crate) fn run(words: &Words) -> Result<Value, Failure> {
    words.known(&["components"])?;
    let components: usize = words.get("components", 20)?;
    let npy::Array { values, columns } = npy::read(words.place(0, "data file")?)?;
    let rows = values.len() / columns;
    let path = words.place(1, "responsibilities or labels")?;
    let responsibilities = if std::path::Path::new(path).extension() == Some("csv".as_ref()) {
        one_hot(&npy::read_labels(path)?, components)?
    } else {
        let read = npy::read(path)?;
        if read.columns != components {
            return Err(format!(
                "{path}: {} columns for {components} components",
                read.columns
            )
            .into());
        }
        read.values
    };
    if responsibilities.len() != rows * components {
        let found = responsibilities.len() / components;
        return Err(format!("{path}: {found} rows for {rows} rows of data").into());
    }
    let model = Mixture::new(&values, columns, &Settings::new(components))?;

    // What the library calls a datum's features: 1, y and the upper triangle of y y', in units in
    // which each column has mean 0 and variance 1.
    let units = units(&values, columns);
    let features = 1 + columns + columns * (columns + 1) / 2;
    let mut statistics = vec![0.0; components * features];
    let mut entropy = 0.0;
    let mut feature = Vec::with_capacity(features);
    for (row, r) in values
        .chunks_exact(columns)
        .zip(responsibilities.chunks_exact(components))
    {
        let y: Vec<f64> = row
            .iter()
            .zip(&units)
            .map(|(x, (mean, deviation))| (x - mean) / deviation)
            .collect();
        feature.clear();
        feature.push(1.0);
        feature.extend_from_slice(&y);
        for i in 0..columns {
            feature.extend(y[i..].iter().map(|x| x * y[i]));
        }
        for (&r, statistics) in r.iter().zip(statistics.chunks_exact_mut(features)) {
            if r > 0.0 {
                entropy -= r * r.ln();
                for (s, f) in statistics.iter_mut().zip(&feature) {
                    *s += r * f;
                }
            }
        }
    }
    // The collapsed bound of q(Z): its entropy, the collapsed blocks, the constants (maths §1.1).
    let mut messages = vec![0.0; statistics.len()];
    let posterior = model
        .posterior()
        .value_and_gradient(&statistics, &mut messages)?;
    let bound = entropy + posterior + model.constant();

    // One VBEM step on, through the library's own pass: never lower, and no higher than the
    // tolerance where the responsibilities are a fixed point.
    let local = model
        .local()
        .value_and_gradient(&messages, &mut statistics)?;
    let inner: f64 = messages.iter().zip(&statistics).map(|(m, t)| m * t).sum();
    let posterior = model
        .posterior()
        .value_and_gradient(&statistics, &mut messages)?;
    let next = local - inner + posterior + model.constant();
    Ok(json!({"bound": bound, "bound_after_vbem_step": next, "rows": rows}))
}

fn one_hot(labels: &[usize], components: usize) -> Result<Vec<f64>, Failure> {
    let mut responsibilities = vec![0.0; labels.len() * components];
    for (row, &label) in responsibilities.chunks_exact_mut(components).zip(labels) {
        *row.get_mut(label).ok_or("a label beyond the components")? = 1.0;
    }
    Ok(responsibilities)
}

/// Mean and standard deviation of each column.
fn units(values: &[f64], columns: usize) -> Vec<(f64, f64)> {
    let rows = (values.len() / columns) as f64;
    (0..columns)
        .map(|c| {
            let column = || values.iter().skip(c).step_by(columns);
            let mean = column().map(|x| x / rows).sum::<f64>();
            let variance = column()
                .map(|x| (x - mean) * (x - mean) / rows)
                .sum::<f64>();
            (mean, variance.sqrt())
        })
        .collect()
}
