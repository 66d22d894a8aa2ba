//! Quantification from a request to a folder: the same whatever the source, whole or not at all.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use collapsar_run::quant::{
    GeneSource, Lengths, Note, QuantRequest, QuantResult, QuantWatch, ReadMatrix, ReadSource,
    Stage, quantify,
};
use collapsar_run::{Error, Watch};

/// Hears everything.
#[derive(Default)]
struct Ear {
    interrupt: AtomicBool,
    notes: Mutex<Vec<Note>>,
    stages: Mutex<Vec<Stage>>,
}

impl Watch for Ear {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }
}

impl QuantWatch for Ear {
    fn reaches(&self, stage: Stage) {
        self.stages.lock().unwrap().push(stage);
    }

    fn note(&self, note: Note) {
        self.notes.lock().unwrap().push(note);
    }
}

/// Five reads of two transcripts.
fn matrix() -> ReadMatrix {
    ReadMatrix {
        starts: vec![0, 1, 3, 5, 6, 7],
        ids: vec![0, 0, 1, 0, 1, 1, 1],
        weights: vec![0.5, 0.25, 0.5, 0.25, 0.5, 0.5, 0.25],
        counts: vec![1.0; 5],
        transcripts: 2,
    }
}

/// The same as BitSeq has them, the first being noise alone.
fn prob(folder: &Path) -> ReadSource {
    let matrix = matrix();
    let mut text = "# Ntotal 9\n# Nmap 6\n# M 2\n# LOGFORMAT\nnoise 1 0 -1\n".to_owned();
    for (row, range) in matrix.starts.windows(2).enumerate() {
        let range = range[0]..range[1];
        let entry = |at: usize| format!(" {} {}", matrix.ids[at] + 1, matrix.weights[at].ln());
        let entries: String = range.clone().map(entry).collect();
        writeln!(text, "r{row} {}{entries}", range.len()).unwrap();
    }
    let file = folder.join("reads.prob");
    fs::write(&file, text).unwrap();
    ReadSource::Prob(file)
}

fn request(source: ReadSource) -> QuantRequest {
    QuantRequest {
        draws: 3,
        ..QuantRequest::new(source)
    }
}

fn run(request: &QuantRequest) -> Result<QuantResult, String> {
    let result = quantify(request, None, &Ear::default());
    result
        .map(Option::unwrap)
        .map_err(|error| error.to_string())
}

#[test]
fn sources_agree() {
    let folder = tempfile::tempdir().unwrap();
    let ear = Ear::default();
    let prob = request(prob(folder.path()));
    let of_prob = quantify(&prob, None, &ear).unwrap().unwrap();
    let matrix = request(ReadSource::Matrix(matrix()));
    let of_matrix = run(&matrix).unwrap();
    assert_eq!(
        of_prob.estimates.transcripts.counts,
        of_matrix.estimates.transcripts.counts
    );
    assert_eq!(
        of_prob.solved.quantified.bound,
        of_matrix.solved.quantified.bound
    );
    let draws = |result: &QuantResult, request| result.draws(request).collect::<Vec<_>>();
    assert_eq!(draws(&of_prob, &prob), draws(&of_matrix, &matrix));
    assert_eq!(draws(&of_prob, &prob).len(), 3);
    assert_eq!(of_prob.input.processed, 9);
    assert_eq!(of_prob.input.transcripts.names, ["1", "2"]);
    let name = prob.source.name();
    let notes = [Note::OnlyNoise(name, 1), Note::NoLengths(&["lengths"])];
    assert_eq!(*ear.notes.lock().unwrap(), notes);
    let stages = [Stage::Reading(0, Some(6)), Stage::Climbing, Stage::Drawing];
    assert_eq!(*ear.stages.lock().unwrap(), stages);
}

#[test]
fn interrupted_it_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ear = Ear {
        interrupt: true.into(),
        ..Ear::default()
    };
    let target = folder.path().join("fit");
    let request = request(ReadSource::Matrix(matrix()));
    assert!(
        quantify(&request, Some((&target, vec![])), &ear)
            .unwrap()
            .is_none()
    );
    assert!(!target.exists());
}

#[test]
fn what_is_written_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |request: &QuantRequest| {
        let command = vec!["collapsar".into(), "quant".into()];
        quantify(request, Some((folder.path(), command)), &Ear::default())
            .unwrap()
            .unwrap();
        let run = fs::read(folder.path().join("run.json")).unwrap();
        let run: serde_json::Value = serde_json::from_slice(&run).unwrap();
        let files: Vec<String> = serde_json::from_value(run["files"].clone()).unwrap();
        assert!(files.iter().all(|file| folder.path().join(file).exists()));
        files.len()
    };
    let with_draws = request(ReadSource::Matrix(matrix()));
    let without = QuantRequest::new(ReadSource::Matrix(matrix()));
    assert_eq!(write(&with_draws), write(&without) + 2);
    assert!(!folder.path().join("aux_info/bootstrap").exists());
}

#[test]
fn names_bring_lengths_and_genes_together() {
    let names = |names: [&str; 2]| names.map(String::from).to_vec();
    let request = QuantRequest {
        names: Some(names(["a", "b"])),
        lengths: Some(Lengths::Effective(names(["b", "a"]), vec![50.0, 100.0])),
        genes: Some(GeneSource::ByName(HashMap::from([(
            "b".into(),
            "g".into(),
        )]))),
        ..request(ReadSource::Matrix(matrix()))
    };
    let result = run(&request).unwrap();
    assert_eq!(result.input.transcripts.effective, [100.0, 50.0]);
    let (genes, table) = (result.input.genes.unwrap(), result.estimates.genes.unwrap());
    assert_eq!(
        (&genes.names[..], &genes.members[..]),
        (&["g".to_owned()][..], &[vec![1]][..])
    );
    assert_eq!(table.lengths, [50.0]);
    assert_eq!(table.counts[0], result.estimates.transcripts.counts[1]);
}

#[test]
fn refusals() {
    let folder = tempfile::tempdir().unwrap();
    let of = |change: fn(&mut QuantRequest)| {
        let mut request = request(prob(folder.path()));
        change(&mut request);
        let place = format!("{}/", folder.path().display());
        run(&request).unwrap_err().replace(&place, "")
    };
    assert_eq!(
        of(|request| request.names = Some(vec!["a".into()])),
        "names: 1, expected one for each of 2 transcripts"
    );
    assert_eq!(
        of(|request| request.lengths = Some(Lengths::Effective(vec![], vec![1.0]))),
        "effective lengths: 1, expected one for each of 2 transcripts"
    );
    assert_eq!(
        of(|request| request.genes = Some(GeneSource::InOrder(vec![]))),
        "genes: 0, expected one for each of 2 transcripts"
    );
    assert_eq!(
        of(|request| request.genes = Some(GeneSource::ByName(HashMap::new()))),
        "genes: no gene for any of 2 transcripts, the first is \"1\", expected a gene for some"
    );
    let alignments = QuantRequest::new(ReadSource::Alignments("reads.bam".into()));
    let refused = quantify(&alignments, None, &Ear::default()).unwrap_err();
    assert!(matches!(refused, Error::Library(_)));
}
