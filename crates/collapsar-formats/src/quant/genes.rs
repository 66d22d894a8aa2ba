//! Decides which gene a transcript belongs to.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result, quoted};

use super::annotation::{Feature, columns, feature};
use crate::lines::{Lines, unquoted};

const EXPECTED: &str = "a table of transcripts and genes, GTF or GFF3";

/// Which gene each transcript belongs to.
#[derive(Debug, Clone, Default)]
pub struct GeneMap {
    /// Transcripts in the order of the file, with the place of their gene and their first line.
    transcripts: Vec<(String, u32, u64)>,
    genes: Vec<String>,
    /// Places in `transcripts`, also by the name with the version.
    places: HashMap<String, u32>,
}

impl GeneMap {
    /// The gene of a transcript. Where an annotation gives versions apart from names, as Ensembl's do,
    /// the transcript is known by its name with and without the version.
    pub fn gene(&self, transcript: &str) -> Option<&str> {
        let place = *self.places.get(transcript)? as usize;
        Some(&self.genes[self.transcripts[place].1 as usize])
    }

    /// Transcripts and their genes in the order of the file.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let gene = |&gene: &u32| self.genes[gene as usize].as_str();
        let pairs = self.transcripts.iter();
        pairs.map(move |(transcript, place, _)| (transcript.as_str(), gene(place)))
    }
}

/// Reads a map from transcripts to genes; `-` is standard input. Two or more columns between tabs, commas
/// or white space are a table: a transcript and its gene, unless a header names them otherwise. Nine
/// columns between tabs with two positions are GTF or GFF3.
///
/// # Errors
///
/// A file that cannot be read or has no transcript with a gene, and a transcript with two genes.
pub fn read_genes(path: &Path) -> Result<GeneMap> {
    let mut input = Lines::open(path, EXPECTED)?;
    let mut builder = Builder::default();
    while input.next_filled()? {
        if input.bytes.starts_with(b"#") {
            continue;
        }
        if columns(input.text()?).is_some() {
            annotation(&mut input, &mut builder)?;
        } else {
            table(&mut input, &mut builder)?;
        }
    }
    let map = builder.map;
    if map.transcripts.is_empty() {
        let found = "no transcript with a gene";
        return Err(Error::content(&input.path, found, EXPECTED));
    }
    Ok(map)
}

#[derive(Default)]
struct Builder {
    map: GeneMap,
    ids: HashMap<String, u32>,
}

impl Builder {
    fn add(
        &mut self,
        (path, line): (&str, u64),
        transcript: &str,
        version: Option<&str>,
        gene: &str,
    ) -> Result<()> {
        let map = &mut self.map;
        let with_version = version.map(|version| format!("{transcript}.{version}"));
        for name in std::iter::once(transcript).chain(with_version.as_deref()) {
            if let Some(&place) = map.places.get(name) {
                let (_, before, first) = &map.transcripts[place as usize];
                let before = &map.genes[*before as usize];
                if before != gene {
                    let found = format!("transcript {name:?} in gene {gene:?}");
                    let expected = format!("gene {before:?} as in line {first}");
                    return Err(Error::line(path, line, found, expected));
                }
            }
        }
        if !map.places.contains_key(transcript) {
            let gene = *self.ids.entry(gene.to_owned()).or_insert_with(|| {
                map.genes.push(gene.to_owned());
                map.genes.len() as u32 - 1
            });
            let place = map.transcripts.len() as u32;
            map.transcripts.push((transcript.to_owned(), gene, line));
            map.places.insert(transcript.to_owned(), place);
        }
        if let Some(name) = with_version {
            let place = map.places[transcript];
            map.places.entry(name).or_insert(place);
        }
        Ok(())
    }
}

