//! Corpora in all formats, with and without the vocabulary of a fit.

use std::fs;

use collapsar_formats::{
    CorpusFormat, CorpusOptions, InvalidUtf8, StopWords, read_corpus, read_corpus_with,
};

use crate::files::{choice, file, parts, told};

/// Texts; the first byte chooses the format, or none, which is then found out.
pub(crate) fn texts(bytes: &[u8]) {
    let formats = [
        Some(CorpusFormat::Lines),
        Some(CorpusFormat::Table),
        Some(CorpusFormat::JsonLines),
        Some(CorpusFormat::Folder),
        None,
    ];
    let (choice, rest) = choice(bytes, formats.len() * 2);
    let format = formats[choice / 2];
    let options = CorpusOptions {
        format,
        invalid_utf8: [InvalidUtf8::Refuse, InvalidUtf8::Replace][choice % 2],
        stop_words: [StopWords::Auto, StopWords::None][choice % 2].clone(),
        min_docs: 1 + choice as u32 % 2,
        ..CorpusOptions::default()
    };
    if format == Some(CorpusFormat::Folder) {
        // Names are ours: those of files are no part of what is read.
        let beside = file("beside", b"");
        let folder = beside.with_file_name("corpus");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        for (number, (_, text)) in parts(rest).into_iter().take(20).enumerate() {
            fs::write(folder.join(format!("{number}.txt")), text).expect("a temporary file");
        }
        told(read_corpus(&folder, &options));
        return;
    }
    let path = file("texts", rest);
    told(read_corpus(&path, &options));
}

/// Counts; the first byte chooses the format, or none.
pub(crate) fn counts(bytes: &[u8]) {
    let formats = [
        Some(CorpusFormat::Docword),
        Some(CorpusFormat::LdaC),
        Some(CorpusFormat::SvmLight),
        Some(CorpusFormat::MatrixMarket),
        None,
    ];
    let (choice, rest) = choice(bytes, formats.len());
    let options = CorpusOptions {
        format: formats[choice],
        ..CorpusOptions::default()
    };
    let path = file("counts", rest);
    told(read_corpus(&path, &options));
    let words = ["ash", "bee", "cat"].map(String::from);
    told(read_corpus_with(&path, &words, &options));
}
