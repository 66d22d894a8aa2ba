//! Decides how a log joint is kept: as a sum of products of statistics, like terms together.

use std::ops::Range;

use hashbrown::HashTable;

use super::Atom;

/// Lists one after another in one array: where each begins, and where the last ends.
#[derive(Debug, Clone)]
pub(super) struct Starts(Vec<u32>);

impl Default for Starts {
    fn default() -> Self {
        Self(vec![0])
    }
}

impl Starts {
    /// Lists of these lengths.
    pub(super) fn of_lengths(lengths: &[u32]) -> Self {
        let mut starts = Self::default();
        let mut end = 0;
        for length in lengths {
            end += length;
            starts.0.push(end);
        }
        starts
    }

    /// The places of a list.
    #[inline]
    pub(super) fn range(&self, list: usize) -> Range<usize> {
        self.0[list] as usize..self.0[list + 1] as usize
    }

    /// The places of all lists.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.0
            .windows(2)
            .map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// How many lists there are.
    pub(super) fn lists(&self) -> usize {
        self.0.len() - 1
    }

    /// Ends a list.
    pub(super) fn end(&mut self, end: usize) {
        self.0.push(end as u32);
    }
}

/// Terms of a log joint: coefficient times atoms, and the factor that each came from first.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    starts: Starts,
    atoms: Vec<Atom>,
    coefficients: Vec<f64>,
    factors: Vec<u32>,
    table: HashTable<u32>,
}

impl Terms {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.coefficients.len()
    }

    /// The atoms of a term, sorted.
    pub(super) fn atoms(&self, term: usize) -> &[Atom] {
        &self.atoms[self.starts.range(term)]
    }

    /// The atoms of a term, its coefficient, and the factor that brought it.
    pub(super) fn get(&self, term: usize) -> (&[Atom], f64, u32) {
        (
            self.atoms(term),
            self.coefficients[term],
            self.factors[term],
        )
    }

    /// All terms.
    pub(super) fn each(&self) -> impl Iterator<Item = (&[Atom], f64, u32)> {
        (0..self.len()).map(|term| self.get(term))
    }

    /// The term with these atoms, which must be sorted.
    pub(super) fn find(&self, key: &[Atom]) -> Option<usize> {
        let same = |&term: &u32| self.atoms(term as usize) == key;
        let term = self.table.find(mix(key), same);
        term.map(|&term| term as usize)
    }

    /// Adds to the term with these atoms, which must be sorted; returns it.
    pub(super) fn add(&mut self, key: &[Atom], coefficient: f64, factor: u32) -> usize {
        let digest = mix(key);
        let same = |&term: &u32| self.atoms(term as usize) == key;
        if let Some(&term) = self.table.find(digest, same) {
            self.coefficients[term as usize] += coefficient;
            return term as usize;
        }
        let term = self.coefficients.len();
        self.atoms.extend_from_slice(key);
        self.starts.end(self.atoms.len());
        self.coefficients.push(coefficient);
        self.factors.push(factor);
        let (all, starts) = (&self.atoms, &self.starts);
        self.table.insert_unique(digest, term as u32, |&term| {
            mix(&all[starts.range(term as usize)])
        });
        term
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A digest of atoms.
pub(super) fn mix(key: &[Atom]) -> u64 {
    let hash = key.iter().fold(key.len() as u64, |hash, atom| {
        let word = u64::from(atom.variable) << 32 | u64::from(atom.part);
        (hash.rotate_left(23) ^ word).wrapping_mul(ODD)
    });
    (hash ^ (hash >> 32)).wrapping_mul(ODD)
}

/// A digest of a digest and a number.
pub(super) fn mix_number(hash: u64, number: f64) -> u64 {
    let hash = (hash.rotate_left(23) ^ number.to_bits()).wrapping_mul(ODD);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(ODD);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_terms_are_added() {
        let atom = |variable, part| Atom { variable, part };
        let mut terms = Terms::default();
        for round in 0..3 {
            for variable in 0..100 {
                let place = terms.add(&[atom(variable, 0), atom(variable, 1)], 1.0, round);
                assert_eq!(place, variable as usize);
            }
        }
        assert_eq!(terms.len(), 100);
        assert_eq!(terms.get(7), (&[atom(7, 0), atom(7, 1)][..], 3.0, 0));
        assert_eq!(terms.add(&[], 2.0, 9), 100);
    }
}
