//! `collapsar fit`: fits any conjugate model in the BUGS language.
//!
//! - `source`: the model's file and its data, read
//! - `args`: the flags as typed
//! - `chosen`: which numbers are told of
//! - `results`: the files of a fit
//! - `summary`: what is printed

mod args;
mod chosen;
mod results;
pub(crate) mod source;
mod summary;

use std::io::Write;
use std::process::ExitCode;

use collapsar::graph::{Answer, Compiled, Kind};
use collapsar::{Collapsed, Potential};
use collapsar_bugs::{Posterior, Prepared, Summary};
use collapsar_formats::{prepare_folder, read_data};

use crate::climb::{Ascent, Ended, Plan, each};
use crate::common::Common;
pub(crate) use args::FitArgs;
use chosen::Chosen;
use source::Source;

/// A fit and what is told of it.
struct Fitted<'a> {
    args: &'a FitArgs,
    source: &'a Source,
    prepared: &'a Prepared,
    compiled: &'a Compiled,
    answer: Answer<'a>,
    ended: &'a Ended,
    /// Observed arrays, and how many numbers of each are.
    observed: Vec<(String, usize)>,
    chosen: Chosen,
    /// What is said of each number that was chosen.
    rows: Vec<Summary>,
    /// Draws that it took.
    draws: usize,
}

impl Fitted<'_> {
    fn data(&self) -> usize {
        total(&self.observed)
    }

    fn messages(&self) -> usize {
        self.compiled.local().dim()
    }

    fn posterior(&self) -> Posterior<'_> {
        Posterior {
            prepared: self.prepared,
            answer: &self.answer,
            seed: self.args.climb.seed,
        }
    }
}

fn total(observed: &[(String, usize)]) -> usize {
    observed.iter().map(|(_, count)| count).sum()
}

pub(crate) fn run(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.check()?;
    let source = Source::read(&args.source.model, common)?;
    let data = read_data(&args.source.data)?;
    let prepared = source.with(data, common)?;
    let observed = prepared.observed();
    let compiled = source.compile(&prepared, &args.source)?;
    let chosen = Chosen::of(&prepared, &source, &args.monitor())?;
    let plan = Plan::resolve(&args.climb, args.tolerance(total(&observed)))?;
    plan.prepare()?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    if let Some(folder) = &args.out {
        prepare_folder(folder)?;
    }
    let (ended, ()) = each(
        &plan,
        common,
        &[1],
        |run, _| {
            let climbs = run.climbs(&Ascent {
                model: &compiled,
                name: source.name.clone(),
                start: &|seed| Ok((compiled.start(seed)?, 0)),
                jumps: None,
                watch: None,
                ended: None,
                in_turn: false,
            })?;
            Ok((climbs, ()))
        },
        |climbs, ()| climbs.restarts.best().point.bound,
    )?;
    if ended.is_nothing() {
        return Ok(Ended::nothing(common));
    }
    let mut fitted = Fitted {
        args,
        source: &source,
        prepared: &prepared,
        compiled: &compiled,
        answer: compiled.answer(&ended.best().point),
        ended: &ended,
        observed,
        chosen,
        rows: vec![],
        draws: 0,
    };
    let told = fitted.posterior().summaries(&fitted.chosen.quantities);
    (fitted.rows, fitted.draws) = told.map_err(|refusal| source.no_answer(refusal))?;
    if let Some(folder) = &args.out {
        results::write(folder, &fitted)?;
    }
    ended.warn(common);
    let mut declared = prepared.graph().declared().iter();
    let labels = declared.any(|declared| matches!(declared.kind, Kind::Label(_)));
    if labels && args.climb.restarts == 1 && compiled.local().dim() > 0 {
        common.say(
            "labels have several optima: --restarts 10 climbs from more starts and keeps the best",
        );
    }
    std::io::stdout().write_all(summary::of(&fitted).as_bytes())?;
    Ok(ended.exit(&args.climb))
}
