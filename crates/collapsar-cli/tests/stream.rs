//! Topics that are learned from documents as they come, in files and by standard input.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use common::{collapsar, done, refusal, run, run_json};

/// Texts of three themes of six words each, some lines empty.
fn texts(documents: usize) -> String {
    let mut text = String::new();
    for document in 0..documents {
        let theme = ["sea", "oven", "star"][document % 3];
        for place in 0..12 {
            let letter = char::from(b'a' + ((document * 5 + place * 7) % 6) as u8);
            text.extend([theme, &letter.to_string(), " "]);
        }
        text += if document % 10 == 0 { "\n\n" } else { "\n" };
    }
    text
}

/// Runs the program with this on its standard input.
fn fed(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = collapsar(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut pipe = child.stdin.take().expect("a pipe");
    // A refusal may come before everything is read.
    let _ = pipe.write_all(input.as_bytes());
    drop(pipe);
    child.wait_with_output().expect("an end")
}

/// What is printed, where all went well.
fn printed(output: &Output) -> String {
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn topics(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("topics.json")).expect("topics.json")
}

const HOW: [&str; 8] = [
    "--topics",
    "3",
    "--batch",
    "20",
    "--total-samples",
    "300",
    "--stop-words",
    "none",
];

#[test]
fn a_stream_is_a_file_and_can_be_used_on_new_documents() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = texts(300);
    fs::write(folder.join("texts.txt"), &text).expect("space");
    let object = |line: &str| format!("{{\"text\": \"{line}\"}}\n");
    let objects: String = text.lines().map(object).collect();
    fs::write(folder.join("texts.jsonl"), objects).expect("space");
    let how = |file: &'static str, out: &'static str| {
        [&["topics", file, "--stream"], &HOW[..], &["--out", out]].concat()
    };
    for (file, out) in [("texts.txt", "lines"), ("texts.jsonl", "objects")] {
        let said = printed(&run(folder, &how(file, out)));
        assert!(said.contains("330 documents, 18 words"), "{said}");
    }
    printed(&fed(folder, &how("-", "piped"), &text));
    assert_eq!(topics(&folder.join("lines")), topics(&folder.join("piped")));
    assert_eq!(
        topics(&folder.join("lines")),
        topics(&folder.join("objects"))
    );
    // The themes are the topics.
    let words = fs::read_to_string(folder.join("lines/topics.csv")).expect("topics.csv");
    for topic in 0..3 {
        let of_topic = |line: &&str| line.starts_with(&format!("{topic},"));
        let top = words.lines().filter(of_topic).take(6);
        let top: Vec<&str> = top.map(|line| &line[2..]).collect();
        let theme = &top[0][..3];
        assert!(top.iter().all(|word| word.starts_with(theme)), "{top:?}");
    }
    let record = run_json(&folder.join("lines"));
    assert_eq!(record["documents"], 330);
    assert_eq!(record["tokens"], 3600.0);
    let last = record["last_perplexity"].as_f64().expect("a number");
    // Of eighteen words each theme has six.
    assert!(last < 12.0, "{last}");
    done(
        folder,
        &["topics", "infer", "lines", "texts.txt", "--out", "new.csv"],
    );
    let inferred = fs::read_to_string(folder.join("new.csv")).expect("new.csv");
    let row = inferred.lines().nth(1).expect("a row");
    let shares = row.split(',').rev().take(3);
    let largest = shares
        .map(|cell| cell.parse::<f64>().expect("a number"))
        .fold(0.0, f64::max);
    assert!(largest > 0.9, "{row}");
}

#[test]
fn a_vocabulary_that_is_full_leaves_words_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = ["topics", "--stream", "-"];
    let how = [&begin[..], &["--max-vocabulary", "12"], &HOW].concat();
    let said = printed(&fed(folder.path(), &how, &texts(60)));
    assert!(said.contains("12 words, "), "{said}");
    assert!(said.contains("of words that came after the vocabulary was full"));
    let how = [&begin[..], &["--most-documents", "40"], &HOW].concat();
    let said = printed(&fed(folder.path(), &how, &texts(60)));
    assert!(said.contains("40 documents, "), "{said}");
}

#[test]
fn refusals_of_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let told = |arguments: &[&str], text: &str| {
        fs::write(folder.join("x.txt"), text).expect("space");
        refusal(folder, arguments)
    };
    let stream = ["topics", "--stream", "x.txt"];
    let said = told(&[&stream[..], &["-k", "1"]].concat(), "1\n2\n1\n1 2 3\n");
    assert!(said.contains("expected texts"), "{said}");
    let said = told(&stream, "1 2 3\n4 5.\n");
    assert!(said.contains("documents without a word"), "{said}");
    let said = told(&stream, "");
    assert!(said.contains("empty"), "{said}");
    let said = told(
        &[&stream[..], &["--learning-decay", "2"]].concat(),
        "cats purr\n",
    );
    assert!(said.contains("--learning-decay"), "{said}");
    // Nothing is left behind.
    told(&[&stream[..], &["--out", "fit"]].concat(), "1 2\n");
    assert!(!folder.join("fit/topics.json").exists());
}
