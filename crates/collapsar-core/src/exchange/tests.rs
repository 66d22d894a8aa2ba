//! The tree adds the same whoever holds what, and nobody is believed whose bytes make no sense.

use proptest::prelude::*;

use super::*;
use crate::error::Place;

/// Numbers whose sum depends on the order.
fn vector(chunk: u64) -> Vec<f64> {
    let x = (chunk as f64 + 0.3).sqrt();
    vec![x * 1e3, 1.0 / x, -x.powi(5)]
}

/// The sum of chunks as the definition has it: the left half, as far as a power of two, plus the right.
fn plain(first: u64, width: u64, count: u64) -> Option<Vec<f64>> {
    if first >= count {
        return None;
    }
    if width == 1 {
        return Some(vector(first));
    }
    let left = plain(first, width / 2, count)?;
    match plain(first + width / 2, width / 2, count) {
        None => Some(left),
        Some(right) => Some(left.iter().zip(right).map(|(a, b)| a + b).collect()),
    }
}

fn held(chunks: impl IntoIterator<Item = u64>, count: u64) -> Vec<Node> {
    let mut tree = Tree::new(count, Merge::Sum);
    for chunk in chunks {
        tree.push(Node::leaf(chunk, vector(chunk)))
            .expect("chunks in their order");
    }
    tree.into_nodes()
}

fn joined(mut nodes: Vec<Node>, count: u64) -> Result<Vec<f64>> {
    nodes.sort_by_key(Node::first);
    let mut tree = Tree::new(count, Merge::Sum);
    for node in nodes {
        tree.push(node)?;
    }
    tree.root()
}

#[test]
fn sums_are_those_of_the_tree_whoever_holds_which_chunks() {
    for count in [1_u64, 2, 3, 5, 8, 13, 64, 100] {
        let expected = plain(0, count.next_power_of_two(), count).expect("a chunk at least");
        for workers in 1..=9 {
            let cuts = Cuts::new(vec![("a".into(), count)], 1).expect("rows");
            let shares = cuts.shared(workers);
            let nodes = shares.iter().flat_map(|pieces| {
                let chunks = pieces
                    .iter()
                    .flat_map(|piece| piece.first_chunk..piece.first_chunk + piece.rows);
                held(chunks, count)
            });
            assert_eq!(joined(nodes.collect(), count), Ok(expected.clone()));
        }
        // Whoever holds every third chunk merges nothing, and the sum is the same.
        let thirds = (0..3).flat_map(|first| held((first..count).step_by(3), count));
        assert_eq!(joined(thirds.collect(), count), Ok(expected));
    }
}

#[test]
fn a_row_is_in_the_chunk_that_holds_it() {
    let sources = vec![("a".into(), 5), ("b".into(), 1), ("c".into(), 7)];
    let cuts = Cuts::new(sources, 3).expect("rows");
    let mut expected = (0..)
        .zip([3, 2, 1, 3, 3, 1])
        .flat_map(|(chunk, rows)| (0..rows).map(move |row| (chunk, row)));
    for row in 0..cuts.rows() {
        assert_eq!(Some(cuts.chunk_of(row)), expected.next());
    }
}

#[test]
fn a_worker_with_a_subtree_sends_one_vector() {
    for workers in [1, 2, 4, 8] {
        for chunks in held_by(64, workers) {
            assert_eq!(held(chunks, 64).len(), 1);
        }
    }
    // The last subtree is cut off where the data end.
    assert_eq!(held(4..6, 6).len(), 1);
    assert_eq!(held(0..4, 6).len(), 1);
}

fn held_by(count: u64, workers: u64) -> Vec<Vec<u64>> {
    let cuts = Cuts::new(vec![("a".into(), count)], 1).expect("rows");
    let chunks = |pieces: Vec<Piece>| {
        let each = pieces.into_iter();
        each.flat_map(|p| p.first_chunk..p.first_chunk + p.rows)
            .collect()
    };
    cuts.shared(workers).into_iter().map(chunks).collect()
}

