//! Decides where climbs begin that are given initial values: one of each, beside the usual starts.

use std::collections::{BTreeMap, BTreeSet};

use collapsar::graph::{Compiled, GivenNumbers};
use collapsar::{Collapsed, Potential};
use collapsar_bugs::Prepared;

use super::ModelRequest;
use super::enumerate::Enumerated;
use crate::error::{Error, Result};

impl ModelRequest {
    /// Values that climbs begin at, and a sentence for each of those that have no effect.
    pub(super) fn initial(
        &self,
        prepared: &Prepared,
        (compiled, enumerated): (&Compiled, Option<&Enumerated>),
    ) -> Result<(Vec<GivenNumbers>, Vec<String>)> {
        let mut found = vec![];
        // By reason and name.
        let mut idle: BTreeSet<(&str, String)> = BTreeSet::new();
        for (file, given) in &self.inits {
            let mut of = prepared.inits(given).map_err(|refusal| {
                let expected = refusal.expected;
                Error::input(file, refusal.found, expected)
            })?;
            for (name, reason) in of.idle {
                idle.insert((reason, name));
            }
            for label in enumerated.into_iter().flat_map(|of| &of.labels) {
                if of.numbers.remove(&(label.variable(), 0)).is_some() {
                    let name = label.name.clone();
                    idle.insert(("a fit is made for each of its values", name));
                }
            }
            found.push(of.numbers);
        }
        let messages = enumerated.map_or(compiled.local().dim(), Enumerated::messages);
        if messages == 0 && found.iter().any(|numbers| !numbers.is_empty()) {
            let reason = "everything is integrated out, and nothing is climbed";
            idle.insert((reason, "values".into()));
        }
        if self.climb.resume.is_some() && !found.is_empty() {
            let reason = "the run goes on from its checkpoint";
            idle.insert((reason, "values".into()));
        }
        let mut sentences: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (reason, name) in idle {
            sentences.entry(reason).or_default().push(name);
        }
        let sentence = |(reason, names): (&str, Vec<String>)| {
            let names = names.join(", ");
            format!("initial {names}: no effect, since {reason}")
        };
        Ok((found, sentences.into_iter().map(sentence).collect()))
    }

    /// Sees to it that a climb begins at each of so many initial values.
    pub(super) fn restart_from(&mut self, given: usize, compete: bool) -> Result<()> {
        match self.climb.restarts {
            Some(restarts) if restarts < given => {
                let expected = format!("at least {given}, one for each of the initial values");
                return Err(collapsar::Error::setting("restarts", restarts, expected).into());
            }
            None if given > 1 && !compete => {
                self.climb.restarts = Some(given);
                self.climb.check(1, "models")?;
            }
            _ => {}
        }
        Ok(())
    }
}
