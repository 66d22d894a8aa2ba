//! Formats that give counts, and the files beside them.

use proptest::prelude::*;

use super::*;

const DOCWORD: &str = "3\n4\n5\n1 2 3\n3 1 1\n1 4 0.5\n3 2 2\n3 4 1\n";
const LDA_C: &str = "2 1:3 3:0.5\n0\n3 0:1 1:2 3:1\n";
const SVM_LIGHT: &str = "# counts\n+1 2:3 4:0.5 # first\n-1\n1 qid:2 4:1 2:2 1:1 3:0\n";
const MARKET: &str = "%%MatrixMarket matrix coordinate real general\n% made by hand\n\
                      3 4 6\n1 2 3.0e0\n3 1 1\n1 4 .5\n3 2 2\n3 4 1\n2 1 0\n";

#[test]
fn every_format_gives_the_same_corpus() {
    let mut corpora = Vec::new();
    for (name, text, format) in [
        ("docword.a.txt", DOCWORD, "docword"),
        ("a.ldac", LDA_C, "ldac"),
        ("a.dat", SVM_LIGHT, "svmlight"),
        ("a", MARKET, "mtx"),
    ] {
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
            let (corpus, report) = one(name, bytes, &CorpusOptions::default()).unwrap();
            check(&corpus);
            assert_eq!(report.format.name(), format);
            assert!(report.words_are_ids && report.duplicates == 0);
            assert_eq!((report.empty, report.unseen), (vec![1], 1));
            corpora.push(corpus);
        }
    }
    let first = corpora[0].clone();
    assert_eq!(first.vocabulary, ["1", "2", "3", "4"]);
    assert_eq!(first.documents, ["1", "2", "3"]);
    assert_eq!(bag(&first, 0), [("2", 3.0), ("4", 0.5)]);
    assert_eq!(bag(&first, 2), [("1", 1.0), ("2", 2.0), ("4", 1.0)]);
    // LDA-C counts words from 0.
    assert_eq!(corpora[2].vocabulary, ["0", "1", "2", "3"]);
    for corpus in corpora {
        assert_eq!(
            (corpus.starts, corpus.words, corpus.counts),
            (
                first.starts.clone(),
                first.words.clone(),
                first.counts.clone()
            )
        );
    }
}

#[test]
fn duplicates_are_added_up_and_counted() {
    for (name, text) in [
        ("docword.a.txt", "1\n2\n3\n1 1 2\n1 2 1\n1 1 3\n"),
        ("a.ldac", "3 0:2 1:1 0:3\n"),
        ("a.svm", "1 1:2 2:1 1:3\n"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate integer general\n1 2 3\n1 1 2\n1 2 1\n1 1 3\n",
        ),
    ] {
        let (corpus, report) = one(name, text, &CorpusOptions::default()).unwrap();
        assert_eq!((corpus.counts, report.duplicates), (vec![5.0, 1.0], 1));
    }
    let pattern = "%%MatrixMarket matrix coordinate pattern general\n1 2 2\n1 1\n1 2\n";
    let (corpus, _) = one("a.mtx", pattern, &CorpusOptions::default()).unwrap();
    assert_eq!(corpus.counts, [1.0, 1.0]);
}

/// A file's name and its text.
type Named<'a> = (&'a str, &'a str);

