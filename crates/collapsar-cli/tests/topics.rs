//! Topic fits that are written, read back, resumed, held out and watched end as promised.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{done, names, refusal, run, run_json};
use serde_json::Value;

/// Documents of three themes with some words in common, from a linear congruential generator.
fn write_texts(path: &Path, documents: usize) {
    let mut state = 7_u64;
    let mut draw = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    for document in 0..documents {
        for _ in 0..30 {
            let theme = if draw(10) < 8 {
                document as u64 % 3
            } else {
                draw(3)
            };
            let word = match draw(6) {
                0 => format!("common{}", draw(5)),
                _ => format!("{}{}", ["sea", "oven", "star"][theme as usize], draw(12)),
            };
            text += &word;
            text.push(' ');
        }
        text.push('\n');
    }
    fs::write(path, text).expect("a writable folder");
}

/// Bytes of the results that do not tell the time.
fn results(folder: &Path) -> [Vec<u8>; 3] {
    ["topics.json", "topics.csv", "documents.csv"]
        .map(|file| fs::read(folder.join(file)).expect(file))
}

/// Proportions by document.
fn proportions(file: &Path) -> BTreeMap<String, Vec<f64>> {
    let text = fs::read_to_string(file).expect("CSV");
    let rows = text.lines().skip(1).map(|line| {
        let mut fields = line.split(',');
        let name = fields.next().expect("a name").to_owned();
        let numbers = fields.skip(1).map(|x| x.parse().expect("a number"));
        (name, numbers.collect())
    });
    rows.collect()
}

/// Documents in two halves.
fn write_halves(folder: &Path, documents: usize) {
    let whole = folder.join("whole.txt");
    write_texts(&whole, documents);
    let text = fs::read_to_string(whole).expect("text");
    for (skip, name) in ["observed.txt", "evaluated.txt"].iter().enumerate() {
        let half = text.lines().map(|line| {
            let words: Vec<&str> = line.split(' ').skip(skip).step_by(2).collect();
            words.join(" ") + "\n"
        });
        fs::write(folder.join(name), half.collect::<String>()).expect("space");
    }
}

/// Cells of a CSV without quotes.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).expect("CSV");
    let rows = text.lines();
    rows.map(|row| row.split(',').map(String::from).collect())
        .collect()
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("JSON lines");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON lines")
}

#[test]
fn a_fit_returns_through_infer() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 60);
    let args = [
        "topics",
        "texts.txt",
        "--topics",
        "3",
        "--out",
        "fit",
        "--all-words",
    ];
    done(folder, &args);
    let fit = folder.join("fit");
    assert_eq!(
        names(&fit),
        [
            "correlations.csv",
            "documents.csv",
            "documents_sd.csv",
            "posterior.csv",
            "run.json",
            "topics.csv",
            "topics.json",
            "topics_quality.csv",
            "trace.jsonl",
            "typical_documents.csv"
        ]
    );
    // 36 words of the themes and 5 in common; a row of each topic for each.
    let topics = fs::read_to_string(fit.join("topics.csv")).expect("CSV");
    assert_eq!(topics.lines().count(), 1 + 3 * 41);
    for topic in 0..3 {
        let prefix = format!("{topic},");
        let rows = topics.lines().filter(|line| line.starts_with(&prefix));
        let sum: f64 = rows
            .map(|row| row.split(',').nth(3).expect("a field"))
            .map(|p| p.parse::<f64>().expect("a number"))
            .sum();
        assert!((sum - 1.0).abs() < 1e-9, "topic {topic}: {sum}");
    }
    done(
        folder,
        &["topics", "infer", "fit", "texts.txt", "--out", "new.csv"],
    );
    let (old, new) = (
        proportions(&fit.join("documents.csv")),
        proportions(&folder.join("new.csv")),
    );
    assert_eq!(old.len(), 60);
    for (document, old) in &old {
        let sum: f64 = old.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "document {document}");
        // Seen on its own a document no longer pulls the topics along, and the fit's stops settle it
        // only as far as its own tolerance.
        for (old, new) in old.iter().zip(&new[document]) {
            assert!((old - new).abs() < 0.02, "document {document}: {old} {new}");
        }
    }
    let record = run_json(&fit);
    assert_eq!(record["topics"], 3);
    assert_eq!(record["corpus"]["documents"], 60);
    assert_eq!(record["corpus"]["tokens"], 1800.0);
    assert_eq!(record["alpha"].as_array().expect("a list").len(), 3);
    assert_eq!(record["inputs"].as_array().expect("a list").len(), 1);
}

