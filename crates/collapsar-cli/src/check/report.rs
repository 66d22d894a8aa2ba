//! What a check prints: the classes of blocks by what became of them, and why.

use std::fmt::Write;

use collapsar::graph::{Choice, Compiled, Conflict, LoneLabels, Role};
use collapsar::{Collapsed, Potential};
use collapsar_bugs::outline::NodeKind;
use collapsar_bugs::{Outline, Prepared};
use collapsar_run::fit::{ModelSource, class_name, class_names, one_line, parted};

use crate::text::{count, table};

/// The roles, in the order in which they are told.
const ROLES: [(Role, &str); 3] = [
    (Role::Collapsed, "collapsed: integrated out exactly"),
    (
        Role::Shared,
        "explicit, with messages that its blocks share",
    ),
    (Role::Own, "explicit, each block with parameters of its own"),
];

/// What is collapsed, and why.
pub(crate) fn classes(
    source: &ModelSource,
    compiled: &Compiled,
    prepared: &Prepared,
    explicit: &[String],
) -> String {
    let observed = prepared.observed();
    let choice = compiled.choice();
    let mut text = String::new();
    let mut line = |parts: std::fmt::Arguments<'_>| {
        writeln!(text, "{parts}").expect("strings take all text");
    };
    let numbers: usize = observed.iter().map(|(_, count)| count).sum();
    let blocks: usize = choice.classes.iter().map(|class| class.blocks).sum();
    line(format_args!(
        "{}: {} of unknowns, {}, {}",
        source.name,
        count(blocks, "block"),
        count(compiled.local().dim(), "message"),
        count(numbers, "observed number"),
    ));
    for (role, title) in ROLES {
        let here = (0..choice.classes.len()).filter(|&c| choice.classes[c].role == role);
        let here: Vec<usize> = here.collect();
        if here.is_empty() {
            continue;
        }
        line(format_args!("\n{title}"));
        let width = (here.iter()).map(|&c| class_name(&choice.classes[c]).chars().count());
        let width = width.max().unwrap_or(0);
        for class in here {
            let of = &choice.classes[class];
            line(format_args!(
                "  {:width$}  {}: {}, {}",
                class_name(of),
                of.family,
                count(of.blocks, "block"),
                count(of.statistics, "statistic"),
            ));
            if role != Role::Collapsed {
                for reason in reasons(source, prepared, choice, class, explicit) {
                    line(format_args!("    {reason}"));
                }
            }
        }
    }
    if let Some(parted) = parted(compiled) {
        line(format_args!("\n{parted}"));
    }
    let left_out = "predicted after the fit: no datum depends on it";
    let summed = "summed out, and drawn after the fit";
    for (title, arrays) in [
        ("observed", observed),
        (summed, prepared.summed()),
        (left_out, prepared.predicted()),
    ] {
        if arrays.is_empty() {
            continue;
        }
        line(format_args!("\n{title}"));
        let width = arrays.iter().map(|(name, _)| name.chars().count());
        let width = width.max().unwrap_or(0);
        for (name, numbers) in arrays {
            line(format_args!(
                "  {name:width$}  {}",
                count(numbers, "number")
            ));
        }
    }
    if !choice.alternatives.is_empty() {
        let chosen = list(&class_names(compiled, true));
        line(format_args!(
            "\nmight be collapsed instead of {chosen} (--collapse A,B or --explicit A,B)"
        ));
        for set in &choice.alternatives {
            let set = set.iter().map(|&c| class_name(&choice.classes[c]));
            line(format_args!("  {}", list(&set.collect::<Vec<_>>())));
        }
    }
    text
}

/// What is enumerated, and why: nothing where nothing is.
pub(crate) fn enumerated(labels: &[LoneLabels]) -> String {
    let mut text = String::new();
    if !labels.is_empty() {
        text +=
            "\nenumerated: a fit for each state, combined by their bounds (--enumerate none: no)\n";
    }
    for array in labels {
        let (name, meets, of) = (&array.name, array.meets, array.of);
        let states = count(array.states, "state");
        let labels = match array.variables.len() {
            1 => states,
            several => format!("{}, {states} together", count(several, "label")),
        };
        let each = ["", "each "][usize::from(array.variables.len() > 1)];
        let line =
            format!("  {name}  {labels}\n    {each}meets {meets} of the {of} other unknowns\n");
        text += &line;
    }
    text
}

/// Names as a sentence has them.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        _ => names.join(", "),
    }
}

/// Why a class is not collapsed.
fn reasons(
    source: &ModelSource,
    prepared: &Prepared,
    choice: &Choice,
    class: usize,
    explicit: &[String],
) -> Vec<String> {
    let mut reasons = vec![];
    let asked = choice.classes[class]
        .names
        .iter()
        .find(|name| explicit.contains(name));
    if let Some(name) = asked {
        reasons.push(format!("asked for: --explicit {name}"));
    }
    let meetings = choice.conflicts.iter().filter_map(|conflict| {
        let (first, second) = (conflict.first, conflict.second);
        let other = if first == class { second } else { first };
        (first == class || second == class).then_some((other, conflict))
    });
    let meetings: Vec<(usize, &Conflict)> = meetings.collect();
    let told = |other: usize| other == class || choice.classes[other].role == Role::Collapsed;
    let any = meetings.iter().any(|&(other, _)| told(other));
    for (other, conflict) in meetings {
        if (any || asked.is_some()) && !told(other) {
            continue;
        }
        let whom = if other == class && choice.classes[class].log_linear {
            "exponentials of its own".to_owned()
        } else if other == class {
            "another block of its own".to_owned()
        } else {
            class_name(&choice.classes[other])
        };
        reasons.push(format!(
            "meets {whom} in {} ({})",
            one_line(&conflict.factor.name),
            source.place(prepared.factor(&conflict.factor))
        ));
    }
    reasons
}

/// What the text alone says.
pub(crate) fn outline(source: &ModelSource, outline: &Outline) -> String {
    let mut text = format!("{}: the text is right\n\n", source.name);
    let rows = outline.nodes.iter().enumerate().map(|(place, node)| {
        let what = match (node.kind, &node.distribution) {
            (_, Some(distribution)) => distribution.as_str(),
            (NodeKind::Computed, _) => "computed",
            _ => "constant",
        };
        let parents: Vec<&str> = outline.parents(place).map(|p| p.name.as_str()).collect();
        let (plates, parents) = (node.plates.join(", "), parents.join(", "));
        vec![node.name.clone(), what.to_owned(), plates, parents]
    });
    text += &table(4, &["name", "is", "for", "depends on"], rows);
    text += "\nwhat is observed and what may be collapsed depends on the data: try --data FILE\n";
    text
}