#[test]
fn shares_hold_every_row_once_and_differ_by_little() {
    let sources = vec![("a".into(), 1000), ("b".into(), 7), ("c".into(), 4321)];
    let cuts = Cuts::new(sources, 10).expect("rows");
    assert_eq!((cuts.count(), cuts.rows()), (100 + 1 + 433, 5328));
    for workers in [1, 2, 3, 7, 16, 600] {
        let shares = cuts.shared(workers);
        let all: Vec<Piece> = shares.iter().flatten().copied().collect();
        let (mut chunk, mut rows) = (0, 0);
        for piece in &all {
            assert_eq!(piece.first_chunk, chunk);
            chunk += piece.rows.div_ceil(10);
            rows += piece.rows;
        }
        assert_eq!((chunk, rows), (534, 5328));
        let sizes = shares.iter().map(|s| s.iter().map(|p| p.rows).sum::<u64>());
        let (least, most) = sizes.fold((u64::MAX, 0), |(a, b), s| (a.min(s), b.max(s)));
        // A quarter: each end of a share moves by an eighth of it at most.
        if workers < 100 {
            assert!(
                most as f64 <= 1.5 * least as f64,
                "{workers}: {least} to {most}"
            );
        }
    }
}

#[test]
fn rows_are_named_by_their_file() {
    let sources = vec![("a.npy".into(), 25), ("b.npy".into(), 7)];
    let cuts = Cuts::new(sources, 10).expect("rows");
    assert_eq!(cuts.place(24).to_string(), "a.npy, row 25");
    assert_eq!(cuts.place(25).to_string(), "b.npy, row 1");
    let refusal = Refusal {
        chunk: 2,
        row: 4,
        column: Some(1),
        density: None,
        found: "a missing value".into(),
        expected: "a number".into(),
    };
    let error = cuts.refused(refusal.clone()).to_string();
    assert_eq!(
        error,
        "a.npy, row 25, column 2: a missing value, expected a number"
    );
    let density = Refusal {
        chunk: 3,
        density: Some(f64::NAN),
        ..refusal
    };
    let error = cuts.refused(density);
    assert!(error.is_recoverable());
    assert_eq!(
        cuts.located(error).to_string(),
        "b.npy, row 5: a log density of NaN in every component, expected a finite number; rescale the data or raise the prior scale"
    );
}

#[test]
fn what_is_missing_or_there_twice_is_refused() {
    let mut some = held(0..5, 8);
    assert_eq!(
        joined(some.clone(), 8).map_err(|e| e.to_string()),
        Err("workers: sums of 5 chunks, expected those of all 8".into())
    );
    some.extend(held(4..8, 8));
    assert_eq!(
        joined(some, 8).map_err(|e| e.to_string()),
        Err("workers: chunk 4 twice, expected each chunk from one worker".into())
    );
    let beyond = Node::leaf(8, vec![]);
    assert!(joined(vec![beyond], 8).is_err());
}

#[test]
fn the_lowest_refusal_is_told_whoever_has_it() {
    let cuts = || Cuts::new(vec![("a".into(), 64)], 1).expect("rows");
    let work = |chunk: u64, (): &()| match chunk {
        17 | 18 | 60 => Err(Error::data(Place::Row(0), format!("{chunk}"), "less")),
        _ => Ok(vec![1.0]),
    };
    for workers in [1, 2, 3, 8] {
        struct Shares<F>(Vec<Vec<u64>>, F);
        impl<F: Fn(u64, &()) -> Result<Vec<f64>> + Sync> Exchange for Shares<F> {
            fn ask(&self, task: &[u8]) -> Result<Vec<Vec<u8>>> {
                let serial = Header::read(&mut Reader::new(task))?.serial;
                let each = self.0.iter().map(|chunks| {
                    let chunks: Vec<(u64, ())> = chunks.iter().map(|c| (*c, ())).collect();
                    Ok(answer(&chunks, 64, Merge::Sum, &self.1)?.write(serial))
                });
                each.collect()
            }

            fn prepare(&self, task: &[u8]) -> Result<Vec<Vec<u8>>> {
                self.ask(task)
            }
        }
        let shares = Shares(held_by(64, workers), work);
        let asker = Asker::new(&shares, cuts());
        let error = asker.ask(1, 0, |_| ()).expect_err("refused");
        assert_eq!(error.to_string(), "a, row 18: 17, expected less");
    }
}

#[test]
fn the_smaller_number_and_the_first_of_equals_are_kept() {
    let push = |merge, vectors: [Vec<f64>; 3]| {
        let mut tree = Tree::new(3, merge);
        for (chunk, vector) in (0..).zip(vectors) {
            tree.push(Node::leaf(chunk, vector)).expect("in order");
        }
        tree.root().expect("all are there")
    };
    let least = push(
        Merge::SumThenLeast(1),
        [vec![1.0, 5.0], vec![2.0, -1.0], vec![3.0, 7.0]],
    );
    assert_eq!(least, [6.0, -1.0]);
    let first = push(
        Merge::First,
        [vec![2.0, 1.0], vec![1.0, 2.0], vec![1.0, 3.0]],
    );
    assert_eq!(first, [1.0, 2.0]);
}