#[test]
fn threads_and_restarts_do_not_change_a_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 700);
    let base = ["topics", "texts.txt", "--topics", "4"];
    for threads in ["1", "2"] {
        let more = ["--restarts", "3", "--threads", threads, "--out", threads];
        done(folder, &[&base[..], &more].concat());
    }
    assert!(results(&folder.join("1")) == results(&folder.join("2")));
    let all = run_json(&folder.join("1"));
    let seed = all["best_seed"].as_u64().expect("a seed").to_string();
    done(
        folder,
        &[&base[..], &["--seed", &seed, "--out", "one"]].concat(),
    );
    assert!(results(&folder.join("1")) == results(&folder.join("one")));
    assert_eq!(all["spread"]["starts"], 3);
}

#[test]
fn a_resumed_run_equals_one_never_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 60);
    write_texts(&folder.join("more.txt"), 61);
    let with = |file: &str, more: &[&str]| {
        let args: Vec<String> = ["topics", file, "--topics", "4", "--holdout", "0.2"]
            .iter()
            .chain(more)
            .map(ToString::to_string)
            .collect();
        args
    };
    let go = |args: Vec<String>| done(folder, &args.iter().map(String::as_str).collect::<Vec<_>>());
    go(with("texts.txt", &["--out", "whole"]));
    for stop in ["1", "3", "7"] {
        let limits = ["--max-iterations", stop, "--checkpoint", "run.ckpt"];
        go(with("texts.txt", &limits));
        go(with(
            "texts.txt",
            &["--resume", "run.ckpt", "--out", "resumed"],
        ));
        assert!(
            results(&folder.join("whole")) == results(&folder.join("resumed")),
            "stopped after {stop}"
        );
    }
    let other = with("more.txt", &["--resume", "run.ckpt", "--quiet"]);
    let text = refusal(
        folder,
        &other.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert!(
        text.starts_with("collapsar: error: checkpoint: one of 4 topics on 48 documents"),
        "{text}"
    );
}

#[test]
fn a_curve_does_not_change_the_climb() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 90);
    let base = [
        "topics",
        "texts.txt",
        "--topics",
        "3",
        "--holdout",
        "0.2",
        "--seed",
        "4",
    ];
    done(folder, &[&base[..], &["--out", "plain"]].concat());
    done(
        folder,
        &[&base[..], &["--out", "watched", "--curve", "curve.jsonl"]].concat(),
    );
    assert!(results(&folder.join("plain")) == results(&folder.join("watched")));
    let (plain, record) = (
        run_json(&folder.join("plain")),
        run_json(&folder.join("watched")),
    );
    for field in ["bound", "iterations", "passes", "evaluation"] {
        assert_eq!(plain[field], record[field], "{field}");
    }
    let curve = lines(&folder.join("curve.jsonl"));
    assert_eq!(curve[0]["iterations"], 1);
    let end = &curve[curve.len() - 1];
    assert_eq!(end["iterations"], record["iterations"]);
    assert_eq!(end["bound"], record["bound"]);
    assert_eq!(end["perplexity"], record["evaluation"]["perplexity"]);
    let trace = lines(&folder.join("watched/trace.jsonl"));
    for pair in curve.windows(2) {
        assert!(pair[0]["iterations"].as_u64() < pair[1]["iterations"].as_u64());
        assert!(pair[0]["wall_seconds"].as_f64() <= pair[1]["wall_seconds"].as_f64());
        assert!(pair[0]["cpu_seconds"].as_f64() <= pair[1]["cpu_seconds"].as_f64());
    }
    for line in &curve {
        let iteration = line["iterations"].as_u64().expect("a count") as usize;
        assert_eq!(line["bound"], trace[iteration - 1]["bound"]);
        assert_eq!(line["tool"], "collapsar");
        assert_eq!(line["settings"]["holdout"], 0.2);
    }
    // A climb that ends there foresees what the curve says, whatever was tried on the way.
    for method in ["auto", "fr", "lbfgs"] {
        let method = ["--method", method];
        let watched = ["--max-iterations", "12", "--curve", "short.jsonl"];
        done(folder, &[&base[..], &method, &watched].concat());
        for line in lines(&folder.join("short.jsonl")) {
            let stop = line["iterations"].to_string();
            let stopped = ["--max-iterations", &stop, "--out", "stopped"];
            done(folder, &[&base[..], &method, &stopped].concat());
            let record = run_json(&folder.join("stopped"));
            assert_eq!(
                line["perplexity"], record["evaluation"]["perplexity"],
                "{method:?} after {stop}"
            );
        }
    }
    // 90 documents, a fifth of them held out; every one has its row all the same.
    assert_eq!(record["held_out"].as_array().expect("a list").len(), 18);
    assert_eq!(proportions(&folder.join("watched/documents.csv")).len(), 90);
}

