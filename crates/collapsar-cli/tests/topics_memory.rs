//! Topics of documents that do not fit in memory: the results of documents that do, little memory, and files that are not what they were.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{done, names, refusal, run, run_json};

/// Documents of a few words from one of four groups, and some without any.
fn documents(count: usize) -> impl Iterator<Item = Vec<(usize, usize)>> {
    let mut state = 1_u64;
    let mut below = move |most: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    (0..count).map(move |document| {
        if document % 1000 == 7 {
            return vec![];
        }
        let group = below(4);
        let mut own: Vec<usize> = (0..40)
            .map(|_| {
                let group = if below(5) == 0 { below(4) } else { group };
                group * 75 + below(75)
            })
            .collect();
        own.sort_unstable();
        let same = own.chunk_by(|a, b| a == b);
        same.map(|same| (same[0], same.len())).collect()
    })
}

/// The same documents as counts and as texts, with names.
fn write_corpora(folder: &Path, count: usize) {
    let (mut pairs, mut json, mut entries, mut number) =
        (String::new(), String::new(), String::new(), 0);
    for (document, words) in documents(count).enumerate() {
        write!(pairs, "{}", words.len()).expect("room");
        write!(json, "{{\"id\": \"d{document}, é\", \"text\": \"").expect("room");
        for (word, count) in words {
            write!(pairs, " {word}:{count}").expect("room");
            write!(json, "{}", format!("w{word} ").repeat(count)).expect("room");
            writeln!(entries, "{} {} {count}", document + 1, word + 1).expect("room");
            number += 1;
        }
        pairs.push('\n');
        json.push_str("\"}\n");
    }
    let entries = format!("{count}\n300\n{number}\n{entries}");
    for (name, text) in [
        ("a.ldac", pairs),
        ("a.jsonl", json),
        ("docword.a.txt", entries),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
}

const FILES: [&str; 8] = [
    "documents.csv",
    "documents_sd.csv",
    "topics.csv",
    "topics.json",
    "topics_quality.csv",
    "typical_documents.csv",
    "correlations.csv",
    "posterior.csv",
];

/// What a run found, without times.
fn results(folder: &Path) -> Vec<Vec<u8>> {
    let file = |name: &&str| fs::read(folder.join(name)).expect(name);
    FILES.iter().map(file).collect()
}

#[test]
fn documents_in_a_file_give_the_results_of_documents_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_corpora(folder, 20_000);
    for (data, more) in [
        ("a.ldac", &["-k", "4", "--max-passes", "40"][..]),
        (
            "a.jsonl",
            &[
                "--id-column",
                "id",
                "-k",
                "3",
                "--max-docs-share",
                "0.2",
                "--max-vocabulary",
                "200",
                "--max-passes",
                "12",
            ],
        ),
        (
            "docword.a.txt",
            &[
                "-k",
                "2,4",
                "--alpha",
                "0.1",
                "--beta",
                "0.05",
                "--min-docs",
                "3",
                "--max-passes",
                "10",
            ],
        ),
        (
            "a.ldac",
            &[
                "-k",
                "4",
                "--start",
                "random",
                "--restarts",
                "2",
                "--max-passes",
                "12",
            ],
        ),
    ] {
        for (memory, out) in [("4GB", "memory"), ("16MB", "file")] {
            let args = ["topics", data, "--memory", memory, "--out", out];
            done(folder, &[&args, more].concat());
        }
        let [memory, file] = ["memory", "file"].map(|out| results(&folder.join(out)));
        for ((memory, file), name) in memory.iter().zip(&file).zip(FILES) {
            assert!(memory == file, "{data} {more:?}: {name}");
        }
        let [memory, file] = ["memory", "file"].map(|out| run_json(&folder.join(out)));
        for field in [
            "bound",
            "passes",
            "iterations",
            "compared",
            "signs",
            "verdict",
            "corpus",
            "alpha",
            "topic_tokens",
            "warnings",
        ] {
            assert_eq!(memory[field], file[field], "{data} {more:?}: {field}");
        }
        assert_eq!(memory["documents"]["in"], "memory");
        let place = &file["documents"];
        assert_eq!(place["in"], "file");
        let bytes = place["bytes_per_pass"].as_u64().expect("a number");
        assert!((200_000..4_000_000).contains(&bytes), "{bytes}");
        assert!(place["bytes_read"].as_u64() > Some(10 * bytes));
        assert!(["disk", "computing"].contains(&place["bound_by"].as_str().expect("a word")));
    }
    // What was written on the way is gone.
    let left = ["a.jsonl", "a.ldac", "docword.a.txt", "file", "memory"];
    assert_eq!(names(folder), left);
    // Halves of other documents are foreseen alike.
    write_corpora(&folder.join("file"), 50);
    let halves = "file/a.ldac,file/a.ldac";
    for (memory, out) in [("4GB", "memory"), ("16MB", "file2")] {
        let args = [
            "topics",
            "a.ldac",
            "-k",
            "3",
            "--max-passes",
            "6",
            "--completion",
            halves,
            "--memory",
            memory,
        ];
        done(folder, &[&args[..], &["--out", out]].concat());
    }
    let [one, other] = ["memory", "file2"].map(|out| run_json(&folder.join(out)));
    assert_eq!(one["evaluation"], other["evaluation"]);
    assert!(one["evaluation"]["perplexity"].as_f64() > Some(1.0));
}

