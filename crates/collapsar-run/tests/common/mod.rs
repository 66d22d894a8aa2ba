//! Short ways to prepare a model, to climb it and to ask for its posterior.
#![allow(dead_code)] // each test file uses some of these

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collapsar_bugs::{Array, Data, Quantity, Selection, Summary};
use collapsar_run::fit::{ModelRequest, ModelResult, ModelRun, ModelSource};
use collapsar_run::{ClimbOptions, Climbed, Watch};

pub(crate) struct Nobody(AtomicBool);

impl Watch for Nobody {
    fn interrupt(&self) -> &AtomicBool {
        &self.0
    }
}

pub(crate) fn nobody() -> Nobody {
    Nobody(AtomicBool::new(false))
}

pub(crate) fn array(dims: &[usize], values: &[f64]) -> Array {
    Array {
        dims: dims.to_vec(),
        values: values.to_vec(),
    }
}

pub(crate) fn data<const N: usize>(arrays: [(&str, Array); N]) -> Data {
    let mut data = Data::default();
    for (name, array) in arrays {
        data.arrays.insert(name.into(), array);
    }
    data
}

pub(crate) fn prepare(text: &str, data: Data, request: ModelRequest) -> ModelRun {
    let source = ModelSource::new("m.bug".into(), text.into()).expect("a model");
    let prepared = source.with(data).expect("data");
    request.prepare(Arc::new(source), prepared).expect("a run")
}

pub(crate) fn seeded(seed: u64) -> ModelRequest {
    ModelRequest {
        climb: ClimbOptions {
            seed,
            ..ClimbOptions::default()
        },
        ..ModelRequest::default()
    }
}

pub(crate) fn fit(run: &ModelRun) -> Climbed {
    let climbed = run.climb(&nobody()).expect("a climb");
    assert!(climbed.outcome.converged, "{:?}", climbed.outcome);
    climbed
}

pub(crate) fn result(run: &ModelRun, climbed: &Climbed, quantities: &[Quantity]) -> ModelResult {
    let interrupt = AtomicBool::new(false);
    let found = run.result(&climbed.best().point, quantities, &interrupt);
    found.expect("a result").expect("no interruption")
}

/// The summary of one number.
pub(crate) fn of(run: &ModelRun, climbed: &Climbed, name: &str) -> Summary {
    let monitored = run.monitor(&[Selection::from(name)]).expect("a number");
    result(run, climbed, &monitored.quantities).rows[0]
}
