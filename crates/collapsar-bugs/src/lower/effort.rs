//! Decides how much is derived for grids: tables are counted before they are made, so that every text has an answer, or a
//! reason, within seconds (maths §9.13).

use std::cell::Cell;

use super::Stochastic;
use super::emit::Sink;
use super::nodes::Grid;
use super::states::large;
use super::variables::{Grids, Variables};
use crate::diagnostic::Diagnostic;
use crate::elaborate::{Elaborated, Resolved};

/// Expressions evaluated and terms added, at nodes of grids, for one table of each line: about two seconds.
const MOST: u64 = 20_000_000;
/// The same for all tables until grids are placed.
const MOST_IN_ALL: u64 = 30_000_000;
/// Deviations by which results change where every other node is left out, above which a grid is no answer.
const POOR: f64 = 0.5;

/// What has been spent on tables.
#[derive(Debug)]
pub(super) struct Effort {
    spent: Cell<u64>,
    exceeded: Cell<bool>,
    /// What they may take.
    most: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            spent: Cell::default(),
            exceeded: Cell::default(),
            most: MOST,
        }
    }
}

impl Effort {
    /// What finer tables may take where others serve and so much has been spent.
    pub(super) fn left(spent: u64) -> Self {
        Self {
            most: MOST.min(MOST_IN_ALL.saturating_sub(spent)),
            ..Self::default()
        }
    }

    /// Whether there is anything left.
    pub(super) fn any(&self) -> bool {
        self.most > 0
    }

    /// Whether tables like these may be derived once more where so much has been spent.
    pub(super) fn again(&self, spent: u64) -> bool {
        spent + self.spent() < MOST_IN_ALL
    }

    pub(super) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Whether a line was refused for it.
    pub(super) fn exceeded(&self) -> bool {
        self.exceeded.get()
    }

    fn spend(&self, more: u64) {
        self.spent.set(self.spent.get() + more);
    }
}

impl Stochastic<'_> {
    /// Whether a label that has been given a state is on a grid.
    fn at_node(&self) -> bool {
        let states = self.states.borrow();
        states.iter().any(|&(label, _)| self.on_grid(label))
    }

    fn on_grid(&self, label: u32) -> bool {
        self.variables.grid(label).is_some()
    }

    /// Counts what was derived at a node since so many steps, and refuses more than there may be.
    pub(super) fn count_effort(&self, since: u64, terms: usize, instance: usize) -> Resolved {
        if !self.at_node() {
            return Ok(());
        }
        self.effort
            .spend(self.scope.steps.get() - since + terms as u64);
        if self.effort.spent() > self.effort.most {
            return Err(self.too_much(instance).into());
        }
        Ok(())
    }

    /// Refuses a line whose repetitions would take too much together, as its first ones show.
    pub(super) fn foresee_effort(&self, before: u64, done: usize) -> Resolved {
        let each = (self.effort.spent() - before) / done as u64;
        let left = self.scope.model.lines[self.line].instances - done;
        let all = self
            .effort
            .spent()
            .saturating_add(each.saturating_mul(left as u64));
        // Repetitions differ.
        if all > 2 * self.effort.most {
            return Err(self.too_much(done - 1).into());
        }
        Ok(())
    }

    /// A complaint about a table that is too large.
    fn too_much(&self, instance: usize) -> Diagnostic {
        self.effort.exceeded.set(true);
        let labels = self.labels_of(instance);
        let count: f64 = (labels.iter())
            .map(|&label| f64::from(self.variables.states(label)))
            .product();
        let mut lines: Vec<usize> = (labels.into_iter())
            .filter(|&label| self.on_grid(label))
            .map(|label| self.variables.line(label))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let model = self.scope.model;
        let name = self.element(instance);
        let times = model.lines[self.line].instances;
        let message = format!(
            "{name} is derived for {} combinations of nodes of {}, {times} times over, which takes too long",
            large(count),
            names(model, &lines)
        );
        refusal(model, &lines, message).and(self.target, "this line reads them together")
    }

    /// All labels that a repetition asks for.
    fn labels_of(&self, instance: usize) -> Vec<u32> {
        let given = self.states.take();
        // What has no terms in the middle has been asked for as far as that.
        let _ = self.any_state(instance, &mut Sink::default());
        let found = self.states.replace(given);
        found.iter().map(|(label, _)| *label).collect()
    }
}

/// Names of lines in a row.
fn names(model: &Elaborated, lines: &[usize]) -> String {
    let name = |line: &usize| model.arrays[model.lines[*line].array].name.clone();
    let names: Vec<String> = lines.iter().map(name).collect();
    match names.as_slice() {
        [] => "unknowns".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn refusal(model: &Elaborated, lines: &[usize], message: String) -> Diagnostic {
    let span = |line: &usize| model.lines[*line].relation.span;
    let first = lines.first().map(span).unwrap_or_default();
    let mut complaint = Diagnostic::new(first, message, "has no conjugate family here");
    for line in lines.iter().skip(1) {
        complaint = complaint.and(span(line), "nor has this");
    }
    let help = "give one of them as a constant in the data, or write its line as a known distribution of the others: \
                a normal prior inside a logit or log link, a gamma one for a precision or a rate";
    complaint.help(help)
}

/// Refuses grids that are left too coarse.
pub(super) fn check(
    model: &Elaborated,
    grids: &Grids,
    variables: &Variables,
) -> Result<(), Diagnostic> {
    let used = |line: usize| variables.lines[line].is_some();
    let poor = |grid: &Grid| !grid.counts() && (grid.error > POOR || grid.error.is_nan());
    let lines: Vec<usize> = (grids.iter())
        .map(|(&line, grid)| (line as usize, grid))
        .filter(|(line, grid)| used(*line) && poor(grid))
        .map(|(line, _)| line)
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the nodes of {} would have to be finer than can be summed over in good time",
        names(model, &lines)
    );
    Err(refusal(model, &lines, message))
}