#[test]
fn topics_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 90);
    let args = ["topics", "texts.txt", "--topics", "3", "--holdout", "0.2"];
    done(folder, &[&args[..], &["--out", "fit"]].concat());
    let fit = folder.join("fit");
    let record = run_json(&fit);
    let rows = rows(&fit.join("topics_quality.csv"));
    assert_eq!(
        rows[0].join(","),
        "topic,share,tokens,alpha,npmi,umass,exclusivity,documents"
    );
    let column = |index: usize| -> Vec<f64> {
        let cells = rows[1..].iter().map(|row| row[index].parse());
        cells.collect::<Result<_, _>>().expect("numbers")
    };
    // Written as single precision.
    assert!((column(1).iter().sum::<f64>() - 1.0).abs() < 1e-5);
    let measures = &record["compared"][0]["measures"];
    for (index, name) in [(4, "npmi"), (5, "umass"), (6, "exclusivity")] {
        let mean = column(index).iter().sum::<f64>() / 3.0;
        let said = measures[name].as_f64().expect("a number");
        assert!((mean - said).abs() < 1e-5, "{name}: {mean} {said}");
    }
    assert!(measures["diversity"].as_f64() > Some(0.8), "{measures}");
    // Documents are named as in the corpus, and those held out were not there to be typical: each of
    // a topic's has it foremost.
    let proportions = proportions(&fit.join("documents.csv"));
    let held = record["held_out"].as_array().expect("a list");
    for (topic, row) in rows[1..].iter().enumerate() {
        let names: Vec<&str> = row[7].split(" | ").collect();
        assert_eq!(names.len(), 5);
        for name in names {
            assert!(!held.contains(&Value::from(name)), "{name}");
            assert!(proportions[name][topic] > 0.6, "{name} in topic {topic}");
        }
    }
    let square = self::rows(&fit.join("correlations.csv"));
    assert_eq!(square[0].join(","), "topic,topic_0,topic_1,topic_2");
    for (topic, row) in square[1..].iter().enumerate() {
        assert_eq!((row.len(), row[topic + 1].as_str()), (4, "1.0"));
        for other in 0..3 {
            assert_eq!(row[other + 1], square[other + 1][topic + 1]);
        }
    }
}

