//! Corpora that do not fit in memory: what every test of a corpus in memory reads is read into a file too, and is the same.

use std::cell::Cell;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::texts::parquet;
use super::*;

const DISORDERED: &str = "documents in their order, as they do not fit in memory";

/// What is in memory, of a corpus in a file.
fn in_memory(file: &CorpusFile) -> Corpus {
    let mut corpus = Corpus {
        vocabulary: file.vocabulary.clone(),
        starts: vec![0],
        ..Corpus::default()
    };
    let mut names = file.names();
    let documents = file.corpus.documents();
    let each = file.corpus.each(0..documents, &mut |block| {
        for index in 0..block.len() {
            let (words, counts) = block.document(index);
            corpus.documents.push(names.next().unwrap());
            corpus.words.extend(words);
            corpus.counts.extend(counts);
            corpus.starts.push(corpus.words.len());
        }
        Ok(ControlFlow::Continue(()))
    });
    each.unwrap();
    let wanted: BTreeSet<usize> = (0..documents).step_by(3).collect();
    let some = file.names_of(&wanted).unwrap();
    assert!(some.iter().all(|(&at, name)| *name == corpus.documents[at]));
    assert_eq!(some.len(), wanted.len());
    corpus
}

/// Reads a corpus into memory, and into files from the first entry or document on, or from a later one; all are the same, or the
/// same refusal.
pub(super) fn both(path: &Path, options: &CorpusOptions) -> Result<(Corpus, CorpusReport)> {
    let memory = read_corpus(path, options);
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join(".fit.corpus");
    for most in [0, 3, 40] {
        let fits = |size: CorpusSize| size.entries + size.documents <= most;
        let limits = CorpusLimits {
            fits: &fits,
            scratch: &scratch,
            key: 7,
            segment: 60,
        };
        let left = || std::fs::read_dir(folder.path()).unwrap().count();
        match (
            read_corpus_within(path, options, &limits, &|_, _| ()),
            &memory,
        ) {
            (Ok(ReadCorpus::File(file)), Ok((corpus, report))) => {
                assert_eq!(in_memory(&file), *corpus);
                assert_eq!((&file.report, file.reused), (report, false));
                let again = CorpusFile::left(&limits).unwrap();
                assert_eq!(in_memory(&again), *corpus);
                assert_eq!((again.report, again.reused), (file.report, true));
                assert!(CorpusFile::left(&CorpusLimits { key: 8, ..limits }).is_none());
                assert_eq!(left(), 1);
                std::fs::remove_file(&scratch).unwrap();
            }
            (Ok(ReadCorpus::Memory(corpus, report)), Ok(read)) => {
                assert!(most > 0 || corpus.words.is_empty());
                assert_eq!((&corpus, &report), (&read.0, &read.1));
            }
            (Err(error), Err(expected)) => {
                let disordered = error.to_string().contains(DISORDERED);
                assert!(disordered || error == *expected, "{error}, {expected}");
            }
            (Err(error), Ok(_)) => assert!(error.to_string().contains(DISORDERED), "{error}"),
            (Ok(_), Err(expected)) => panic!("{expected}"),
        }
        // Nothing is left of what is private.
        assert_eq!(left(), 0);
    }
    memory
}

fn within(path: &Path, options: &CorpusOptions, most: u64) -> Result<ReadCorpus> {
    let fits = |size: CorpusSize| size.entries <= most;
    let limits = CorpusLimits {
        fits: &fits,
        scratch: &path.with_file_name("scratch"),
        key: 1,
        segment: 1 << 16,
    };
    read_corpus_within(path, options, &limits, &|_, _| ())
}

/// Documents as texts, a few words each.
fn sentences(documents: usize) -> Vec<String> {
    let words = [
        "zebra", "cat", "of", "lion", "x", "the", "42", "gnu", "élan",
    ];
    let sentence = |document: usize| {
        let own = (0..document * 7 % 23).map(|place| {
            let square = document * document + place * place * 3;
            words[square % words.len()].to_owned() + ["", "s", "ish"][(square / 9) % 3]
        });
        own.collect::<Vec<_>>().join(" ")
    };
    (0..documents).map(sentence).collect()
}

