use std::fs;
use std::time::Duration;

use collapsar_core::Error;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::super::{Corpus, Words};
use super::super::CorpusWriter;
use super::*;

const WORDS: usize = 700;

/// Documents of all lengths, none too, with counts of all kinds.
fn corpus(documents: usize, seed: u64) -> Corpus {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
    for document in 0..documents {
        let share = match document % 7 {
            0 => 0.0,
            // Far longer than a segment.
            3 if document == 3 => 1.0,
            _ => rng.random::<f64>() * 0.1,
        };
        // The last word is nowhere.
        for word in 0..WORDS as u32 - 1 {
            if rng.random::<f64>() < share {
                words.push(word);
                counts.push(match rng.random_range(0..5) {
                    0 => rng.random_range(3..20_000_u32) as f32,
                    1 => rng.random::<f32>() + 0.1,
                    2 => 2.0,
                    _ => 1.0,
                });
            }
        }
        starts.push(words.len());
    }
    Corpus::new(starts, words, counts, WORDS).expect("a corpus")
}

fn written(corpus: &Corpus, path: &Path, places: usize) {
    let _ = fs::remove_file(path);
    let writer = CorpusWriter::create(path, corpus.vocabulary()).expect("a writer");
    let mut writer = writer.with_places(places);
    for document in 0..corpus.documents() {
        let (words, counts) = corpus.document(document);
        writer.push(words, counts).expect("a document");
    }
    assert!(!path.exists());
    writer.keep(b"names ").expect("bytes");
    writer.keep(b"of documents").expect("bytes");
    writer.finish().expect("a file");
}

/// Every document of a range, and how many there were in each block.
fn read(stored: &StoredCorpus, range: Range<usize>) -> (Vec<Words>, Vec<usize>) {
    let (mut all, mut blocks) = (vec![], vec![]);
    let first = range.start;
    let visit = &mut |block: &DocumentBlock| {
        assert_eq!((block.first, block.starts[0]), (first + all.len(), 0));
        blocks.push(block.len());
        all.extend((0..block.len()).map(|at| {
            let (words, counts) = block.document(at);
            (words.to_vec(), counts.to_vec())
        }));
        Ok(ControlFlow::Continue(()))
    };
    stored.each(range, visit).expect("documents");
    (all, blocks)
}

#[test]
fn documents_and_sums_are_those_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("documents");
    for (documents, places) in [(4, 8), (128, 8), (129, 8), (3001, 4), (3001, 1 << 16)] {
        let corpus = corpus(documents, 1);
        written(&corpus, &path, places);
        for segment in [0, 1, 300, 20_000, 1 << 30] {
            let stored = StoredCorpus::open(&path, segment).expect("a corpus");
            let sizes = (stored.documents(), stored.vocabulary(), stored.entries());
            let expected = (documents, WORDS, corpus.entries() as u64);
            assert_eq!(sizes, expected);
            assert_eq!(stored.longest(), corpus.by_document.longest);
            assert_eq!(stored.digest(), corpus.digest());
            let bits =
                |totals: &[f64]| -> Vec<u64> { totals.iter().map(|x| x.to_bits()).collect() };
            assert_eq!(bits(stored.word_totals()), bits(&corpus.by_word.totals));
            assert_eq!(stored.tokens().to_bits(), corpus.tokens().to_bits());
            assert!(stored.is_whole().expect("a file"));
            for range in [
                0..documents,
                documents - 1..documents,
                2..3,
                127..130,
                1..documents,
            ] {
                let range = range.start.min(documents)..range.end.min(documents);
                let (all, blocks) = read(&stored, range.clone());
                let expected = range.clone().map(|document| corpus.document(document));
                assert!(all.iter().map(|(w, c)| (&w[..], &c[..])).eq(expected));
                assert!(blocks.iter().all(|&length| length == 1) || segment > 1);
                assert!(blocks.len() <= 1 || segment < 1 << 30);
            }
            for document in [0, 3, documents - 1] {
                let (words, counts) = stored.document(document).expect("a document");
                assert_eq!((&words[..], &counts[..]), corpus.document(document));
            }
            let mut kept = [0; 12];
            stored.kept(6, &mut kept).expect("bytes");
            assert_eq!((&kept, stored.kept_bytes()), (b"of documents", 18));
        }
    }
    // A few bytes an entry, which is what passes read.
    let stored = StoredCorpus::open(&path, 1000).expect("a corpus");
    assert!(stored.pass_bytes() < 4 * stored.entries());
    let before = stored.reading().bytes;
    read(&stored, 0..stored.documents());
    assert_eq!(stored.reading().bytes - before, stored.pass_bytes());
}

