//! Tasks as workers get them, and answers as whoever asked gets them: from another process, which may be of another version or
//! not be one at all.

use collapsar::mixture::machines::{Piece, Worker, merged};

use crate::files::choice;

/// A worker with a few rows in three chunks does the tasks that follow one another behind lengths of two bytes; or what follows is
/// taken for answers, and merged.
pub(crate) fn tasks(bytes: &[u8]) {
    let (kind, rest) = choice(bytes, 2);
    let parts = parts(rest);
    if kind == 1 {
        merged(&parts);
        return;
    }
    let values = [
        0.1, 0.3, 0.7, -0.2, -0.5, 0.4, 0.2, 0.9, -0.3, -0.8, 0.6, 0.1, 5.1, 4.7, 4.9, 5.6, 5.5,
        5.2, 4.4, 4.8, 5.3, 4.1, 4.6, 5.9,
    ];
    let mut worker = Worker::new(3, 4, 2);
    let piece = Piece {
        source: 0,
        first_row: 0,
        rows: 12,
        first_chunk: 0,
    };
    worker.hold(&piece, &values).expect("twelve rows");
    for task in parts {
        let answer = worker.answer(task);
        merged(&[&answer, &answer]);
    }
}

fn parts(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = vec![];
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (part, rest) = rest.split_at(length);
        parts.push(part);
        bytes = rest;
    }
    parts
}
