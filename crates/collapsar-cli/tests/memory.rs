//! Mixtures of rows that do not fit in memory: the results of rows that do, little memory, and files that are not what they were.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use common::{collapsar, done, names, refusal, run, run_json};

/// Four groups in three columns, and how often each row is there.
fn rows(count: usize) -> impl Iterator<Item = [f64; 4]> {
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(move |row| {
        let group = (row % 4) as f64;
        let mut near = |centre: f64| {
            let sum: f64 = (0..4).map(|_| uniform()).sum();
            // As text has it.
            ((centre + 1.2 * (sum - 2.0)) * 1e4).round() / 1e4
        };
        let numbers = [near(3.0 * group), near(-2.0 * group), near(group % 2.0)];
        [numbers[0], numbers[1], numbers[2], (row % 3) as f64]
    })
}

fn write_csv(path: &Path, count: usize) {
    let mut out = std::io::BufWriter::new(fs::File::create(path).expect("a file"));
    writeln!(out, "x,y,z,n").expect("room");
    for [x, y, z, n] in rows(count) {
        writeln!(out, "{x},{y},{z},{n}").expect("room");
    }
}

/// The same rows as an array of NumPy's.
fn write_npy(path: &Path, count: usize) {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({count}, 4), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = std::io::BufWriter::new(fs::File::create(path).expect("a file"));
    out.write_all(b"\x93NUMPY\x01\x00").expect("room");
    out.write_all(&(header.len() as u16).to_le_bytes())
        .expect("room");
    out.write_all(header.as_bytes()).expect("room");
    for row in rows(count) {
        for x in row {
            out.write_all(&x.to_le_bytes()).expect("room");
        }
    }
}

/// What a run found, without times and columns' names.
fn results(folder: &Path) -> [Vec<u8>; 2] {
    ["assignments.csv", "posterior.csv"].map(|file| {
        let text = fs::read(folder.join(file)).expect(file);
        String::from_utf8(text)
            .expect("UTF-8")
            .replace(",x]", ",1]")
            .replace(",y]", ",2]")
            .replace(",z]", ",3]")
            .replace(",n]", ",4]")
            .into_bytes()
    })
}

#[test]
fn rows_in_a_file_give_the_results_of_rows_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_csv(&folder.join("data.csv"), 200_000);
    write_npy(&folder.join("data.npy"), 200_000);
    for more in [
        &[
            "--columns",
            "1,2,3",
            "-k",
            "2,4",
            "--posterior",
            "linear-response",
        ][..],
        &[
            "--row-weights",
            "4",
            "-k",
            "4",
            "--start",
            "random",
            "--restarts",
            "2",
            "--samples",
            "3",
        ],
        &["--covariance", "tied", "-k", "3", "--max-passes", "15"],
    ] {
        for (data, memory, out) in [
            ("data.csv", "4GB", "memory"),
            ("data.csv", "16MB", "file"),
            ("data.npy", "16MB", "array"),
        ] {
            let args = ["mixture", data, "--memory", memory, "--out", out];
            done(folder, &[&args, more].concat());
        }
        let memory = results(&folder.join("memory"));
        let [one, other] = ["file", "array"].map(|out| results(&folder.join(out)));
        assert!(memory == one && memory == other, "{more:?}");
        let [memory, one, other] =
            ["memory", "file", "array"].map(|out| run_json(&folder.join(out)));
        for field in [
            "bound",
            "passes",
            "iterations",
            "compared",
            "signs",
            "verdict",
        ] {
            assert_eq!(memory[field], one[field], "{field}");
            assert_eq!(memory[field], other[field], "{field}");
        }
        assert_eq!(
            memory["config"]["total_weight"],
            one["config"]["total_weight"]
        );
        assert_eq!(memory["rows"]["in"], "memory");
        assert_eq!(one["rows"]["in"], "file");
        let width = if more[0] == "--columns" { 3 } else { 4 };
        assert_eq!(one["rows"]["bytes_per_pass"], 8 * 200_000 * width);
        assert_eq!(other["rows"]["bytes_per_pass"], 8 * 200_000 * 4);
        assert_eq!(other["rows"]["file"], "data.npy");
        assert!(one["rows"]["bytes_read"].as_u64() > Some(100_000_000));
        assert!(["disk", "computing"].contains(&one["rows"]["bound_by"].as_str().expect("a word")));
    }
    // What was written on the way is gone.
    let left = ["array", "data.csv", "data.npy", "file", "memory"];
    assert_eq!(names(folder), left);
    // Labels of new rows, some at a time.
    for (data, memory, out) in [
        ("data.csv", "4GB", "one.csv"),
        ("data.csv", "16MB", "two.csv"),
        ("data.npy", "16MB", "three.csv"),
    ] {
        let args = [
            "mixture", "predict", "memory", data, "--memory", memory, "--out", out,
        ];
        done(folder, &args);
    }
    let [one, two, three] =
        ["one.csv", "two.csv", "three.csv"].map(|name| fs::read(folder.join(name)).expect(name));
    assert!(one == two && one == three);
}

