//! Jumps out of poor optima: when a climb slows down, each jump that the model proposes is tried
//! for as long as it may still lead higher.

use serde::{Deserialize, Serialize};

use crate::direction::{Iterate, Rule};
use crate::error::Result;
use crate::point::Point;

/// A jump that may be worth a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Jump {
    /// Where the run would start.
    pub messages: Vec<f64>,
    /// What it does, as a person would say it: `split 3`.
    pub name: String,
}

/// A model that knows jumps between its optima.
pub trait Jumps: Sync {
    /// Jumps from `point`, the most promising first.
    ///
    /// # Errors
    /// As the model's posterior.
    fn jumps(&self, point: &Point) -> Result<Vec<Jump>>;

    /// A climb whose steps gain less than this many nats has settled: jumps promise more.
    fn settled(&self) -> f64;
}

/// A trial is given up when this many more steps like its last would not reach the incumbent.
const PATIENCE: f64 = 5.0;
/// A trial replaces the incumbent when it is higher by this many nats: less is the same optimum.
const MARGIN: f64 = 0.1;

/// What a search is about to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// Climbing; jumps follow when the climb settles.
    Climb,
    /// Trying jump `index` away from the incumbent.
    Trial {
        incumbent: Box<(Iterate, Rule)>,
        index: usize,
    },
    /// No jump is left: climbing to the end.
    Finish,
}

/// What follows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// The same climb goes on.
    Climb,
    /// The present climb is over: try the next jump.
    Jump,
    /// The present climb is the last one, and its stopping rules decide.
    Finish,
}

/// A search between two steps, which a checkpoint carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Search {
    phase: Phase,
    pub(crate) tried: u64,
    pub(crate) taken: u64,
}

impl Search {
    /// A search, or a plain climb.
    pub(crate) fn new(jumps: bool) -> Self {
        Self {
            phase: if jumps { Phase::Climb } else { Phase::Finish },
            tried: 0,
            taken: 0,
        }
    }

    pub(crate) fn in_trial(&self) -> bool {
        matches!(self.phase, Phase::Trial { .. })
    }

    /// The point that a trial left from, with its rule and the index of the jump.
    pub(crate) fn trial(&self) -> Option<(&Iterate, &Rule, usize)> {
        match &self.phase {
            Phase::Trial { incumbent, index } => Some((&incumbent.0, &incumbent.1, *index)),
            _ => None,
        }
    }

    /// Judges a step to `bound` that gained `gain`, zero where no step could.
    pub(crate) fn judge(&mut self, bound: f64, gain: f64, settled: f64) -> Verdict {
        match &self.phase {
            Phase::Finish => Verdict::Finish,
            // Where no step could rise, whatever the model takes for settled.
            Phase::Climb if gain <= 0.0 || gain < settled => Verdict::Jump,
            Phase::Climb => Verdict::Climb,
            Phase::Trial { incumbent, .. } => {
                let missing = incumbent.0.bound + MARGIN - bound;
                if missing < 0.0 {
                    self.taken += 1;
                    self.phase = Phase::Climb;
                    Verdict::Climb
                } else if gain <= 0.0 || gain < settled || gain * PATIENCE < missing {
                    Verdict::Jump
                } else {
                    Verdict::Climb
                }
            }
        }
    }

    /// Moves on to the next jump: gives its index, and the point that it leaves from.
    pub(crate) fn next(&mut self, iterate: &Iterate, rule: &Rule) -> (usize, &Point) {
        self.tried += 1;
        if let Phase::Trial { index, .. } = &mut self.phase {
            *index += 1;
        } else {
            let incumbent = Box::new((iterate.clone(), rule.clone()));
            self.phase = Phase::Trial {
                incumbent,
                index: 0,
            };
        }
        let Phase::Trial { incumbent, index } = &self.phase else {
            unreachable!("set just above")
        };
        (*index, &incumbent.0)
    }

    /// Ends the search: gives back the incumbent of a trial that did not overtake it.
    pub(crate) fn finish(&mut self) -> Option<(Iterate, Rule)> {
        match std::mem::replace(&mut self.phase, Phase::Finish) {
            Phase::Trial { incumbent, .. } => Some(*incumbent),
            _ => None,
        }
    }
}
