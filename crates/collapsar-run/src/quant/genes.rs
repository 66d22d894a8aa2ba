//! Which transcripts make a gene.

use std::collections::HashMap;
use std::path::Path;

use collapsar::Hint;
use collapsar_formats::{GeneMap, read_genes, strip_version};
use collapsar_text::count;

use super::matching::Naming;
use super::request::GeneSource;
use super::watch::{Note, QuantWatch};
use crate::error::{Error, Result};
use crate::record::name_of;

/// Genes in the order of their first transcript.
#[derive(Debug, PartialEq, Eq)]
pub struct Genes {
    /// Their names.
    pub names: Vec<String>,
    /// The transcripts of each.
    pub members: Vec<Vec<u32>>,
}

impl Genes {
    /// Genes of transcripts; one without a gene belongs to none, or is one of its own.
    pub(super) fn new(transcripts: &[String], genes: &[Option<String>], own: bool) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let (mut names, mut members) = (Vec::new(), Vec::<Vec<u32>>::new());
        for (transcript, (name, gene)) in (0..).zip(transcripts.iter().zip(genes)) {
            let Some(gene) = gene.as_ref().or(own.then_some(name)) else {
                continue;
            };
            let place = *places.entry(gene).or_insert_with(|| {
                names.push(gene.clone());
                members.push(vec![]);
                names.len() - 1
            });
            members[place].push(transcript);
        }
        Self { names, members }
    }

    /// Genes of transcripts, wherever they are from.
    pub(super) fn find(
        source: &GeneSource,
        transcripts: &[String],
        naming: Naming,
        watch: &dyn QuantWatch,
    ) -> Result<Self> {
        match source {
            GeneSource::File(file) => {
                let (genes, note) = Self::read(file, transcripts, naming.ignore_versions)?;
                if let Some(note) = note {
                    watch.note(note);
                }
                Ok(genes)
            }
            GeneSource::ByName(genes) => {
                let gene = |name: &String| genes.get(name).cloned();
                let genes: Vec<_> = transcripts.iter().map(gene).collect();
                if genes.iter().all(Option::is_none) {
                    return Err(none("genes".to_owned(), transcripts, None));
                }
                Ok(Self::new(transcripts, &genes, false))
            }
            GeneSource::InOrder(genes) if genes.len() != transcripts.len() => {
                let expected = format!("one for each of {} transcripts", transcripts.len());
                Err(Error::input("genes", genes.len().to_string(), expected))
            }
            GeneSource::InOrder(genes) => Ok(Self::new(transcripts, genes, false)),
        }
    }

    /// Genes of transcripts, as a file gives them, and what may be said of it.
    ///
    /// # Errors
    /// Where the file cannot be read, or has no gene for any of them.
    pub fn read(
        file: &Path,
        transcripts: &[String],
        ignore_versions: bool,
    ) -> Result<(Self, Option<Note>)> {
        let map = read_genes(file)?;
        let genes = if ignore_versions {
            unversioned(&map, transcripts)
        } else {
            let gene = |name: &String| map.gene(name).map(str::to_owned);
            transcripts.iter().map(gene).collect()
        };
        let file = name_of(file);
        let Some(first) = genes.iter().position(Option::is_none) else {
            return Ok((Self::new(transcripts, &genes, true), None));
        };
        let missing = genes.iter().filter(|gene| gene.is_none()).count();
        if missing == genes.len() {
            let helps = || unversioned(&map, transcripts).iter().any(Option::is_some);
            let hint = (!ignore_versions && helps()).then(|| Hint::give("ignore_versions"));
            return Err(none(file, transcripts, hint));
        }
        let note = Note::NoGene(file, missing, transcripts[first].clone());
        Ok((Self::new(transcripts, &genes, true), Some(note)))
    }
}

/// No transcript has a gene.
fn none(name: String, transcripts: &[String], hint: Option<Hint>) -> Error {
    let all = count(transcripts.len(), "transcript");
    let first = &transcripts[0];
    let found = format!("no gene for any of {all}, the first is {first:?}");
    Error::input(name, found, "a gene for some").with_hint(hint)
}

/// Genes of transcripts by names without versions.
fn unversioned(map: &GeneMap, transcripts: &[String]) -> Vec<Option<String>> {
    let pairs = map.pairs().map(|(name, gene)| (strip_version(name), gene));
    let genes: HashMap<&str, &str> = pairs.collect();
    let gene = |name: &String| genes.get(strip_version(name)).map(|&gene| gene.to_owned());
    transcripts.iter().map(gene).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_of_their_first_transcript() {
        let names = ["a", "b", "c", "d"].map(String::from);
        let genes = [Some("y"), None, Some("x"), Some("y")].map(|gene| gene.map(String::from));
        let found = Genes::new(&names, &genes, true);
        assert_eq!(found.names, ["y", "b", "x"]);
        assert_eq!(found.members, [vec![0, 3], vec![1], vec![2]]);
        let found = Genes::new(&names, &genes, false);
        assert_eq!(found.names, ["y", "x"]);
        assert_eq!(found.members, [vec![0, 3], vec![2]]);
    }
}
