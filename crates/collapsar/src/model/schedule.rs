//! How much a batch counts against those before it: what online learning of all models has in common.

use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Result};

/// Refuses options of online learning that are out of range; names are those of front ends.
pub(crate) fn check(total: f64, decay: f64, offset: f64) -> Result<()> {
    let refuse =
        |name, found: f64, expected: &str| Err(Error::setting(name, found.to_string(), expected));
    if !(total > 0.0 && total.is_finite()) {
        return refuse("total_samples", total, "a positive number");
    }
    if !(0.0..=1.0).contains(&decay) {
        return refuse("learning_decay", decay, "a number from 0 to 1");
    }
    if !(offset >= 1.0 && offset.is_finite()) {
        return refuse("learning_offset", offset, "a number from 1 on");
    }
    Ok(())
}

/// What the batch of this number, from 1, counts; what came before it counts the rest.
pub(crate) fn weight(decay: f64, offset: f64, batch: u64) -> f64 {
    (offset + batch as f64).powf_(-decay)
}
