//! Which transcripts make a gene.

use std::collections::HashMap;
use std::path::Path;

use anyhow::bail;
use collapsar_formats::{GeneMap, read_genes, strip_version};

use crate::common::Common;
use crate::files::name_of;
use crate::text::count;

/// Genes in the order of their first transcript.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Genes {
    pub(crate) names: Vec<String>,
    /// The transcripts of each.
    pub(crate) members: Vec<Vec<u32>>,
}

impl Genes {
    /// Genes of transcripts; one without a gene is its own.
    pub(crate) fn new(transcripts: &[String], genes: &[Option<String>]) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let (mut names, mut members) = (Vec::new(), Vec::<Vec<u32>>::new());
        for (transcript, (name, gene)) in (0..).zip(transcripts.iter().zip(genes)) {
            let gene = gene.as_ref().unwrap_or(name);
            let place = *places.entry(gene).or_insert_with(|| {
                names.push(gene.clone());
                members.push(vec![]);
                names.len() - 1
            });
            members[place].push(transcript);
        }
        Self { names, members }
    }

    /// Genes of transcripts, as a file gives them.
    pub(crate) fn read(
        file: &Path,
        transcripts: &[String],
        ignore_versions: bool,
        common: &Common,
    ) -> anyhow::Result<Self> {
        let map = read_genes(file)?;
        let genes = if ignore_versions {
            unversioned(&map, transcripts)
        } else {
            let gene = |name: &String| map.gene(name).map(str::to_owned);
            transcripts.iter().map(gene).collect()
        };
        let missing = genes.iter().filter(|gene| gene.is_none()).count();
        let file = name_of(file);
        if missing == genes.len() {
            let helps =
                !ignore_versions && unversioned(&map, transcripts).iter().any(Option::is_some);
            bail!(
                "{file}: no gene for any of {}, the first is {:?}, expected a gene for some{}",
                count(missing, "transcript"),
                transcripts[0],
                if helps { "; try --ignore-versions" } else { "" }
            );
        }
        if missing > 0 {
            let first = genes.iter().position(Option::is_none).unwrap_or(0);
            common.say(&format!(
                "{file}: no gene for {}, the first {:?}, which count as genes of their own",
                count(missing, "transcript"),
                transcripts[first]
            ));
        }
        Ok(Self::new(transcripts, &genes))
    }
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
        let found = Genes::new(&names, &genes);
        assert_eq!(found.names, ["y", "b", "x"]);
        assert_eq!(found.members, [vec![0, 3], vec![1], vec![2]]);
    }
}
