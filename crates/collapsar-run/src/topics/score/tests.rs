//! Which fits of several starts are averaged.

use super::*;

fn seeds(members: &[(u64, bool)], best: u64) -> Vec<u64> {
    let average = Average {
        members: members
            .iter()
            .map(|&(seed, whole)| Member {
                seed,
                bound: -1.0,
                whole,
            })
            .collect(),
        fits: members
            .iter()
            .map(|&(seed, _)| TopicsFit {
                topics: 1,
                alpha: vec![seed as f64],
                beta: 0.1,
                word_counts: vec![1.0],
                document_counts: vec![],
                drawn: false,
            })
            .collect(),
    };
    let settled = average.settle(best);
    let pairs = settled.members.iter().zip(&settled.fits);
    pairs
        .map(|(member, fit)| {
            assert_eq!(fit.alpha, [member.seed as f64]);
            member.seed
        })
        .collect()
}

#[test]
fn the_best_comes_first_and_climbs_cut_short_go() {
    let whole = [(4, true), (2, true), (3, true)];
    assert_eq!(seeds(&whole, 3), [3, 2, 4]);
    assert_eq!(seeds(&[(4, true), (2, false), (3, true)], 4), [4, 3]);
    assert_eq!(seeds(&[(4, true), (2, false)], 2), [2, 4]);
    assert_eq!(seeds(&[(4, false), (2, false)], 4), [4, 2]);
}
