//! Decides how sums over all assignments are taken: towards the roots, then back with probabilities.
//!
//! On the way up, a clique is its tables plus the messages of its children, as logarithms; what is left
//! of it is the distribution of its own variable given the others, relative to the largest entry of each
//! row, and its message is relative to its largest entry. So nothing overflows, and nothing underflows
//! that is not zero beside what it is added to. On the way down, probabilities are products.

use super::tree::Tree;
use crate::number::Real;

/// The logarithm of the sum over all assignments, without constant tables, and the distribution of each
/// variable given those before it on the way down, which is left in `buffer`; `message` is for those on the way.
///
/// # Errors
/// A variable with which no assignment of those tied to it has a finite weight, and what their sum is.
pub(super) fn upward<R: Real>(
    tree: &Tree,
    natural: impl Fn(usize) -> R,
    buffer: &mut Vec<R>,
    message: &mut Vec<R>,
) -> Result<R, (u32, f64)> {
    let zero = R::from(0.0);
    buffer.clear();
    buffer.resize(tree.size, zero);
    message.resize(tree.longest_message, zero);
    let mut value = Sum {
        sum: zero,
        lost: zero,
    };
    for clique in &tree.cliques {
        let entries = &mut buffer[clique.entries.clone()];
        tree.along_tables(clique, |entry, parameter| {
            entries[entry] += natural(parameter);
        });
        let rows = tree.rows(clique);
        let message = &mut message[..rows];
        let width = entries.len() / rows;
        for (sum, row) in message.iter_mut().zip(entries.chunks_exact_mut(width)) {
            *sum = normalise(row);
        }
        let largest = largest(message);
        if !largest.value().is_finite() {
            return Err((clique.variable, largest.value()));
        }
        value.add(largest);
        let Some(parent) = clique.parent else {
            continue;
        };
        for sum in message.iter_mut() {
            // What has no support keeps no slope.
            if sum.value() > f64::NEG_INFINITY {
                *sum -= largest;
            }
        }
        let parent = &tree.cliques[parent];
        let above = &mut buffer[parent.entries.clone()];
        tree.along_parent(clique, parent, |entry, from| above[entry] += message[from]);
    }
    Ok(value.sum)
}

/// A sum that keeps what rounding loses: long chains add up to large values with small differences.
struct Sum<R> {
    sum: R,
    lost: R,
}

impl<R: Real> Sum<R> {
    fn add(&mut self, term: R) {
        let term = term - self.lost;
        let sum = self.sum + term;
        self.lost = (sum - self.sum) - term;
        self.sum = sum;
    }
}

fn largest<R: Real>(numbers: &[R]) -> R {
    let mut largest = numbers[0];
    for &number in numbers {
        if number.value() > largest.value() {
            largest = number;
        }
    }
    largest
}

/// Turns logarithms into probabilities and returns the logarithm of their sum.
fn normalise<R: Real>(row: &mut [R]) -> R {
    let largest = largest(row);
    // Without support, or overflown.
    if !largest.value().is_finite() {
        row.fill(R::from(0.0));
        return R::from(largest.value());
    }
    let mut sum = R::from(0.0);
    for entry in row.iter_mut() {
        // Slopes too are relative to the largest: a shift of all changes nothing, and would leave only
        // rounding where one entry has nearly all mass.
        *entry = (*entry - largest).exp();
        sum += *entry;
    }
    let scale = sum.recip();
    for entry in row.iter_mut() {
        *entry = *entry * scale;
    }
    sum.ln() + largest
}

/// Turns the distributions that [`upward`] leaves into the probabilities of the entries of each clique.
pub(super) fn downward<R: Real>(tree: &Tree, buffer: &mut [R]) {
    let zero = R::from(0.0);
    let mut message = vec![zero; tree.longest_message];
    for clique in tree.cliques.iter().rev() {
        let Some(parent) = clique.parent else {
            continue;
        };
        let parent = &tree.cliques[parent];
        let rows = tree.rows(clique);
        let message = &mut message[..rows];
        message.fill(zero);
        let above = &buffer[parent.entries.clone()];
        tree.along_parent(clique, parent, |entry, to| message[to] += above[entry]);
        let entries = &mut buffer[clique.entries.clone()];
        let width = entries.len() / rows;
        for (&probability, row) in message.iter().zip(entries.chunks_exact_mut(width)) {
            for entry in row {
                *entry = *entry * probability;
            }
        }
    }
}