#[test]
fn an_average_foresees_better_and_its_fits_stay_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 120);
    write_halves(folder, 40);
    let base = [
        "topics",
        "texts.txt",
        "--topics",
        "12",
        "--alpha",
        "0.1",
        "--beta",
        "0.05",
        "--completion",
        "observed.txt,evaluated.txt",
    ];
    let fit = |more: &[&str]| done(folder, &[&base[..], more].concat());
    let average = ["--restarts", "3", "--average", "--out", "fit"];
    fit(&average);
    let record = run_json(&folder.join("fit"));
    let evaluation = &record["evaluation"];
    let number = |value: &Value| value.as_f64().expect("a number");
    let (mean, best) = (
        number(&evaluation["perplexity"]),
        number(&evaluation["best_perplexity"]),
    );
    assert_eq!(evaluation["fits"], 3);
    assert_eq!(
        record["compared"][0]["perplexity"],
        evaluation["perplexity"]
    );
    assert!(mean < best, "{mean} {best}");

    // All but the best, by their seeds.
    let kept = record["best_seed"].as_u64().expect("a seed");
    let others: Vec<String> = (0..3)
        .filter(|seed| *seed != kept)
        .map(|seed| format!("topics-{seed}.json"))
        .collect();
    assert_eq!(names(&folder.join("fit/average")), others);

    // The best and the others are what they would be on their own.
    let (other, kept) = (others[0].as_str(), kept.to_string());
    let other_seed = &other["topics-".len()..other.len() - ".json".len()];
    for (seed, file) in [(kept.as_str(), "topics.json"), (other_seed, other)] {
        fit(&["--seed", seed, "--out", "one"]);
        let place = if file == other { "fit/average" } else { "fit" };
        let (one, member) = (
            fs::read(folder.join("one/topics.json")).expect("a fit"),
            fs::read(folder.join(place).join(file)).expect("a fit"),
        );
        assert!(one == member, "{file}");
    }
    // And one after the other, under a curve, the same.
    fit(&[&average[..4], &["turn", "--curve", "curve.jsonl"]].concat());
    assert!(results(&folder.join("fit")) == results(&folder.join("turn")));
    assert_eq!(run_json(&folder.join("turn"))["evaluation"], *evaluation);
    let curve = lines(&folder.join("curve.jsonl"));
    assert_eq!(curve.len(), 3);
    for (index, line) in curve.iter().enumerate() {
        assert_eq!(line["restarts"], index + 1);
    }
    for pair in curve.windows(2) {
        for field in ["iterations", "passes", "cpu_seconds", "wall_seconds"] {
            let [before, after] = [&pair[0], &pair[1]].map(|line| number(&line[field]));
            assert!(before < after, "{field}: {before} {after}");
        }
    }
    let end = &curve[2];
    assert_eq!(end["iterations"], record["iterations"]);
    assert_eq!(end["passes"], record["passes"]);
    assert_eq!(end["bound"], record["bound"]);
    // The mean of the same three, added up in another order.
    assert!((number(&end["perplexity"]) / mean - 1.0).abs() < 1e-12);

    // The folder foresees as the fit did, but for counts below 1e-6 that it leaves out.
    let infer = || {
        let pair = ["--completion", "observed.txt,evaluated.txt"];
        let output = run(folder, &[&["topics", "infer", "fit"][..], &pair].concat());
        assert!(output.status.success());
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"))
    };
    let [said, talk] = infer();
    let begin =
        format!("perplexity {mean:.1} by the mean of 3 fits, {best:.1} by the best alone, of ");
    assert!(said.starts_with(&begin), "{said}");
    assert!(talk.contains("by the mean of 3 fits"), "{talk}");

    // Fewer fits into the same folder, and then one: none of the earlier ones is left.
    fit(&[
        "--restarts",
        "2",
        "--average",
        "--seed",
        "7",
        "--out",
        "fit",
    ]);
    let left = names(&folder.join("fit/average"));
    assert!(
        left == ["topics-7.json"] || left == ["topics-8.json"],
        "{left:?}"
    );
    assert!(infer()[0].contains(" by the mean of 2 fits, "));
    fs::write(folder.join("fit/average/notes.txt"), "mine").expect("space");
    fit(&["--out", "fit"]);
    assert_eq!(names(&folder.join("fit/average")), ["notes.txt"]);
    let [said, talk] = infer();
    assert!(!said.contains("mean") && talk.is_empty(), "{said}{talk}");

    // A fit of other words is no part of an average.
    fs::write(folder.join("few.txt"), "sea0 oven1\nsea0 star3 star4\n").expect("space");
    done(
        folder,
        &["topics", "few.txt", "--topics", "2", "--out", "few"],
    );
    let stray = folder.join("fit/average/topics-5.json");
    fs::copy(folder.join("few/topics.json"), stray).expect("space");
    let pair = ["--completion", "observed.txt,evaluated.txt"];
    let text = refusal(folder, &[&["topics", "infer", "fit"][..], &pair].concat());
    assert!(
        text.contains("topics-5.json: of another vocabulary"),
        "{text}"
    );
}

