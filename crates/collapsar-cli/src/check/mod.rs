//! `collapsar check`: tells what of a model can be collapsed and why, and draws it.
//!
//! - `report`: what is printed

mod report;

pub(crate) use report::list;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use collapsar_bugs::Drawing;
use collapsar_formats::{read_data, write_atomically};
use collapsar_run::fit::{ModelRequest, ModelSource};
use collapsar_run::{check_apart, check_target};

use crate::common::Common;
use crate::fit::{SourceArgs, grids, with};

const EXAMPLES: &str = "\
Examples:
  collapsar check rats.bug                          is the text right? what depends on what?
  collapsar check rats.bug --data rats.json         what is collapsed, what is not, and why
  collapsar check rats.bug --data rats.json --collapse alpha
                                                    may this be collapsed instead?
  collapsar check rats.bug --data rats.json --svg rats.svg
                                                    a drawing with plates";

/// Check a model in the BUGS language: what of it can be collapsed, and why
///
/// Fits nothing. Blocks of a class are treated alike; those of two classes that meet in a term of the
/// log joint cannot both be integrated out, and the line where they meet is told.
#[derive(Debug, Args)]
#[command(override_usage = "collapsar check <MODEL> [--data <FILE>...] [OPTIONS]")]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Draw the model to FILE as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw the model to FILE for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
}

pub(crate) fn run(args: &CheckArgs, common: &Common) -> anyhow::Result<ExitCode> {
    args.source.check(&[])?;
    let inputs: Vec<PathBuf> = [&args.source.model]
        .into_iter()
        .chain(&args.source.data)
        .cloned()
        .collect();
    for file in [&args.svg, &args.dot].into_iter().flatten() {
        check_apart(file, "the drawing", &inputs)?;
    }
    let source = ModelSource::read(&args.source.model)?;
    let data = read_data(&args.source.data)?;
    let outline = source.model.outline(&data);
    let (drawing, text) = if args.source.data.is_empty() {
        source.check()?;
        (
            Drawing::new(&outline, None),
            report::outline(&source, &outline),
        )
    } else {
        let prepared = with(&source, data, common)?;
        let request = ModelRequest {
            collapse: args.source.collapse.clone(),
            explicit: args.source.explicit.clone(),
            enumerate: args.source.enumerate(),
            ..ModelRequest::default()
        };
        let run = request.prepare(Arc::new(source.clone()), prepared)?;
        run.check(&run.monitor(&[])?.quantities)?;
        let (compiled, prepared) = (&run.compiled, &run.prepared);
        let drawing = Drawing::new(&outline, Some(compiled.choice()));
        let mut text = report::classes(&source, compiled, prepared, &args.source.explicit);
        text += &grids(prepared);
        if let Some(of) = run
            .enumerated
            .as_ref()
            .filter(|_| args.source.enumerate().is_none())
        {
            text += &report::enumerated(&of.arrays);
        }
        (drawing, text)
    };
    if let Some(file) = &args.svg {
        write(file, &drawing.svg(&source.name))?;
    }
    if let Some(file) = &args.dot {
        write(file, &drawing.dot())?;
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    check_target(file, "the drawing")?;
    Ok(write_atomically(file, |out| {
        out.write_all(text.as_bytes())
    })?)
}
