//! What shells and `man` want to know of the command line.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use collapsar::files::TemporaryFolder;
use collapsar_formats::prepare_folder;

use crate::Cli;

const COMPLETIONS: &str = "\
Examples:
  collapsar completions bash > ~/.local/share/bash-completion/completions/collapsar
  collapsar completions zsh > ~/.zfunc/_collapsar
  collapsar completions fish > ~/.config/fish/completions/collapsar.fish";

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell that will read it
    shell: Shell,
}

/// Print the manual page, or write all pages into a folder
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  collapsar man | man -l -\n  collapsar man --dir ~/.local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// Write the pages of the program and of every subcommand into DIR
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "collapsar", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &args.dir {
        prepare_folder(folder)?;
        // Each page appears whole, and what a link of its name leads to stays as it is.
        let staging = TemporaryFolder::create(&folder.join("man"))?;
        clap_mangen::generate_to(Cli::command(), staging.path())?;
        for page in fs::read_dir(staging.path())? {
            let page = page?;
            fs::rename(page.path(), folder.join(page.file_name()))?;
        }
    } else {
        clap_mangen::Man::new(Cli::command()).render(&mut io::stdout())?;
    }
    Ok(ExitCode::SUCCESS)
}
