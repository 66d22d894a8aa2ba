//! Which transcripts reads may come from, and what is known of them.

use std::path::Path;

use collapsar::Place;
use collapsar::quant::fragment::{self, Fragments};
use collapsar_formats::{TranscriptLength, read_lengths, read_transcripts};

use super::matching::matched;
use super::request::{Lengths, QuantRequest};
use super::watch::{Note, QuantWatch};
use crate::error::{Error, Result};
use crate::inputs::name_of;
use crate::text::count;

/// Transcripts in the order of the input.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// Their names.
    pub names: Vec<String>,
    /// Their lengths, ones where they are not known.
    pub lengths: Vec<f64>,
    /// Their effective lengths, ones where they are not known.
    pub effective: Vec<f64>,
}

/// The gene of each transcript, where a file names any.
pub(super) type GeneNames = Option<Vec<Option<String>>>;

/// The transcripts that a source of reads speaks of.
pub(super) struct Listed<'a> {
    /// The source, as refusals name it.
    pub(super) source: &'a str,
    /// Their names; empty where it has none.
    pub(super) names: Vec<String>,
    pub(super) number: usize,
    /// Where lengths without names must be as many, what refusals expect.
    pub(super) exactly: Option<String>,
}

/// Transcripts whose lengths are known, in the order of their file.
struct Measured {
    file: String,
    transcripts: Transcripts,
    genes: GeneNames,
}

impl Transcripts {
    /// Transcripts of unknown lengths, called `1`, `2`, … where there are no names.
    fn unmeasured(names: Vec<String>, number: usize) -> Self {
        Self {
            lengths: vec![1.0; number],
            effective: vec![1.0; number],
            names: named(names, number),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }
}

fn named(names: Vec<String>, number: usize) -> Vec<String> {
    if names.is_empty() {
        return (1..=number).map(|number| number.to_string()).collect();
    }
    names
}

/// Finds the transcripts of a source among those whose lengths are known, if any are.
pub(super) fn find(
    mut listed: Listed<'_>,
    request: &QuantRequest,
    watch: &dyn QuantWatch,
) -> Result<(Transcripts, GeneNames)> {
    if let Some(names) = &request.names {
        if names.len() != listed.number {
            let expected = format!("one for each of {} transcripts", listed.number);
            return Err(Error::input("names", names.len().to_string(), expected));
        }
        listed.names.clone_from(names);
    }
    let Some(known) = measured(request, watch)? else {
        let transcripts = Transcripts::unmeasured(listed.names, listed.number);
        return Ok((transcripts, None));
    };
    if listed.names.is_empty() || known.transcripts.names.is_empty() {
        return in_order(known, listed, request);
    }
    let names = (&*known.file, &*known.transcripts.names);
    let places = matched((listed.source, &listed.names), names, request.naming)?;
    let at = |values: &[f64]| places.iter().map(|&p| values[p as usize]).collect();
    let shown = |name: &String| request.naming.shown(name).to_owned();
    let transcripts = Transcripts {
        lengths: at(&known.transcripts.lengths),
        effective: at(&known.transcripts.effective),
        names: listed.names.iter().map(shown).collect(),
    };
    let genes = known.genes.map(|genes| {
        let gene = |&place: &u32| genes[place as usize].clone();
        places.iter().map(gene).collect()
    });
    Ok((transcripts, genes))
}

/// The known transcripts as they are, in the memory that they have.
fn in_order(
    mut known: Measured,
    listed: Listed<'_>,
    request: &QuantRequest,
) -> Result<(Transcripts, GeneNames)> {
    let found = known.transcripts.len();
    if let Some(Lengths::Effective(..)) = &request.lengths {
        if found != listed.number {
            return Err(Error::Library(collapsar::Error::data(
                Place::Whole("effective lengths"),
                found.to_string(),
                format!("one for each of {} transcripts", listed.number),
            )));
        }
        known.transcripts.names = named(listed.names, found);
        return Ok((known.transcripts, None));
    }
    if found < listed.number || (listed.exactly.is_some() && found > listed.number) {
        let in_order = format!(
            "the {} of {} in the same order",
            listed.number, listed.source
        );
        let expected = listed.exactly.unwrap_or(in_order);
        return Err(Error::input(
            known.file,
            count(found, "transcript"),
            expected,
        ));
    }
    for name in &mut known.transcripts.names {
        name.truncate(request.naming.shown(name).len());
    }
    Ok((known.transcripts, known.genes))
}

/// Transcripts with lengths, and the file that they are from.
fn measured(request: &QuantRequest, watch: &dyn QuantWatch) -> Result<Option<Measured>> {
    match (&request.lengths, &request.transcripts) {
        (Some(Lengths::File(file)), _) => of_tr(file, watch).map(Some),
        (Some(Lengths::Effective(names, lengths)), _) => Ok(Some(Measured {
            file: "lengths".to_owned(),
            transcripts: Transcripts {
                names: names.clone(),
                lengths: lengths.clone(),
                effective: lengths.clone(),
            },
            genes: None,
        })),
        (None, Some(file)) => of_fasta(file, request, watch).map(Some),
        (None, None) => Ok(None),
    }
}

/// A `.tr` file: transcripts, and genes where it names any.
fn of_tr(file: &Path, watch: &dyn QuantWatch) -> Result<Measured> {
    let mut rows = read_lengths(file)?;
    let effective = |row: &TranscriptLength| row.effective.unwrap_or(row.length);
    let short = rows.iter().filter(|row| effective(row) < 1.0).count();
    let missing = rows.iter().filter(|row| row.effective.is_none()).count();
    let known = rows.iter().any(|row| row.gene.is_some());
    // Room for all at once: lists that grow leave holes in memory for the rest of the run.
    let genes = known.then(|| rows.iter_mut().map(|row| row.gene.take()).collect());
    let transcripts = Transcripts {
        lengths: rows.iter().map(|row| row.length).collect(),
        effective: rows.iter().map(|row| effective(row).max(1.0)).collect(),
        names: rows.into_iter().map(|row| row.name).collect(),
    };
    let file = name_of(file);
    if short > 0 {
        watch.note(Note::ShortLengths(file.clone(), short));
    }
    if missing > 0 {
        watch.note(Note::NoEffectiveLengths(file.clone(), missing));
    }
    Ok(Measured {
        file,
        transcripts,
        genes,
    })
}

/// Sequences, whose effective lengths need lengths of fragments, as there are none to learn from.
fn of_fasta(file: &Path, request: &QuantRequest, watch: &dyn QuantWatch) -> Result<Measured> {
    let fasta = read_transcripts(file)?;
    let bases: Vec<u32> = (0..fasta.len()).map(|i| fasta.length(i) as u32).collect();
    let settings = fragment::Settings {
        fragment_length: request.fragments.fragment_length,
        ..fragment::Settings::default()
    };
    let report = Fragments::new(&bases, None, settings)?.finish(&mut |_| {})?;
    if request.fragments.fragment_length.is_none() {
        let lengths = &report.fragment_length;
        watch.note(Note::UsualFragments(lengths.mean(), lengths.sd()));
    }
    Ok(Measured {
        file: name_of(file),
        transcripts: Transcripts {
            names: fasta.names().to_vec(),
            lengths: bases.into_iter().map(f64::from).collect(),
            effective: report.effective_lengths,
        },
        genes: None,
    })
}
