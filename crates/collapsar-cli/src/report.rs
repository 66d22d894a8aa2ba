//! `collapsar report`: a page with pictures of a run, or of several that it compares.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use collapsar_formats::write_atomically;
use collapsar_report::FigureKind;
use collapsar_run::check_target;

use crate::common::{Common, Flags, Usage, is_seen};
use crate::text::count;
use crate::values::named;

const EXAMPLES: &str = "\
Examples:
  collapsar report fit                   fit/report.html, for a browser or for print
  collapsar report fit1 fit2             report.html, with both side by side
  collapsar report fit --out page.html
  collapsar report fit --figures svg     every picture as a file too, in fit/figures
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
    #[command(flatten)]
    figures: FigureArgs,
}

/// Pictures as files.
#[derive(Debug, Args)]
pub(crate) struct FigureArgs {
    /// Write every picture as a file too, into the folder figures beside the page: svg, json or both
    ///
    /// svg: drawings for papers, which other programs turn into PDF. json: the Vega-Lite specifications
    /// with their data, for Altair and the editor of Vega.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    #[arg(value_parser = named(FigureKind::ALL.map(|kind| (kind.name(), kind))))]
    figures: Vec<FigureKind>,
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
    let kinds = &args.figures.figures;
    if !kinds.is_empty() {
        let beside = path.parent().unwrap_or(Path::new(""));
        let files = collapsar_report::write_figures(&args.folders, beside, kinds)?;
        let folder = beside.join(collapsar_report::FIGURES);
        let files = count(files.len(), "file");
        common.say(&format!("wrote {files} into {}", folder.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The flags of a run that ask for its page.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// With --out, also write report.html, a page with pictures of the results; done anyway where a person
    /// sees the run in a terminal
    #[arg(long, overrides_with = "no_report")]
    report: bool,
    /// Write no page
    #[arg(long, overrides_with = "report")]
    no_report: bool,
    #[command(flatten)]
    figures: FigureArgs,
}

impl PageArgs {
    /// Refuses the flags without a folder.
    pub(crate) fn check(&self, out: Option<&Path>) -> Result<(), Usage> {
        let asked = [
            ("report", self.report),
            ("figures", !self.figures.figures.is_empty()),
        ];
        for (flag, asked) in asked {
            if asked && out.is_none() {
                return Err(Usage(format!(
                    "--{flag} is given without --out, expected a folder to write to"
                )));
            }
        }
        Ok(())
    }

    /// Writes the page of a run whose folder is in place. One that nobody asked for costs no run.
    pub(crate) fn write(&self, out: Option<&Path>, common: &Common) -> anyhow::Result<()> {
        let Some(folder) = out else {
            return Ok(());
        };
        if self.report {
            collapsar_report::write(folder)?;
        } else if !self.no_report && is_interactive() {
            match collapsar_report::write(folder) {
                Ok(path) => common.say(&format!("pictures are in {}", path.display())),
                Err(error) => common.warn(&format!(
                    "no page with pictures: {}",
                    error.in_terms(&Flags)
                )),
            }
        }
        if !self.figures.figures.is_empty() {
            let folders = [folder.to_owned()];
            collapsar_report::write_figures(&folders, folder, &self.figures.figures)?;
        }
        Ok(())
    }
}

/// Whether a person sees what is printed.
fn is_interactive() -> bool {
    is_seen() && io::stderr().is_terminal()
}