#[test]
fn topics_that_look_wrong_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // Every document says the same.
    fs::write(
        folder.join("same.txt"),
        "sea ship oven flour star\n".repeat(40),
    )
    .expect("space");
    let warnings = |args: &[&str]| {
        done(folder, &[args, &["--out", "fit"]].concat());
        let output = run(folder, &[args, &["--quiet"]].concat());
        let talk = String::from_utf8(output.stderr).expect("UTF-8");
        let record = run_json(&folder.join("fit"));
        for warning in record["warnings"].as_array().expect("a list") {
            let line = format!("collapsar: warning: {}\n", warning.as_str().expect("text"));
            assert!(talk.contains(&line), "{line}{talk}");
        }
        talk
    };
    let talk = warnings(&["topics", "same.txt", "--topics", "4"]);
    assert!(
        talk.contains("try given ones, such as --alpha 0.1 --beta 0.05"),
        "{talk}"
    );
    // Words of a topic that is as even as the prior are those of any other such topic.
    let given = ["--topics", "3", "--alpha", "1000", "--beta", "100"];
    let talk = warnings(&[&["topics", "same.txt"][..], &given].concat());
    assert!(
        talk.contains("topics 0, 1 and 2 are nearly the same; fewer topics may say as much"),
        "{talk}"
    );
    assert!(!talk.contains("try given ones"), "{talk}");
    write_texts(&folder.join("texts.txt"), 60);
    let given = ["--topics", "3", "--alpha", "0.1", "--beta", "0.05"];
    let talk = warnings(&[&["topics", "texts.txt"][..], &given].concat());
    assert_eq!(talk, "");
}

#[test]
fn the_number_that_foresees_best_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 90);
    let args = [
        "topics",
        "texts.txt",
        "--topics",
        "1,3",
        "--holdout",
        "0.2",
        "--out",
        "fit",
    ];
    done(folder, &args);
    let record = run_json(&folder.join("fit"));
    let compared = record["compared"].as_array().expect("a list");
    let best = compared
        .iter()
        .min_by(|a, b| {
            let of = |line: &Value| line["perplexity"].as_f64().expect("a number");
            of(a).total_cmp(&of(b))
        })
        .expect("two lines");
    assert_eq!(record["topics"], best["topics"]);
    assert_eq!(
        record["evaluation"]["perplexity"], best["perplexity"],
        "the fit kept is the one that was compared"
    );
}

#[test]
fn folders_tables_and_json_lines_are_the_same_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 12);
    let texts = fs::read_to_string(folder.join("texts.txt")).expect("text");
    fs::create_dir_all(folder.join("folder/below")).expect("space");
    let (mut table, mut json) = (String::from("id,body,year\n"), String::new());
    for (index, text) in texts.lines().enumerate() {
        let name = format!("below/{index:02}.txt");
        fs::write(folder.join("folder").join(&name), text).expect("space");
        table += &[&name, ",\"", text, "\",2001\n"].concat();
        json += &serde_json::json!({"id": name, "body": text}).to_string();
        json.push('\n');
    }
    fs::write(folder.join("table.csv"), table).expect("space");
    fs::write(folder.join("lines.jsonl"), json).expect("space");
    let base = ["--topics", "2", "--alpha", "0.1", "--beta", "0.1", "--out"];
    let columns = ["--text-column", "body", "--id-column", "id"];
    done(folder, &[&["topics", "folder"][..], &base, &["a"]].concat());
    for (file, out) in [("table.csv", "b"), ("lines.jsonl", "c")] {
        done(
            folder,
            &[&["topics", file][..], &base, &[out], &columns].concat(),
        );
        assert!(
            results(&folder.join("a")) == results(&folder.join(out)),
            "{file}"
        );
    }
    let input = run_json(&folder.join("a"))["inputs"][0].clone();
    assert_eq!(input["name"], "folder");
    assert!(
        input["digest"]
            .as_str()
            .expect("text")
            .starts_with("sha256:")
    );
}

