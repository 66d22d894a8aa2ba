//! Decides which format a file is in: by its beginning where that is clear, then by its name.

use crate::lines::{fields, whole};

use super::options::CorpusFormat;
use super::source::{Content, CorpusSource};

pub(super) fn format(source: &CorpusSource) -> CorpusFormat {
    match &source.content {
        Content::Folder(_) => CorpusFormat::Folder,
        Content::Parquet(_) => CorpusFormat::Table,
        Content::Text(input) => {
            let name = source.path.as_ref().and_then(|path| path.file_name());
            let name = name.unwrap_or_default().to_string_lossy().to_lowercase();
            by_content(&input.head, &input.extension)
                .or_else(|| by_name(&name, &input.extension))
                .unwrap_or_default()
        }
    }
}

fn by_name(name: &str, extension: &str) -> Option<CorpusFormat> {
    match extension {
        "csv" | "tsv" | "tab" => Some(CorpusFormat::Table),
        "jsonl" | "ndjson" | "json" => Some(CorpusFormat::JsonLines),
        "ldac" | "lda-c" => Some(CorpusFormat::LdaC),
        "svmlight" | "svm" | "libsvm" => Some(CorpusFormat::SvmLight),
        "mtx" | "mm" => Some(CorpusFormat::MatrixMarket),
        _ if name.starts_with("docword.") => Some(CorpusFormat::Docword),
        _ => None,
    }
}

fn by_content(head: &[u8], extension: &str) -> Option<CorpusFormat> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let banner = b"%%MatrixMarket";
    if head.len() >= banner.len() && head[..banner.len()].eq_ignore_ascii_case(banner) {
        return Some(CorpusFormat::MatrixMarket);
    }
    // The last line may be cut; it counts only where it is all there is.
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    let cut = lines.pop().unwrap_or_default();
    let whole_lines = !lines.is_empty();
    if !whole_lines {
        lines.push(cut);
    }
    let lines: Vec<&[u8]> = lines
        .into_iter()
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(100)
        .collect();
    if lines.is_empty() {
        return None;
    }
    let format = if docword(&lines) {
        Some(CorpusFormat::Docword)
    } else {
        pairs(&lines, whole_lines, extension)
    };
    let json = || json(&lines, whole_lines, extension).then_some(CorpusFormat::JsonLines);
    format.or_else(json)
}

fn docword(lines: &[&[u8]]) -> bool {
    let triple = |line: &[u8]| {
        let numbers: Option<Vec<u64>> = fields(line).take(4).map(whole).collect();
        numbers.is_some_and(|numbers| numbers.len() == 3)
    };
    lines.len() >= 4 && lines[..3].iter().all(|line| whole(line).is_some()) && triple(lines[3])
}

/// Lines of pairs: LDA-C where each begins with the number of its pairs, else SVMlight. The name comes
/// first, since a label can be that number by accident and a number be wrong.
fn pairs(lines: &[&[u8]], whole_lines: bool, extension: &str) -> Option<CorpusFormat> {
    let mut any = false;
    let mut counted = true;
    for line in lines {
        let line = line.split(|&byte| byte == b'#').next().unwrap_or(line);
        let mut parts = fields(line);
        let Some(first) = parts.next() else {
            continue;
        };
        let label = std::str::from_utf8(first).ok()?.parse::<f64>().is_ok();
        let mut number = 0u64;
        for part in parts {
            let colon = part.iter().position(|&byte| byte == b':');
            let is_pair = colon.is_some_and(|colon| {
                let (id, rest) = part.split_at(colon);
                (whole(id).is_some() || id == b"qid")
                    && rest[1..].iter().all(|b| b"0123456789.eE+-".contains(b))
            });
            // The last pair of a line that is cut may be cut too.
            if !label || !(is_pair || (!whole_lines && whole(part).is_some())) {
                return None;
            }
            number += 1;
        }
        any |= number > 0;
        let claimed = whole(first);
        counted &= if whole_lines {
            claimed == Some(number)
        } else {
            claimed.is_some_and(|claimed| claimed >= number)
        };
    }
    match extension {
        _ if !any => None,
        "svmlight" | "svm" | "libsvm" => Some(CorpusFormat::SvmLight),
        "ldac" | "lda-c" => Some(CorpusFormat::LdaC),
        _ if counted => Some(CorpusFormat::LdaC),
        _ => Some(CorpusFormat::SvmLight),
    }
}

/// Objects, or strings where the name does not say CSV: quoted fields look the same.
fn json(lines: &[&[u8]], whole_lines: bool, extension: &str) -> bool {
    let first = lines[0];
    if first.starts_with(b"{") {
        return !whole_lines
            || serde_json::from_slice::<serde_json::Value>(first).is_ok_and(|v| v.is_object());
    }
    !matches!(extension, "csv" | "tsv" | "tab")
        && lines
            .iter()
            .all(|line| serde_json::from_slice::<String>(line).is_ok())
}

#[cfg(test)]
mod tests;
