//! A graph made ready to climb: blocks, roles and the two log-partition functions.

use super::blocks::Blocks;
use super::choice::{Choice, Demands, Role};
use super::layout::Layout;
use super::local::Local;
use super::posterior::Posterior;
use super::{Declared, Graph};
use crate::collapsed::Collapsed;
use crate::digest::digest;
use crate::error::Result;

/// A model compiled from a [`Graph`].
#[derive(Debug)]
pub struct Compiled {
    choice: Choice,
    declared: Vec<Declared>,
    pub(super) local: Local,
    pub(super) posterior: Posterior,
    constant: f64,
    fingerprint: String,
}

impl Compiled {
    /// Decides what is collapsed and derives the bound.
    ///
    /// # Errors
    /// [`crate::Error::Graph`] where the model is not conjugate-exponential, and
    /// [`crate::Error::Collapse`] or [`crate::Error::Setting`] where a demand cannot be met.
    pub fn new(graph: Graph, demands: &Demands) -> Result<Self> {
        let collapse_rows = graph.rows.iter().any(|rows| {
            let name = &graph.declared[graph.declaration(rows.first)].name;
            demands.collapse.contains(name)
        });
        // Rows are for explicit labels.
        let mut graph = if collapse_rows {
            graph.expanded()
        } else {
            graph
        };
        let blocks = Blocks::new(&graph)?;
        let choice = Choice::new(&graph, &blocks, demands)?;
        let fingerprint = fingerprint(&graph, &choice);
        let mut layout = Layout::new(&mut graph, &blocks, &choice)?;
        let firsts = std::mem::take(&mut layout.firsts);
        let (mut shared, mut own, mut collapsed) = (vec![], vec![], vec![]);
        for (index, block) in blocks.blocks.into_iter().enumerate() {
            let list = match choice.classes[choice.of[index] as usize].role {
                Role::Shared => &mut shared,
                Role::Own => &mut own,
                Role::Collapsed => &mut collapsed,
            };
            list.push((block, firsts[index] as usize));
        }
        Ok(Self {
            fingerprint,
            choice,
            declared: graph.declared,
            local: Local::new(shared, own, std::mem::take(&mut layout.rows), &mut layout),
            posterior: Posterior::new(collapsed, &mut layout),
            constant: graph.constant,
        })
    }

    /// What is collapsed, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// All that was declared.
    pub fn declared(&self) -> &[Declared] {
        &self.declared
    }
}

impl Collapsed for Compiled {
    type Local = Local;
    type Posterior = Posterior;

    fn local(&self) -> &Local {
        &self.local
    }

    fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    fn constant(&self) -> f64 {
        self.constant
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }
}

fn fingerprint(graph: &Graph, choice: &Choice) -> String {
    let terms = (0..graph.terms.len()).flat_map(|term| {
        let atoms = graph.terms.atoms(term).iter();
        let coefficient = graph.terms.coefficient(term).to_bits();
        atoms
            .map(|atom| u64::from(atom.variable) << 32 | u64::from(atom.part))
            .chain([coefficient])
    });
    let roles = choice.classes.iter().map(|class| class.role as u64);
    let words = terms.chain(roles).chain([graph.constant.to_bits()]);
    format!(
        "graph of {} variables, digest {:016x}",
        graph.variables(),
        digest(words.flat_map(u64::to_le_bytes))
    )
}
