//! A graph made ready to climb: blocks, roles and the two log-partition functions.

use super::blocks::Blocks;
use super::chain::Group;
use super::choice::{Choice, Demands, Role};
use super::layout::Layout;
use super::local::Local;
use super::posterior::Posterior;
use super::turn::{Moments, Turn};
use super::{Atom, Declared, Graph, Kind};
use collapsar_core::{Advice, Bases, Collapsed, Point, Potential, Response, Result, digest};

/// Steps before momentum where bases are turned. The linear state space of BayesPy's examples takes
/// 35 to 40 passes to within 5 nats of the end with 15, 47 to 50 with 5, and as many as without momentum
/// with 25; it takes 150 and not 400 to within 0.05.
const SETTLING: u64 = 15;

/// A model compiled from a [`Graph`].
#[derive(Debug)]
pub struct Compiled {
    choice: Choice,
    declared: Vec<Declared>,
    pub(super) local: Local,
    pub(super) posterior: Posterior,
    pub(super) turn: Turn,
    /// Variables that chains move together.
    pub(super) groups: Vec<Group>,
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
            let names = &graph.declared[graph.declaration(rows.first)].names;
            names.iter().any(|name| demands.collapse.contains(name))
        });
        // Rows are for explicit labels.
        let mut graph = if collapse_rows {
            graph.expanded(|_| true)
        } else {
            graph
        };
        let mut blocks = Blocks::new(&graph)?;
        let mut choice = Choice::new(&graph, &blocks, demands)?;
        let (mut turn, missing) = Turn::new(&graph, &blocks, &choice);
        if !missing.is_empty() {
            // The last states of a chain, or those that nothing was seen of.
            let links = graph.factor("a change of basis");
            for (x, y) in missing {
                graph.keep(
                    0.0,
                    &[x, y].map(|variable| Atom { variable, part: 0 }),
                    links,
                );
            }
            blocks = Blocks::new(&graph)?;
            choice = Choice::new(&graph, &blocks, demands)?;
            (turn, _) = Turn::new(&graph, &blocks, &choice);
        }
        let fingerprint = fingerprint(&graph, &choice);
        let groups = Group::all(&graph);
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
            local: Local::new(shared, own, &mut layout),
            posterior: Posterior::new(collapsed, &mut layout),
            turn,
            groups,
            constant: graph.constant,
        })
    }

    /// About how many numbers a pass goes through.
    pub fn size(&self) -> usize {
        self.local.size() + self.posterior.size()
    }

    /// About how many products of numbers a sweep of a Markov chain takes, beside what a pass goes through counted once.
    pub fn sweep_cost(&self) -> usize {
        self.local.draw_cost() + self.posterior.size()
    }

    /// About how many products of numbers linear response takes, of which a pass takes so many for each number it goes through.
    pub fn response_cost(&self, products: usize) -> usize {
        let messages = self.local.dim();
        let pass = products * self.size();
        let by_passes = messages.saturating_mul(pass);
        let at_once =
            (self.local.hessian_cost(products)).filter(|_| messages <= Response::<Self>::DENSE);
        let metric = at_once.map_or(by_passes, |at_once| at_once.min(by_passes));
        metric.saturating_add(messages.saturating_pow(3))
    }

    /// Entries that networks of labels have: states of labels that are summed out together.
    pub fn entries(&self) -> usize {
        let (shared, own) = self.local.blocks();
        let all = shared.iter().chain(own);
        all.map(|(block, _)| block.entries()).sum()
    }

    /// About how many numbers a pass could go through in the time that it takes: [`Compiled::size`], [`Compiled::entries`] and what
    /// families take by themselves, which is most of it in a small model.
    pub fn pass_cost(&self) -> usize {
        let (shared, own) = self.local.blocks();
        let explicit = shared.iter().chain(own).map(|(block, _)| block);
        let all = explicit.chain(self.posterior.blocks().iter().map(|(block, _)| block));
        let families: usize = all.map(|block| block.entries() + block.own_cost()).sum();
        self.size().saturating_add(families)
    }

    /// How many labels are explicit: with them there are several optima.
    pub fn explicit_labels(&self) -> usize {
        self.local.labels()
    }

    /// What is collapsed, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// All that was declared.
    pub fn declared(&self) -> &[Declared] {
        &self.declared
    }

    /// Whether there are labels, given which all else may be elsewhere.
    pub fn has_labels(&self) -> bool {
        let label = |declared: &Declared| matches!(declared.kind, Kind::Label(_));
        self.declared.iter().any(label)
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

    /// In factor models, momentum once their bases are turned on the way.
    fn advice(&self) -> Advice<'_> {
        if self.turn.is_empty() {
            return Advice::default();
        }
        Advice {
            momentum: true,
            plain_steps: SETTLING,
            bases: Some(self),
            ..Advice::default()
        }
    }

    /// In one pass where rows can.
    fn metric(&self, point: &Point, out: &mut [f64]) -> Result<u64> {
        self.local.hessian(&point.messages, out)
    }

    fn constant(&self) -> f64 {
        self.constant
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }
}

impl Bases for Compiled {
    /// On the way of an evaluation: the moments are at hand.
    fn evaluate_turned(&self, point: &mut Point, turned: &mut Vec<f64>) -> Result<(f64, f64)> {
        turned.clear();
        let mut shared = vec![];
        let keep = |means: &[f64]| shared.extend_from_slice(means);
        let local = (self.local).value_and_means(&point.messages, &mut point.statistics, keep)?;
        let statistics = &point.statistics;
        let posterior = self
            .posterior
            .value_and_means(statistics, |naturals, means| {
                self.posterior
                    .backward(statistics, means, &mut point.gradient);
                let base = &self.local.own_base;
                let slots = point.gradient.len() - base.len();
                let targets = point.gradient[slots..].iter().zip(base);
                let mut own: Vec<f64> = targets.map(|(target, base)| target + base).collect();
                let gain = self.turn.apply(Moments {
                    shared: &shared,
                    naturals,
                    collapsed: means,
                    own: &mut own,
                });
                if gain > 0.0 {
                    turned.resize(point.gradient.len(), 0.0);
                    self.posterior.backward(statistics, means, turned);
                    // What own blocks are told is the same in every basis but for their rates.
                    for ((out, own), base) in turned[slots..].iter_mut().zip(&own).zip(base) {
                        *out = own - base;
                    }
                }
            })?;
        Ok((local, posterior))
    }
}

fn fingerprint(graph: &Graph, choice: &Choice) -> String {
    let terms = graph.terms.each().flat_map(|(atoms, coefficient, _)| {
        let atoms = atoms.iter();
        atoms
            .map(|atom| u64::from(atom.variable) << 32 | u64::from(atom.part))
            .chain([coefficient.to_bits()])
    });
    let exponentials = graph.exponentials.all().iter().flat_map(|exponential| {
        let slopes = exponential.predictor.slopes.iter();
        let slopes = slopes.flat_map(|&(variable, slope)| [u64::from(variable), slope.to_bits()]);
        let offset = exponential.predictor.offset.to_bits();
        let atoms = exponential.atoms.iter();
        let atoms = atoms.map(|atom| u64::from(atom.variable) << 32 | u64::from(atom.part));
        slopes
            .chain(atoms)
            .chain([exponential.coefficient.to_bits(), offset])
    });
    let roles = choice.classes.iter().map(|class| class.role as u64);
    let words = terms
        .chain(exponentials)
        .chain(roles)
        .chain([graph.constant.to_bits()]);
    format!(
        "graph of {} variables, digest {:016x}",
        graph.variables(),
        digest(words.flat_map(u64::to_le_bytes))
    )
}