#[test]
fn visits_end_where_they_are_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("documents");
    written(&corpus(1000, 2), &path, 1 << 16);
    let stored = StoredCorpus::open(&path, 4000).expect("a corpus");
    let mut blocks = 0;
    let visit = &mut |_: &DocumentBlock| {
        blocks += 1;
        Ok(ControlFlow::Break(()))
    };
    stored.each(0..1000, visit).expect("documents");
    assert_eq!(blocks, 1);
    let refused = Error::data(collapsar_core::Place::Whole("x"), "y", "z");
    let failed = stored.each(5..1000, &mut |_| Err(refused.clone()));
    assert_eq!(failed, Err(refused));
    assert!(read(&stored, 1000..1000).0.is_empty() && read(&stored, 3..3).0.is_empty());
}

#[test]
fn what_is_no_document_is_refused_as_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("documents");
    let mut writer = CorpusWriter::create(&path, 3).expect("a writer");
    writer.push(&[0, 2], &[1.0, 0.5]).expect("a document");
    let mut refused = |words: &[u32], counts: &[f32]| {
        writer
            .push(words, counts)
            .expect_err("a refusal")
            .to_string()
    };
    for (words, counts) in [
        (&[3][..], &[1.0][..]),
        (&[1, 1], &[1.0, 1.0]),
        (&[0], &[0.0]),
        (&[0], &[f32::NAN]),
        (&[0], &[2e7]),
    ] {
        let all: Vec<u32> = [0].iter().chain(words).copied().collect();
        let numbers: Vec<f32> = [1.0].iter().chain(counts).copied().collect();
        let memory = Corpus::new(vec![0, 1, all.len()], all, numbers, 3);
        assert_eq!(
            refused(words, counts),
            memory.expect_err("a refusal").to_string()
        );
    }
    assert_eq!(
        refused(&[2, 1], &[1.0, 1.0]),
        "document 2: word 1 after word 2, expected words that ascend"
    );
    assert!(refused(&[2, 1], &[1.0]).contains("2 words with 1 counts"));
    drop(writer);
    let mut writer = CorpusWriter::create(&path, 3).expect("a writer");
    writer.push(&[], &[]).expect("a document");
    assert!(
        writer
            .finish()
            .expect_err("a refusal")
            .to_string()
            .contains("no words")
    );
    // Nothing is left of what was not finished.
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let nowhere = folder.path().join("none").join("documents");
    assert!(matches!(
        CorpusWriter::create(&nowhere, 3),
        Err(Error::File { .. })
    ));
}

#[test]
fn a_file_that_changes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("documents");
    let corpus = corpus(2000, 3);
    let whole = || {
        written(&corpus, &path, 1 << 16);
        StoredCorpus::open(&path, 5000).expect("a corpus")
    };
    let refused = |stored: &StoredCorpus| {
        let each = stored.each(0..2000, &mut |_| Ok(ControlFlow::Continue(())));
        let document = stored.document(1999).map(|_| ());
        for error in [each, document, stored.check()] {
            let error = error.expect_err("a refusal").to_string();
            let expected = "it was changed or cut short while its documents were read";
            assert!(
                error.contains(expected) && error.contains("documents: "),
                "{error}"
            );
        }
    };
    let stored = whole();
    let length = fs::metadata(&path).expect("a file").len();
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(length / 2))
        .expect("a shorter file");
    refused(&stored);
    let cut = StoredCorpus::open(&path, 5000)
        .expect_err("a refusal")
        .to_string();
    assert!(
        cut.ends_with(&format!(
            "it ends after {} bytes, expected {length}",
            length / 2
        )),
        "{cut}"
    );
    // Any byte of it, among documents and elsewhere.
    let stored = whole();
    std::thread::sleep(Duration::from_millis(30));
    let bytes = fs::read(&path).expect("a file");
    for at in (0..bytes.len())
        .step_by(997)
        .chain([10, 30, HEADER, bytes.len() - 1])
    {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).expect("a file");
        if let Ok(other) = StoredCorpus::open(&path, 5000) {
            assert!(!other.is_whole().unwrap_or(false), "byte {at}");
        }
    }
    refused(&stored);
    fs::write(&path, b"short").expect("a file");
    let short = StoredCorpus::open(&path, 5000)
        .expect_err("a refusal")
        .to_string();
    assert!(
        short.ends_with("it ends after 5 bytes, expected fewer documents"),
        "{short}"
    );
    fs::write(&path, vec![b'x'; 4000]).expect("a file");
    let other = StoredCorpus::open(&path, 5000)
        .expect_err("a refusal")
        .to_string();
    assert!(other.contains("it is no file of documents"), "{other}");
}

#[test]
fn many_read_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("documents");
    let corpus = corpus(1500, 4);
    written(&corpus, &path, 2);
    let stored = StoredCorpus::open(&path, 9000).expect("a corpus");
    std::thread::scope(|scope| {
        for part in 0..5 {
            let (stored, corpus) = (&stored, &corpus);
            scope.spawn(move || {
                let range = 300 * part..300 * (part + 1);
                let (all, _) = read(stored, range.clone());
                let expected = range.map(|document| corpus.document(document));
                assert!(all.iter().map(|(w, c)| (&w[..], &c[..])).eq(expected));
            });
        }
    });
}
