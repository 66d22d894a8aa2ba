//! What is said of reading a corpus, and of topics that look wrong.

use collapsar_formats::{CorpusReport, OutOfVocabulary};
use collapsar_run::topics::{Doubt, Halves};

use crate::common::Common;
use crate::text::{count, short};

/// Tells what was found and dropped while reading.
pub(crate) fn tell(report: &CorpusReport, documents: &[String], common: &Common) {
    for filtered in &report.filtered {
        common.say(&format!(
            "dropped {} ({}): {}",
            count(filtered.words, "word"),
            count(filtered.tokens as usize, "token"),
            filtered.filter
        ));
    }
    if report.duplicates > 0 {
        common.say(&format!(
            "added up {} of a document and word",
            count(report.duplicates, "repetition")
        ));
    }
    if report.replaced > 0 {
        common.say(&format!(
            "replaced bytes that are not UTF-8 in {}",
            count(report.replaced, "document")
        ));
    }
    if report.words_are_ids {
        common.say("found no file that names the words; they go by their numbers");
    }
    if !report.empty.is_empty() {
        common.say(&format!(
            "kept {} without words: {}",
            count(report.empty.len(), "document"),
            some(report.empty.iter().map(|&index| documents[index].as_str()))
        ));
    }
}

/// Tells of words of halves of documents that are outside a fit's vocabulary.
pub(crate) fn tell_outside(halves: Option<&Halves>, common: &Common) {
    for (name, outside) in halves.iter().flat_map(|halves| &halves.outside) {
        tell_outside_of(name, outside, common);
    }
}

/// Tells of words of a file that are outside a fit's vocabulary.
pub(crate) fn tell_outside_of(name: &str, outside: &OutOfVocabulary, common: &Common) {
    if outside.words > 0 {
        common.say(&format!(
            "{name}: left out {} ({}) outside the vocabulary: {}",
            count(outside.words, "word"),
            count(outside.tokens as usize, "token"),
            some_of(outside.examples.iter().map(String::as_str), outside.words)
        ));
    }
}

/// The first few names of many.
fn some<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let all = names.len();
    some_of(names, all)
}

fn some_of<'a>(names: impl Iterator<Item = &'a str>, all: usize) -> String {
    let shown: Vec<&str> = names.take(5).collect();
    let more = if all > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// What a person should know before trusting topics, in a sentence.
pub(crate) fn doubt(doubt: &Doubt) -> String {
    let given = "try given ones, such as --alpha 0.1 --beta 0.05";
    match doubt {
        Doubt::Unused { used, topics } => {
            let topics = count(*topics, "topic");
            format!("with learned priors {used} of {topics} is in use; {given}")
        }
        Doubt::Alpha(largest) => format!(
            "the learned alpha is as large as {}, by which all documents are alike; {given}",
            short(*largest)
        ),
        Doubt::Beta(beta) => format!(
            "the learned beta is {}, by which all topics are alike; {given}",
            short(*beta)
        ),
        Doubt::Alike(groups) => {
            let named = groups.iter().map(|group| {
                let names: Vec<String> = group.iter().map(ToString::to_string).collect();
                let (last, others) = names.split_last().expect("a group of two or more");
                format!("{} and {last}", others.join(", "))
            });
            let named: Vec<String> = named.collect();
            format!(
                "topics {} are nearly the same; fewer topics may say as much",
                named.join("; ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_are_sentences() {
        let given = "; try given ones, such as --alpha 0.1 --beta 0.05";
        for (found, expected) in [
            (
                Doubt::Alpha(9000.0),
                "the learned alpha is as large as 9000, by which all documents are alike",
            ),
            (
                Doubt::Beta(9000.0),
                "the learned beta is 9000, by which all topics are alike",
            ),
            (
                Doubt::Unused { used: 1, topics: 2 },
                "with learned priors 1 of 2 topics is in use",
            ),
        ] {
            assert_eq!(doubt(&found), expected.to_owned() + given);
        }
        assert_eq!(
            doubt(&Doubt::Alike(vec![vec![0, 3, 5], vec![1, 2]])),
            "topics 0, 3 and 5; 1 and 2 are nearly the same; fewer topics may say as much"
        );
    }
}
