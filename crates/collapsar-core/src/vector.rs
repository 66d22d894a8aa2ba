//! Sums and differences of whole vectors, written once.

/// ⟨a, b⟩.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Σ |aᵢ bᵢ|: the size of the terms of [`dot`].
pub fn absolute_dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x * y).abs()).sum()
}

/// Adds `factor` times `what`.
pub fn add(to: &mut [f64], factor: f64, what: &[f64]) {
    for (t, w) in to.iter_mut().zip(what) {
        *t += factor * w;
    }
}

/// Writes what leads from `before` to `after`.
pub fn difference(after: &[f64], before: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend(after.iter().zip(before).map(|(a, b)| a - b));
}

/// ⟨a, after − before⟩.
pub fn dot_difference(a: &[f64], after: &[f64], before: &[f64]) -> f64 {
    let changes = after.iter().zip(before).map(|(x, y)| x - y);
    a.iter().zip(changes).map(|(a, change)| a * change).sum()
}
