//! Runs that are stopped, resumed, watched or given other threads end as promised.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{collapsar, done, names, refusal, run, run_json};

/// Overlapping groups in three columns, from a linear congruential generator.
fn write_data(path: &Path, rows: usize) {
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut text = String::from("x,y,z\n");
    for row in 0..rows {
        let group = (row % 6) as f64;
        let mut near = |centre: f64| {
            let sum: f64 = (0..4).map(|_| uniform()).sum();
            format!("{:.6}", centre + 1.5 * (sum - 2.0))
        };
        let fields = [near(group), near(1.5 * (group % 3.0)), near(-0.7 * group)];
        text += &fields.join(",");
        text.push('\n');
    }
    fs::write(path, text).expect("a writable folder");
}

/// Bytes of the results that do not tell the time.
fn results(folder: &Path) -> [Vec<u8>; 2] {
    ["components.json", "assignments.csv"].map(|file| fs::read(folder.join(file)).expect(file))
}

#[test]
fn threads_do_not_change_a_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // Several chunks of at least 1024 rows.
    write_data(&folder.join("data.csv"), 5000);
    for restarts in ["1", "3"] {
        for threads in ["1", "2"] {
            let args = [
                "mixture",
                "data.csv",
                "--restarts",
                restarts,
                "--threads",
                threads,
                "--out",
                threads,
            ];
            done(folder, &args);
        }
        assert!(
            results(&folder.join("1")) == results(&folder.join("2")),
            "{restarts} restarts"
        );
    }
}

