//! The terms of normal vectors and of their precision matrices.

use std::rc::Rc;

use collapsar::elementary::Elementary;
use collapsar::graph::{Atom, Kind};
use collapsar::special::ln_multivariate_gamma;
use nalgebra::DMatrix;

use super::distributions::LN_2PI;
use super::emit::{Emit, Rate, packed};
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Resolved, Unresolved};
use crate::value::{Monomial, Scalar, Value};

/// A symmetric matrix that is known, or a known multiple of one that is not.
enum Precision {
    /// Times gamma variables, or nothing.
    Known(Vec<f64>, Rate),
    Multiple(f64, u32),
}

/// Rows and columns of an upper triangle, and how often each entry is in the matrix.
fn triangle(dim: usize) -> impl Iterator<Item = (usize, usize, f64)> {
    let times = |row: usize, column: usize| if row == column { 1.0 } else { 2.0 };
    let columns = move |row: usize| (row..dim).map(move |column| (row, column, times(row, column)));
    (0..dim).flat_map(columns)
}

impl Emit<'_> {
    pub(super) fn wishart(&mut self, x: &[Scalar], scale: &Value, freedom: &Scalar) -> Resolved {
        let dim = x.len().isqrt();
        let scale = self.constants(0, scale)?;
        if scale.len() != x.len() {
            return Err(self.mismatch(x.len(), scale.len()));
        }
        let freedom = self.constant(1, freedom)?;
        let size = dim as f64;
        if freedom <= size - 1.0 || freedom.is_nan() {
            let expected = format!("more than {}", size - 1.0);
            return Err(self.parameter(1, freedom, &expected).into());
        }
        let ln_determinant = self.ln_determinant(0, &scale, dim)?;
        self.add(
            0.5 * freedom * ln_determinant
                - 0.5 * freedom * size * std::f64::consts::LN_2
                - ln_multivariate_gamma(dim, 0.5 * freedom),
            &[],
        )?;
        let Precision::Multiple(_, variable) = self.matrix(x, 0)? else {
            let message = "dwish that is observed is not supported";
            return Err(Diagnostic::new(self.line.target, message, "data").into());
        };
        let determinant = self.determinant(variable);
        self.add(0.5 * (freedom - size - 1.0), &[determinant])?;
        for (row, column, times) in triangle(dim) {
            let entry = self.entry(variable, dim, row, column);
            self.add(-0.5 * times * scale[row * dim + column], &[entry])?;
        }
        Ok(())
    }

    fn ln_determinant(&self, argument: usize, matrix: &[f64], dim: usize) -> Resolved<f64> {
        let matrix = DMatrix::from_row_slice(dim, dim, matrix);
        let symmetric = (&matrix - matrix.transpose()).amax() <= 1e-9 * matrix.amax();
        let Some(factor) = matrix.cholesky().filter(|_| symmetric) else {
            let of = self.line.of;
            let message = format!("a matrix of {} that is not positive definite", of.name.text);
            let label = format!("for {}", self.line.element(self.instance));
            return Err(Diagnostic::new(of.arguments[argument].span, message, label).into());
        };
        Ok(2.0 * factor.l_dirty().diagonal().map(f64::ln_).sum())
    }

    /// A matrix as a known one, or a multiple of a Wishart variable.
    fn matrix(&self, entries: &[Scalar], argument: usize) -> Resolved<Precision> {
        let numbers: Option<Vec<f64>> = entries.iter().map(Scalar::known).collect();
        if let Some(numbers) = numbers {
            return Ok(Precision::Known(numbers, Rate::constant(1.0)));
        }
        if let Some((numbers, rate)) = self.scaled(entries, argument) {
            return Ok(Precision::Known(numbers, rate));
        }
        let dim = entries.len().isqrt();
        let mut found = None;
        let mut multiple = |place: usize, entry: &Scalar| {
            let (coefficient, unknown) = entry.multiple()?;
            let before = match self.line.variables.kind(unknown.variable) {
                Kind::Wishart(size) if size == dim => 0,
                Kind::NormalWishart(size) if size == dim => dim,
                _ => return None,
            };
            let (row, column) = (place / dim, place % dim);
            let entry = before + row.min(column) * dim + row.max(column);
            let here = (coefficient, unknown.variable);
            let same = *found.get_or_insert(here) == here;
            (same && unknown.element as usize == entry).then_some(())
        };
        let mut places = entries.iter().enumerate();
        let whole = places.all(|(place, entry)| multiple(place, entry).is_some());
        if let Some((coefficient, variable)) = found.filter(|_| whole) {
            return Ok(Precision::Multiple(coefficient, variable));
        }
        let what = "constant, that times gamma variables, or a multiple of a dwish variable";
        Err(self.must_be(argument, what).into())
    }

    /// A known matrix and the gamma variables that all its entries are multiplied by.
    fn scaled(&self, entries: &[Scalar], argument: usize) -> Option<(Vec<f64>, Rate)> {
        let first = entries.iter().find_map(|entry| match entry {
            Scalar::Polynomial(_) => entry.monomial(),
            _ => None,
        })?;
        let number = |entry: &Scalar| match entry {
            Scalar::Known(0.0) => Some(0.0),
            entry => {
                let monomial = entry.monomial()?;
                (monomial.unknowns == first.unknowns).then_some(monomial.coefficient)
            }
        };
        let numbers = entries.iter().map(number).collect::<Option<Vec<f64>>>()?;
        let one = Monomial {
            coefficient: 1.0,
            unknowns: first.unknowns.clone(),
        };
        let rate = self.rate(argument, &Scalar::Polynomial(Rc::new(vec![one])));
        Some((numbers, rate.ok()?))
    }

    fn determinant(&self, variable: u32) -> Atom {
        let joint = matches!(self.line.variables.kind(variable), Kind::NormalWishart(_));
        let part = u32::from(joint);
        Atom { variable, part }
    }

    fn entry(&self, variable: u32, dim: usize, row: usize, column: usize) -> Atom {
        let before = match self.line.variables.kind(variable) {
            Kind::NormalWishart(_) => 2 + dim as u32,
            _ => 1,
        };
        let part = before + packed(dim, row, column);
        Atom { variable, part }
    }

    pub(super) fn multivariate_normal(
        &mut self,
        x: &[Scalar],
        mean: &Value,
        precision: &Value,
    ) -> Resolved {
        let dim = x.len();
        let mean = &mean.elements;
        if mean.len() != dim || precision.elements.len() != dim * dim {
            return Err(self.mismatch(dim, mean.len()));
        }
        mean.iter().try_for_each(|mean| self.check_mean(mean))?;
        self.add(-0.5 * dim as f64 * LN_2PI, &[])?;
        let residuals: Vec<Scalar> = x.iter().zip(mean).map(|(x, m)| x.minus(m)).collect();
        match self.matrix(&precision.elements, 1)? {
            Precision::Known(matrix, rate) => {
                let ln_determinant = self.ln_determinant(1, &matrix, dim)?;
                self.add(0.5 * ln_determinant, &[])?;
                self.add_ln(0.5 * dim as f64, &rate)?;
                // Zeros of the matrix bring no terms, unless they meet what is not finite.
                let finite = residuals.iter().all(finite);
                for (a, row) in residuals.iter().zip(matrix.chunks(dim)) {
                    for (b, &entry) in residuals.iter().zip(row) {
                        if entry != 0.0 || !finite {
                            self.add_product(-0.5 * entry, &rate, a, b)?;
                        }
                    }
                }
                Ok(())
            }
            Precision::Multiple(c, variable) => {
                if c.is_nan() || c <= 0.0 {
                    return Err(self.parameter(1, c, "a positive multiple").into());
                }
                self.add(0.5 * dim as f64 * c.ln_(), &[])?;
                let determinant = self.determinant(variable);
                self.add(0.5, &[determinant])?;
                self.quadratic_form(&residuals, c, variable)
            }
        }
    }

    /// Adds -c/2 r'Λr for a matrix Λ that is not known.
    fn quadratic_form(&mut self, residuals: &[Scalar], c: f64, variable: u32) -> Resolved {
        let dim = residuals.len();
        let (known, sign) = self.split_mean(residuals, variable)?;
        for (row, column, times) in triangle(dim) {
            let entry = self.entry(variable, dim, row, column);
            let product = known[row].times(&known[column]);
            self.add_times(-0.5 * c * times, vec![entry], &product)?;
        }
        if sign != 0.0 {
            // r = a + sμ: -c/2 (2s a'Λμ + μ'Λμ)
            self.add(-0.5 * c, &[Atom { variable, part: 0 }])?;
            for (part, a) in (2..).zip(&known) {
                self.add_times(-c * sign, vec![Atom { variable, part }], a)?;
            }
        }
        Ok(())
    }

    /// Residuals without the mean that is joint with the matrix, and the sign with which it is
    /// in all of them.
    fn split_mean(
        &self,
        residuals: &[Scalar],
        variable: u32,
    ) -> Result<(Vec<Scalar>, f64), Unresolved> {
        if !matches!(self.line.variables.kind(variable), Kind::NormalWishart(_)) {
            return Ok((residuals.to_vec(), 0.0));
        }
        let mut sign: Option<f64> = None;
        let mut known = Vec::with_capacity(residuals.len());
        for (element, residual) in (0..).zip(residuals) {
            let mean = Scalar::unknown(variable, element);
            let own = mean.monomial().map(|mean| mean.unknowns);
            let monomials = residual.monomials().unwrap_or_default();
            let here = monomials.iter().find(|m| Some(&m.unknowns) == own.as_ref());
            let here = here.map_or(0.0, |monomial| monomial.coefficient);
            if here.abs() != 1.0 && here != 0.0 || sign.is_some_and(|sign| sign != here) {
                return Err(self.apart(variable));
            }
            sign = Some(here);
            known.push(residual.minus(&mean.times(&Scalar::Known(here))));
        }
        Ok((known, sign.unwrap_or(0.0)))
    }
}

/// Whether all numbers in a polynomial are finite.
fn finite(polynomial: &Scalar) -> bool {
    match polynomial {
        Scalar::Known(value) => value.is_finite(),
        Scalar::Polynomial(monomials) => monomials.iter().all(|m| m.coefficient.is_finite()),
        Scalar::Product(_)
        | Scalar::Linked(..)
        | Scalar::Scaled(..)
        | Scalar::Pair(_)
        | Scalar::Share(_)
        | Scalar::Mass(_)
        | Scalar::Power(..)
        | Scalar::Draws(_)
        | Scalar::Opaque => false,
    }
}
