//! Draws of a mixture's parameters: what is kept of them, and what they tell.

use serde::{Deserialize, Serialize};

use crate::mixture::{Covariance, Matrix, Mixture, MixtureFit};

/// Exact draws of weights, means and covariances, in the data's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureDraws {
    components: usize,
    columns: usize,
    covariance: Covariance,
    /// Of each chain, its draws one after the other: weights, means, then covariances of all components.
    chains: Vec<Vec<f64>>,
    /// In how many draws components had other places than in the fit.
    pub relabelled: usize,
}

/// A number of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// The weight of a component.
    Weight(usize),
    /// A coordinate of a component's mean.
    Mean(usize, usize),
    /// An entry of a component's covariance, by its row and column.
    Covariance(usize, usize, usize),
    /// The probability of a level, by its component, column of levels and place there. Draws have none.
    Level(usize, usize, usize),
}

impl MixtureDraws {
    pub(super) fn new(model: &Mixture) -> Self {
        Self::empty(model.components(), model.columns(), model.covariance)
    }

    fn empty(components: usize, columns: usize, covariance: Covariance) -> Self {
        Self {
            components,
            columns,
            covariance,
            chains: vec![],
            relabelled: 0,
        }
    }

    /// Draws of a fit's components from numbers in the order of [`MixtureDraws::numbers`], one draw after the
    /// other; nothing where they are not a whole number of draws.
    pub fn of(fit: &MixtureFit, chains: Vec<Vec<f64>>) -> Option<Self> {
        let empty = Self::empty(fit.components.len(), fit.columns(), fit.covariance);
        let width = empty.width();
        let whole = chains.iter().all(|chain| chain.len().is_multiple_of(width));
        whole.then_some(Self { chains, ..empty })
    }

    pub(super) fn add(&mut self, chain: Vec<f64>, relabelled: usize) {
        self.chains.push(chain);
        self.relabelled += relabelled;
    }

    fn entries(&self) -> usize {
        match self.covariance {
            Covariance::Spherical => 1,
            Covariance::Diagonal => self.columns,
            Covariance::Full | Covariance::Tied => self.columns * (self.columns + 1) / 2,
        }
    }

    /// Numbers of a draw.
    pub fn width(&self) -> usize {
        self.components * (1 + self.columns + self.entries())
    }

    /// Draws of each chain.
    pub fn draws(&self) -> usize {
        self.chains
            .first()
            .map_or(0, |chain| chain.len() / self.width())
    }

    /// How many chains there are.
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// All draws of all chains, each the numbers in the order of [`MixtureDraws::numbers`].
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize, &[f64])> {
        let width = self.width();
        self.chains
            .iter()
            .enumerate()
            .flat_map(move |(chain, draws)| {
                let rows = draws.chunks_exact(width).enumerate();
                rows.map(move |(draw, row)| (chain, draw, row))
            })
    }

    /// What the numbers of a draw are.
    pub fn numbers(&self) -> Vec<Number> {
        let each = || 0..self.components;
        let mut all: Vec<Number> = each().map(Number::Weight).collect();
        all.extend(each().flat_map(|k| (0..self.columns).map(move |d| Number::Mean(k, d))));
        for k in each() {
            match self.covariance {
                Covariance::Spherical => all.push(Number::Covariance(k, 0, 0)),
                Covariance::Diagonal => {
                    all.extend((0..self.columns).map(|d| Number::Covariance(k, d, d)));
                }
                Covariance::Full | Covariance::Tied => {
                    let pairs = crate::mixture::posterior::pairs(self.columns);
                    all.extend(pairs.map(|(i, j)| Number::Covariance(k, i, j)));
                }
            }
        }
        all
    }

    /// One number of every draw, by chain.
    pub fn column(&self, number: usize) -> Vec<Vec<f64>> {
        let width = self.width();
        let of = |chain: &Vec<f64>| chain.iter().skip(number).step_by(width).copied().collect();
        self.chains.iter().map(of).collect()
    }

    /// A draw's weight, mean and covariance of a component.
    pub(in crate::model::mixture) fn component<'a>(
        &self,
        row: &'a [f64],
        k: usize,
    ) -> (f64, &'a [f64], &'a [f64]) {
        let (count, columns, entries) = (self.components, self.columns, self.entries());
        let means = &row[count..count * (1 + columns)];
        let covariances = &row[count * (1 + columns)..];
        (
            row[k],
            &means[k * columns..(k + 1) * columns],
            &covariances[k * entries..(k + 1) * entries],
        )
    }

    /// A fit with the means and standard deviations of these draws in the place of q's.
    #[must_use]
    pub fn describe(&self, fit: &MixtureFit) -> MixtureFit {
        let mut fit = fit.clone();
        let width = self.width();
        let count = self.rows().count() as f64;
        let mut means = vec![0.0; width];
        for (_, _, row) in self.rows() {
            for (mean, x) in means.iter_mut().zip(row) {
                *mean += x / count;
            }
        }
        let mut sds = vec![0.0; width];
        for (_, _, row) in self.rows() {
            for ((sd, x), mean) in sds.iter_mut().zip(row).zip(&means) {
                *sd += (x - mean).powi(2) / (count - 1.0).max(1.0);
            }
        }
        for sd in &mut sds {
            *sd = sd.sqrt();
        }
        fit.unused_weight = (1.0 - means[..self.components].iter().sum::<f64>()).max(0.0);
        for (k, component) in fit.components.iter_mut().enumerate() {
            let (weight, mean, covariance) = self.component(&means, k);
            let (weight_sd, mean_sd, covariance_sd) = self.component(&sds, k);
            (component.weight, component.weight_sd) = (weight, weight_sd);
            component.mean = mean.to_vec();
            let finite = |sds: &[f64]| sds.iter().all(|sd| sd.is_finite());
            component.mean_sd = finite(mean_sd).then(|| mean_sd.to_vec());
            if finite(covariance) {
                component.covariance = self.matrix(covariance);
            }
            component.covariance_sd = finite(covariance_sd).then(|| self.matrix(covariance_sd));
            let known = component.mean_sd.is_some() && component.covariance_sd.is_some();
            component.absent = (!known).then(|| "draws that are not finite".to_owned());
        }
        fit
    }

    /// Entries of a covariance in the shape that a fit gives it.
    pub(in crate::model::mixture) fn matrix(&self, entries: &[f64]) -> Matrix {
        match self.covariance {
            Covariance::Spherical => Matrix::Spherical(entries[0]),
            Covariance::Diagonal => Matrix::Diagonal(entries.to_vec()),
            Covariance::Full | Covariance::Tied => Matrix::full(self.columns, |i, j| {
                let (i, j) = (i.min(j), i.max(j));
                entries[i * self.columns - i * i.saturating_sub(1) / 2 + j - i]
            }),
        }
    }
}
