//! Rows whose component is known: of their logits one is left (maths §4.8).

/// What is known of no component.
const OPEN: u32 = u32::MAX;

/// The component of each row, in the order in which rows are kept, where it is known.
#[derive(Debug)]
pub(super) struct Known(Vec<u32>);

impl Known {
    pub(super) fn new(labels: impl Iterator<Item = Option<usize>>) -> Self {
        Self(
            labels
                .map(|label| label.map_or(OPEN, |k| k as u32))
                .collect(),
        )
    }

    /// The component of a row.
    pub(super) fn of(&self, row: usize) -> Option<usize> {
        let label = self.0[row];
        (label != OPEN).then_some(label as usize)
    }

    /// The rows of a block that are known, by their columns there, with their components.
    fn within(&self, first: usize, width: usize) -> impl Iterator<Item = (usize, usize)> {
        let labels = self.0[first..first + width].iter().enumerate();
        labels.filter_map(|(column, label)| (*label != OPEN).then_some((column, *label as usize)))
    }

    /// Leaves known rows of a block, components by rows, no logit but that of their component: the log of the sum is then
    /// that one, and the responsibility one.
    pub(super) fn restrict(&self, first: usize, width: usize, logits: &mut [f64]) {
        for (column, known) in self.within(first, width) {
            for (k, logit) in logits[column..].iter_mut().step_by(width).enumerate() {
                if k != known {
                    *logit = f64::NEG_INFINITY;
                }
            }
        }
    }

    /// Gives known rows of a block, components by rows, to their component.
    pub(super) fn settle(&self, first: usize, width: usize, responsibilities: &mut [f64]) {
        for (column, known) in self.within(first, width) {
            let row = responsibilities[column..].iter_mut().step_by(width);
            for (k, responsibility) in row.enumerate() {
                *responsibility = f64::from(u8::from(k == known));
            }
        }
    }
}
