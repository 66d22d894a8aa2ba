//! A drawing in the language of Graphviz, with plates as clusters.

use crate::outline::NodeKind;

use super::Drawing;

impl Drawing {
    /// The drawing in the language of Graphviz, with plates as clusters.
    pub fn dot(&self) -> String {
        let mut lines = vec!["digraph model {\n  node [fontname=\"Helvetica\"]".to_owned()];
        let all: Vec<usize> = (0..self.outline.nodes.len()).collect();
        plate(self, &all, 0, &mut 0, &mut lines);
        let edges = self.outline.edges.iter();
        lines.extend(edges.map(|(parent, child)| format!("  n{parent} -> n{child}")));
        lines.join("\n") + "\n}\n"
    }
}

/// Writes what stands in a plate: its own nodes, then the plates within.
fn plate(
    drawing: &Drawing,
    here: &[usize],
    depth: usize,
    clusters: &mut usize,
    lines: &mut Vec<String>,
) {
    let indent = "  ".repeat(depth + 1);
    let nodes = &drawing.outline.nodes;
    let own = |place: &&usize| nodes[**place].plates.len() == depth;
    for &place in here.iter().filter(own) {
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
        lines.push(format!("{indent}n{place} [label={name} {style}]"));
    }
    for (loop_text, inside) in super::layout::plates(nodes, here, depth) {
        let style = format!(
            "label={} labeljust=r labelloc=b style=rounded",
            quoted(&loop_text)
        );
        lines.push(format!("{indent}subgraph cluster_{clusters} {{"));
        lines.push(format!("{indent}  {style}"));
        *clusters += 1;
        plate(drawing, &inside, depth + 1, clusters, lines);
        lines.push(format!("{indent}}}"));
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