#[test]
fn every_filter_decides_as_in_memory() {
    let files = Files::new();
    let texts = sentences(300);
    let lines = files.write("a.txt", texts.join("\n"));
    let rows: Vec<(&str, i64)> = texts.iter().map(String::as_str).zip(100..).collect();
    let table = files.write("a.parquet", parquet(&rows));
    let json = texts.iter().enumerate().map(|(at, text)| {
        let name = if at % 2 == 0 { "a, \\\"b\\\"" } else { "é" };
        format!("{{\"text\": \"{text}\", \"id\": \"{name}{at}\"}}\n")
    });
    let json = files.write("a.jsonl", json.collect::<String>());
    for (at, text) in texts.iter().enumerate() {
        files.write(&format!("texts/{at}.txt"), text);
    }
    let mut counts = "300\n9\n1500\n".to_owned();
    let mut pairs = String::new();
    for document in 0..300 {
        pairs += "5";
        for place in 0..5 {
            let word = (document * 3 + place * place) % 9;
            writeln!(counts, "{} {} {}", document + 1, word + 1, place + 1).unwrap();
            write!(pairs, " {word}:{place}.5").unwrap();
        }
        pairs += "\n";
    }
    let docword = files.write("docword.a.txt", counts);
    let ldac = files.write("b.ldac", pairs);
    let words = strings(&["of", "c", "the", "b", "d", "e", "f", "g", "a"]);
    files.write("vocab.a.txt", words.join("\n"));
    let list = StopWords::List(strings(&["cat", "b", "3"]));
    for path in [lines, table, json, files.path("texts"), docword, ldac] {
        let own = CorpusOptions {
            id_column: match path.extension().and_then(|end| end.to_str()) {
                Some("jsonl") => Some("id".into()),
                Some("parquet") => Some("number".into()),
                _ => None,
            },
            ..CorpusOptions::default()
        };
        for options in [
            CorpusOptions::default(),
            CorpusOptions {
                min_docs: 20,
                ..CorpusOptions::default()
            },
            CorpusOptions {
                max_docs_share: 0.4,
                max_vocabulary: Some(5),
                ..CorpusOptions::default()
            },
            CorpusOptions {
                stop_words: list.clone(),
                min_docs: 2,
                ..CorpusOptions::default()
            },
            CorpusOptions {
                stop_words: StopWords::English,
                max_vocabulary: Some(3),
                ..CorpusOptions::default()
            },
            // Nothing is left.
            CorpusOptions {
                min_docs: 400,
                ..CorpusOptions::default()
            },
        ] {
            let options = CorpusOptions {
                id_column: own.id_column.clone(),
                ..options
            };
            let read = both(&path, &options);
            assert_eq!(read.is_err(), options.min_docs == 400, "{path:?}");
        }
    }
}

#[test]
fn names_stand_beside_documents_in_a_file() {
    let files = Files::new();
    let path = files.write("docword.x.txt", "3\n4\n3\n1 2 3\n3 1 1\n3 4 1\n");
    files.write("docs.x.txt", "k\n  l, m \n\n");
    let (corpus, report) = both(&path, &CorpusOptions::default()).unwrap();
    assert_eq!(
        (corpus.documents, report.empty),
        (strings(&["k", "l, m", ""]), vec![1])
    );
    let Ok(ReadCorpus::File(file)) = within(&path, &CorpusOptions::default(), 0) else {
        panic!("documents in a file");
    };
    assert_eq!(
        file.names_of(&[0, 1].into())
            .unwrap()
            .into_values()
            .collect::<Vec<_>>(),
        ["k", "l, m"]
    );
    // A list of another length names nobody.
    files.write("docs.x.txt", "k\nl\n");
    let (corpus, _) = both(&path, &CorpusOptions::default()).unwrap();
    assert_eq!(corpus.documents, ["1", "2", "3"]);
    // Numbers that are names by accident, and then are not.
    let path = files.write(
        "a.csv",
        "id,text\n1,cats purr\n2,dogs bark\nthree,cats bark\n",
    );
    let options = CorpusOptions {
        id_column: Some("id".into()),
        ..CorpusOptions::default()
    };
    let (corpus, _) = both(&path, &options).unwrap();
    assert_eq!(corpus.documents, ["1", "2", "three"]);
}