#[test]
fn answers_come_back_as_they_went() {
    let sums = Answer::Sums {
        count: 9,
        merge: Merge::SumThenLeast(4),
        nodes: held(0..5, 9),
    };
    let refused = Answer::Refused(Refusal {
        chunk: 3,
        row: 9,
        column: Some(0),
        density: Some(-1.5),
        found: "ä".into(),
        expected: "b".into(),
    });
    for answer in [sums, refused, Answer::Lacking] {
        let bytes = answer.write(7);
        assert_eq!(Answer::read(&bytes, 7), Ok(answer));
        assert!(Answer::read(&bytes, 8).is_err());
        for end in 0..bytes.len() {
            assert!(Answer::read(&bytes[..end], 7).is_err());
        }
    }
    let failed = Answer::failed(7, "x is 1, expected 2");
    let error = Answer::read(&failed, 7).expect_err("a failure");
    assert_eq!(error.to_string(), "workers: x is 1, expected 2");
    let mut other = failed;
    other[4] = 99;
    let error = Answer::read(&other, 7).expect_err("another format");
    assert_eq!(
        error.to_string(),
        "workers: an answer of format 99, expected format 1: all machines need the same version of collapsar"
    );
}

#[test]
fn answers_merge_on_their_way_to_the_same_bits() {
    let count = 37;
    let expected = plain(0, 64, count).expect("a chunk at least");
    let cuts = Cuts::new(vec![("a".into(), count)], 1).expect("rows");
    for workers in [2_u64, 5, 8] {
        let answers: Vec<Vec<u8>> = (held_by(count, workers).into_iter())
            .map(|chunks| {
                let nodes = held(chunks, count);
                let merge = Merge::Sum;
                Answer::Sums {
                    count,
                    merge,
                    nodes,
                }
                .write(3)
            })
            .collect();
        let slices: Vec<&[u8]> = answers.iter().map(|bytes| &bytes[..]).collect();
        // Halves first, in the wrong order.
        let (left, right) = slices.split_at(slices.len() / 2);
        let halves = [merged(right), merged(left)];
        let whole = merged(&[&halves[0], &halves[1]]);
        let Ok(Answer::Sums { nodes, .. }) = Answer::read(&whole, 3) else {
            panic!("no sums")
        };
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].vector, expected);
        assert!(whole.len() <= slices[0].len().max(slices[1].len()));
    }
    let refused = |chunk| {
        let refusal = Refusal {
            chunk,
            row: 0,
            column: None,
            density: None,
            found: "x".into(),
            expected: "y".into(),
        };
        Answer::Refused(refusal).write(3)
    };
    let both = merged(&[&refused(9), &refused(4)]);
    let Ok(Answer::Refused(refusal)) = Answer::read(&both, 3) else {
        panic!("no refusal")
    };
    assert_eq!(cuts.refused(refusal).to_string(), "a, row 5: x, expected y");
    let lacking = merged(&[&refused(9), &Answer::Lacking.write(3), &refused(4)]);
    assert_eq!(Answer::read(&lacking, 3), Ok(Answer::Lacking));
    let failed = merged(&[&refused(9), &Answer::failed(3, "out of memory"), &[1, 2]]);
    let error = Answer::read(&failed, 3).expect_err("a failure");
    assert_eq!(error.to_string(), "workers: out of memory");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), serial: u64) {
        let _ = Answer::read(&bytes, serial);
        let _ = merged(&[&bytes, &bytes]);
        let mut reader = Reader::new(&bytes);
        if let Ok(header) = Header::read(&mut reader) {
            let _ = Pass::read(header.kind, reader);
        }
        // Past the first bytes, which random ones never get right.
        let mut begun = Header { serial, preparation: 0, kind: 0 }.write().into_bytes()[..13].to_vec();
        begun.extend(&bytes);
        if let Ok(Answer::Sums { nodes, .. }) = Answer::read(&begun, serial) {
            let mut tree = Tree::new(u64::from(bytes.len() as u32), Merge::Sum);
            for node in nodes {
                let _ = tree.push(node);
            }
        }
    }
}
