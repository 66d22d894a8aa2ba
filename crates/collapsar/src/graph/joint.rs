//! The log joint of a graph at given numbers, term by term: slow, and what everything else is tested against.

use super::variational::Numbers;
use super::{Atom, Graph, Kind};

use collapsar_core::elementary::Elementary;

impl Graph {
    /// The logarithm of the joint density of data and variables, all numbers of all variables in a row:
    /// labels are states counted from 0, matrices whole and row by row. With respect to lengths, the upper
    /// triangles of matrices and all proportions but the last. Positive numbers are as they are told ([`super::Told`]), and their density is
    /// that of $x$.
    pub fn ln_joint(&self, numbers: &[f64]) -> f64 {
        let places = Numbers::new(&self.declared);
        let value = |atom: &Atom| {
            let numbers = &numbers[places.places(atom.variable)];
            if let Kind::Positive { .. } = self.kind(atom.variable) {
                let log = self.told(atom.variable).ln_x(numbers[0]);
                return [log, log.exp_(), (-log).exp_(), log * log][atom.part as usize];
            }
            atom_value(self.kind(atom.variable), atom.part as usize, numbers)
        };
        let term = |coefficient: f64, atoms: &[Atom]| {
            let product: f64 = atoms.iter().map(value).product();
            // A state that cannot be has the coefficient -∞.
            if product == 0.0 {
                0.0
            } else {
                coefficient * product
            }
        };
        let mut sum = self.constant;
        for (&variable, tail) in &self.tails {
            let log = (self.told(variable)).ln_x(numbers[places.places(variable).start]);
            sum += tail.ln_value(log);
        }
        for (atoms, coefficient, _) in self.terms.each() {
            sum += term(coefficient, atoms);
        }
        for exponential in self.exponentials.all() {
            let slopes = exponential.predictor.slopes.iter();
            let slopes =
                slopes.map(|&(variable, slope)| slope * numbers[places.places(variable).start]);
            let exponent = exponential.predictor.offset + slopes.sum::<f64>();
            sum += term(
                exponential.coefficient * exponent.exp_(),
                &exponential.atoms,
            );
        }
        for rows in &self.rows {
            for row in 0..rows.count {
                let number = numbers[places.places(rows.first + row as u32).start];
                rows.each(row, |state, coefficient, product| {
                    if rows.are_squares() {
                        let product = product.map(|product| rows.products.get(product).0);
                        sum += number * term(coefficient, product.unwrap_or_default());
                    } else if state == number as usize {
                        sum += match product {
                            Some(product) => term(coefficient, rows.products.get(product).0),
                            None => coefficient,
                        };
                    }
                });
            }
        }
        sum
    }
}

/// A statistic of a variable that has these numbers.
fn atom_value(kind: Kind, part: usize, numbers: &[f64]) -> f64 {
    match kind {
        Kind::Gaussian | Kind::Bounded | Kind::PolyaGamma => numbers[0],
        Kind::Gamma => [numbers[0].ln_(), numbers[0]][part],
        // As it is told, which the graph knows.
        Kind::Positive { .. } => f64::NAN,
        Kind::Dirichlet(_) => numbers[part].ln_(),
        Kind::Label(_) => f64::from(u8::from(numbers[0] as usize == part)),
        Kind::Wishart(dim) => matrix_part(part, numbers, dim),
        Kind::NormalWishart(dim) => {
            let (mean, matrix) = numbers.split_at(dim);
            let row = |i: usize| -> f64 {
                let entries = matrix[i * dim..][..dim].iter();
                entries.zip(mean).map(|(entry, mean)| entry * mean).sum()
            };
            match part {
                0 => (0..dim).map(|i| mean[i] * row(i)).sum(),
                _ if part >= 2 && part < 2 + dim => row(part - 2),
                1 => matrix_part(0, matrix, dim),
                _ => matrix_part(part - 1 - dim, matrix, dim),
            }
        }
    }
}

/// The logarithm of a matrix's determinant, then the entries of its upper triangle.
fn matrix_part(part: usize, matrix: &[f64], dim: usize) -> f64 {
    if part == 0 {
        let matrix = nalgebra::DMatrix::from_row_slice(dim, dim, matrix);
        return matrix.determinant().ln_();
    }
    let mut upper = (0..dim).flat_map(|row| (row..dim).map(move |column| row * dim + column));
    upper.nth(part - 1).map_or(0.0, |place| matrix[place])
}
