//! The order in which chunks are added: a binary tree over their numbers, fixed by how many there are.

use crate::error::{Error, Result};
use crate::vector::add;

/// How two vectors of neighbours become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// They are added.
    Sum,
    /// So many numbers are added; of the others the smaller one is kept.
    SumThenLeast(usize),
    /// The vector whose first number is smaller is kept, the first of equals.
    First,
}

impl Merge {
    fn join(self, left: &mut Vec<f64>, right: Vec<f64>) -> Result<()> {
        if left.len() != right.len() {
            return Err(Error::exchange(format!(
                "vectors of {} and {} numbers, expected the same from all workers",
                left.len(),
                right.len()
            )));
        }
        match self {
            Self::Sum => add(left, 1.0, &right),
            Self::SumThenLeast(sums) => {
                let sums = sums.min(left.len());
                add(&mut left[..sums], 1.0, &right[..sums]);
                for (a, b) in left[sums..].iter_mut().zip(&right[sums..]) {
                    *a = if *b < *a { *b } else { *a };
                }
            }
            Self::First => {
                if right.first() < left.first() {
                    *left = right;
                }
            }
        }
        Ok(())
    }
}

/// A subtree by its place, and the vector of all its chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// It spans two to this power chunks, as far as there are so many.
    pub level: u8,
    /// Which of its level, from the left.
    pub index: u64,
    /// The vector.
    pub vector: Vec<f64>,
}

impl Node {
    /// A single chunk.
    pub fn leaf(chunk: u64, vector: Vec<f64>) -> Self {
        Self {
            level: 0,
            index: chunk,
            vector,
        }
    }

    /// The lowest of its chunks.
    pub fn first(&self) -> u64 {
        self.index
            .checked_shl(self.level.into())
            .unwrap_or(u64::MAX)
    }
}

/// Subtrees from the left to the right, neighbours merged as soon as both are there.
///
/// It holds a vector for each level of the tree at most where chunks follow one another.
#[derive(Debug)]
pub struct Tree {
    count: u64,
    merge: Merge,
    nodes: Vec<Node>,
}

/// More chunks than this no row number could tell apart.
const HIGHEST: u8 = 62;

impl Tree {
    /// The tree over so many chunks.
    pub fn new(count: u64, merge: Merge) -> Self {
        Self {
            count,
            merge,
            nodes: vec![],
        }
    }

    /// The level of the root.
    fn top(&self) -> u8 {
        let wide = self.count.max(1).next_power_of_two();
        wide.trailing_zeros() as u8
    }

    /// Takes in a subtree to the right of all that are there.
    ///
    /// # Errors
    /// [`Error::Exchange`] where it is not to the right of them, or not in the tree.
    pub fn push(&mut self, node: Node) -> Result<()> {
        let inside = node.level <= HIGHEST && node.index < 1 << (HIGHEST - node.level);
        if !inside || node.level > self.top() || node.first() >= self.count {
            return Err(Error::exchange(format!(
                "a sum of level {} and index {}, expected one of {} chunks",
                node.level, node.index, self.count
            )));
        }
        if let Some(last) = self.nodes.last()
            && (last.index + 1) << last.level > node.first()
        {
            let chunk = node.first();
            return Err(Error::exchange(format!(
                "chunk {chunk} twice, expected each chunk from one worker"
            )));
        }
        self.nodes.push(node);
        self.settle()
    }

    /// Merges at the right end what can be.
    fn settle(&mut self) -> Result<()> {
        let top = self.top();
        while let Some(last) = self.nodes.last() {
            if last.level == top {
                return Ok(());
            }
            if last.index.is_multiple_of(2) {
                // Its right neighbour is to come, or there is none: then it is its parent's all.
                if (last.index + 1) << last.level < self.count {
                    return Ok(());
                }
                if let Some(last) = self.nodes.last_mut() {
                    (last.level, last.index) = (last.level + 1, last.index / 2);
                }
                continue;
            }
            let neighbour = (last.level, last.index - 1);
            let [.., left, _] = &self.nodes[..] else {
                return Ok(());
            };
            if (left.level, left.index) != neighbour {
                return Ok(());
            }
            if let (Some(right), Some(left)) = (self.nodes.pop(), self.nodes.last_mut()) {
                self.merge.join(&mut left.vector, right.vector)?;
                (left.level, left.index) = (left.level + 1, left.index / 2);
            }
        }
        Ok(())
    }

    /// The subtrees that are there, as few as can be.
    pub fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// The vector of all chunks.
    ///
    /// # Errors
    /// [`Error::Exchange`] where some are missing.
    pub fn root(mut self) -> Result<Vec<f64>> {
        let top = self.top();
        let held = |node: &Node| {
            let end = (node.index + 1) << node.level;
            end.min(self.count) - node.first()
        };
        let there: u64 = self.nodes.iter().map(held).sum();
        match self.nodes.pop() {
            Some(node) if node.level == top => Ok(node.vector),
            _ => Err(Error::exchange(format!(
                "sums of {there} chunks, expected those of all {}",
                self.count
            ))),
        }
    }
}
