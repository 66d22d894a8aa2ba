//! Fits that return, and damaged ones that do not.

use super::*;

fn saved() -> SavedTopics {
    SavedTopics {
        about: About {
            version: "0.1.0".into(),
            documents: 3,
            tokens: 12.0,
            bound: -17.25,
            min_length: 2,
            keep_numbers: true,
            ids_are_positions: false,
        },
        vocabulary: ["a\"}", "b,c", "unseen"].map(String::from).to_vec(),
        fit: TopicsFit {
            topics: 2,
            alpha: vec![0.1, 1.0 / 3.0],
            beta: 1e-5,
            word_counts: vec![1.0 / 3.0, 0.0, 1e-300_f64.max(2.5), 9.1, 0.0, 0.0],
            document_counts: vec![],
            drawn: false,
        },
    }
}

fn text(saved: &SavedTopics) -> String {
    let mut bytes = Vec::new();
    write_to(&mut bytes, &saved.about, &saved.vocabulary, &saved.fit).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn read(text: &str) -> std::result::Result<SavedTopics, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE.name), text).unwrap();
    SavedTopics::read(folder.path()).map_err(|error| error.to_string())
}

#[test]
fn a_fit_returns() {
    let saved = saved();
    assert_eq!(read(&text(&saved)), Ok(saved));
}

#[test]
fn next_to_nothing_is_left_out() {
    let mut small = saved();
    small.fit.word_counts[1] = 1e-9;
    assert_eq!(read(&text(&small)), Ok(saved()));
}

#[test]
fn nothing_is_trusted() {
    let whole = text(&saved());
    let refused = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        read(&whole.replacen(from, to, 1)).unwrap_err()
    };
    for (from, to, cause) in [
        ("\"topics\": 2", "\"topics\": 3", "alpha of 2 for 3 topics"),
        ("\"topics\": 2", "\"topics\": 0", "no topics"),
        ("[0.1,", "[0.0,", "a prior of 0"),
        ("[0.1,", "[-0.1,", "a prior of -0.1"),
        ("0.00001", "1e300", "a prior of 1"),
        ("[1,9.1]", "[2,9.1]", "in topic 2 of 2"),
        ("[1,9.1]", "[0,9.1]", "twice in topic 0"),
        ("[1,9.1]", "[1,-9.1]", "with a count of -9.1"),
        ("[1,9.1]", "[1,null]", "invalid type: null"),
        ("[1,9.1]", "[1,1e999]", "number out of range"),
        ("[1,9.1]", "[-1,9.1]", "invalid value"),
        ("unseen", "b,c", "word \"b,c\" twice"),
        ("\"words\"", "\"sword\"", "missing field `words`"),
    ] {
        let text = refused(from, to);
        assert!(text.contains(cause), "{from} to {to}: {text}");
        assert!(text.contains("damaged or no fit ("), "{text}");
    }
    for end in 0..whole.len() - 2 {
        assert!(read(&whole[..end]).is_err(), "cut after {end} bytes");
    }
}