#[test]
fn a_run_goes_on_from_documents_that_were_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_corpora(folder, 20_000);
    // What a process that died has left.
    fs::write(folder.join("..fit.corpus.raw.0123456789abcdef.tmp"), "dead").expect("room");
    let fit = |more: &[&str]| {
        let args = [
            "topics",
            "a.jsonl",
            "--id-column",
            "id",
            "-k",
            "4",
            "--memory",
            "16MB",
        ];
        let output = run(folder, &[&args, more].concat());
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{talk}");
        (talk, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (talk, said) = fit(&[
        "--out",
        "fit",
        "--checkpoint",
        "run.ckpt",
        "--max-iterations",
        "4",
    ]);
    assert!(
        talk.contains("documents do not fit in 16")
            && talk.contains("MB: each pass reads them from .fit.corpus"),
        "{talk}"
    );
    assert!(
        talk.contains(".fit.corpus keeps the documents for --resume"),
        "{talk}"
    );
    assert!(
        said.contains("documents did not fit in 16")
            && said.contains("MB and were read from a file, "),
        "{said}"
    );
    let corpus = folder.join(".fit.corpus");
    let changed = || {
        fs::metadata(&corpus)
            .and_then(|of| of.modified())
            .expect("documents")
    };
    let made = changed();
    let on = [
        "--out",
        "fit",
        "--resume",
        "run.ckpt",
        "--checkpoint",
        "run.ckpt",
        "--max-iterations",
        "6",
    ];
    let (talk, _) = fit(&on);
    assert!(
        talk.contains(".fit.corpus, which an earlier run left"),
        "{talk}"
    );
    assert_eq!(changed(), made);
    let first = results(&folder.join("fit"));
    // Documents that are not what was written are written again.
    let mut bytes = fs::read(&corpus).expect("documents");
    bytes[5000] ^= 1;
    fs::write(&corpus, bytes).expect("room");
    let (talk, _) = fit(&[&on[..7], &["7"]].concat());
    assert!(!talk.contains("which an earlier run left"), "{talk}");
    // With other words it is another corpus.
    let other = [
        "--out",
        "fit",
        "--max-docs-share",
        "0.5",
        "--max-passes",
        "3",
    ];
    let (talk, _) = fit(&other);
    assert!(!talk.contains("which an earlier run left"), "{talk}");
    assert_eq!(
        names(folder),
        ["a.jsonl", "a.ldac", "docword.a.txt", "fit", "run.ckpt"]
    );
    assert!(first.iter().all(|file| !file.is_empty()));
}

#[test]
fn what_needs_documents_in_memory_is_refused_before_the_climb() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_corpora(folder, 20_000);
    let fit = |more: &[&str]| {
        let args = [
            "topics", "a.ldac", "-k", "4", "--memory", "16MB", "--quiet", "--out", "fit",
        ];
        refusal(folder, &[&args, more].concat())
    };
    for (flags, what, omit) in [
        (
            &["--posterior", "exact"][..],
            "chains over all tokens",
            "without --posterior",
        ),
        (
            &["--documents"],
            "a row for each of them",
            "without --documents",
        ),
        (
            &["--holdout", "0.1"],
            "documents held out of them",
            "without --holdout",
        ),
        (
            &["--restarts", "2", "--average"],
            "what several fits say of them",
            "without --average",
        ),
        (
            &["--completion", "a.ldac,a.ldac", "--curve", "curve.jsonl"],
            "perplexity along the climb",
            "without --curve",
        ),
    ] {
        assert_eq!(
            fit(flags),
            format!(
                "collapsar: error: a.ldac: documents that do not fit in memory, and {what} asked for, expected documents in \
                 memory; try a higher --memory or {omit}\n"
            )
        );
    }
    // A matrix by columns, as some write it.
    let mut market =
        "%%MatrixMarket matrix coordinate integer general\n20000 40 800000\n".to_owned();
    for word in 1..=40 {
        for document in 1..=20_000 {
            writeln!(market, "{document} {word} 1").expect("room");
        }
    }
    fs::write(folder.join("a.mtx"), market).expect("room");
    let refused = refusal(folder, &["topics", "a.mtx", "--memory", "16MB", "--quiet"]);
    assert!(
        refused.contains("documents in their order, as they do not fit in memory"),
        "{refused}"
    );
    assert_eq!(
        names(folder),
        ["a.jsonl", "a.ldac", "a.mtx", "docword.a.txt"]
    );
}