#[test]
fn a_resumed_run_equals_one_never_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_data(&folder.join("data.csv"), 900);
    let base = ["mixture", "data.csv", "--start", "random", "--out"];
    let with = |out: &str, more: &[&str]| {
        let args: Vec<&str> = base
            .iter()
            .copied()
            .chain([out])
            .chain(more.iter().copied())
            .collect();
        done(folder, &args);
    };
    with("whole", &[]);
    let whole = run_json(&folder.join("whole"));
    let iterations = whole["iterations"].as_u64().expect("a count");
    assert!(
        whole["jumps_tried"].as_u64() > Some(2),
        "jumps are part of what is tested"
    );
    // Every place to stop, among them those where a jump comes next.
    for stop in 1..iterations.min(60) {
        with(
            "part",
            &[
                "--max-iterations",
                &stop.to_string(),
                "--checkpoint",
                "run.ckpt",
            ],
        );
        assert_eq!(run_json(&folder.join("part"))["iterations"], stop);
        with("resumed", &["--resume", "run.ckpt"]);
        assert!(
            results(&folder.join("whole")) == results(&folder.join("resumed")),
            "stopped after {stop}"
        );
        let resumed = run_json(&folder.join("resumed"));
        for field in [
            "bound",
            "iterations",
            "passes",
            "outcome",
            "jumps_tried",
            "fallbacks",
        ] {
            assert_eq!(
                resumed[field], whole[field],
                "{field}, stopped after {stop}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn interrupt_keeps_what_was_reached() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_data(&folder.join("data.csv"), 20_000);
    let base = [
        "mixture",
        "data.csv",
        "--components",
        "12",
        "--start",
        "random",
    ];
    let args = |more: &[&'static str]| [&base[..], more].concat();
    done(folder, &args(&["--out", "whole"]));
    let mut child = collapsar(
        folder,
        &args(&["--out", "part", "--checkpoint", "run.ckpt", "--verbose"]),
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the program starts");
    let mut talk = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("iteration 3") {
        line.clear();
        assert!(
            talk.read_line(&mut line).expect("text") > 0,
            "the run ended early"
        );
    }
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.expect("kill").success());
    let mut rest = String::new();
    talk.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert!(
        rest.contains("collapsar: warning: interrupted; results are of the best point reached"),
        "{rest}"
    );
    let part = folder.join("part");
    assert_eq!(
        names(&part),
        [
            "assignments.csv",
            "components.json",
            "posterior.csv",
            "run.json",
            "trace.jsonl"
        ]
    );
    let record = run_json(&part);
    assert_eq!(
        record["outcome"],
        serde_json::json!({"converged": false, "reason": "interrupted"})
    );
    assert_eq!(
        fs::read_to_string(part.join("assignments.csv"))
            .expect("text")
            .lines()
            .count(),
        20_001
    );
    // And the checkpoint leads to where the run would have gone.
    done(folder, &args(&["--out", "resumed", "--resume", "run.ckpt"]));
    assert!(results(&folder.join("whole")) == results(&folder.join("resumed")));
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_data(&folder.join("data.csv"), 5000);
    done(
        folder,
        &["mixture", "data.csv", "--components", "2", "--out", "fit"],
    );
    for args in [
        &["mixture", "predict", "fit", "data.csv"][..],
        &["tour"],
        &["completions", "bash"],
    ] {
        let mut child = collapsar(folder, args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success(), "{args:?}");
        assert!(
            output.stderr.is_empty(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn checkpoints_of_other_runs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_data(&folder.join("data.csv"), 50);
    write_data(&folder.join("more.csv"), 60);
    done(
        folder,
        &[
            "mixture",
            "data.csv",
            "--max-iterations",
            "2",
            "--checkpoint",
            "run.ckpt",
        ],
    );
    let whole = fs::read_to_string(folder.join("run.ckpt")).expect("a checkpoint");
    fs::write(
        folder.join("future.ckpt"),
        whole.replacen("\"format\":4", "\"format\":9", 1),
    )
    .expect("space");
    // Between two numbers: half of one is another complaint, and where that is depends on the seconds that are in there.
    let half = whole[..whole.len() / 2].rfind(',').expect("numbers");
    fs::write(folder.join("cut.ckpt"), &whole[..half]).expect("space");
    let resume = |args: &[&str]| {
        let text = refusal(folder, &[&["mixture"], args].concat());
        // Digests of data and prior, which depend on the last bit of a mean.
        let digit = |c: char| c.is_ascii_hexdigit();
        let words = text.split(' ').map(|word| {
            let bare = word.trim_end_matches([',', ')', '\n']);
            if bare.len() == 16 && bare.chars().all(digit) {
                word.replace(bare, "DIGEST")
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let of = |rows: u32, components: u32| {
        format!(
            "one of a mixture of {components} full components with dirichlet weights on {rows} rows of 3 columns \
             (data DIGEST, prior DIGEST)"
        )
    };
    assert_eq!(
        resume(&["more.csv", "--resume", "run.ckpt"]),
        format!(
            "collapsar: error: checkpoint: {}, expected {}\n",
            of(50, 10),
            of(60, 10)
        )
    );
    assert_eq!(
        resume(&["data.csv", "--components", "5", "--resume", "run.ckpt"]),
        format!(
            "collapsar: error: checkpoint: {}, expected {}\n",
            of(50, 10),
            of(50, 5)
        )
    );
    assert_eq!(
        resume(&["data.csv", "--method", "vbem", "--resume", "run.ckpt"]),
        "collapsar: error: checkpoint: one of --method auto, expected --method vbem\n"
    );
    assert_eq!(
        resume(&["data.csv", "--resume", "future.ckpt"]),
        "collapsar: error: checkpoint: format 9 of version 0.1.0, expected format 4; start the fit anew\n"
    );
    let cut = resume(&["data.csv", "--resume", "cut.ckpt"]);
    assert!(
        cut.starts_with(
            "collapsar: error: checkpoint: cut.ckpt is not one, or is damaged (its checksum is another one"
        ) && cut.ends_with("), expected a file written by --checkpoint\n"),
        "{cut}"
    );
}

#[test]
fn bad_input_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("bad.csv"), "x,y\n1,2\n3\n").expect("space");
    refusal(folder, &["mixture", "bad.csv", "--out", "fit"]);
    assert_eq!(names(folder), ["bad.csv"]);
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_data(&folder.join("data.csv"), 60);
    let fit = ["mixture", "data.csv", "--components", "2", "--out", "fit"];
    done(folder, &[&fit[..], &["--samples", "5"]].concat());
    assert!(names(&folder.join("fit")).contains(&"samples.csv".to_owned()));
    // Another model's, into the same folder.
    let text = "sea ship sail\nsea sail\noven flour\nflour oven dough\n";
    fs::write(folder.join("texts.txt"), text).expect("space");
    done(
        folder,
        &["topics", "texts.txt", "--topics", "2", "--out", "fit"],
    );
    let left = names(&folder.join("fit"));
    for file in ["samples.csv", "components.json", "assignments.csv"] {
        assert!(!left.contains(&file.to_owned()), "{left:?}");
    }
    done(folder, &fit);
    let files = [
        "assignments.csv",
        "components.json",
        "posterior.csv",
        "run.json",
        "trace.jsonl",
    ];
    assert_eq!(names(&folder.join("fit")), files);
}

#[test]
fn any_number_of_seconds_is_a_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    write_data(&folder.path().join("data.csv"), 60);
    let fit = ["mixture", "data.csv", "--components", "2", "--time"];
    done(folder.path(), &[&fit[..], &["1e300"]].concat());
}

#[test]
fn restarts_are_seeds_in_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_data(&folder.join("data.csv"), 300);
    done(
        folder,
        &[
            "mixture",
            "data.csv",
            "--seed",
            "5",
            "--restarts",
            "4",
            "--method",
            "vbem",
            "--out",
            "all",
        ],
    );
    let all = run_json(&folder.join("all"));
    let seed = all["best_seed"].as_u64().expect("a seed").to_string();
    done(
        folder,
        &[
            "mixture", "data.csv", "--seed", &seed, "--method", "vbem", "--out", "one",
        ],
    );
    assert!(results(&folder.join("all")) == results(&folder.join("one")));
    assert_eq!(all["spread"]["starts"], 4);
    assert!(all["passes"].as_u64() > run_json(&folder.join("one"))["passes"].as_u64());
}

#[test]
fn manual_pages_and_completions() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    done(folder, &["man", "--dir", "pages"]);
    let pages = names(&folder.join("pages"));
    for page in [
        "collapsar.1",
        "collapsar-mixture.1",
        "collapsar-mixture-predict.1",
        "collapsar-topics.1",
        "collapsar-topics-infer.1",
        "collapsar-quant.1",
        "collapsar-tour.1",
    ] {
        assert!(pages.iter().any(|name| name == page), "{page} in {pages:?}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(folder, &["completions", shell]);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("mixture"),
            "{shell}"
        );
    }
}
