//! Reads as BitSeq's `.prob` files give them.

use std::path::Path;

use collapsar::quant::ReadsBuilder;
use collapsar_formats::ProbReader;

use super::input::Given;
use super::request::QuantRequest;
use super::transcripts::{self, Listed};
use super::watch::{Counter, Note, QuantWatch};
use crate::error::{Error, Result};
use crate::inputs::name_of;

/// Reads probabilities; nothing where it was interrupted.
pub(super) fn read(
    file: &Path,
    request: &QuantRequest,
    watch: &dyn QuantWatch,
) -> Result<Option<Given>> {
    let mut reader = ProbReader::open(file)?;
    let header = *reader.header();
    let name = name_of(file);
    let listed = Listed {
        source: &name,
        names: vec![],
        number: header.transcripts,
        exactly: Some(format!("{} as # M in {name} says", header.transcripts)),
    };
    let (transcripts, genes) = transcripts::find(listed, request, watch)?;
    if header.mapped == 0 {
        let found = "no reads with alignments";
        return Err(Error::input(name, found, "at least one"));
    }
    let noise = usize::from(request.noise);
    let mut builder = ReadsBuilder::new(header.transcripts + noise, request.compression)?;
    builder.reserve(header.mapped);
    let mut counter = Counter::new(watch, Some(header.mapped));
    let mut entries = Vec::new();
    let mut only_noise = 0;
    while reader.next(&mut entries)? {
        if !request.noise {
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
        if counter.count().is_break() {
            return Ok(None);
        }
    }
    if only_noise == counter.reads {
        let found = "no read fits a transcript, only noise";
        return Err(Error::input(name, found, "at least one"));
    }
    if only_noise > 0 {
        watch.note(Note::OnlyNoise(name, only_noise as usize));
    }
    if request.lengths.is_none() {
        watch.note(Note::NoLengths(&["lengths"]));
    }
    Ok(Some(Given {
        builder,
        transcripts,
        genes,
        processed: header.reads,
        learned: None,
    }))
}
