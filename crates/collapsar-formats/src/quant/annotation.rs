//! Decides how a line of GTF or GFF3 names transcripts and genes.

use crate::lines::whole;

/// What a line says that matters here; both formats have nine columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Feature<'t> {
    /// GTF, and GENCODE's GFF3: a transcript and its gene, by name, and the transcript's version.
    Pair {
        transcript: &'t str,
        version: Option<&'t str>,
        gene: &'t str,
    },
    /// GFF3: a gene, by its ID, and its name.
    Gene {
        id: &'t str,
        name: &'t str,
    },
    /// GFF3: something that belongs to something else, which may be a gene, by ID.
    Child {
        transcript: &'t str,
        version: Option<&'t str>,
        parents: &'t str,
    },
    Other,
}

/// Parts of transcripts, which some files hang on a gene that has none.
const PARTS: &str = "exon CDS five_prime_UTR three_prime_UTR UTR start_codon stop_codon intron \
    stop_codon_redefined_as_selenocysteine";

/// The ninth column of a line, with the third, if it is one of an annotation.
pub(super) fn columns(line: &str) -> Option<(&str, &str)> {
    let mut columns = line.split('\t');
    let [_, _, kind, start, end, _, _, _, attributes] = [(); 9].map(|()| columns.next());
    let is_number = |text: Option<&str>| text.is_some_and(|text| whole(text.as_bytes()).is_some());
    let whole = is_number(start) && is_number(end) && columns.next().is_none();
    Some((kind?, attributes?)).filter(|_| whole)
}

/// What a line says, from its third and ninth columns.
pub(super) fn feature<'t>(kind: &str, attributes: &'t str) -> Feature<'t> {
    let (mut transcript, mut gene, mut id, mut parents) = (None, None, None, None);
    let (mut transcript_version, mut own_version) = (None, None);
    for (key, value) in Attributes(attributes) {
        let place = match key {
            "transcript_id" => &mut transcript,
            "gene_id" => &mut gene,
            "ID" => &mut id,
            "Parent" => &mut parents,
            "transcript_version" => &mut transcript_version,
            "version" => &mut own_version,
            _ => continue,
        };
        if place.is_none() && !value.is_empty() {
            *place = Some(value);
        }
    }
    let transcript = transcript
        // What NCBI calls everything that has no transcript, in one gene after the other.
        .filter(|name: &&str| !name.starts_with("unknown_transcript"));
    match (transcript, gene, id, parents) {
        (Some(transcript), Some(gene), _, _) => Feature::Pair {
            transcript,
            version: transcript_version,
            gene,
        },
        (_, gene, Some(id), None) if kind.ends_with("gene") => Feature::Gene {
            id,
            name: gene.unwrap_or_else(|| bare(id)),
        },
        (transcript, _, Some(id), Some(parents)) if PARTS.split(' ').all(|part| part != kind) => {
            Feature::Child {
                transcript: transcript.unwrap_or_else(|| bare(id)),
                version: transcript_version.or(own_version),
                parents,
            }
        }
        _ => Feature::Other,
    }
}

/// An ID without what it is an ID of, as Ensembl (`transcript:`) and NCBI (`rna-`) put it in front.
fn bare(id: &str) -> &str {
    ["transcript:", "gene:", "rna-", "gene-"]
        .iter()
        .find_map(|prefix| id.strip_prefix(prefix))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(id)
}

/// Keys and values: `key "value";` or `key value;` of GTF, `key=value;` of GFF3. What comes first after
/// the key tells which.
struct Attributes<'t>(&'t str);

impl<'t> Iterator for Attributes<'t> {
    type Item = (&'t str, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start_matches([' ', ';']);
        let key = rest.find([' ', '=', ';'])?;
        let (key, value) = rest.split_at(key);
        let value = value.trim_start_matches([' ', '=']);
        // A quoted value may have semicolons in it.
        let (value, rest) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => match value.find(';') {
                Some(end) => value.split_at(end),
                None => (value, ""),
            },
        };
        self.0 = rest;
        Some((key, value.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_both() {
        let all = |text| Attributes(text).collect::<Vec<_>>();
        assert_eq!(
            all("gene_id \"G\"; note \"a; b=c\";  level 2; tag \"\";"),
            [
                ("gene_id", "G"),
                ("note", "a; b=c"),
                ("level", "2"),
                ("tag", "")
            ]
        );
        assert_eq!(
            all("ID=transcript:T;Name=two words;Parent=gene:G"),
            [
                ("ID", "transcript:T"),
                ("Name", "two words"),
                ("Parent", "gene:G")
            ]
        );
        assert_eq!(all("."), []);
        assert_eq!(all(""), []);
        assert_eq!(all("a \"open"), [("a", "open")]);
        assert_eq!(all("a;b=;"), [("a", ""), ("b", "")]);
    }

    #[test]
    fn nine_columns() {
        let line = "1\thavana\tgene\t11\t14\t.\t+\t.\tgene_id \"G\"";
        assert_eq!(columns(line), Some(("gene", "gene_id \"G\"")));
        assert_eq!(columns(&line.replace("11", "x")), None);
        assert_eq!(columns(&format!("{line}\tmore")), None);
        assert_eq!(columns("a\tb"), None);
    }
}
