//! Decides where the factor of a sparse precision matrix has entries, once for all evaluations.

use super::order::minimum_degree;

const NONE: u32 = u32::MAX;

/// The places of the entries of the lower factor, column by column, in the order of elimination.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The scalar that each column belongs to.
    pub(super) order: Vec<u32>,
    /// Where each column begins among the rows, and where the last one ends.
    starts: Vec<usize>,
    /// Rows below the diagonal, ascending in each column.
    rows: Vec<u32>,
    /// The place in the factor of each pair of scalars.
    pub(super) slots: Vec<usize>,
    /// The place that each product of two entries of a column is taken from, column after column and entry after entry;
    /// nothing where there are many more of them than entries, as in large dense blocks.
    pub(super) updates: Option<Vec<u32>>,
}

/// Products to an entry, at most, for their places to be kept: beyond that columns are long, and finding them costs less
/// than reading where they are.
const PRODUCTS: usize = 8;

impl Pattern {
    /// The pattern for distinct `pairs` of `n` scalars.
    pub(super) fn new(n: usize, pairs: &[(u32, u32)]) -> Self {
        let order = minimum_degree(n, pairs);
        let mut place = vec![0_u32; n];
        for (k, i) in order.iter().enumerate() {
            place[*i as usize] = k as u32;
        }
        let ends = |&(i, j): &(u32, u32)| {
            let (a, b) = (place[i as usize], place[j as usize]);
            (a.min(b), a.max(b))
        };
        let mut own = vec![Vec::new(); n];
        for (column, row) in pairs.iter().map(ends) {
            own[column as usize].push(row);
        }
        // A column has the rows of its own pairs, and those of all columns of which it is the
        // first row: their elimination joins them to it.
        let mut starts = vec![0];
        let mut rows: Vec<u32> = Vec::new();
        let mut children = vec![Vec::new(); n];
        let mut seen = vec![NONE; n];
        for j in 0..n as u32 {
            let from = rows.len();
            seen[j as usize] = j;
            let mut new = |row: u32| std::mem::replace(&mut seen[row as usize], j) != j;
            let own = std::mem::take(&mut own[j as usize]);
            rows.extend(own.into_iter().filter(|row| new(*row)));
            for below in std::mem::take(&mut children[j as usize]) {
                for at in starts[below]..starts[below + 1] {
                    if new(rows[at]) {
                        rows.push(rows[at]);
                    }
                }
            }
            rows[from..].sort_unstable();
            starts.push(rows.len());
            if let Some(&parent) = rows.get(from) {
                children[parent as usize].push(j as usize);
            }
        }
        let slot = |pair: &(u32, u32)| {
            let (column, row) = ends(pair);
            let from = starts[column as usize];
            let column = &rows[from..starts[column as usize + 1]];
            from + column.partition_point(|r| *r < row)
        };
        let slots = pairs.iter().map(slot).collect();
        let mut pattern = Self {
            order,
            starts,
            rows,
            slots,
            updates: None,
        };
        pattern.updates = pattern.find_updates();
        pattern
    }

    fn find_updates(&self) -> Option<Vec<u32>> {
        let products = |column: usize| {
            let rows = self.places(column).len();
            rows * rows.saturating_sub(1) / 2
        };
        let count: usize = (0..self.len()).map(products).sum();
        if count > PRODUCTS * self.entries() || u32::try_from(self.entries()).is_err() {
            return None;
        }
        let mut updates = Vec::with_capacity(count);
        for j in 0..self.len() {
            let rows = self.rows(j);
            for (s, row) in rows.iter().enumerate() {
                let column = *row as usize;
                let first = self.places(column).start;
                find_all(&rows[s + 1..], self.rows(column), |_, at| {
                    updates.push((first + at) as u32);
                });
            }
        }
        Some(updates)
    }

    /// Number of scalars.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Number of entries below the diagonal.
    pub(super) fn entries(&self) -> usize {
        self.rows.len()
    }

    /// The places of a column's entries.
    pub(super) fn places(&self, column: usize) -> std::ops::Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    /// The rows of a column's entries.
    pub(super) fn rows(&self, column: usize) -> &[u32] {
        &self.rows[self.places(column)]
    }
}

