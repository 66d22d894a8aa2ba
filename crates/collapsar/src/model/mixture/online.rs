//! Decides how a mixture follows rows that come in batches: stochastic natural gradients of the collapsed bound (maths §4.9).

use serde::{Deserialize, Serialize};

use super::data::Data;
use super::{Covariance, Mixture, MixtureFit, Mixtures, Observations, Prior, Settings, Start};
use crate::model::schedule;
use collapsar_core::{Error, Place, Point, Potential, Result};

/// How fast a mixture forgets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OnlineOptions {
    /// How many rows there are, or will be: those of a batch stand for all of them.
    pub rows: f64,
    /// Batch t counts (offset + t)^-decay, and what came before the rest: above 0.5, components settle.
    pub decay: f64,
    /// Makes early batches count less, from 1 on.
    pub offset: f64,
}

impl Default for OnlineOptions {
    fn default() -> Self {
        Self {
            rows: 1e6,
            decay: 0.7,
            offset: 10.0,
        }
    }
}

/// What the components before it said of a batch: an honest score, as they had not seen it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BatchScore {
    /// Rows, by their weights.
    pub rows: f64,
    /// The sum over rows of $\ln\sum_k\exp E[\ln\pi_k p(y_n\mid k)]$, which is no more than the log of the density at
    /// expected weights and densities.
    pub bound: f64,
}

/// A mixture that learns from one batch of rows after another.
///
/// Units, and what the prior takes from data, are those of the first batch, and stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineMixture {
    settings: Settings,
    prior: Prior,
    shift: Vec<f64>,
    scale: Vec<f64>,
    options: OnlineOptions,
    /// Whether statistics are those of rows with missing values (maths §4.7).
    gaps: bool,
    /// Expected statistics of all rows, in standardised units.
    statistics: Vec<f64>,
    batches: u64,
}

impl OnlineMixture {
    /// A mixture that is about to learn: `first` rows say what the units are, the prior where that comes from data, and
    /// where components begin, by `start`. They have not been learned from yet.
    ///
    /// # Errors
    /// As [`Mixtures::of`] and [`Mixture::start`]; [`Error::Setting`] where an option is out of range.
    pub fn new(
        first: Observations<'_>,
        settings: &Settings,
        options: OnlineOptions,
        start: &Start,
        seed: u64,
    ) -> Result<Self> {
        schedule::check(options.rows, options.decay, options.offset)?;
        let mixtures = Mixtures::of(first, settings)?;
        // The scatter of tied components is a statistic as others are, as it is where values may be missing.
        let gaps = mixtures.data.gaps.any() || settings.covariance == Covariance::Tied;
        let mut online = Self {
            settings: settings.clone(),
            prior: mixtures.prior.clone(),
            shift: mixtures.shift.clone(),
            scale: mixtures.scale.clone(),
            options,
            gaps,
            statistics: vec![],
            batches: 0,
        };
        let model = online.model(mixtures.data)?;
        let share = options.rows / model.total;
        online.statistics = model.first_statistics(start, seed)?.0;
        online.statistics.iter_mut().for_each(|x| *x *= share);
        Ok(online)
    }

    /// How many batches have been learned from.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// The prior in use, in the data's units.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The same from here on with other options.
    ///
    /// # Errors
    /// [`Error::Setting`] where one is out of range.
    pub fn with_options(mut self, options: OnlineOptions) -> Result<Self> {
        schedule::check(options.rows, options.decay, options.offset)?;
        let share = options.rows / self.options.rows;
        self.statistics.iter_mut().for_each(|x| *x *= share);
        self.options = options;
        Ok(self)
    }

    /// The model of some rows under the prior and in the units that there are.
    fn model(&self, data: Data<'_>) -> Result<Mixture> {
        let mixtures = Mixtures {
            digest: 0,
            gappy: self.gaps,
            rows: Some(self.options.rows),
            data,
            settings: self.settings.clone(),
            prior: self.prior.clone(),
            shift: self.shift.clone(),
            scale: self.scale.clone(),
        };
        mixtures.with(self.settings.components)
    }

    /// Learns from a batch.
    ///
    /// # Errors
    /// [`Error::Data`] where the rows have other columns, or cannot be used; nothing has been learned then.
    pub fn learn(&mut self, batch: Observations<'_>) -> Result<BatchScore> {
        let columns = self.shift.len();
        if batch.columns != columns {
            let found = format!("rows of {} columns", batch.columns);
            let expected = format!("{columns}, as the rows before them have");
            return Err(Error::data(Place::Whole("data"), found, expected));
        }
        let data = Data::new(batch);
        data.check_batch(self.settings.components)?;
        if data.gaps.any() {
            self.admit_gaps();
        }
        let model = self.model(data)?;
        let messages = self.messages(&model)?;
        let mut statistics = vec![0.0; messages.len()];
        let found = (model.local).value_and_gradient(&messages, &mut statistics)?;
        self.batches += 1;
        let weight = schedule::weight(self.options.decay, self.options.offset, self.batches);
        let each = weight * self.options.rows / model.total;
        for (statistic, of_batch) in self.statistics.iter_mut().zip(&statistics) {
            *statistic = (1.0 - weight) * *statistic + each * of_batch;
        }
        Ok(BatchScore {
            rows: model.total,
            bound: found + model.constant,
        })
    }

    /// What the components send to rows.
    fn messages(&self, model: &Mixture) -> Result<Vec<f64>> {
        let mut messages = vec![0.0; self.statistics.len()];
        (model.blocks).value_and_gradient(&self.statistics, &mut messages)?;
        Ok(messages)
    }

    /// Goes over to the statistics of rows that may miss values: those before them missed none.
    fn admit_gaps(&mut self) {
        if std::mem::replace(&mut self.gaps, true) {
            return;
        }
        let columns = self.shift.len();
        // With full covariances statistics are the same.
        if !matches!(
            self.settings.covariance,
            Covariance::Diagonal | Covariance::Spherical
        ) {
            return;
        }
        let width = self.settings.covariance.features(false).count(columns);
        let each = self.statistics.chunks_exact(width);
        let wider = each.flat_map(|of| {
            let there = std::iter::repeat_n(of[0], columns);
            (std::iter::once(of[0]).chain(there)).chain(of[1..].iter().copied())
        });
        self.statistics = wider.collect();
    }

    /// The mixture as it is now.
    ///
    /// # Errors
    /// As [`Mixture::fit`].
    pub fn fit(&self) -> Result<MixtureFit> {
        let one = Observations {
            values: &self.prior.location,
            columns: self.shift.len(),
            weights: None,
            labels: None,
        };
        let model = self.model(Data::new(one))?;
        model.fit(&Point {
            statistics: self.statistics.clone(),
            ..Point::default()
        })
    }
}

#[cfg(test)]
mod tests;
