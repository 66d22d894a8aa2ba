//! Reads as BitSeq's `.prob` files give them.

use std::path::Path;

use anyhow::bail;
use collapsar::quant::ReadsBuilder;
use collapsar_formats::ProbReader;

use super::args::FitArgs;
use super::data::{Counter, Taken, Transcripts, lengths, without_lengths};
use crate::common::Common;
use crate::files::name_of;
use crate::text::count;

pub(crate) fn read(file: &Path, args: &FitArgs, common: &Common) -> anyhow::Result<Taken> {
    let mut reader = ProbReader::open(file)?;
    let header = *reader.header();
    let name = name_of(file);
    let (transcripts, genes) = match &args.about.lengths {
        Some(lengths_file) => {
            let (transcripts, genes) = lengths(lengths_file, common)?;
            if transcripts.len() != header.transcripts {
                bail!(
                    "{}: {}, expected {} as # M in {name} says",
                    name_of(lengths_file),
                    count(transcripts.len(), "transcript"),
                    header.transcripts
                );
            }
            (transcripts, genes)
        }
        None => (Transcripts::unknown(header.transcripts), None),
    };
    if header.mapped == 0 {
        bail!("{name}: no reads with alignments, expected at least one");
    }
    let noise = usize::from(args.fragments.noise);
    let mut builder = ReadsBuilder::new(header.transcripts + noise, args.compression())?;
    builder.reserve(header.mapped);
    let mut counter = Counter::new(common, Some(header.mapped));
    let mut entries = Vec::new();
    let mut only_noise = 0;
    while reader.next(&mut entries)? {
        if !args.fragments.noise {
            // BitSeq counts transcripts from 1 on, noise being 0.
            entries.retain(|entry| entry.0 > 0);
            for entry in &mut entries {
                entry.0 -= 1;
            }
        }
        if entries.is_empty() {
            only_noise += 1;
        } else {
            builder.push(&entries, 1.0)?;
        }
        counter.count()?;
    }
    if only_noise == counter.reads() {
        bail!("{name}: no read fits a transcript, only noise, expected at least one");
    }
    if only_noise > 0 {
        common.say(&format!(
            "{name}: left out {} that fit no transcript, only noise",
            count(only_noise as usize, "read")
        ));
    }
    if args.about.lengths.is_none() {
        without_lengths(args, common);
    }
    Ok(Taken {
        builder,
        transcripts,
        processed: header.reads,
        genes,
        learned: None,
    })
}
