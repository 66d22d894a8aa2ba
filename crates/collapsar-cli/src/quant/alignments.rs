//! Reads as SAM, BAM or CRAM files give them.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::bail;
use collapsar_formats::{AlignedOptions, AlignedReader};

use super::args::FitArgs;
use super::classes::naming;
use super::data::{Counter, Interrupted, Learned, Taken, Transcripts, settings};
use crate::common::Common;
use crate::files::name_of;
use crate::text::count;

/// Threads that decompress: more are faster than what takes their bytes.
const WORKERS: usize = 3;

pub(crate) fn read(file: &Path, args: &FitArgs, common: &Common) -> anyhow::Result<Taken> {
    let fasta = args.about.transcripts.as_deref().unwrap_or(Path::new("-"));
    let options = AlignedOptions {
        transcripts: fasta,
        naming: naming(args),
        fragments: settings(args),
        compression: args.compression(),
        workers: workers(common),
    };
    let reader = AlignedReader::open(file, options)?;
    if reader.left_out() > 0 {
        common.say(&format!(
            "{}: left out {} that the header of {} does not have",
            name_of(fasta),
            count(reader.left_out(), "transcript"),
            name_of(file)
        ));
    }
    let mut counter = Counter::new(common, None);
    let mut stopped = None;
    let read = reader.read(|| match counter.count() {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            stopped = Some(error);
            ControlFlow::Break(())
        }
    })?;
    let Some(read) = read else {
        bail!(stopped.unwrap_or_else(|| Interrupted.into()));
    };
    Ok(Taken {
        builder: read.builder,
        transcripts: Transcripts {
            names: read.names,
            lengths: read.lengths.into_iter().map(f64::from).collect(),
            effective: read.report.effective_lengths.clone(),
        },
        processed: read.tally.reads,
        genes: None,
        learned: Some(Learned {
            report: read.report,
            tally: read.tally,
        }),
    })
}

/// Threads beside the one that reads.
fn workers(common: &Common) -> usize {
    let threads = match common.threads {
        Some(threads) => threads.get(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    (threads - 1).min(WORKERS)
}
