//! Which transcripts reads may come from, and what is known of them.

use std::path::Path;

use collapsar::Place;
use collapsar::quant::fragment::{self, Fragments};
use collapsar_formats::{TranscriptLength, read_lengths, read_transcripts};
use collapsar_text::count;

use super::matching::matched;
use super::request::{Lengths, QuantRequest};
use super::watch::{Note, QuantWatch};
use crate::error::{Error, Result};
use crate::record::name_of;

/// Transcripts in the order of the input.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// Their names.
    pub names: Vec<String>,
    /// Their lengths, ones where they are not known.
    pub lengths: Vec<f64>,
    /// Their effective lengths, ones where they are not known.
    pub effective: Vec<f64>,
    /// The gene of each, where their file names any; taken away once there are genes.
    pub(super) genes: Option<Vec<Option<String>>>,
}

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

/// Transcripts whose lengths are known, in the order of their file, which comes first.
type Measured = (String, Transcripts);

impl Transcripts {
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }
}

/// Names, which are `1`, `2`, … where there are none.
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
) -> Result<Transcripts> {
    if let Some(names) = &request.names {
        if names.len() != listed.number {
            let expected = format!("one for each of {} transcripts", listed.number);
            return Err(Error::input("names", names.len().to_string(), expected));
        }
        listed.names.clone_from(names);
    }
    let Some((file, known)) = measured(request, watch)? else {
        return Ok(Transcripts {
            lengths: vec![1.0; listed.number],
            effective: vec![1.0; listed.number],
            names: named(listed.names, listed.number),
            genes: None,
        });
    };
    if listed.names.is_empty() || known.names.is_empty() {
        return in_order(file, known, listed, request);
    }
    let names = (&*file, &*known.names);
    let places = matched((listed.source, &listed.names), names, request.naming)?;
    let at = |values: &[f64]| places.iter().map(|&p| values[p as usize]).collect();
    let shown = |name: &String| request.naming.shown(name).to_owned();
    let genes = known.genes.map(|genes| {
        let gene = |&place: &u32| genes[place as usize].clone();
        places.iter().map(gene).collect()
    });
    Ok(Transcripts {
        lengths: at(&known.lengths),
        effective: at(&known.effective),
        names: listed.names.iter().map(shown).collect(),
        genes,
    })
}

/// The known transcripts as they are, in the memory that they have.
fn in_order(
    file: String,
    mut known: Transcripts,
    listed: Listed<'_>,
    request: &QuantRequest,
) -> Result<Transcripts> {
    let found = known.len();
    if let Some(Lengths::Effective(..)) = &request.lengths {
        if found != listed.number {
            return Err(Error::Library(collapsar::Error::data(
                Place::Whole("effective lengths"),
                found.to_string(),
                format!("one for each of {} transcripts", listed.number),
            )));
        }
        known.names = named(listed.names, found);
        return Ok(known);
    }
    if found < listed.number || (listed.exactly.is_some() && found > listed.number) {
        let (number, source) = (listed.number, listed.source);
        let in_order = format!("the {number} of {source} in the same order");
        let (found, expected) = (
            count(found, "transcript"),
            listed.exactly.unwrap_or(in_order),
        );
        return Err(Error::input(file, found, expected));
    }
    for name in &mut known.names {
        name.truncate(request.naming.shown(name).len());
    }
    Ok(known)
}

/// Transcripts with lengths, and the file that they are from.
fn measured(request: &QuantRequest, watch: &dyn QuantWatch) -> Result<Option<Measured>> {
    match (&request.lengths, &request.transcripts) {
        (Some(Lengths::File(file)), _) => of_tr(file, watch).map(Some),
        (Some(Lengths::Effective(names, lengths)), _) => {
            let transcripts = Transcripts {
                names: names.clone(),
                lengths: lengths.clone(),
                effective: lengths.clone(),
                genes: None,
            };
            Ok(Some(("lengths".to_owned(), transcripts)))
        }
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
        genes,
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
    Ok((file, transcripts))
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
    let transcripts = Transcripts {
        names: fasta.names().to_vec(),
        lengths: bases.into_iter().map(f64::from).collect(),
        effective: report.effective_lengths,
        genes: None,
    };
    Ok((name_of(file), transcripts))
}