#[test]
fn words_and_documents_by_the_files_beside() {
    let cases: [(&str, &str, &[Named<'_>]); 6] = [
        (
            "docword.x.txt",
            DOCWORD,
            &[("vocab.x.txt", "a\nb\nc\nd\n"), ("docs.x.txt", "k\nl\nm\n")],
        ),
        (
            "docword.x_test_obs.txt.gz",
            DOCWORD,
            &[
                ("vocab.x.txt.gz", "a\nb\nc\nd"),
                ("docs.x_test_obs.txt.gz", "k\nl\nm\n"),
            ],
        ),
        (
            "x.ldac.gz",
            LDA_C,
            &[("x.tokens", "a\nb\nc\nd\n\n"), ("x.titles.gz", "k\nl\nm\n")],
        ),
        (
            "x.ldac",
            LDA_C,
            &[("x.vocab.gz", "a\nb\nc\nd\n"), ("x.titles", "k\nl\nm")],
        ),
        (
            "x.mtx",
            MARKET,
            &[("x_vocab.txt", "a\nb\nc\nd\n"), ("x.titles", "k\nl\nm")],
        ),
        (
            "x.mtx.gz",
            MARKET,
            &[("vocab.txt", "a\nb\nc\nd\n"), ("x.titles", "k\nl\nm")],
        ),
    ];
    for (name, text, beside) in cases {
        let files = Files::new();
        let bytes = |name: &str, text: &str| {
            if Path::new(name).extension().is_some_and(|e| e == "gz") {
                gzip(text.as_bytes())
            } else {
                text.as_bytes().to_vec()
            }
        };
        let path = files.write(name, bytes(name, text));
        for (name, text) in beside {
            files.write(name, bytes(name, text));
        }
        let (corpus, report) = read(&path);
        assert_eq!(corpus.vocabulary, ["a", "b", "c", "d"], "{name}");
        assert_eq!(corpus.documents, ["k", "l", "m"], "{name}");
        assert_eq!(report.vocabulary, Some(files.path(beside[0].0)));
        assert!(!report.words_are_ids);
    }
}

#[test]
fn names_that_do_not_fit_are_not_taken() {
    let files = Files::new();
    let path = files.write("docword.x.txt", DOCWORD);
    files.write("docs.x.txt", "k\nl\n");
    assert_eq!(read(&path).0.documents, ["1", "2", "3"]);
    files.write("docs.x.txt.gz", "k\nl\nm\n");
    assert_eq!(read(&path).0.documents, ["k", "l", "m"]);
}

#[test]
fn words_that_never_occur_keep_their_places_until_filtered() {
    let files = Files::new();
    let path = files.write("docword.x.txt", DOCWORD);
    let vocabulary = files.write("words", "the\nb\nc\nd\n");
    let read = |change: fn(&mut CorpusOptions)| {
        let mut options = CorpusOptions {
            vocabulary: Some(vocabulary.clone()),
            ..CorpusOptions::default()
        };
        change(&mut options);
        let (corpus, report) = read_corpus(&path, &options).unwrap();
        check(&corpus);
        (corpus.vocabulary.join(" "), report.unseen)
    };
    assert_eq!(read(|_| ()), ("the b c d".into(), 1));
    assert_eq!(read(|o| o.min_docs = 2), ("b d".into(), 0));
    assert_eq!(read(|o| o.max_vocabulary = Some(3)), ("the b d".into(), 0));
    // Stop words apply to counts only when asked for.
    assert_eq!(
        read(|o| o.stop_words = StopWords::English),
        ("b c d".into(), 1)
    );
}

#[test]
fn new_documents_in_the_words_of_a_fit() {
    let files = Files::new();
    let path = files.write("docword.x.txt", DOCWORD);
    let fit = strings(&["d", "b", "z", "y"]);
    let options = CorpusOptions::default();
    // Without names ids are positions.
    let (corpus, outside) = read_corpus_with(&path, &fit, &options).unwrap();
    assert_eq!(bag(&corpus, 0), [("b", 3.0), ("y", 0.5)]);
    assert_eq!((outside.words, outside.report.words_are_ids), (0, true));
    let error = read_corpus_with(&path, &fit[..3], &options).unwrap_err();
    assert_eq!(
        files.text(&error),
        "docword.x.txt:6: word \"4\", expected a whole number from 1 to 3 as in the vocabulary of the fit"
    );
    // With names they are looked up.
    files.write("vocab.x.txt", "a\nb\nc\nd\n");
    let (corpus, outside) = read_corpus_with(&path, &fit, &options).unwrap();
    check(&corpus);
    assert_eq!(bag(&corpus, 0), [("d", 0.5), ("b", 3.0)]);
    assert_eq!(
        (outside.words, outside.tokens, outside.examples),
        (1, 1.0, strings(&["a"]))
    );
}

#[test]
fn refusals() {
    let docword = |text: &str| refusal("docword.x.txt", text);
    let market = |text: &str| {
        let banner = "%%MatrixMarket matrix coordinate real general\n";
        refusal("x.mtx", format!("{banner}{text}"))
    };
    let mut texts: Vec<String> = [
        "3\n",
        "3\nwords\n",
        "0\n4\n0\n",
        "3\n0\n0\n",
        "3\n4\n2\n1 1 1\n",
        "3\n4\n1\n1 1 1\n1 2 1\n",
        "3\n4\n1\n1 1\n",
        "3\n4\n1\n1 1 1 1\n",
        "3\n4\n1\n0 1 1\n",
        "3\n4\n1\n4 1 1\n",
        "3\n4\n1\n1 0 1\n",
        "3\n4\n1\n1 5 1\n",
        "3\n4\n1\n1 x 1\n",
        "3\n4\n1\n1 1 0\n",
        "3\n4\n1\n1 1 -1\n",
        "3\n4\n1\n1 1 nan\n",
        "3\n4\n1\n1 1 inf\n",
        "3\n4\n1\n1 1 1e-60\n",
        "3\n4\n1\n1 1 16777217\n",
        "3\n4\n2\n1 1 16777216\n1 1 1\n",
        "3\n4\n0\n",
        "1000000000000000000\n4\n1\n1 1 1\n",
        "4000000000\n4\n1\n1 1 1\n",
        "3\n4000000000\n1\n1 1 1\n",
        "3\n4\n1000000000000000000\n1 1 1\n",
        "3\n99999999999999999999999999\n1\n1 1 1\n",
    ]
    .map(docword)
    .to_vec();
    texts.extend(
        [
            "2 0:1 1:1\n2 0:1\n",
            "1 0:1\n\n1 0:1\n",
            "1 0:1\n1 0:0\n",
            "1 0:1\n1 0:\n",
            "1 0:1\n1 0\n",
            "1 0:1\nx 0:1\n",
            "1 0:1\n1 -1:1\n",
            "1 0:1\n1 4294967295:1\n",
            "1 0:1\n1 4294967290:1\n",
            "0\n0\n",
        ]
        .map(|text| refusal("x.ldac", text)),
    );
    texts.extend(
        [
            "1 1:1\n1 0:1\n",
            "1 1:1\n1 1:-2\n",
            "1 1:1\n1:1 2:1\n",
            "# nothing\n",
        ]
        .map(|text| refusal("x.svmlight", text)),
    );
    texts.extend(
        [
            "",
            "1 2\n",
            "1 2 1\n1 3 1\n",
            "1 2 1\n2 1 1\n",
            "1 2 1\n1 1 -1\n",
            "1 2 1\n1 1\n",
            "1 2 2\n1 1 1\n",
            "1 2 1\n1 1 1\n1 2 1\n",
            "1000000000000000000 2 1\n1 1 1\n",
            "4000000000 2 1\n1 1 1\n",
            "1 2 1\n1 1 0\n",
        ]
        .map(market),
    );
    texts.push(refusal(
        "x.mtx",
        "%%MatrixMarket matrix array real general\n1 1\n5\n",
    ));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn refusals_of_vocabularies() {
    let mut texts = Vec::new();
    for words in [
        "",
        "a\nb\nc\n",
        "a\nb\n\nd\n",
        "a\nb\na\nd\n",
        "a\nb\n\u{0}\n",
    ] {
        let files = Files::new();
        let path = files.write("docword.x.txt", DOCWORD);
        files.write("vocab.x.txt", words);
        let error = read_corpus(&path, &CorpusOptions::default()).unwrap_err();
        texts.push(files.text(&error));
    }
    let files = Files::new();
    let path = files.write("x.ldac", LDA_C);
    files.write("x.tokens", "a\nb\nc\n");
    let error = read_corpus(&path, &CorpusOptions::default()).unwrap_err();
    texts.push(files.text(&error));
    files.write("x.tokens", b"a\nb\ncaf\xe9\nd\n");
    let error = read_corpus(&path, &CorpusOptions::default()).unwrap_err();
    texts.push(files.text(&error));
    insta::assert_snapshot!(texts.join("\n"));
}

proptest! {
    /// What was written is read back, whatever the order of the entries and the format.
    #[test]
    fn round_trips(
        documents in 1usize..9,
        words in 1usize..9,
        entries in prop::collection::btree_map((0usize..9, 0usize..9), 1u32..50_000, 1..40),
        seed in any::<u64>(),
    ) {
        let counts: Vec<((usize, usize), f32)> = entries
            .into_iter()
            .filter(|((document, word), _)| *document < documents && *word < words)
            .map(|(place, count)| (place, count as f32 / 4.0))
            .collect();
        prop_assume!(!counts.is_empty());
        let mut shuffled = counts.clone();
        shuffled.sort_by_key(|((d, w), _)| (d * 31 + w * 17) as u64 ^ (seed % 1024));
        let lines = |separator: &str| -> String {
            let line = |((d, w), c): &((usize, usize), f32)| {
                format!("{}{separator}{}{separator}{c}\n", d + 1, w + 1)
            };
            shuffled.iter().map(line).collect::<Vec<_>>().concat()
        };
        let rows = |first: usize, label: bool| -> String {
            (0..documents)
                .map(|document| {
                    let own: Vec<String> = shuffled
                        .iter()
                        .filter(|((d, _), _)| *d == document)
                        .map(|((_, w), c)| format!(" {}:{c}", w + first))
                        .collect();
                    let head = if label { "-1".to_owned() } else { own.len().to_string() };
                    head + &own.concat() + "\n"
                })
                .collect()
        };
        let size = shuffled.len();
        let files = Files::new();
        let vocabulary: Vec<String> = (0..words).map(|word| format!("w{word}\n")).collect();
        let options = CorpusOptions {
            vocabulary: Some(files.write("words", vocabulary.concat())),
            ..CorpusOptions::default()
        };
        for (name, text) in [
            ("docword.a", format!("{documents}\n{words}\n{size}\n{}", lines(" "))),
            ("a.mtx", format!(
                "%%MatrixMarket matrix coordinate real general\n{documents} {words} {size}\n{}",
                lines("\t")
            )),
            ("a.ldac", rows(0, false)),
            ("a.svm", rows(1, true)),
        ] {
            let path = files.write(name, gzip(text.as_bytes()));
            let (corpus, report) = read_corpus(&path, &options).unwrap();
            check(&corpus);
            prop_assert_eq!(corpus.documents.len(), documents);
            prop_assert_eq!(corpus.vocabulary.len(), words);
            prop_assert_eq!(report.duplicates, 0);
            let mut found = Vec::new();
            for document in 0..documents {
                let (words, counts) = corpus.document(document);
                let pairs = words.iter().zip(counts);
                found.extend(pairs.map(|(&word, &count)| ((document, word as usize), count)));
            }
            prop_assert_eq!(&found, &counts);
        }
    }
}
