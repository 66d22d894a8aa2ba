//! `components.json`: a fit on disk, which whoever reads it must not have to trust.

use std::fs;
use std::path::Path;

use anyhow::{anyhow, bail};
use collapsar::mixture::{Covariance, Matrix, MixtureFit};
use serde::{Deserialize, Serialize};

pub(crate) const FILE: &str = "components.json";

/// A fit with the names of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The version of the program that wrote it.
    pub(crate) version: String,
    /// The columns of the data, in the order of every mean and covariance below.
    pub(crate) columns: Vec<String>,
    /// How many rows were fitted.
    pub(crate) rows: usize,
    /// A lower bound on ln p(data).
    pub(crate) bound: f64,
    #[serde(flatten)]
    pub(crate) fit: MixtureFit,
}

impl Saved {
    /// Reads the fit in a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        if !path.is_file() {
            bail!(
                "{}: no {FILE} there, expected a folder written by collapsar mixture --out",
                folder.display()
            );
        }
        let name = path.display();
        let text = fs::read(&path).map_err(|cause| anyhow!("{name}: {cause}"))?;
        let damaged = |cause: &str| {
            anyhow!(
                "{name}: damaged or no fit ({cause}), expected a file written by collapsar mixture --out"
            )
        };
        let saved: Self =
            serde_json::from_slice(&text).map_err(|cause| damaged(&cause.to_string()))?;
        saved.check().map_err(|cause| damaged(&cause))?;
        Ok(saved)
    }

    /// Sizes and signs that the library takes for granted.
    fn check(&self) -> Result<(), String> {
        let (fit, columns) = (&self.fit, self.columns.len());
        let prior = &fit.prior;
        if fit.components.is_empty() || columns == 0 {
            return Err("no components or no columns".into());
        }
        if prior.location.len() != columns || prior.scale.len() != columns * columns {
            return Err(format!("a prior of another size than {columns} columns"));
        }
        for (k, component) in fit.components.iter().enumerate() {
            let shape = match (&component.scale, fit.covariance) {
                (Matrix::Full(rows), Covariance::Full | Covariance::Tied) => {
                    rows.len() == columns && rows.iter().all(|row| row.len() == columns)
                }
                (Matrix::Diagonal(entries), Covariance::Diagonal) => entries.len() == columns,
                (Matrix::Spherical(_), Covariance::Spherical) => true,
                _ => false,
            };
            if component.mean.len() != columns || !shape {
                return Err(format!(
                    "component {k} of another size than {columns} columns"
                ));
            }
            let numbers = [
                component.weight,
                component.mean_precision,
                component.degrees_of_freedom,
            ];
            if numbers.iter().any(|x| !(*x >= 0.0 && x.is_finite())) {
                return Err(format!(
                    "component {k} has a negative weight, precision or freedom"
                ));
            }
        }
        Ok(())
    }
}