#[test]
fn names_with_commas_and_documents_without_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let table = "id,text\n\"a,b\",sea ship sea\n\"say \"\"c\"\"\",oven flour\nd,\n";
    fs::write(folder.join("table.csv"), table).expect("space");
    let args = [
        "topics",
        "table.csv",
        "--topics",
        "2",
        "--id-column",
        "id",
        "--out",
        "fit",
    ];
    done(folder, &args);
    let documents = fs::read_to_string(folder.join("fit/documents.csv")).expect("CSV");
    let rows: Vec<&str> = documents.lines().collect();
    assert!(rows[1].starts_with("\"a,b\",3,"));
    assert!(rows[2].starts_with("\"say \"\"c\"\"\",2,"));
    assert!(rows[3].starts_with("d,0,"));
    assert_eq!(
        run_json(&folder.join("fit"))["corpus"]["empty_documents"],
        serde_json::json!(["d"])
    );
    // Nothing but words that the fit does not know: the prior, and no refusal.
    fs::write(folder.join("new.txt"), "kraken\n\n").expect("space");
    let output = run(folder, &["topics", "infer", "fit", "new.txt"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].split_once(','), Some(("1", &rows[1][2..])));
}

#[test]
fn counts_without_names_must_mean_the_same_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let docword = "3\n4\n6\n1 1 3\n1 2 1\n2 3 2\n2 4 2\n3 1 1\n3 4 1\n";
    fs::write(folder.join("docword.txt"), docword).expect("space");
    let args = ["topics", "docword.txt", "--topics", "2", "--out", "whole"];
    done(folder, &args);
    let infer = |fit| ["topics", "infer", fit, "docword.txt"];
    done(folder, &infer("whole"));
    // The words of texts have no numbers, though there are enough of them.
    fs::write(folder.join("texts.txt"), "sea ship oven flour\n").expect("space");
    let args = ["topics", "texts.txt", "--topics", "2", "--out", "text"];
    done(folder, &args);
    assert_eq!(
        refusal(folder, &infer("text")),
        "collapsar: error: docword.txt: words are numbers without names, expected names as the fit has \
         them; try --vocabulary\n"
    );
}

#[test]
fn bad_input_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("texts.txt"), "sea ship\noven flour\n").expect("space");
    for more in [
        &["--topics", "50"][..],
        &["--topics", "2", "--alpha", "0"],
        &["--topics", "2", "--min-docs", "9"],
        &["--topics", "2", "--holdout", "0.9"],
    ] {
        let args = [
            &["topics", "texts.txt", "--out", "fit", "--checkpoint", "x/y"][..],
            more,
        ];
        refusal(folder, &args.concat());
        assert_eq!(names(folder), ["texts.txt"], "{more:?}");
    }
}

#[test]
fn exact_draws_are_written_and_their_mean_reads_new_documents() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 12);
    let exact = |threads: &'static str, out: &'static str| {
        [
            &[
                "topics",
                "texts.txt",
                "--topics",
                "3",
                "--alpha",
                "0.5",
                "--beta",
                "0.1",
            ][..],
            &[
                "--posterior",
                "exact",
                "--chains",
                "2",
                "--draws",
                "40",
                "--warmup",
                "10",
            ],
            &["--documents", "--threads", threads, "--out", out, "--quiet"],
        ]
        .concat()
    };
    for (threads, out) in [("1", "one"), ("2", "two")] {
        // Eighty draws are too few to have mixed, which is said and is no failure.
        assert!(run(folder, &exact(threads, out)).status.success());
    }
    for file in [
        "draws.csv",
        "posterior.csv",
        "documents_sd.csv",
        "topics.json",
    ] {
        let read = |out: &str| fs::read(folder.join(out).join(file)).expect(file);
        assert_eq!(read("one"), read("two"), "{file}");
    }
    let draws = fs::read_to_string(folder.join("one/draws.csv")).expect("CSV");
    let rows: Vec<Vec<&str>> = draws.lines().map(|row| row.split(',').collect()).collect();
    // Two chains of forty; a column for each share and each proportion, whose names have commas.
    assert_eq!(rows.len(), 1 + 2 * 40);
    assert!(rows[1..].iter().all(|row| row.len() == 2 + 3 + 12 * 3));
    let posterior = fs::read_to_string(folder.join("one/posterior.csv")).expect("CSV");
    assert_eq!(posterior.lines().count(), 1 + 3 + 12 * 3);
    assert!(posterior.starts_with("name,mean,sd,q2.5,median,q97.5,mcse_mean,"));
    assert!(posterior.contains("\n\"proportions[11,2]\","));
    let record = run_json(&folder.join("one"));
    assert_eq!(record["posterior"], "exact");
    assert_eq!(record["verdict"], "doubt");
    let saved = fs::read_to_string(folder.join("one/topics.json")).expect("JSON");
    assert!(saved.contains("\"drawn\": true"));
    done(
        folder,
        &["topics", "infer", "one", "texts.txt", "--out", "again.csv"],
    );
    let (fitted, inferred) = (
        proportions(&folder.join("one/documents.csv")),
        proportions(&folder.join("again.csv")),
    );
    // Reading a document again with the mean topics finds the topic that most of its draws are in.
    let largest = |row: &[f64]| (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    let same = fitted
        .iter()
        .filter(|(name, row)| largest(row) == largest(&inferred[*name]));
    assert!(same.count() >= 11);
}

