//! Decides which alignments of two mates belong together.

use collapsar::quant::fragment::{Layout, Placement};

use super::record::Mate;

/// One mate's alignment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) mate: Mate,
    pub(super) forward: bool,
    pub(super) target: u32,
    /// With the clipped bases.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The position as written, and where the record says that the other mate is.
    pub(super) position: u32,
    pub(super) other: Option<(u32, u32)>,
    pub(super) hi: Option<u32>,
    pub(super) log_odds: f64,
}

impl Hit {
    pub(super) fn alone(&self) -> Placement {
        let forward = self.forward;
        Placement {
            transcript: self.target,
            start: self.start,
            end: self.end,
            layout: match self.mate {
                Mate::Only => Layout::Single { forward },
                mate => Layout::Orphan {
                    first: mate == Mate::First,
                    forward,
                },
            },
            log_odds: self.log_odds as f32,
        }
    }

    /// May be one fragment: the two mates on one target, and not numbered apart.
    fn may_join(&self, other: &Hit) -> bool {
        let apart = matches!((self.hi, other.hi), (Some(a), Some(b)) if a != b);
        self.mate != other.mate && self.target == other.target && !apart
    }

    /// Each record names the other's place.
    fn names(&self, other: &Hit) -> bool {
        self.other == Some((other.target, other.position))
            && other.other == Some((self.target, self.position))
    }

    fn with(&self, other: &Hit) -> Placement {
        let (first, second) = match self.mate {
            Mate::Second => (other, self),
            _ => (self, other),
        };
        Placement {
            transcript: self.target,
            start: first.start.min(second.start),
            end: first.end.max(second.end),
            layout: Layout::Pair {
                first_forward: first.forward,
                second_forward: second.forward,
                // Mates that begin at one place face each other: the fragment is no longer than a read.
                first_left: first.start < second.start
                    || (first.start == second.start && (first.forward || !second.forward)),
            },
            log_odds: (first.log_odds + second.log_odds) as f32,
        }
    }
}

/// Joins mates, and keeps its memory for the next read.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    left: Vec<usize>,
}

impl Pairs {
    /// Adds the pairs among `hits`, which are in the order of the file.
    ///
    /// bowtie2 and STAR write the mates of a pair one after the other, each with the other's place. After
    /// sorting by name they are further apart. minimap2 gives the place of the best alignment with all
    /// others, so what is left is joined by nearness.
    pub(super) fn join(&mut self, hits: &[Hit], placements: &mut Vec<Placement>) {
        self.left.clear();
        let mut index = 0;
        while index < hits.len() {
            let hit = &hits[index];
            match hits.get(index + 1) {
                Some(next) if hit.may_join(next) && hit.names(next) => {
                    placements.push(hit.with(next));
                    index += 2;
                }
                _ => {
                    self.left.push(index);
                    index += 1;
                }
            }
        }
        if self.left.is_empty() {
            return;
        }
        self.left.sort_by_key(|&index| (hits[index].target, index));
        for group in self
            .left
            .chunk_by_mut(|&a, &b| hits[a].target == hits[b].target)
        {
            let rest = best(hits, group, placements, |one, other, distance| {
                one.names(other).then_some((false, distance as u32))
            });
            // Not in the order of the file, on which the result would depend.
            rest.sort_by(|&a, &b| {
                let (a, b) = (&hits[a], &hits[b]);
                let places = (a.start, a.end).cmp(&(b.start, b.end));
                places.then(b.log_odds.total_cmp(&a.log_odds))
            });
            best(hits, rest, placements, |one, other, _| {
                let span = one.end.max(other.end) - one.start.min(other.start);
                Some((one.forward == other.forward, span))
            });
        }
    }
}

/// Joins each first mate of `group` with the second mate of the smallest cost, and returns the others.
fn best<'a>(
    hits: &[Hit],
    group: &'a mut [usize],
    placements: &mut Vec<Placement>,
    cost: impl Fn(&Hit, &Hit, usize) -> Option<(bool, u32)>,
) -> &'a mut [usize] {
    // Those that have been joined are moved behind the others, whose order is kept.
    let mut count = group.len();
    let mut at = 0;
    while at < count {
        let one = &hits[group[at]];
        let found = (0..count)
            .filter(|&to| one.mate == Mate::First && one.may_join(&hits[group[to]]))
            .filter_map(|to| {
                let distance = group[to].abs_diff(group[at]);
                Some((cost(one, &hits[group[to]], distance)?, to))
            })
            .min();
        if let Some((_, to)) = found {
            placements.push(one.with(&hits[group[to]]));
            let (low, high) = (at.min(to), at.max(to));
            group[high..count].rotate_left(1);
            group[low..count - 1].rotate_left(1);
            count -= 2;
            at = low;
        } else {
            at += 1;
        }
    }
    &mut group[..count]
}
