//! Reads as equivalence classes give them.

use std::path::Path;

use collapsar::Hint;
use collapsar::quant::ReadsBuilder;
use collapsar_formats::{Class, read_classes};

use super::input::Given;
use super::request::QuantRequest;
use super::transcripts::{self, Listed, Transcripts};
use super::watch::{Counter, Note, QuantWatch};
use crate::error::{Error, Result};
use crate::inputs::name_of;

/// Options that give lengths.
const LENGTHS: [&str; 2] = ["lengths", "transcripts"];

/// Reads classes; nothing where it was interrupted.
pub(super) fn read(
    file: &Path,
    request: &QuantRequest,
    watch: &dyn QuantWatch,
) -> Result<Option<Given>> {
    let name = name_of(file);
    let classes = read_classes(file)?;
    let unweighted = classes.classes.iter().any(|class| class.weights.is_none());
    let measured = request.lengths.is_some() || request.transcripts.is_some();
    if unweighted && !measured {
        let expected = "lengths of the transcripts to weigh them by";
        let error = Error::input(name, "classes without weights", expected);
        return Err(error.with_hint(Hint::Any(LENGTHS.map(Hint::give).into())));
    }
    if !measured {
        watch.note(Note::NoLengths(&LENGTHS));
    }
    let listed = Listed {
        source: &name,
        names: classes.names,
        number: classes.transcripts,
        exactly: None,
    };
    let (transcripts, genes) = transcripts::find(listed, request, watch)?;
    if unweighted {
        watch.note(Note::Unweighted(name.clone()));
    }
    let mut builder = ReadsBuilder::new(transcripts.len(), request.compression)?;
    let mut counter = Counter::new(watch, Some(classes.classes.len() as u64));
    let mut reads = 0.0;
    for (number, class) in classes.classes.iter().enumerate() {
        if class.count > 0.0 {
            let pushed = builder.push(&entries(class, &transcripts), class.count);
            pushed.map_err(|error| Error::Data {
                error: Box::new(error),
                name: format!("{name}: class {number}"),
                columns: vec![],
            })?;
            reads += class.count;
        }
        if counter.count().is_break() {
            return Ok(None);
        }
    }
    if reads == 0.0 {
        let found = "no class has a read";
        return Err(Error::input(name, found, "at least one"));
    }
    Ok(Some(Given {
        builder,
        transcripts,
        genes,
        processed: reads as u64,
        learned: None,
    }))
}

/// A class's transcripts and ln p(read | transcript), up to what they have in common.
fn entries(class: &Class, transcripts: &Transcripts) -> Vec<(u32, f64)> {
    let ids = class.transcripts.iter();
    match &class.weights {
        Some(weights) => (ids.zip(weights))
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(&id, weight)| (id, weight.ln()))
            .collect(),
        None => ids
            .map(|&id| (id, -transcripts.effective[id as usize].ln()))
            .collect(),
    }
}