#[test]
fn entries_in_no_order_are_refused_where_they_do_not_fit() {
    let files = Files::new();
    let text = "3\n2\n4\n1 1 1\n3 2 1\n2 1 1\n1 2 1\n";
    let path = files.write("docword.a.txt", text);
    let refused = within(&path, &CorpusOptions::default(), 1).unwrap_err();
    assert_eq!(
        files.text(&refused),
        "docword.a.txt:6: document 2 after document 3, expected documents in their order, as they do not fit in \
         memory; try sorting the entries by document or a higher memory"
    );
    // Those that were in memory first are put in order.
    let path = files.write("docword.b.txt", "3\n2\n4\n2 1 1\n1 2 1\n1 1 1\n3 1 1\n");
    let Ok(ReadCorpus::File(file)) = within(&path, &CorpusOptions::default(), 2) else {
        panic!("documents in a file");
    };
    assert_eq!(
        in_memory(&file),
        read_corpus(&path, &CorpusOptions::default()).unwrap().0
    );
}

#[test]
fn absurd_numbers_take_no_memory() {
    // Word and document 4e9 of nameless ones, and of a header that lies.
    for (name, text) in [
        (
            "docword.a.txt",
            "4000000000\n4000000000\n2\n1 4000000000 1\n3999999999 1 1\n",
        ),
        ("a.svm", "1 4000000000:1\n1 1:1\n"),
        ("a.ldac", "1 4000000000:1\n"),
    ] {
        let error = one(name, text, &CorpusOptions::default()).unwrap_err();
        assert!(
            error.contains("4000000000") || error.contains("4000000001"),
            "{error}"
        );
    }
    // A word far from the others that later ones make plausible is counted all the same.
    let spare = 1 << 20;
    let mut text = format!("1 {}:1\n", spare + 3);
    for document in 0..9 {
        writeln!(text, "1 {}:2 {}:1", document + 1, spare + 2).unwrap();
    }
    let options = CorpusOptions {
        min_docs: 1,
        max_vocabulary: Some(3),
        ..CorpusOptions::default()
    };
    let (corpus, _) = one("a.svm", text, &options).unwrap();
    let far = (spare + 2).to_string();
    assert!(corpus.vocabulary.contains(&far));
}

#[test]
fn a_word_that_is_too_frequent_is_told_by_name() {
    let text = "2\n2\n3\n1 1 1\n2 2 16777216\n2 2 1\n";
    let expected = "docword.a.txt: word \"2\" 16777217 times in document \"2\", expected at most 16777216 times";
    assert_eq!(refusal("docword.a.txt", text), expected);
}

#[test]
fn reading_is_told_of() {
    let files = Files::new();
    let path = files.write("a.txt", sentences(200).join("\n"));
    let (most, written) = (Cell::new(0), Cell::new(None));
    let fits = |_: CorpusSize| false;
    let limits = CorpusLimits {
        fits: &fits,
        scratch: &files.path("scratch"),
        key: 1,
        segment: 1000,
    };
    let seen = |documents: u64, bytes: Option<u64>| {
        most.set(documents);
        written.set(bytes);
    };
    read_corpus_within(&path, &CorpusOptions::default(), &limits, &seen).unwrap();
    assert_eq!(most.get(), 200);
    let nowhere = CorpusLimits {
        scratch: &files.path("none/scratch"),
        ..limits
    };
    let refused = read_corpus_within(&path, &CorpusOptions::default(), &nowhere, &seen);
    let refused = files.text(&refused.unwrap_err());
    assert!(
        refused.starts_with("corpus: none/scratch.raw: "),
        "{refused}"
    );
    assert!(
        refused.contains("expected room for documents that do not fit in memory"),
        "{refused}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Entries of documents in their order, with repetitions, in both formats that have them.
    #[test]
    fn entries_of_documents_in_order(
        mut entries in prop::collection::vec((0..12_u32, 0..9_u32, 1..5_u32), 1..60),
        fraction in any::<bool>(),
    ) {
        entries.sort_by_key(|entry| entry.0);
        let end = if fraction { ".3" } else { "" };
        let mut all = String::new();
        for (document, word, count) in &entries {
            writeln!(all, "{} {} {count}{end}", document + 1, word + 1).unwrap();
        }
        let head = format!("13\n9\n{}\n", entries.len());
        one("docword.a.txt", head + &all, &CorpusOptions::default()).unwrap();
        let banner = "%%MatrixMarket matrix coordinate real general\n";
        let head = format!("{banner}13 9 {}\n", entries.len());
        one("a.mtx", head + &all, &CorpusOptions::default()).unwrap();
    }
}
