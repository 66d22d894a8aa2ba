//! A drawing in the language of Graphviz, with plates as clusters.

use std::fmt::Write;

use crate::outline::NodeKind;

use super::Drawing;

pub(super) fn graph(drawing: &Drawing) -> String {
    let mut text = String::from("digraph model {\n  node [fontname=\"Helvetica\"]\n");
    let all: Vec<usize> = (0..drawing.outline.nodes.len()).collect();
    let mut clusters = 0;
    plate(drawing, &all, 0, &mut clusters, &mut text);
    for (parent, child) in &drawing.outline.edges {
        writeln!(text, "  n{parent} -> n{child}").expect("strings take all text");
    }
    text + "}\n"
}

/// Writes what stands in a plate: its own nodes, then the plates within.
fn plate(drawing: &Drawing, here: &[usize], depth: usize, clusters: &mut usize, text: &mut String) {
    let indent = "  ".repeat(depth + 1);
    let mut put = |line: String| writeln!(text, "{indent}{line}").expect("strings take all text");
    let nodes = &drawing.outline.nodes;
    for &place in here
        .iter()
        .filter(|&&place| nodes[place].plates.len() == depth)
    {
        let node = &nodes[place];
        let name = quoted(&node.name);
        let style = match (node.kind, drawing.collapsed[place]) {
            (NodeKind::Observed, _) if node.partly => {
                r#"style=filled fillcolor="white;0.5:lightgrey" gradientangle=270"#
            }
            (NodeKind::Observed, _) => "style=filled fillcolor=lightgrey",
            (NodeKind::Computed, _) => "shape=diamond",
            (_, true) => "peripheries=2",
            _ => "shape=ellipse",
        };
        put(format!("n{place} [label={name} {style}]"));
    }
    for (loop_text, inside) in super::layout::plates(nodes, here, depth) {
        let indent = "  ".repeat(depth + 1);
        let label = quoted(&loop_text);
        writeln!(text, "{indent}subgraph cluster_{clusters} {{").expect("strings take all text");
        *clusters += 1;
        writeln!(
            text,
            "{indent}  label={label} labeljust=r labelloc=b style=rounded"
        )
        .expect("strings take all text");
        plate(drawing, &inside, depth + 1, clusters, text);
        writeln!(text, "{indent}}}").expect("strings take all text");
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
