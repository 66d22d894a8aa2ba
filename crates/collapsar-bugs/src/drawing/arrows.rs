//! Decides how edges run: as straight as they can without crossing nodes and one another.

use std::fmt::Write;

use crate::outline::{Node, NodeKind};

use super::Drawing;
use super::layout::{Layout, cross};
use super::svg::{DIAMOND, HALF, INK, RIM, half_width, size};

use collapsar::elementary::Elementary;

/// All edges as SVG, and points along each.
pub(super) fn arrows(drawing: &Drawing, layout: &Layout) -> (String, Vec<Vec<(f64, f64)>>) {
    let mut centres = vec![(0.0, 0.0); layout.nodes.len()];
    for &(place, x, y) in &layout.nodes {
        centres[place] = (x, y);
    }
    let mut canvas = Canvas {
        drawing,
        centres,
        size: (layout.width, layout.height),
        drawn: vec![],
    };
    // The shortest first: they can bend least, and the others go around them.
    let mut edges = drawing.outline.edges.clone();
    edges.sort_by(|a, b| canvas.length(*a).total_cmp(&canvas.length(*b)));
    let mut text = String::new();
    for (parent, child) in edges {
        let path = if parent == child {
            // A chain: out at the right side and in again.
            let ((x, y), node) = (canvas.centres[child], &drawing.outline.nodes[child]);
            let (near, far) = (x + half_width(node) - 1.0, x + half_width(node) + 24.0);
            let [up, out, back, down] = [-20.0, -8.0, 8.0, 20.0].map(|step| y + step);
            format!("M{near:.1} {out:.1}C{far:.1} {up:.1} {far:.1} {down:.1} {near:.1} {back:.1}")
        } else {
            let [(a, b), (c, d), (e, f)] = canvas.draw(parent, child);
            format!("M{a:.1} {b:.1}Q{c:.1} {d:.1} {e:.1} {f:.1}")
        };
        writeln!(
            text,
            r#"<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.4" marker-end="url(#arrow)"/>"#
        )
        .expect("a string takes all");
    }
    (text, canvas.drawn)
}

/// Points along an edge that are looked at.
const POINTS: u32 = 24;

/// An edge: where it begins, what it bends towards, and where it ends.
type Bent = [(f64, f64); 3];

fn points([from, over, to]: Bent) -> Vec<(f64, f64)> {
    let at = |step: u32| {
        let share = f64::from(step) / f64::from(POINTS);
        let rest = 1.0 - share;
        let along =
            |p: f64, q: f64, r: f64| rest * rest * p + 2.0 * rest * share * q + share * share * r;
        (along(from.0, over.0, to.0), along(from.1, over.1, to.1))
    };
    (0..=POINTS).map(at).collect()
}

/// What edges are drawn around.
struct Canvas<'a> {
    drawing: &'a Drawing,
    centres: Vec<(f64, f64)>,
    /// Of the picture.
    size: (f64, f64),
    /// Points of the edges that are drawn already.
    drawn: Vec<Vec<(f64, f64)>>,
}

impl Canvas<'_> {
    fn length(&self, (parent, child): (usize, usize)) -> f64 {
        let (a, b) = (self.centres[parent], self.centres[child]);
        (b.0 - a.0).hypot_(b.1 - a.1)
    }

    /// An edge as straight as it can be without crossing nodes and other edges.
    fn draw(&mut self, parent: usize, child: usize) -> Bent {
        let nodes = &self.drawing.outline.nodes;
        let (a, b) = (self.centres[parent], self.centres[child]);
        let length = self.length((parent, child)).max(1.0);
        let collapsed = &self.drawing.collapsed;
        let rim = |place: usize| if collapsed[place] { RIM } else { 0.0 };
        let curve = |bend: f64| {
            let over = (
                f64::midpoint(a.0, b.0) - bend * (b.1 - a.1) / length,
                f64::midpoint(a.1, b.1) + bend * (b.0 - a.0) / length,
            );
            let from = border(&nodes[parent], a, over, rim(parent));
            [from, over, border(&nodes[child], b, over, rim(child) + 1.0)]
        };
        let steps = (0..10_u8).flat_map(|step| [(step, 25.0), (step, -25.0)]);
        let curves = steps.map(|(step, side)| (step, curve(side * f64::from(step))));
        let cost = |(step, bent): &(u8, Bent)| usize::from(*step) + self.cost(*bent, parent, child);
        let found = curves.min_by_key(cost).map(|(_, bent)| bent);
        let found = found.unwrap_or_else(|| curve(0.0));
        self.drawn.push(points(found));
        found
    }

    fn cost(&self, bent: Bent, parent: usize, child: usize) -> usize {
        let nodes = &self.drawing.outline.nodes;
        let points = points(bent);
        let near = |place: usize, x: f64, y: f64| {
            let (width, height, centre) = size(&nodes[place]);
            let left = self.centres[place].0 - centre - 6.0;
            let high = height / 2.0 + 4.0;
            (left..left + width + 12.0).contains(&x) && (y - self.centres[place].1).abs() < high
        };
        let mut cost = 0;
        for &(x, y) in &points {
            let others = (0..nodes.len()).filter(|&place| place != parent && place != child);
            cost += 3 * others.filter(|&place| near(place, x, y)).count();
            let (width, height) = self.size;
            let inside = (0.0..width).contains(&x) && (0.0..height).contains(&y);
            cost += 3 * usize::from(!inside);
        }
        let met = self.drawn.iter().filter(|other| meet(&points, other));
        cost + 4 * met.count()
    }
}

/// Whether two lines of points cross.
fn meet(one: &[(f64, f64)], other: &[(f64, f64)]) -> bool {
    let mut pairs = one.windows(2);
    pairs.any(|a| (other.windows(2)).any(|b| cross([a[0], a[1]], [b[0], b[1]])))
}

/// Where the line from a node's centre towards another point leaves the node.
fn border(node: &Node, (x, y): (f64, f64), to: (f64, f64), rim: f64) -> (f64, f64) {
    let (dx, dy) = (to.0 - x, to.1 - y);
    let reach = if node.kind == NodeKind::Computed {
        (DIAMOND + rim) / (dx.abs() + dy.abs())
    } else {
        let (across, up) = (dx / (half_width(node) + rim), dy / (HALF + rim));
        across.hypot_(up).recip()
    };
    (x + dx * reach, y + dy * reach)
}
