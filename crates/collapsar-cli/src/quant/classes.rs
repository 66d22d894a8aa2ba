//! Reads as equivalence classes give them.

use std::path::Path;

use anyhow::{Context, bail};
use collapsar::quant::ReadsBuilder;
use collapsar_formats::{Class, read_classes, read_transcripts};

use super::args::FitArgs;
use super::data::{Counter, Taken, Transcripts, effective, lengths, without_lengths};
use super::names::{Named, Naming, matched};
use crate::common::Common;
use crate::files::name_of;
use crate::text::{count, short};

pub(crate) fn read(file: &Path, args: &FitArgs, common: &Common) -> anyhow::Result<Taken> {
    let name = name_of(file);
    let classes = read_classes(file)?;
    let unweighted = classes.classes.iter().any(|class| class.weights.is_none());
    let measured = measured(args, common)?;
    if measured.is_none() {
        if unweighted {
            bail!(
                "{name}: classes without weights, expected lengths of the transcripts to weigh them by; \
                 try --lengths or --transcripts"
            );
        }
        without_lengths(args, common);
    }
    let (transcripts, genes) = match measured {
        None if classes.names.is_empty() => (Transcripts::unknown(classes.transcripts), None),
        None => (Transcripts::unmeasured(classes.names), None),
        Some((known, from, genes)) => {
            let places = if classes.names.is_empty() {
                if known.len() < classes.transcripts {
                    bail!(
                        "{from}: {}, expected the {} of {name} in the same order",
                        count(known.len(), "transcript"),
                        classes.transcripts
                    );
                }
                (0..known.len() as u32).collect()
            } else {
                let wanted = Named {
                    file: &name,
                    names: &classes.names,
                };
                let names = Named {
                    file: &from,
                    names: &known.names,
                };
                matched(wanted, names, naming(args))?
            };
            arranged(known, genes, &places, classes.names, naming(args))
        }
    };
    if unweighted {
        common.say(&format!(
            "{name}: classes without weights, for which one over the effective length is taken"
        ));
    }
    let mut builder = ReadsBuilder::new(transcripts.len(), args.compression())?;
    let mut counter = Counter::new(common, Some(classes.classes.len() as u64));
    let mut reads = 0.0;
    for (number, class) in classes.classes.iter().enumerate() {
        if class.count > 0.0 {
            let entries = entries(class, &transcripts);
            let pushed = builder.push(&entries, class.count);
            pushed.with_context(|| format!("{name}: class {number}"))?;
            reads += class.count;
        }
        counter.count()?;
    }
    if reads == 0.0 {
        bail!("{name}: no class has a read, expected at least one");
    }
    Ok(Taken {
        builder,
        transcripts,
        processed: reads as u64,
        genes,
        learned: None,
    })
}

pub(crate) fn naming(args: &FitArgs) -> Naming {
    Naming {
        gencode: args.about.gencode,
        ignore_versions: args.about.ignore_versions,
    }
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

type Measured = (Transcripts, String, Option<Vec<Option<String>>>);

/// Transcripts with lengths, and the file that they are from.
fn measured(args: &FitArgs, common: &Common) -> anyhow::Result<Option<Measured>> {
    if let Some(file) = &args.about.lengths {
        let (transcripts, genes) = lengths(file, common)?;
        return Ok(Some((transcripts, name_of(file), genes)));
    }
    let Some(file) = &args.about.transcripts else {
        return Ok(None);
    };
    let fasta = read_transcripts(file)?;
    let bases: Vec<u32> = (0..fasta.len()).map(|i| fasta.length(i) as u32).collect();
    let report = effective(&bases, args)?;
    if args.fragments.fragment_length.is_none() {
        let lengths = &report.fragment_length;
        common.say(&format!(
            "effective lengths are for fragments of {} ± {} bases; --fragment-length gives others",
            short(lengths.mean()),
            short(lengths.sd())
        ));
    }
    let transcripts = Transcripts {
        names: fasta.names().to_vec(),
        lengths: bases.iter().map(|&bases| f64::from(bases)).collect(),
        effective: report.effective_lengths,
    };
    Ok(Some((transcripts, name_of(file), None)))
}

/// The transcripts at these places, under the names of the classes where they have any.
fn arranged(
    known: Transcripts,
    genes: Option<Vec<Option<String>>>,
    places: &[u32],
    names: Vec<String>,
    naming: Naming,
) -> (Transcripts, Option<Vec<Option<String>>>) {
    let at = |values: &[f64]| places.iter().map(|&p| values[p as usize]).collect();
    let names = if names.is_empty() { known.names } else { names };
    let transcripts = Transcripts {
        lengths: at(&known.lengths),
        effective: at(&known.effective),
        names: names
            .iter()
            .map(|name| naming.shown(name).to_owned())
            .collect(),
    };
    let genes = genes.map(|genes| places.iter().map(|&p| genes[p as usize].clone()).collect());
    (transcripts, genes)
}
