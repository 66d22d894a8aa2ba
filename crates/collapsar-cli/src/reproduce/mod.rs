//! `collapsar reproduce`: the paper's experiments, each from one command.
//!
//! - `args`: what was typed, and the request that it makes

mod args;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Result, anyhow};
use collapsar::Terms;
use collapsar_formats::write_atomically;
use collapsar_reproduce::{Error, Host, Report, curvature};
use collapsar_run::{RunFolder, Witness};

pub(crate) use args::ReproduceArgs;
use args::{CurvatureArgs, What};

use crate::common::{Common, Flags, exit};
use crate::progress::Progress;

/// Runs what was asked for.
pub(crate) fn run(args: &ReproduceArgs, common: &Common) -> Result<ExitCode> {
    match &args.what {
        What::Mixture(args) => {
            let files = args.files.clone();
            report(args.out.as_deref(), files, common, |host| {
                args.request().run(host)
            })
        }
        What::Topics(args) => {
            let files = args.corpus.iter().cloned().collect();
            report(args.out.as_deref(), files, common, |host| {
                args.request().run(host)
            })
        }
        What::Quant(args) => {
            let files = args.prob.iter().cloned().collect();
            report(args.out.as_deref(), files, common, |host| {
                args.request().run(host)
            })
        }
        What::Curvature(args) => figure(args, common),
    }?;
    Ok(exit())
}

/// Runs an experiment, writes its files and prints its text.
fn report(
    out: Option<&Path>,
    files: Vec<PathBuf>,
    common: &Common,
    run: impl FnOnce(&dyn Host) -> collapsar_reproduce::Result<Report>,
) -> Result<()> {
    let program = Program {
        common,
        out,
        witness: Mutex::new(Some(Witness::of(files))),
        folder: Mutex::new(None),
        refused: Mutex::new(None),
        progress: OnceLock::new(),
    };
    let report = run(&program);
    if let Some(refused) = take(&program.refused) {
        return Err(refused.into());
    }
    let report = match report {
        Ok(report) => report,
        Err(error @ (Error::PartOfRuns | Error::PartOfStart)) => {
            drop(program);
            common.warn(&error.in_terms(&Flags));
            return Ok(());
        }
        Err(error) => return Err(anyhow!(error.in_terms(&Flags))),
    };
    let folder = take(&program.folder);
    drop(program);
    if let Some(folder) = folder {
        let inputs = folder.inputs(&report.files)?;
        report.write(folder.path(), std::env::args().collect(), inputs)?;
        folder.commit()?;
    }
    Ok(std::io::stdout().lock().write_all(report.text.as_bytes())?)
}

/// Draws the figure and prints what it shows.
fn figure(args: &CurvatureArgs, common: &Common) -> Result<()> {
    let figure = curvature(args.seed)?;
    write_atomically(&args.out, |file| file.write_all(figure.svg.as_bytes()))?;
    std::io::stdout().lock().write_all(figure.text.as_bytes())?;
    common.say(&format!("wrote {}", args.out.display()));
    Ok(())
}

/// The program as experiments know it: a bar, talk, and a folder for what they find.
struct Program<'a> {
    common: &'a Common,
    out: Option<&'a Path>,
    /// What is about to be read.
    witness: Mutex<Option<Witness>>,
    /// Where results are put together, from the first run on.
    folder: Mutex<Option<RunFolder>>,
    /// Why there is none, as experiments know of no such errors.
    refused: Mutex<Option<collapsar_run::Error>>,
    progress: OnceLock<Progress>,
}

fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put<T>(place: &Mutex<Option<T>>, what: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
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
        let witness = take(&self.witness).unwrap_or_default();
        match RunFolder::asked(self.out, witness) {
            Ok(Some(folder)) => put(&self.folder, folder),
            Ok(None) => {}
            Err(error) => {
                put(&self.refused, error);
                // Ends the experiment; what is told is above.
                return Err(Error::PartOfStart);
            }
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