/// Visits where in `column` each of `rows` stands, all of which it contains, both ascending.
pub(super) fn find_all(rows: &[u32], column: &[u32], mut visit: impl FnMut(usize, usize)) {
    // A long column is searched, a short one is walked along.
    let search = column.len() / 8 > rows.len();
    let mut at = 0;
    for (k, row) in rows.iter().enumerate() {
        if search {
            at += column[at..].partition_point(|r| r < row);
        } else {
            while column[at] < *row {
                at += 1;
            }
        }
        visit(k, at);
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn fill(n: usize, pairs: &[(u32, u32)]) -> usize {
        let pattern = Pattern::new(n, pairs);
        let mut sorted = pattern.order.clone();
        sorted.sort_unstable();
        let all: Vec<u32> = (0..n as u32).collect();
        assert_eq!(sorted, all, "the order is a permutation");
        pattern.entries() - pairs.len()
    }

    #[test]
    fn chains_arrows_stars_and_trees_have_no_fill() {
        for n in [1, 2, 3, 17, 2000, 50_000] {
            let chain: Vec<_> = (1..n).map(|i| (i - 1, i)).collect();
            assert_eq!(fill(n as usize, &chain), 0, "chain of {n}");
            for hub in [0, n / 2, n - 1] {
                let star: Vec<_> = (0..n)
                    .filter(|i| *i != hub)
                    .map(|i| (i.min(hub), i.max(hub)))
                    .collect();
                assert_eq!(fill(n as usize, &star), 0, "star of {n} about {hub}");
            }
            let tree: Vec<_> = (1..n).map(|i| ((i - 1) / 3, i)).collect();
            assert_eq!(fill(n as usize, &tree), 0, "tree of {n}");
            assert_eq!(fill(n as usize, &[]), 0);
        }
        // A chain whose scalars share a neighbour, as states do with a common mean.
        let n = 20_000;
        let arrow: Vec<_> = (1..n).flat_map(|i| [(0, i), (i.max(2) - 1, i)]).collect();
        let arrow: Vec<_> = arrow.into_iter().filter(|(i, j)| i < j).collect();
        let distinct: std::collections::BTreeSet<_> = arrow.into_iter().collect();
        let arrow: Vec<_> = distinct.into_iter().collect();
        assert_eq!(fill(n as usize, &arrow), 0);
    }

    #[test]
    fn dense_blocks_have_no_fill() {
        for n in [2_u32, 5, 16, 64, 300] {
            let pairs: Vec<_> = (0..n)
                .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
                .collect();
            assert_eq!(fill(n as usize, &pairs), 0);
        }
        // Ten cliques that share one scalar.
        let clique = |c: u32| {
            let of = move |k: u32| if k == 0 { 0 } else { 8 * c + k };
            (0..9_u32).flat_map(move |i| (i + 1..9).map(move |j| (of(i), of(j))))
        };
        let pairs: Vec<_> = (0..10).flat_map(clique).collect();
        assert_eq!(fill(81, &pairs), 0);
    }

    #[test]
    fn fill_of_a_grid_is_far_below_that_of_rows() {
        let side = 40_u32;
        let at = |i: u32, j: u32| side * i + j;
        let mut pairs = Vec::new();
        for i in 0..side {
            for j in 0..side {
                if i + 1 < side {
                    pairs.push((at(i, j), at(i + 1, j)));
                }
                if j + 1 < side {
                    pairs.push((at(i, j), at(i, j + 1)));
                }
            }
        }
        // Row by row the factor has about side³ = 64,000 entries.
        let found = fill((side * side) as usize, &pairs);
        assert!(found < 20_000, "{found}");
    }

    #[test]
    fn pattern_is_that_of_plain_elimination() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for _ in 0..200 {
            let n = rng.random_range(1..30_usize);
            let density = rng.random_range(0.0..0.4);
            let mut pairs = Vec::new();
            for i in 0..n as u32 {
                for j in i + 1..n as u32 {
                    if rng.random_bool(density) {
                        pairs.push((i, j));
                    }
                }
            }
            let pattern = Pattern::new(n, &pairs);
            let mut place = vec![0; n];
            for (k, i) in pattern.order.iter().enumerate() {
                place[*i as usize] = k;
            }
            let mut joined = vec![vec![false; n]; n];
            for &(i, j) in &pairs {
                let (a, b) = (place[i as usize], place[j as usize]);
                joined[a.min(b)][a.max(b)] = true;
            }
            for k in 0..n {
                let later: Vec<usize> = (k + 1..n).filter(|i| joined[k][*i]).collect();
                let found: Vec<usize> = pattern.rows(k).iter().map(|r| *r as usize).collect();
                assert_eq!(found, later);
                for (at, &a) in later.iter().enumerate() {
                    for &b in &later[at + 1..] {
                        joined[a][b] = true;
                    }
                }
            }
        }
    }
}
