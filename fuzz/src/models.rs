//! Models in the BUGS language: their texts, their data, and the two together.

use collapsar::graph::Demands;
use collapsar_bugs::{Data, Drawing};
use collapsar_formats::read_data;
use collapsar_run::fit::ModelSource;

use crate::files::{choice, file, parts, told};

/// A text alone: read, printed, checked, drawn.
pub(crate) fn text(bytes: &[u8]) {
    let Some(source) = told(ModelSource::read(&file("model.bug", bytes))) else {
        return;
    };
    told(source.check());
    let outline = source.model.outline(&Data::default());
    let drawing = Drawing::new(&outline, None);
    let _ = (drawing.svg("a model"), drawing.dot());
}

/// A text, its data and initial values, in parts: prepared, as `check --data` does, and compiled.
pub(crate) fn with_data(bytes: &[u8]) {
    let (mut model, mut data, mut inits) = (None, Data::default(), None);
    for (name, content) in parts(bytes) {
        match name {
            b"model" => model = Some(content),
            b"data" => data = told(read_data(&[file("data.json", content)])).unwrap_or_default(),
            b"inits" => inits = told(read_data(&[file("inits.json", content)])),
            _ => {}
        }
    }
    let Some(text) = model.and_then(|text| std::str::from_utf8(text).ok()) else {
        return;
    };
    let Some(source) = told(ModelSource::new("model.bug".into(), text.into())) else {
        return;
    };
    let Some(prepared) = told(source.with(data)) else {
        return;
    };
    if let Some(inits) = inits {
        told(prepared.inits(&inits));
    }
    let _ = prepared.unknowns();
    told(prepared.quantities().map_err(|refusal| refusal.message));
    told(source.compile(&prepared, &Demands::default()));
}

/// JSON, sparse matrices among it.
pub(crate) fn json(bytes: &[u8]) {
    told(read_data(&[file("data.json", bytes)]));
}

/// R dumps and lists of WinBUGS; the first byte chooses the name.
pub(crate) fn dump(bytes: &[u8]) {
    let (choice, rest) = choice(bytes, 3);
    told(read_data(&[file(
        ["data.R", "data.txt", "data"][choice],
        rest,
    )]));
}
