//! `collapsar reproduce`: the paper's experiments, each from one command.
//!
//! - `args`: what was typed, and the request that it makes

mod args;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use collapsar::Terms;
use collapsar_formats::{prepare_folder, write_atomically};
use collapsar_reproduce::{Error, Host, Report, curvature};
use collapsar_run::inputs;

pub(crate) use args::ReproduceArgs;
use args::{CurvatureArgs, What};

use crate::common::{Common, Flags};
use crate::progress::Progress;

/// Runs what was asked for.
pub(crate) fn run(args: &ReproduceArgs, common: &Common) -> Result<ExitCode> {
    match &args.what {
        What::Mixture(args) => report(args.out.as_deref(), common, |host| args.request().run(host)),
        What::Topics(args) => report(args.out.as_deref(), common, |host| args.request().run(host)),
        What::Quant(args) => report(args.out.as_deref(), common, |host| args.request().run(host)),
        What::Curvature(args) => figure(args, common),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Runs an experiment, writes its files and prints its text.
fn report(
    out: Option<&Path>,
    common: &Common,
    run: impl FnOnce(&dyn Host) -> collapsar_reproduce::Result<Report>,
) -> Result<()> {
    let program = Program {
        common,
        out,
        progress: OnceLock::new(),
    };
    let report = run(&program).map_err(|error| anyhow!(error.in_terms(&Flags)))?;
    drop(program);
    if let Some(folder) = out {
        report.write(folder, std::env::args().collect(), inputs(&report.files)?)?;
    }
    Ok(std::io::stdout().lock().write_all(report.text.as_bytes())?)
}

/// Draws the figure and prints what it shows.
fn figure(args: &CurvatureArgs, common: &Common) -> Result<()> {
    let figure = curvature(args.seed)?;
    write_atomically(&args.out, |file| file.write_all(figure.svg.as_bytes()))?;
    std::io::stdout().lock().write_all(figure.text.as_bytes())?;
    if !common.quiet {
        eprintln!("wrote {}", args.out.display());
    }
    Ok(())
}

/// The program as experiments know it: a bar, talk, and a folder for what they find.
struct Program<'a> {
    common: &'a Common,
    out: Option<&'a Path>,
    progress: OnceLock<Progress>,
}

impl Host for Program<'_> {
    fn terms(&self) -> &dyn Terms {
        &Flags
    }

    fn interrupt(&self) -> &AtomicBool {
        self.common.listen()
    }

    /// Makes the folder now: runs must not end in a refusal, and bad input leaves no folder.
    fn begin(&self, runs: usize) -> Result<(), Error> {
        if let Some(folder) = self.out {
            prepare_folder(folder)?;
        }
        let new = || Progress::new(self.common, Some(runs as u64), "runs");
        self.progress.get_or_init(new);
        Ok(())
    }

    fn status(&self, words: &dyn Fn() -> String) {
        if let Some(progress) = self.progress.get() {
            progress.tell(words);
        }
    }

    fn advance(&self) {
        if let Some(progress) = self.progress.get() {
            progress.advance();
        }
    }

    fn detail(&self, line: &str) {
        if let Some(progress) = self.progress.get().filter(|_| self.common.verbose) {
            progress.line(line);
        }
    }
}
