//! Public corpora, where they are at hand.

use std::time::Instant;

use super::*;

/// A file of the shared data.
fn shared(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("COLLAPSAR_DATA") else {
        eprintln!("skipped: COLLAPSAR_DATA is not set");
        return None;
    };
    Some(Path::new(&folder).join("topics").join(name))
}

#[test]
fn nips() {
    let Some(path) = shared("nips2011/docword.nips2011.txt.gz") else {
        return;
    };
    let (corpus, report) = read(&path);
    check(&corpus);
    assert_eq!(corpus.documents.len(), 200);
    assert_eq!(corpus.documents[0], "NIPS2011_0274.txt");
    assert_eq!(corpus.vocabulary.len(), 2000);
    assert_eq!((corpus.words.len(), corpus.tokens()), (100_896, 339_107.0));
    assert_eq!(
        (report.format, report.duplicates),
        (CorpusFormat::Docword, 0)
    );
    // The parts of the test set share its words.
    let test = path.with_file_name("docword.nips2011_test_obs.txt.gz");
    let (part, report) = read(&test);
    assert_eq!(part.vocabulary, corpus.vocabulary);
    assert_eq!((part.documents.len(), part.words.len()), (105, 36_811));
    assert_eq!(part.documents[104], "105");
    let words = path.with_file_name("vocab.nips2011.txt.gz");
    assert_eq!(report.vocabulary, Some(words));
    let (mapped, outside) =
        read_corpus_with(&test, &corpus.vocabulary, &CorpusOptions::default()).unwrap();
    assert_eq!((mapped, outside.words), (part, 0));
}

#[test]
fn newsgroups() {
    let Some(path) = shared("20ng/docword.20ng.txt.gz") else {
        return;
    };
    let before = Instant::now();
    let (corpus, report) = read(&path);
    let seconds = before.elapsed().as_secs_f64();
    eprintln!("read in {seconds:.3} s");
    check(&corpus);
    assert_eq!(corpus.documents.len(), 18_206);
    assert_eq!(corpus.vocabulary.len(), 17_320);
    assert_eq!(corpus.words.len() + report.duplicates, 1_282_404);
}

#[test]
fn reuters() {
    let Some(path) = shared("reuters/reuters.ldac.gz") else {
        return;
    };
    let (corpus, report) = read(&path);
    check(&corpus);
    assert_eq!(report.format, CorpusFormat::LdaC);
    assert_eq!(
        (corpus.documents.len(), corpus.vocabulary.len()),
        (395, 4258)
    );
    assert!(corpus.documents[0].starts_with("0 UK: Prince Charles"));
    assert_eq!(bag(&corpus, 0)[0], ("church", 1.0));
}
