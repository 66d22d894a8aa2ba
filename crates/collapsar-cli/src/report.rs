//! `collapsar report`: a page with pictures of a run, or of several that it compares.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use collapsar_formats::write_atomically;
use collapsar_run::check_target;

use crate::common::{Common, Usage};

const EXAMPLES: &str = "\
Examples:
  collapsar report fit                   fit/report.html, for a browser or for print
  collapsar report fit1 fit2             report.html, with both side by side
  collapsar report fit --out page.html
  collapsar mixture data.csv --out fit --report
                                         the same page, with the run";

/// Make a page with pictures of a run, or compare runs
///
/// Reads folders that --out of fit, mixture, topics or quant wrote. The page is one HTML file: it opens
/// without a network, fetches nothing, and holds the numbers behind every picture as a table. Data and
/// models are drawn where the files that the run read are still at hand.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Folders of results
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Write the page to FILE [default: report.html in the folder, or here where runs are compared]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ReportArgs, common: &Common) -> anyhow::Result<ExitCode> {
    let path = match (&args.out, args.folders.as_slice()) {
        (None, [folder]) => collapsar_report::write(folder)?,
        (out, folders) => {
            let path = out.clone().unwrap_or_else(|| collapsar_report::FILE.into());
            check_target(&path, "the page")?;
            let text = collapsar_report::html(folders)?;
            write_atomically(&path, |out| out.write_all(text.as_bytes()))?;
            path
        }
    };
    common.say(&format!("wrote {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// The flag of a run that asks for its page.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// With --out, also write report.html, a page with pictures of the results
    #[arg(long)]
    report: bool,
}

impl PageArgs {
    /// Refuses the flag without a folder.
    pub(crate) fn check(&self, out: Option<&Path>) -> Result<(), Usage> {
        if self.report && out.is_none() {
            return Err(Usage(
                "--report is given without --out, expected a folder to write it to".into(),
            ));
        }
        Ok(())
    }

    /// Writes the page of a run whose folder is in place.
    pub(crate) fn write(&self, out: Option<&Path>) -> anyhow::Result<()> {
        if let Some(folder) = out.filter(|_| self.report) {
            collapsar_report::write(folder)?;
        }
        Ok(())
    }
}
