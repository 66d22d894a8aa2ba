//! Short ways to write data, to compile a model and to climb it.
#![allow(dead_code)] // each test file uses some of these

use std::collections::BTreeMap;

use collapsar::graph::{Compiled, Demands, PosteriorMarginal, VariationalPosterior};
use collapsar::{Collapsed, Direction, Driver, Fit, Potential, Stop};
use collapsar_bugs::{Array, Data, Model, Origin, Prepared, Quantity};

/// Data from text: `N=3; y=1 2 NA; x[2,3]=1 2 3 4 5 6`, the last index running fastest.
pub(crate) fn data(text: &str) -> Data {
    let mut data = Data::default();
    for entry in text.split(';').map(str::trim).filter(|e| !e.is_empty()) {
        let (left, right) = entry.split_once('=').expect("name=numbers");
        let values: Vec<f64> = right
            .split_whitespace()
            .map(|word| match word {
                "NA" => f64::NAN,
                word => word.parse().expect("a number"),
            })
            .collect();
        let (name, dims) = match left.trim().split_once('[') {
            None => (left.trim(), vec![values.len()]),
            Some((name, dims)) => {
                let dims = dims.trim_end_matches(']').split(',');
                let dims = dims.map(|d| d.trim().parse().expect("a length"));
                (name, dims.collect())
            }
        };
        assert_eq!(dims.iter().product::<usize>(), values.len(), "{name}");
        data.arrays.insert(name.into(), Array { dims, values });
    }
    data
}

/// Puts a vector among data.
pub(crate) fn put(data: &mut Data, name: &str, dims: &[usize], values: &[f64]) {
    assert_eq!(dims.iter().product::<usize>(), values.len(), "{name}");
    let array = Array {
        dims: dims.to_vec(),
        values: values.to_vec(),
    };
    data.arrays.insert(name.into(), array);
}

/// A model with its data; panics with the diagnostic.
pub(crate) fn prepared(text: &str, data: Data) -> Prepared {
    let show =
        |d: collapsar_bugs::Diagnostic| -> Prepared { panic!("{}", d.render("m.bug", text)) };
    match Model::parse(text) {
        Ok(model) => model.with(data).unwrap_or_else(show),
        Err(diagnostic) => show(diagnostic),
    }
}

/// Compiled with the default choice.
pub(crate) fn compiled(text: &str, data: Data) -> Compiled {
    prepared(text, data)
        .compile(&Demands::default())
        .expect("a choice")
}

/// Demands by names, separated by spaces.
pub(crate) fn demands(collapse: &str, explicit: &str) -> Demands {
    let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    Demands {
        collapse: names(collapse),
        explicit: names(explicit),
    }
}

/// Climbs until gains are below `gain`.
pub(crate) fn climb(model: &Compiled, seed: u64, gain: f64) -> Fit {
    let start = model.start(seed).expect("a start");
    Driver::new(model, Direction::Auto)
        .stop(Stop::Gain(gain) | Stop::Passes(100_000))
        .run(start)
        .expect("a run")
}

/// The bound where nothing is explicit, or else where a climb from a start ends.
pub(crate) fn best_bound(model: &Compiled) -> f64 {
    if model.local().dim() == 0 {
        collapsar::laws::model::bound(model, &[]).expect("inside the domain")
    } else {
        climb(model, 1, 1e-13).point.bound
    }
}

/// Mean of a marginal; for states, of the state's number counted from 0.
pub(crate) fn mean(marginal: &PosteriorMarginal) -> f64 {
    match marginal {
        PosteriorMarginal::Closed(marginal) => marginal.mean(),
        PosteriorMarginal::Moments { mean, .. } => *mean,
        PosteriorMarginal::States(states) => {
            states.iter().enumerate().map(|(k, p)| k as f64 * p).sum()
        }
    }
}

/// PosteriorMarginals by name of all quantities that are not computed.
pub(crate) fn marginals(
    prepared: &Prepared,
    variational: &VariationalPosterior,
) -> BTreeMap<String, PosteriorMarginal> {
    let marginals = prepared.marginals(variational).expect("inside the domain");
    let mut rows = BTreeMap::new();
    variational
        .each_label(|variable, states| drop(rows.insert(variable, states.to_vec())))
        .expect("inside the domain");
    let quantities = prepared.quantities().expect("quantities");
    let marginal = |q: &Quantity| {
        let row = || match q.origin {
            Origin::Label(variable, _) => {
                rows.get(&variable).cloned().map(PosteriorMarginal::States)
            }
            _ => None,
        };
        Some((
            q.to_string(),
            prepared.marginal(q, &marginals).or_else(row)?,
        ))
    };
    quantities.iter().filter_map(marginal).collect()
}

/// Posterior means by name of all quantities that are not computed.
pub(crate) fn means(prepared: &Prepared, model: &Compiled, fit: &Fit) -> BTreeMap<String, f64> {
    let marginals = marginals(prepared, &model.variational_posterior(&fit.point));
    marginals
        .into_iter()
        .map(|(name, marginal)| (name, mean(&marginal)))
        .collect()
}
