//! Folders of runs, as `predict`, `infer`, `compare` and `report` read them again.

use collapsar_formats::{CorpusOptions, read_quantification};
use collapsar_run::mixture::SavedMixture;
use collapsar_run::topics::SavedTopics;

use crate::files::{file, told, with_folder};

/// `mixture predict`.
pub(crate) fn mixture(bytes: &[u8]) {
    let rows = file("rows.csv", b"x,y\n1,2\n-3,1e3\n");
    with_folder(bytes, &["components.json", "draws.csv"], |folder| {
        if let Some(saved) = told(SavedMixture::read(folder)) {
            told(saved.predict(&rows, None));
        }
    });
}

/// `topics infer`.
pub(crate) fn topics(bytes: &[u8]) {
    let texts = file("texts.txt", b"ash bee cat\ndog ash ash\n\n");
    with_folder(bytes, &["topics.json"], |folder| {
        if let Some(saved) = told(SavedTopics::read(folder)) {
            told(saved.infer(&texts, CorpusOptions::default()));
        }
    });
}

/// `quant compare`.
pub(crate) fn quant(bytes: &[u8]) {
    let names = [
        "quant.sf",
        "aux_info/meta_info.json",
        "aux_info/bootstrap/names.tsv.gz",
        "aux_info/bootstrap/bootstraps.gz",
    ];
    with_folder(bytes, &names, |folder| {
        told(read_quantification(folder));
    });
}

/// `report`, of all that a run may have written.
pub(crate) fn report(bytes: &[u8]) {
    let names = [
        "run.json",
        "trace.jsonl",
        "posterior.csv",
        "draws.csv",
        "components.json",
        "assignments.csv",
        "samples.csv",
        "topics.json",
        "documents.csv",
        "quant.sf",
        "genes.csv",
    ];
    with_folder(bytes, &names, |folder| {
        told(collapsar_report::html(&[folder.to_owned()]));
    });
}
