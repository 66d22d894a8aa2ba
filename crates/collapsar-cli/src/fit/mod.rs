//! `collapsar fit`: fits any conjugate model in the BUGS language.
//!
//! - `args`: the flags as typed; `check` has those of a model and its data too
//! - `summary`: what is printed

mod args;
mod summary;

use std::process::ExitCode;
use std::sync::Arc;

use collapsar_formats::read_data;
use collapsar_run::fit::ModelSource;
use collapsar_run::{RunFolder, Witness};

use crate::chains::Chains;
use crate::climb::{self, Bar};
use crate::common::{Common, command, print};
pub(crate) use args::{FitArgs, SourceArgs, with};
pub(crate) use summary::{grids, posterior as verdict};

pub(crate) fn run(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.source.check(&args.inits)?;
    args.page.check(args.out.as_deref())?;
    let request = args.request()?;
    let witness = Witness::of(request.inputs());
    let source = ModelSource::read(&args.source.model)?;
    let prepared = with(&source, read_data(&args.source.data)?, common)?;
    let run = request.prepare(Arc::new(source), prepared)?;
    for idle in &run.idle_inits {
        common.warn(idle);
    }
    let monitored = run.monitor(&run.request.monitor)?;
    run.check_lines(&monitored.quantities)?;
    // Before the fit: a long run must not end in a refusal. After the data: bad input leaves no folder.
    let folder = RunFolder::asked(args.out.as_deref(), witness)?;
    let climbed = run.climb(&Bar::new(common, run.starts()))?;
    if climbed.is_nothing() {
        return Ok(climb::nothing(common));
    }
    let result = run.result(
        &climbed.best().point,
        &monitored.quantities,
        &Chains::new(common),
    )?;
    let Some(result) = result else {
        return Ok(climb::nothing(common));
    };
    if let Some(folder) = folder {
        run.write(folder, &climbed, &monitored, &result, command())?;
        args.page.write(args.out.as_deref(), common)?;
    }
    climb::warn(&climbed, common);
    if let Some(interrupted) = result.interrupted() {
        common.warn(&interrupted);
    }
    if !result.mixed() {
        common.warn("the chains have not mixed: try more --draws");
    }
    if let Some(few) = climb::few(&climbed.climbs.spread()) {
        common.say(&few);
    }
    let summary = summary::of(args, &run, &climbed, (&monitored, &result));
    print(&summary)?;
    let mut outcome = climbed.outcome.clone();
    outcome.converged &= result.mixed();
    Ok(climb::exit(&outcome, args.climb.require_convergence))
}
