//! Decides what a network of discrete variables is: tables that tie them, summed out exactly.
//!
//! - `elimination`: in which order variables are summed out.
//! - `tree`: where the entries of cliques and tables lie.
//! - `passes`: how sums over all assignments are taken, up and down the tree.

mod elimination;
mod passes;
mod tree;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::Rng;

use self::passes::{downward, upward};
use self::tree::{MOST_ENTRIES, Tree};
use super::{pick, require};
use crate::collapsed::Potential;
use crate::error::{Error, Place, Result};
use crate::number::{Dual, Real};

const BLOCK: &str = "network";

/// A table of log-potentials over some of the variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// The variables, each once, counted from 0.
    pub scope: Vec<u32>,
    /// Which entries may be, the last variable of the scope fastest; all without it.
    pub support: Option<Vec<bool>>,
}

/// Discrete variables tied by tables; natural parameters are the log-potentials of the tables' entries,
/// one table after another, and statistics say which entries an assignment has.
///
/// $$A(\eta) = \ln \sum_x \exp \sum_t \eta_{t, x_t}$$
///
/// Entries outside the support are never read and have a mean of 0; a log-potential of $-\infty$ is an
/// entry that never occurs. The sum is exact, by a junction tree, and takes as long as its cliques
/// have entries: a chain or a tree of any length is cheap.
#[derive(Debug, Clone)]
pub struct Network {
    states: Vec<usize>,
    tables: Vec<Table>,
    /// Where each table's natural parameters begin, and the end of the last.
    starts: Vec<usize>,
    /// The support of all tables, empty if none has one.
    support: Vec<bool>,
    tree: Tree,
    /// Tells it from every network that was made otherwise: buffers know by it whose sums they hold.
    number: u64,
}

/// The number of the next network.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Network {
    /// A network of variables with so many `states` each.
    ///
    /// # Errors
    /// A variable without states, a scope or support that does not fit, and ties so dense that more than
    /// $10^7$ entries would have to be held at once.
    pub fn new(states: Vec<usize>, tables: Vec<Table>) -> Result<Self> {
        if let Some(variable) = states.iter().position(|&states| states == 0) {
            let place = Place::Named(format!("variable {variable}"));
            return Err(Error::data(place, "0 states", "one state at least"));
        }
        let mut starts = vec![0];
        for (index, table) in tables.iter().enumerate() {
            let entries = check_table(index, table, &states)?;
            starts.push(starts[index] + entries);
        }
        let mut support = Vec::new();
        if tables.iter().any(|table| table.support.is_some()) {
            for (table, range) in tables.iter().zip(starts.windows(2)) {
                match &table.support {
                    Some(allowed) => support.extend_from_slice(allowed),
                    None => support.resize(range[1], true),
                }
            }
        }
        let scopes = tables.iter().map(|table| table.scope.as_slice());
        let scopes: Vec<(&[u32], usize)> = scopes.zip(starts.iter().copied()).collect();
        let tree = Tree::new(&states, &scopes)?;
        Ok(Self {
            states,
            tables,
            starts,
            support,
            tree,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Entries of all cliques, which each pass goes through.
    pub fn entries(&self) -> usize {
        self.tree.size
    }

    /// How many states each variable has.
    pub fn states(&self) -> &[usize] {
        &self.states
    }

    /// The tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Which natural parameters are those of a table.
    pub fn parameters(&self, table: usize) -> Range<usize> {
        self.starts[table]..self.starts[table + 1]
    }

    /// The probabilities of the states of each variable, whether or not it is in a table.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    pub fn marginals(&self, natural: &[f64]) -> Result<Vec<Vec<f64>>> {
        let (_, mut buffer) = self.conditionals(natural)?;
        downward(&self.tree, &mut buffer);
        let mut marginals: Vec<Vec<f64>> = self.states.iter().map(|&n| vec![0.0; n]).collect();
        for clique in &self.tree.cliques {
            let marginal = &mut marginals[clique.variable as usize];
            for row in buffer[clique.entries.clone()].chunks_exact(marginal.len()) {
                for (sum, p) in marginal.iter_mut().zip(row) {
                    *sum += p;
                }
            }
        }
        Ok(marginals)
    }

    /// One exact draw of all variables together.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    pub fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<Vec<u32>> {
        let mut buffers = NetworkBuffers::default();
        self.draw_into(natural, rng, &mut buffers)?;
        Ok(buffers.states)
    }

    /// Draws as [`Network::sample`] does, in buffers that are kept between draws; the states are left there. Sums are taken anew
    /// only where the natural parameters are others than in the last draw.
    ///
    /// # Errors
    /// As [`Potential::value_and_gradient`].
    pub fn draw_into<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        buffers: &mut NetworkBuffers,
    ) -> Result<()> {
        let NetworkBuffers {
            entries,
            message,
            of,
            states: draw,
        } = buffers;
        if of.0 != self.number || of.1 != natural {
            // Until the sums are there, they are nobody's.
            of.0 = 0;
            self.check(natural)?;
            self.up(self.supported(natural), entries, message)?;
            of.0 = self.number;
            of.1.clear();
            of.1.extend_from_slice(natural);
        }
        draw.clear();
        draw.resize(self.states.len(), 0);
        for clique in self.tree.cliques.iter().rev() {
            let row = self.tree.separator(clique).iter().fold(0, |row, &v| {
                row * self.states[v as usize] + draw[v as usize] as usize
            });
            let width = self.states[clique.variable as usize];
            let row = &entries[clique.entries.clone()][row * width..][..width];
            draw[clique.variable as usize] = pick(row, 1.0, rng) as u32;
        }
        Ok(())
    }

    /// Writes the statistics of a draw: 1 for the entry that each table has, 0 for the others.
    pub fn statistics(&self, draw: &[u32], out: &mut [f64]) {
        out.fill(0.0);
        for (table, &start) in self.tables.iter().zip(&self.starts) {
            let entry = table.scope.iter().fold(0, |entry, &v| {
                entry * self.states[v as usize] + draw[v as usize] as usize
            });
            out[start + entry] = 1.0;
        }
    }

    fn supports(&self, parameter: usize) -> bool {
        self.support.get(parameter).is_none_or(|allowed| *allowed)
    }

    /// The value, and each variable's distribution given those before it.
    fn conditionals(&self, natural: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.check(natural)?;
        let mut buffer = vec![];
        let value = self.up(self.supported(natural), &mut buffer, &mut vec![])?;
        Ok((value, buffer))
    }

    /// Log-potentials, without those that the support leaves out.
    fn supported<'a>(&'a self, natural: &'a [f64]) -> impl Fn(usize) -> f64 + 'a {
        |parameter| {
            if self.supports(parameter) {
                natural[parameter]
            } else {
                f64::NEG_INFINITY
            }
        }
    }

    fn up<R: Real>(
        &self,
        natural: impl Fn(usize) -> R,
        buffer: &mut Vec<R>,
        message: &mut Vec<R>,
    ) -> Result<R> {
        let found = upward(&self.tree, &natural, buffer, message);
        let mut value = found.map_err(|(variable, sum)| {
            let tied = format!("variable {variable} (from 0) and those tied to it");
            let expected = "one assignment at least with a finite sum of log-potentials";
            Error::domain(
                BLOCK,
                format!("assignments of {tied} sum to {sum}"),
                expected,
            )
        })?;
        for &parameter in &self.tree.constants {
            value += natural(parameter);
        }
        let sum = value.value();
        require(sum.is_finite(), BLOCK, "a finite sum", || {
            format!("the log-potentials sum to {sum}")
        })?;
        Ok(value)
    }

    /// Adds up the probabilities of the entries of each table.
    fn means<R: Real>(&self, buffer: &[R], mut add: impl FnMut(usize, R)) {
        for clique in &self.tree.cliques {
            let entries = &buffer[clique.entries.clone()];
            self.tree
                .along_tables(clique, |entry, parameter| add(parameter, entries[entry]));
        }
        for &parameter in &self.tree.constants {
            add(parameter, R::from(1.0));
        }
    }

    fn check(&self, natural: &[f64]) -> Result<()> {
        let (length, dim) = (natural.len(), self.dim());
        let expected = "one parameter for each entry of each table";
        require(length == dim, BLOCK, expected, || {
            format!("{length} parameters where there are {dim}")
        })?;
        let bad = |(parameter, value): &(usize, &f64)| {
            (value.is_nan() || **value == f64::INFINITY) && self.supports(*parameter)
        };
        let Some((parameter, value)) = natural.iter().enumerate().find(bad) else {
            return Ok(());
        };
        let table = self.starts.partition_point(|&start| start <= parameter) - 1;
        let entry = parameter - self.starts[table];
        let found = format!("entry {entry} of table {table} (from 0) is {value}");
        Err(Error::domain(BLOCK, found, "log-potentials below infinity"))
    }
}

