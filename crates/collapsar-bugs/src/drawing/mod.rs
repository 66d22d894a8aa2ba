//! Decides how a model is drawn: as SVG, or for Graphviz, with what is collapsed marked.
//!
//! - `layout`: where nodes and plates go
//! - `arrows`: how edges run
//! - `svg`: the drawing as SVG
//! - `dot`: the same for Graphviz

mod arrows;
mod dot;
mod layout;
mod svg;

use collapsar::graph::{Choice, Role};

use crate::outline::{Node, NodeKind, Outline};

/// What is drawn of a model: constants are left out.
///
/// ```
/// use collapsar_bugs::{Data, Drawing, Model};
///
/// let text = "model { for (i in 1:N) { y[i] ~ dnorm(mu, 1) }  mu ~ dnorm(0, 1) }";
/// let model = Model::parse(text).expect("a model");
/// let drawing = Drawing::new(&model.outline(&Data::default()), None);
/// assert!(drawing.svg("a mean").starts_with("<svg"));
/// assert!(drawing.dot().starts_with("digraph"));
/// ```
#[derive(Debug, Clone)]
pub struct Drawing {
    outline: Outline,
    /// Whether each node is integrated out.
    collapsed: Vec<bool>,
}

impl Drawing {
    /// The drawing of an outline; with a choice, what it collapses is marked.
    pub fn new(outline: &Outline, choice: Option<&Choice>) -> Self {
        let mut places = vec![None; outline.nodes.len()];
        let mut nodes: Vec<Node> = vec![];
        for (place, node) in places.iter_mut().zip(&outline.nodes) {
            if node.kind != NodeKind::Constant {
                *place = Some(nodes.len());
                nodes.push(node.clone());
            }
        }
        let edges = outline.edges.iter();
        let edges = edges.filter_map(|&(parent, child)| Some((places[parent]?, places[child]?)));
        let classes = choice.into_iter().flat_map(|choice| &choice.classes);
        let collapsed = classes.filter(|class| class.role == Role::Collapsed);
        let collapsed: Vec<&String> = collapsed.flat_map(|class| &class.names).collect();
        let mark = |node: &Node| node.kind == NodeKind::Unknown && collapsed.contains(&&node.name);
        Self {
            collapsed: nodes.iter().map(mark).collect(),
            outline: Outline {
                edges: edges.collect(),
                nodes,
            },
        }
    }
}