#[test]
fn exact_draws_foresee_by_the_mean_of_some() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 12);
    write_texts(&folder.join("observed.txt"), 4);
    write_texts(&folder.join("evaluated.txt"), 4);
    let pair = ["--completion", "observed.txt,evaluated.txt"];
    let topics = ["topics", "texts.txt", "--topics", "3", "--out", "fit"];
    let exact = ["--posterior", "exact", "--draws", "100"];
    let chain = [
        "--chains",
        "1",
        "--warmup",
        "10",
        "--curve",
        "curve.jsonl",
        "--quiet",
    ];
    let output = run(folder, &[&topics[..], &pair, &exact, &chain].concat());
    assert!(output.status.success(), "{output:?}");
    let evaluation = run_json(&folder.join("fit"))["evaluation"].clone();
    // Every eighth of a hundred, and a file for each.
    assert_eq!(evaluation["fits"], 12);
    assert_eq!(evaluation["draws"], true);
    assert_eq!(names(&folder.join("fit/draws")).len(), 12);
    let curve = lines(&folder.join("curve.jsonl"));
    let end = curve.last().expect("a line");
    // Its last look is after a hundred sweeps: every eighth, the first quarter left out.
    assert_eq!((&end["restarts"], &end["fits"]), (&1.into(), &9.into()));

    // The folder foresees as the run did: counts of a draw are whole, so that none is left out.
    let infer = || {
        let output = run(folder, &[&["topics", "infer", "fit"][..], &pair].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let [mean, alone] = ["perplexity", "best_perplexity"]
        .map(|field| evaluation[field].as_f64().expect("a number"));
    let begin = format!("perplexity {mean:.1} by 12 draws, {alone:.1} by their mean, of ");
    let said = infer();
    assert!(said.starts_with(&begin), "{said}");

    // A fit without draws into the same folder leaves none behind.
    let plain = ["--posterior", "mean-field", "--quiet"];
    done(folder, &[&topics[..], &plain].concat());
    assert!(!folder.join("fit/draws").exists());
    assert!(!infer().contains("draws"));
}

#[test]
fn linear_response_is_wider_than_mean_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_texts(&folder.join("texts.txt"), 12);
    let sds = |posterior: &str| -> Vec<f64> {
        let args = [
            &[
                "topics",
                "texts.txt",
                "--topics",
                "2",
                "--alpha",
                "0.5",
                "--beta",
                "0.1",
            ][..],
            &["--posterior", posterior, "--out", posterior, "--quiet"],
        ];
        done(folder, &args.concat());
        let table = proportions(&folder.join(posterior).join("documents_sd.csv"));
        table.into_values().flatten().collect()
    };
    let (plain, wide) = (sds("mean-field"), sds("linear-response"));
    assert!(plain.len() == 12 && plain.iter().zip(&wide).all(|(a, b)| a < b));
    let output = run(folder, &["topics", "texts.txt", "--draws", "5"]);
    assert_eq!(output.status.code(), Some(2), "wrong usage");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "collapsar: error: --draws is given, expected --posterior exact beside it: other posteriors have no chains\n"
    );
}
