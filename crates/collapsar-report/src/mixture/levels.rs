//! Categorical columns of a mixture: the likeliest levels of each component.

use collapsar_run::mixture::SavedMixture;

use super::Used;
use crate::page::{Part, Section, Table};
use crate::safe;

/// Levels of a component that are told.
const LEVELS: usize = 4;
/// Less probable levels are left out.
const LEAST: f64 = 0.01;

/// A table with a row for each component and column.
pub(super) fn section(saved: &SavedMixture, used: &[Used]) -> Section {
    let mut section = Section::new("levels", "Levels by component");
    if saved.categories.is_empty() {
        return section;
    }
    let names = saved.names();
    let rows = saved.categories.iter().enumerate().flat_map(|(c, of)| {
        used.iter().map(move |(k, component)| {
            let levels = &component.levels[c];
            let each = levels.probabilities.iter().zip(&levels.sds).enumerate();
            let mut each: Vec<(usize, (&f64, &f64))> = each.collect();
            each.sort_by(|a, b| b.1.0.total_cmp(a.1.0));
            each.retain(|(_, (p, _))| **p >= LEAST);
            let told: Vec<String> = (each.iter().take(LEVELS))
                .map(|(level, (p, sd))| {
                    let sd = Some(**sd);
                    let name = safe::name(&of.levels[*level]);
                    format!("{name} {}", collapsar_text::measured(**p, sd))
                })
                .collect();
            vec![
                safe::name(&of.name),
                safe::name(&names.of(*k)),
                told.join(", "),
            ]
        })
    });
    let head = ["column", "component", "likeliest levels"];
    let table = Table::new(
        "Categorical columns: the likeliest levels of each component, with their probabilities",
        &head,
        rows,
        "components.json has all",
    );
    section.push(Part::Table {
        table: table.wide(),
    });
    section
}
