//! Folders written and read again, and damaged ones.

use std::fs;

use super::super::draws::{QuantRow, write_draws, write_quant_sf};
use super::super::testing::{Files, gzip};
use super::*;

fn names() -> Vec<String> {
    ["a", "b", "c"].map(str::to_owned).to_vec()
}

fn rows(names: &[String]) -> Vec<QuantRow<'_>> {
    let row = |name| QuantRow {
        name,
        length: 1608.0,
        effective: 1404.728,
        tpm: 54.979_189,
        count: 12.544,
    };
    names.iter().map(|name| row(name.as_str())).collect()
}

const DRAWS: [[f64; 3]; 2] = [[0.1, 2.0, 3.5], [1e-300, 0.0, 7.0]];

/// A whole folder.
fn folder() -> Files {
    let files = Files::new();
    write_quant_sf(&files.folder().join("quant.sf"), rows(&names())).unwrap();
    let draws = DRAWS.iter().map(|draw| draw.to_vec());
    let aux = files.folder().join("aux_info");
    assert_eq!(write_draws(&aux, &names(), draws), Ok(2));
    files.write(
        "aux_info/meta_info.json",
        r#"{"num_bootstraps": 2, "num_valid_targets": 3, "samp_type": "gibbs"}"#,
    );
    files
}

#[test]
fn there_and_back() {
    let files = folder();
    let text = fs::read_to_string(files.folder().join("quant.sf")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Name\tLength\tEffectiveLength\tTPM\tNumReads");
    assert_eq!(lines[1], "a\t1608\t1404.728\t54.979189\t12.544");
    let read = read_quantification(files.folder()).unwrap();
    assert_eq!(read.names, names());
    assert_eq!((read.lengths[1], read.effective[1]), (1608.0, 1404.728));
    assert_eq!((read.tpm[2], read.counts[2]), (54.979_189, 12.544));
    assert_eq!(read.draws, DRAWS);
    // Nothing temporary is left.
    let left = fs::read_dir(files.folder().join("aux_info/bootstrap")).unwrap();
    assert_eq!(left.count(), 2);
}

#[test]
fn draws_go_by_name() {
    let files = folder();
    files.write("aux_info/bootstrap/names.tsv.gz", gzip("c\ta\tb"));
    let read = read_quantification(files.folder()).unwrap();
    assert_eq!(read.draws, [[2.0, 3.5, 0.1], [0.0, 7.0, 1e-300]]);
}

#[test]
fn without_draws() {
    let files = folder();
    let zipped = gzip(fs::read(files.folder().join("quant.sf")).unwrap());
    fs::remove_file(files.folder().join("quant.sf")).unwrap();
    files.write("quant.sf.gz", zipped);
    for meta in [r#"{"num_bootstraps": 0}"#, "{}"] {
        files.write("aux_info/meta_info.json", meta);
        let read = read_quantification(files.folder()).unwrap();
        assert_eq!((read.names.len(), read.draws.len()), (3, 0));
    }
    fs::remove_dir_all(files.folder().join("aux_info")).unwrap();
    assert!(
        read_quantification(files.folder())
            .unwrap()
            .draws
            .is_empty()
    );
}

#[test]
fn refusals_when_read() {
    let head = "Name\tLength\tEffectiveLength\tTPM\tNumReads\n";
    let values = |n: usize| gzip(vec![0u8; n]);
    let mut nan = vec![0u8; 48];
    nan[24..32].copy_from_slice(&f64::NAN.to_le_bytes());
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("quant.sf", b"".to_vec()),
        ("quant.sf", b"Name\tLength\n".to_vec()),
        ("quant.sf", head.into()),
        ("quant.sf", format!("{head}a\t1\t1\t1\n").into()),
        ("quant.sf", format!("{head}a\t1\t1\tnan\t1\n").into()),
        ("quant.sf", format!("{head}a\t1\t-1\t1\t1\n").into()),
        (
            "quant.sf",
            format!("{head}a\t1\t1\t1\t1\na\t1\t1\t1\t1\n").into(),
        ),
        ("quant.sf", format!("{head}a\t1\t1\t1\t1\n").into()),
        ("aux_info/meta_info.json", b"{".to_vec()),
        (
            "aux_info/meta_info.json",
            br#"{"num_bootstraps": -1}"#.to_vec(),
        ),
        (
            "aux_info/meta_info.json",
            br#"{"num_bootstraps": 2, "num_targets": 4}"#.to_vec(),
        ),
        ("aux_info/bootstrap/names.tsv.gz", gzip("")),
        ("aux_info/bootstrap/names.tsv.gz", gzip("a\tb\td\n")),
        ("aux_info/bootstrap/names.tsv.gz", gzip("a\tb\tb\n")),
        ("aux_info/bootstrap/bootstraps.gz", values(24)),
        ("aux_info/bootstrap/bootstraps.gz", values(47)),
        ("aux_info/bootstrap/bootstraps.gz", values(49)),
        (
            "aux_info/bootstrap/bootstraps.gz",
            values(48)[..15].to_vec(),
        ),
        ("aux_info/bootstrap/bootstraps.gz", gzip(nan)),
    ];
    let mut texts = Vec::new();
    for (name, content) in cases {
        let files = folder();
        files.write(name, content);
        texts.push(files.refusal(read_quantification(files.folder())));
    }
    for name in ["quant.sf", "aux_info/bootstrap/bootstraps.gz"] {
        let files = folder();
        fs::remove_file(files.folder().join(name)).unwrap();
        texts.push(files.refusal(read_quantification(files.folder())));
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn refusals_when_written() {
    let files = Files::new();
    let aux = files.folder();
    let mut texts = Vec::new();
    for draw in [
        vec![1.0, 2.0],
        vec![1.0, f64::NAN, 2.0],
        vec![1.0, 2.0, -1.0],
    ] {
        texts.push(files.refusal(write_draws(aux, &names(), [vec![0.0; 3], draw])));
    }
    let names = names();
    let mut rows = rows(&names);
    rows[1].tpm = f64::INFINITY;
    texts.push(files.refusal(write_quant_sf(&aux.join("quant.sf"), rows)));
    insta::assert_snapshot!(texts.join("\n"));
    let left = fs::read_dir(aux)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["bootstrap"]);
    assert_eq!(fs::read_dir(aux.join("bootstrap")).unwrap().count(), 0);
}
