//! Any bytes at all: an error or a corpus that keeps its promises, and never a panic.

use proptest::prelude::*;

use super::texts::parquet;
use super::*;

fn survives(name: &str, bytes: &[u8], format: Option<CorpusFormat>) {
    let place = Files::new();
    let path = place.write(name, bytes);
    for invalid_utf8 in [InvalidUtf8::Refuse, InvalidUtf8::Replace] {
        let options = CorpusOptions {
            format,
            invalid_utf8,
            ..CorpusOptions::default()
        };
        match files::both(&path, &options) {
            Ok((corpus, _)) => check(&corpus),
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
        let vocabulary = strings(&["1", "word"]);
        if let Ok((corpus, _)) = read_corpus_with(&path, &vocabulary, &options) {
            check(&corpus);
            assert_eq!(corpus.vocabulary, vocabulary);
        }
    }
}

fn formats() -> impl Strategy<Value = Option<CorpusFormat>> {
    prop::option::of(prop::sample::select(&CorpusFormat::ALL[..]))
}

const NAMES: [&str; 8] = [
    "a",
    "a.csv",
    "a.tsv",
    "a.jsonl",
    "docword.a.txt",
    "a.ldac",
    "a.svm",
    "a.mtx",
];

const WHOLE: [&str; 7] = [
    "id,text\n1,\"some words\"\n2,others\n",
    "{\"text\": \"some words\", \"id\": 1}\n{\"text\": \"others\", \"id\": 2}\n",
    "2\n3\n3\n1 1 2\n2 3 1\n1 2 5\n",
    "2 0:1 2:3\n1 1:2.5\n",
    "-1 1:1 3:3 # a\n1 2:2.5\n",
    "%%MatrixMarket matrix coordinate real general\n% a\n2 3 2\n1 1 2\n2 3 1\n",
    "some words here\n\nand others\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        name in prop::sample::select(&NAMES[..]),
        format in formats(),
    ) {
        survives(name, &bytes, format);
    }

    #[test]
    fn any_text_of_numbers(
        text in "[0-9 :.#%{}\"\\-e\n]{0,80}",
        name in prop::sample::select(&NAMES[..]),
        format in formats(),
    ) {
        survives(name, text.as_bytes(), format);
    }

    /// A few bytes of a whole file changed, and the end cut off; plain and compressed.
    #[test]
    fn changed_and_cut(
        text in prop::sample::select(&WHOLE[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        compressed in any::<bool>(),
        name in prop::sample::select(&NAMES[..]),
    ) {
        let mut bytes = if compressed { gzip(text.as_bytes()) } else { text.as_bytes().to_vec() };
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        survives(name, &bytes, None);
    }

    #[test]
    fn changed_parquet(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = parquet(&[("some words", 1), ("", 2), ("others", 3)]);
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        survives("a.parquet", &bytes, None);
    }
}

#[test]
fn compressed_files_cut_anywhere() {
    let bytes = gzip(WHOLE[2].as_bytes());
    for end in 1..bytes.len() {
        survives("docword.a.txt.gz", &bytes[..end], None);
    }
    let half = &bytes[..bytes.len() - 9];
    assert_eq!(
        refusal("docword.a.txt.gz", half),
        "docword.a.txt.gz: damaged or incomplete gzip file (incomplete deflate stream), expected a whole one; try writing or downloading it again"
    );
}

#[test]
fn one_text_beyond_a_batch() {
    let text = "zebra ".repeat(2_000_000);
    let (corpus, _) = one("a.txt", text + "\ncat", &CorpusOptions::default()).unwrap();
    assert_eq!(bag(&corpus, 0), [("zebra", 2e6)]);
    assert_eq!(bag(&corpus, 1), [("cat", 1.0)]);
}