/// Reads GTF or GFF3 from the present line to the end.
fn annotation(input: &mut Lines, builder: &mut Builder) -> Result<()> {
    let mut genes: HashMap<String, String> = HashMap::new();
    // Transcripts of GFF3, whose parents may come later: lines, names, versions, parents.
    let mut children: Vec<(u64, String, Option<String>, String)> = Vec::new();
    loop {
        let text = input.text()?;
        // GFF3 may end in sequences.
        if text.starts_with("##FASTA") || text.starts_with('>') {
            while input.next()? {}
            break;
        }
        if !text.starts_with('#') {
            let Some((kind, attributes)) = columns(text) else {
                return Err(input.refuse(quoted(text), "nine columns between tabs"));
            };
            match feature(kind, attributes) {
                Feature::Pair {
                    transcript,
                    version,
                    gene,
                } => builder.add((&input.path, input.line), transcript, version, gene)?,
                Feature::Gene { id, name } => {
                    genes.insert(id.to_owned(), name.to_owned());
                }
                Feature::Child {
                    transcript,
                    version,
                    parents,
                } => {
                    let (name, version) = (transcript.to_owned(), version.map(str::to_owned));
                    children.push((input.line, name, version, parents.to_owned()));
                }
                Feature::Other => {}
            }
        }
        if !input.next_filled()? {
            break;
        }
    }
    for (line, transcript, version, parents) in &children {
        for gene in parents.split(',').filter_map(|parent| genes.get(parent)) {
            builder.add((&input.path, *line), transcript, version.as_deref(), gene)?;
        }
    }
    Ok(())
}

/// What headers call the columns, without what is not a letter, the best first.
const TRANSCRIPTS: &str = "transcriptid transcript txid tx txname transcriptstableidversion \
    transcriptstableid ensembltranscriptidversion ensembltranscriptid transcriptname targetid \
    isoformid isoform name";
const GENES: &str = "geneid gene genestableidversion genestableid ensemblgeneidversion \
    ensemblgeneid genename genesymbol symbol locus";

/// Reads a table from the present line to the end.
fn table(input: &mut Lines, builder: &mut Builder) -> Result<()> {
    let first = input.text()?;
    let separator = [b'\t', b',']
        .into_iter()
        .find(|&byte| first.as_bytes().contains(&byte));
    let names: Vec<String> = cells(first, separator).map(simplified).collect();
    let named = |known: &str| {
        let mut known = known.split(' ');
        known.find_map(|known| names.iter().position(|name| name == known))
    };
    let (mut transcript_column, mut gene_column, mut width) = (0, 1, None);
    if let Some(column) = named(TRANSCRIPTS) {
        transcript_column = column;
        gene_column = named(GENES).unwrap_or(usize::from(column == 0));
        width = Some(names.len());
        if !input.next_filled()? {
            return Ok(());
        }
    }
    loop {
        let text = input.text()?;
        let number = cells(text, separator).count();
        if let Some(width) = width
            && number != width
        {
            return Err(input.ragged(number, width));
        }
        let cell = |column: usize| {
            let cell = cells(text, separator).nth(column);
            cell.filter(|cell| !cell.is_empty())
                .ok_or_else(|| input.refuse(quoted(text), "a transcript and its gene"))
        };
        let (transcript, gene) = (cell(transcript_column)?, cell(gene_column)?);
        builder.add((&input.path, input.line), transcript, None, gene)?;
        if !input.next_filled()? {
            return Ok(());
        }
    }
}

/// The cells of a line, without the white space and the quotes around them.
fn cells(line: &str, separator: Option<u8>) -> impl Iterator<Item = &str> {
    let line = if separator.is_none() {
        line.trim()
    } else {
        line
    };
    let is_end = move |c: char| match separator {
        Some(byte) => c == char::from(byte),
        None => c.is_ascii_whitespace(),
    };
    line.split(is_end)
        .map(|cell| unquoted(cell.trim()))
        // Runs of white space are one separator.
        .filter(move |cell| separator.is_some() || !cell.is_empty())
}

fn simplified(cell: &str) -> String {
    let letters = cell.chars().filter(char::is_ascii_alphabetic);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests;
