//! The terms of normal vectors and of their precision matrices.

use collapsar::graph::{Atom, Kind};
use collapsar::special::ln_multivariate_gamma;
use nalgebra::DMatrix;

use super::Halt;
use super::distributions::LN_2PI;
use super::emit::{Emit, Precision, Rate};
use super::kinds::packed;
use crate::diagnostic::Diagnostic;
use crate::value::{Item, Unknown, Value};

impl Emit<'_> {
    pub(super) fn wishart(
        &mut self,
        x: &[Item],
        scale: &Value,
        freedom: &Item,
    ) -> Result<(), Halt> {
        let dim = (x.len() as f64).sqrt() as usize;
        let scale = self.constants(0, scale)?;
        if scale.len() != x.len() {
            return Err(self.mismatch(x.len(), scale.len()));
        }
        let freedom = self.constant(1, freedom)?;
        if freedom <= dim as f64 - 1.0 || freedom.is_nan() {
            let expected = format!("more than {}", dim as f64 - 1.0);
            return Err(self.parameter(1, freedom, &expected).into());
        }
        let ln_determinant = self.ln_determinant(0, &scale, dim)?;
        let size = dim as f64;
        self.add(
            0.5 * freedom * ln_determinant
                - 0.5 * freedom * size * std::f64::consts::LN_2
                - ln_multivariate_gamma(dim, 0.5 * freedom),
            &[],
        )?;
        let matrix = self.matrix(x, 0)?;
        let Precision::Multiple(_, variable) = matrix else {
            return Err(Diagnostic::new(
                self.target,
                "dwish that is observed is not supported",
                "data",
            )
            .into());
        };
        let determinant = self.determinant_part(variable);
        self.add(0.5 * (freedom - size - 1.0), &[determinant])?;
        for row in 0..dim {
            for column in row..dim {
                let twice = if row == column { 1.0 } else { 2.0 };
                let entry = self.entry(variable, dim, row, column);
                self.add(-0.5 * twice * scale[row * dim + column], &[entry])?;
            }
        }
        Ok(())
    }

    fn ln_determinant(&self, argument: usize, matrix: &[f64], dim: usize) -> Result<f64, Halt> {
        let matrix = DMatrix::from_row_slice(dim, dim, matrix);
        let symmetric = (&matrix - matrix.transpose()).amax() <= 1e-9 * matrix.amax();
        let factor = matrix.cholesky().filter(|_| symmetric).ok_or_else(|| {
            let name = &self.of.name.text;
            Halt::from(Diagnostic::new(
                self.of.arguments[argument].span,
                format!("a matrix of {name} that is not positive definite"),
                format!("for {}", self.element()),
            ))
        })?;
        Ok(2.0 * factor.l_dirty().diagonal().map(f64::ln).sum())
    }

    /// A matrix as a known one, or a multiple of a Wishart variable.
    fn matrix(&self, items: &[Item], argument: usize) -> Result<Precision, Halt> {
        let numbers: Option<Vec<f64>> = items.iter().map(Item::known).collect();
        if let Some(numbers) = numbers {
            return Ok(Precision::Known(numbers));
        }
        let refuse =
            || Halt::from(self.must_be(argument, "constant or a multiple of a dwish variable"));
        let dim = (items.len() as f64).sqrt() as usize;
        let mut found: Option<(f64, u32)> = None;
        for (place, item) in items.iter().enumerate() {
            let products = item.products().ok_or_else(refuse)?;
            let [product] = products.as_slice() else {
                return Err(refuse());
            };
            let [unknown] = product.unknowns.as_slice() else {
                return Err(refuse());
            };
            let offset = match self.variables.kind(unknown.variable) {
                Kind::Wishart(size) if size == dim => 0,
                Kind::NormalWishart(size) if size == dim => dim as u32,
                _ => return Err(refuse()),
            };
            let (row, column) = (place / dim, place % dim);
            let here = (product.coefficient, unknown.variable);
            let entry = packed(dim, row.min(column), row.max(column));
            if unknown.element != offset + entry || *found.get_or_insert(here) != here {
                return Err(refuse());
            }
        }
        found
            .map(|(c, w)| Precision::Multiple(c, w))
            .ok_or_else(refuse)
    }

    fn determinant_part(&self, variable: u32) -> Atom {
        let part = match self.variables.kind(variable) {
            Kind::NormalWishart(_) => 1,
            _ => 0,
        };
        Atom { variable, part }
    }

    fn entry(&self, variable: u32, dim: usize, row: usize, column: usize) -> Atom {
        let before = match self.variables.kind(variable) {
            Kind::NormalWishart(_) => 2 + dim as u32,
            _ => 1,
        };
        Atom {
            variable,
            part: before + packed(dim, row.min(column), row.max(column)),
        }
    }

    pub(super) fn multivariate_normal(
        &mut self,
        x: &[Item],
        mean: &Value,
        precision: &Value,
    ) -> Result<(), Halt> {
        let dim = x.len();
        if mean.items.len() != dim || precision.items.len() != dim * dim {
            return Err(self.mismatch(dim, mean.items.len()));
        }
        for item in &mean.items {
            self.gaussian_sum(0, item)?;
        }
        self.add(-0.5 * dim as f64 * LN_2PI, &[])?;
        let residuals: Vec<Item> = x.iter().zip(&mean.items).map(|(x, m)| x.minus(m)).collect();
        match self.matrix(&precision.items, 1)? {
            Precision::Known(matrix) => {
                let ln_determinant = self.ln_determinant(1, &matrix, dim)?;
                self.add(0.5 * ln_determinant, &[])?;
                let rate = Rate::constant(1.0);
                // Zeros of the matrix bring no terms, unless they meet what is not finite.
                let finite = residuals.iter().all(finite);
                for (a, row) in residuals.iter().zip(matrix.chunks(dim)) {
                    for (b, &entry) in residuals.iter().zip(row) {
                        if entry == 0.0 && finite {
                            continue;
                        }
                        self.add_product(-0.5 * entry, &rate, a, b)?;
                    }
                }
                Ok(())
            }
            Precision::Multiple(c, variable) => {
                if c.is_nan() || c <= 0.0 {
                    return Err(self.parameter(1, c, "a positive multiple").into());
                }
                self.add(0.5 * dim as f64 * c.ln(), &[])?;
                let determinant = self.determinant_part(variable);
                self.add(0.5, &[determinant])?;
                self.quadratic_form(&residuals, c, variable)
            }
        }
    }

    /// Adds -c/2 r'Λr for a matrix Λ that is not known.
    fn quadratic_form(&mut self, residuals: &[Item], c: f64, variable: u32) -> Result<(), Halt> {
        let dim = residuals.len();
        let (known, sign) = self.split_mean(residuals, variable)?;
        for row in 0..dim {
            for column in row..dim {
                let twice = if row == column { 1.0 } else { 2.0 };
                let entry = self.entry(variable, dim, row, column);
                let products = known[row]
                    .times(&known[column])
                    .products()
                    .unwrap_or_default();
                for product in products {
                    let mut atoms = vec![entry];
                    for unknown in &product.unknowns {
                        atoms.push(self.factor_atom(*unknown)?);
                    }
                    self.add(-0.5 * c * twice * product.coefficient, &atoms)?;
                }
            }
        }
        if sign != 0.0 {
            // r = a + sμ: -c/2 (2s a'Λμ + μ'Λμ)
            self.add(-0.5 * c, &[Atom { variable, part: 0 }])?;
            for (place, a) in known.iter().enumerate() {
                for product in a.products().unwrap_or_default() {
                    let mut atoms = vec![Atom {
                        variable,
                        part: 2 + place as u32,
                    }];
                    for unknown in &product.unknowns {
                        atoms.push(self.factor_atom(*unknown)?);
                    }
                    self.add(-c * sign * product.coefficient, &atoms)?;
                }
            }
        }
        Ok(())
    }

    /// Residuals without the mean that is joint with the matrix, and the sign with which it is
    /// in all of them.
    fn split_mean(&self, residuals: &[Item], variable: u32) -> Result<(Vec<Item>, f64), Halt> {
        let dim = residuals.len();
        let is_mean = |unknown: &Unknown, place: usize| {
            unknown.variable == variable && unknown.element == place as u32
        };
        if !matches!(self.variables.kind(variable), Kind::NormalWishart(_)) {
            return Ok((residuals.to_vec(), 0.0));
        }
        let mut sign: Option<f64> = None;
        let mut known = Vec::with_capacity(dim);
        for (place, residual) in residuals.iter().enumerate() {
            let mut here = 0.0;
            for product in residual.products().unwrap_or_default() {
                if let [unknown] = product.unknowns.as_slice()
                    && is_mean(unknown, place)
                {
                    here = product.coefficient;
                }
            }
            if here.abs() != 1.0 && here != 0.0 || sign.is_some_and(|sign| sign != here) {
                return Err(self.apart(variable));
            }
            sign = Some(here);
            let mean = Item::unknown(variable, place as u32).times(&Item::Known(here));
            known.push(residual.minus(&mean));
        }
        Ok((known, sign.unwrap_or(0.0)))
    }
}

/// Whether all numbers in an item are finite.
fn finite(item: &Item) -> bool {
    match item {
        Item::Known(value) => value.is_finite(),
        Item::Sum(products) => products.iter().all(|p| p.coefficient.is_finite()),
        Item::Drawn(_) | Item::Opaque => false,
    }
}