#[test]
fn a_run_goes_on_from_rows_that_were_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_csv(&folder.join("data.csv"), 200_000);
    let fit = |more: &[&str]| {
        let args = [
            "mixture",
            "data.csv",
            "--columns",
            "x,y,z",
            "-k",
            "6",
            "--memory",
            "16MB",
        ];
        let output = run(folder, &[&args, more].concat());
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{talk}");
        talk
    };
    fit(&["--out", "whole"]);
    let talk = fit(&[
        "--out",
        "fit",
        "--checkpoint",
        "run.ckpt",
        "--max-iterations",
        "4",
    ]);
    assert!(
        talk.contains(".fit.rows keeps the rows for --resume"),
        "{talk}"
    );
    let rows = folder.join(".fit.rows");
    let made = fs::metadata(&rows)
        .and_then(|of| of.modified())
        .expect("rows");
    let talk = fit(&[
        "--out",
        "fit",
        "--resume",
        "run.ckpt",
        "--checkpoint",
        "run.ckpt",
        "--max-iterations",
        "5",
    ]);
    assert!(
        talk.contains(".fit.rows, which an earlier run left"),
        "{talk}"
    );
    assert_eq!(
        fs::metadata(&rows)
            .and_then(|of| of.modified())
            .expect("rows"),
        made
    );
    // Rows that are not what was written are written again.
    let mut bytes = fs::read(&rows).expect("rows");
    bytes[5000] ^= 1;
    fs::write(&rows, bytes).expect("room");
    let talk = fit(&["--out", "fit", "--resume", "run.ckpt"]);
    assert!(!talk.contains("which an earlier run left"), "{talk}");
    assert!(results(&folder.join("fit")) == results(&folder.join("whole")));
    assert_eq!(names(folder), ["data.csv", "fit", "run.ckpt", "whole"]);
}