impl Potential for Network {
    fn dim(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (value, mut buffer) = self.conditionals(at)?;
        downward(&self.tree, &mut buffer);
        gradient.fill(0.0);
        self.means(&buffer, |parameter, p| gradient[parameter] += p);
        Ok(value)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        Ok(self.conditionals(at)?.0)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.check(at)?;
        let natural = |parameter| {
            // What never occurs has no slope.
            if self.supports(parameter) && at[parameter] > f64::NEG_INFINITY {
                Dual::new(at[parameter], along[parameter])
            } else {
                Dual::from(f64::NEG_INFINITY)
            }
        };
        let mut buffer = vec![];
        self.up(natural, &mut buffer, &mut vec![])?;
        downward(&self.tree, &mut buffer);
        out.fill(0.0);
        self.means(&buffer, |parameter, p| out[parameter] += p.slope);
        Ok(())
    }
}

/// What draws of a [`Network`] are made in: a chain draws the same one again and again.
#[derive(Debug, Clone, Default)]
pub struct NetworkBuffers {
    entries: Vec<f64>,
    message: Vec<f64>,
    /// Which network the entries are of, and at which natural parameters.
    of: (u64, Vec<f64>),
    /// The state of each variable.
    pub states: Vec<u32>,
}

/// Refuses a table that does not fit the variables; returns how many entries it has.
fn check_table(index: usize, table: &Table, states: &[usize]) -> Result<usize> {
    let refuse = |found: String, expected: String| {
        let place = Place::Named(format!("table {index} (from 0)"));
        Err(Error::data(place, found, expected))
    };
    let mut entries = 1.0;
    for (at, &variable) in table.scope.iter().enumerate() {
        let Some(&states) = states.get(variable as usize) else {
            let expected = format!("variables below {}", states.len());
            return refuse(format!("variable {variable}"), expected);
        };
        if table.scope[..at].contains(&variable) {
            let found = format!("variable {variable} twice");
            return refuse(found, "each variable once".into());
        }
        entries *= states as f64;
        if entries > MOST_ENTRIES {
            let scope = &table.scope[..=at];
            let found = format!("variables {scope:?} with more than {MOST_ENTRIES:e} entries");
            return refuse(found, "fewer variables or states".into());
        }
    }
    let entries = entries as usize;
    match &table.support {
        Some(support) if support.len() != entries => {
            let expected = format!("{entries}, as the table has entries");
            refuse(format!("a support of {}", support.len()), expected)
        }
        _ => Ok(entries),
    }
}
