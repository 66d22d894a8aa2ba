//! What known labels say of components: those that have such rows keep their identity (maths §4.8).

use collapsar_core::rows::{MISSING, SoftmaxSum};
use collapsar_core::{Error, Hint, Place, Result};

/// The components that have rows of known label, with the mean of these in standardised units, and after it the fractions of these that
/// have each level.
#[derive(Debug)]
pub(super) struct Held(Vec<Option<Vec<f64>>>);

impl Held {
    /// Where no label is known.
    pub(super) fn none(components: usize) -> Self {
        Self(vec![None; components])
    }

    /// Those of the rows' labels.
    pub(super) fn new(local: &SoftmaxSum) -> Self {
        let (rows, columns) = (local.rows(), local.rows().columns());
        let mut sums: Vec<Option<Vec<[f64; 2]>>> = vec![None; local.components()];
        let mut y = vec![0.0; columns];
        for place in 0..rows.len() {
            let weight = local.weights().map_or(1.0, |weights| weights[place]);
            if let Some(k) = local.known(place)
                && weight > 0.0
            {
                rows.row(place, &mut y);
                let sums = sums[k].get_or_insert_with(|| vec![[0.0; 2]; columns]);
                for ([count, sum], x) in sums.iter_mut().zip(&y).filter(|(_, x)| !x.is_nan()) {
                    *count += weight;
                    *sum += weight * x;
                }
            }
        }
        let places = local.level_places();
        let mut levels = vec![vec![0.0; places.levels()]; local.components()];
        for (c, column) in local.levels().iter().enumerate() {
            let start = places.within(c).start;
            for (place, code) in column.codes.iter().enumerate() {
                if let Some(k) = local.known(place)
                    && *code != MISSING
                {
                    let weight = local.weights().map_or(1.0, |weights| weights[place]);
                    levels[k][start + *code as usize] += weight;
                }
            }
            for counts in &mut levels {
                fractions(&mut counts[places.within(c)]);
            }
        }
        // A column that none of them has: the mean of all.
        let mean = |[count, sum]: [f64; 2]| if count > 0.0 { sum / count } else { 0.0 };
        let of = |(sums, levels): (Option<Vec<[f64; 2]>>, Vec<f64>)| {
            let means = sums?.into_iter().map(mean);
            Some(means.chain(levels).collect())
        };
        Self(sums.into_iter().zip(levels).map(of).collect())
    }

    /// The mean of a component's known rows, and the fractions of levels after it.
    pub(super) fn mean(&self, k: usize) -> Option<&[f64]> {
        self.0.get(k)?.as_deref()
    }

    /// Whether a component may be called otherwise, as no row is known to be its own.
    pub(super) fn is_free(&self, k: usize) -> bool {
        self.mean(k).is_none()
    }

    /// The components that may be called otherwise.
    pub(super) fn free(&self) -> Vec<usize> {
        (0..self.0.len()).filter(|k| self.is_free(*k)).collect()
    }
}

/// Makes fractions of the counts of a column's levels; all are alike where there are none.
pub(super) fn fractions(counts: &mut [f64]) {
    let total: f64 = counts.iter().sum();
    let even = 1.0 / counts.len() as f64;
    for count in counts {
        *count = if total > 0.0 { *count / total } else { even };
    }
}

/// Refuses labels that do not fit the rows.
pub(super) fn check_labels(labels: &[Option<usize>], rows: usize) -> Result<()> {
    if labels.len() != rows {
        let found = format!("{} labels", labels.len());
        let expected = format!("{rows}, one for each row");
        return Err(Error::data(Place::Whole("labels"), found, expected));
    }
    Ok(())
}

/// Refuses fewer components than labels need.
pub(super) fn check_components(labels: &[Option<usize>], components: usize) -> Result<()> {
    let last = labels.iter().flatten().max();
    let Some(needed) = last.map(|last| last + 1).filter(|n| *n > components) else {
        return Ok(());
    };
    let expected = format!("at least {needed}, one for each label");
    let error = Error::setting("components", components, expected);
    Err(error.with_hint(Hint::set("components", needed)))
}