#[test]
fn what_needs_rows_in_memory_is_refused_before_the_climb() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_csv(&folder.join("data.csv"), 200_000);
    fs::write(folder.join("labels.csv"), "0\n1\n").expect("room");
    let fit = |data: &str, more: &[&str]| {
        let args = [
            "mixture",
            data,
            "--columns",
            "x,y,z",
            "--memory",
            "16MB",
            "--quiet",
        ];
        refusal(folder, &[&args, more].concat())
    };
    assert_eq!(
        fit("data.csv", &["--posterior", "exact"]),
        "collapsar: error: posterior: exact with rows that do not fit in memory, expected rows in memory; \
         try a higher --memory or --posterior linear-response\n"
    );
    assert_eq!(
        fit("data.csv", &["--start", "labels.csv"]),
        "collapsar: error: start: labels of a file with rows that do not fit in memory, expected rows in memory; \
         try a higher --memory or --start kmeans\n"
    );
    let text = fs::read_to_string(folder.join("data.csv")).expect("data");
    fs::write(folder.join("gaps.csv"), text + "1,,2,1\n").expect("room");
    assert_eq!(
        fit("gaps.csv", &[]),
        "collapsar: error: gaps.csv: row 200001: column \"y\" misses a value, expected none in rows that are read \
         from a file; try a higher --memory\n"
    );
    let text = fs::read_to_string(folder.join("data.csv")).expect("data");
    let words = text.lines().skip(1).map(|line| {
        let numbers = line.splitn(3, ',').take(2).collect::<Vec<_>>();
        format!("{},word", numbers.join(","))
    });
    let words = words.collect::<Vec<_>>().join("\n");
    fs::write(folder.join("words.csv"), format!("x,y,z\n{words}\n")).expect("room");
    assert_eq!(
        fit("words.csv", &[]),
        "collapsar: error: words.csv: categorical columns in rows that do not fit in memory, expected rows in memory; \
         try a higher --memory or --columns\n"
    );
    for wrong in ["2XB", "1kB", "1e30"] {
        let output = run(folder, &["mixture", "data.csv", "--memory", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(talk.contains("expected bytes such as 2GB"), "{talk}");
    }
    assert_eq!(
        names(folder),
        ["data.csv", "gaps.csv", "labels.csv", "words.csv"]
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_is_cut_short_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_npy(&folder.join("data.npy"), 300_000);
    let args = [
        "mixture",
        "data.npy",
        "-k",
        "8",
        "--memory",
        "16MB",
        "-v",
        "--tolerance",
        "0",
        "--out",
        "fit",
    ];
    let mut child = collapsar(folder, &args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut talk = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("iteration 2,") {
        line.clear();
        assert!(talk.read_line(&mut line).expect("text") > 0, "it ended");
    }
    let file = fs::OpenOptions::new()
        .write(true)
        .open(folder.join("data.npy"));
    file.expect("a file").set_len(1_000_000).expect("shorter");
    let mut rest = String::new();
    talk.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    let expected =
        "collapsar: error: data.npy: it was changed or cut short while its rows were read";
    assert!(rest.contains(expected), "{rest}");
    assert!(!folder.join("fit").exists());
}

/// Megabytes that the program had at most.
#[cfg(target_os = "linux")]
fn peak(folder: &Path, args: &[&str]) -> f64 {
    let mut child = collapsar(folder, args)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0.0_f64;
    while child.try_wait().expect("a state").is_none() {
        // What the system remembers as the highest, so that it need not be asked often.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.trim().strip_suffix(" kB"));
        most = most.max(found.and_then(|found| found.parse().ok()).unwrap_or(0.0) / 1000.0);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(child.wait().expect("an end").success());
    most
}

/// A table five times as large as the memory that it may take, as text and in numbers.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_below_its_limit() {
    // What the program takes for itself, and for statistics and results.
    const ITSELF: f64 = 32.0;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let count = 10_000_000;
    write_npy(&folder.join("data.npy"), count);
    write_csv(&folder.join("data.csv"), count);
    for data in ["data.npy", "data.csv"] {
        let length = fs::metadata(folder.join(data)).expect("a file").len();
        assert!(length > 220_000_000, "{length}");
        let args = [
            "mixture",
            data,
            "-k",
            "4",
            "--memory",
            "64MB",
            "--max-passes",
            "12",
            "--out",
            "fit",
        ];
        let most = peak(folder, &args);
        assert!(
            most > 10.0 && most < 1.2 * 64.0 + ITSELF,
            "{data}: {most} MB"
        );
        let args = [
            "mixture",
            "predict",
            "fit",
            data,
            "--memory",
            "64MB",
            "--out",
            "labels.csv",
        ];
        let most = peak(folder, &args);
        assert!(
            most > 10.0 && most < 1.2 * 64.0 + ITSELF,
            "predict {data}: {most} MB"
        );
    }
}
