//! Decides how a log joint is kept: as a sum of products of statistics, like terms together.

use hashbrown::HashTable;

use super::Atom;

/// Terms of a log joint: coefficient times atoms, and the factor that each came from first.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    starts: Vec<u32>,
    atoms: Vec<Atom>,
    coefficients: Vec<f64>,
    sources: Vec<u32>,
    table: HashTable<u32>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            starts: vec![0],
            atoms: vec![],
            coefficients: vec![],
            sources: vec![],
            table: HashTable::new(),
        }
    }
}

impl Terms {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.coefficients.len()
    }

    /// The atoms of a term, sorted.
    pub(super) fn atoms(&self, term: usize) -> &[Atom] {
        atoms(&self.atoms, &self.starts, term)
    }

    pub(super) fn coefficient(&self, term: usize) -> f64 {
        self.coefficients[term]
    }

    /// The factor that brought it.
    pub(super) fn source(&self, term: usize) -> u32 {
        self.sources[term]
    }

    /// The atoms of each term, and the factor that brought it.
    pub(super) fn each(&self) -> impl Iterator<Item = (&[Atom], u32)> {
        (0..self.len()).map(|term| (self.atoms(term), self.sources[term]))
    }

    /// Adds to the term with these atoms, which must be sorted; returns it.
    pub(super) fn add(&mut self, key: &[Atom], coefficient: f64, source: u32) -> usize {
        let digest = mix(key);
        let (all, starts) = (&self.atoms, &self.starts);
        let found = self
            .table
            .find(digest, |&term| atoms(all, starts, term as usize) == key);
        if let Some(&term) = found {
            self.coefficients[term as usize] += coefficient;
            return term as usize;
        }
        let term = self.coefficients.len();
        self.atoms.extend_from_slice(key);
        self.starts.push(self.atoms.len() as u32);
        self.coefficients.push(coefficient);
        self.sources.push(source);
        let (all, starts) = (&self.atoms, &self.starts);
        self.table.insert_unique(digest, term as u32, |&term| {
            mix(atoms(all, starts, term as usize))
        });
        term
    }
}

fn atoms<'a>(all: &'a [Atom], starts: &[u32], term: usize) -> &'a [Atom] {
    &all[starts[term] as usize..starts[term + 1] as usize]
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
        assert_eq!(terms.coefficient(7), 3.0);
        assert_eq!(terms.source(7), 0);
        assert_eq!(terms.atoms(7), [atom(7, 0), atom(7, 1)]);
        assert_eq!(terms.add(&[], 2.0, 9), 100);
    }
}
