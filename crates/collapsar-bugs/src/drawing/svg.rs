//! A drawing as SVG: nodes, plates, arrows and a legend.

use std::fmt::Write;

use crate::outline::{Node, NodeKind};

use super::Drawing;
use super::arrows::arrows;
use super::layout::Layout;

/// Strokes and letters that stand out on white and on black paper alike; the background stays clear.
pub(super) const INK: &str = "#7a7f87";
const COLLAPSED: &str = "#2f7fdb";
/// How dark what is observed is.
const SHADE: f64 = 0.35;
const MARGIN: f64 = 18.0;
/// Half the height of a node, and half that of the diamond of a computed one.
pub(super) const HALF: f64 = 21.0;
pub(super) const DIAMOND: f64 = 8.0;
/// Between the two outlines of what is collapsed.
pub(super) const RIM: f64 = 3.5;
/// The legend's height.
const LEGEND: f64 = 40.0;

impl Drawing {
    /// The drawing as SVG, on clear paper, with a legend.
    pub fn svg(&self, title: &str) -> String {
        let nodes = &self.outline.nodes;
        let all: Vec<usize> = (0..nodes.len()).collect();
        let layout = self.arrange(&all, 0);
        let legend = legend(self);
        let legend_width: f64 = legend.iter().map(|(_, text)| legend_step(text)).sum();
        let width = layout.width.max(legend_width) + 2.0 * MARGIN;
        let height = layout.height + 2.0 * MARGIN + LEGEND;
        let mut svg = String::new();
        let mut put = |line: String| writeln!(svg, "{line}").expect("a string takes all");
        put(format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" font-family="Helvetica, Arial, sans-serif" font-size="14" fill="{INK}" role="img">"#
        ));
        put(format!("<title>{}</title>", escaped(title)));
        put(format!(
            r#"<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 1L10 5L0 9z" fill="{INK}"/></marker>"#
        ));
        let left = MARGIN + (width - 2.0 * MARGIN - layout.width) / 2.0;
        put(format!(r#"<g transform="translate({left:.1} {MARGIN})">"#));
        let (arrows, lines) = arrows(self, &layout);
        put(plates(&layout, &lines));
        put(arrows);
        for &(place, x, y) in &layout.nodes {
            put(shape(&nodes[place], self.collapsed[place], x, y));
        }
        put("</g>".to_owned());
        let mut x = (width - legend_width) / 2.0;
        let y = height - MARGIN;
        for (sign, text) in legend {
            put(format!(
                r#"<g transform="translate({x:.1} {y:.1})" font-size="12">{}<text x="34" y="4">{text}</text></g>"#,
                outline(sign, 14.0, 0.0, 11.0, 8.0)
            ));
            x += legend_step(text);
        }
        put("</svg>".to_owned());
        svg
    }
}

/// Letters of about 8 pixels, or 6 in the second line.
pub(super) fn half_width(node: &Node) -> f64 {
    let letters = 4.0 * node.name.chars().count() as f64;
    let second = node.distribution.as_deref().unwrap_or_default();
    let second = second.chars().count();
    letters.max(2.8 * second as f64).max(12.0) + 15.0
}

/// Width, height and the distance of the centre from the left side.
pub(super) fn size(node: &Node) -> (f64, f64, f64) {
    if node.kind == NodeKind::Computed {
        let letters = node.name.chars().count() as f64;
        return (2.0 * DIAMOND + 6.0 + 8.0 * letters, 2.0 * HALF, DIAMOND);
    }
    let half = half_width(node);
    (2.0 * half, 2.0 * HALF, half)
}

/// Plates with their texts at the right, or at the left where fewer lines pass.
fn plates(layout: &Layout, lines: &[Vec<(f64, f64)>]) -> String {
    let mut text = String::new();
    for plate in &layout.plates {
        let wide = 16.0 + 5.6 * plate.text.chars().count() as f64;
        let (right, bottom) = (plate.x + plate.width, plate.y + plate.height);
        let passed = |left: f64| {
            let here = |&&(x, y): &&(f64, f64)| {
                (left..left + wide).contains(&x) && (bottom - 24.0..bottom - 3.0).contains(&y)
            };
            lines.iter().flatten().filter(here).count()
        };
        let (x, anchor) = if passed(plate.x) < passed(right - wide) {
            (plate.x + 9.0, "start")
        } else {
            (right - 9.0, "end")
        };
        let [left, top, width, height] = [plate.x, plate.y, plate.width, plate.height];
        writeln!(
            text,
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" rx="10" fill="{INK}" fill-opacity="0.05" stroke="{INK}" stroke-opacity="0.7"/><text x="{x:.1}" y="{:.1}" text-anchor="{anchor}" font-size="12" font-style="italic">{}</text>"#,
            bottom - 9.0,
            escaped(&plate.text)
        )
        .expect("a string takes all");
    }
    text
}

fn shape(node: &Node, collapsed: bool, x: f64, y: f64) -> String {
    let name = escaped(&node.name);
    if node.kind == NodeKind::Computed {
        let mark = outline((node.kind, false, node.partly), x, y, DIAMOND, DIAMOND);
        let (x, y) = (x + DIAMOND + 4.0, y + 5.0);
        return format!(r#"{mark}<text x="{x:.1}" y="{y:.1}">{name}</text>"#);
    }
    let mark = outline(
        (node.kind, collapsed, node.partly),
        x,
        y,
        half_width(node),
        HALF,
    );
    let distribution = escaped(node.distribution.as_deref().unwrap_or_default());
    format!(
        r#"{mark}<text x="{x:.1}" y="{:.1}" text-anchor="middle" font-weight="bold">{name}</text><text x="{x:.1}" y="{:.1}" text-anchor="middle" font-size="10.5">{distribution}</text>"#,
        y + 1.0,
        y + 13.0
    )
}

/// What a node's outline says of it: its kind, and whether it is collapsed, and observed in part.
type Sign = (NodeKind, bool, bool);

fn outline((kind, collapsed, partly): Sign, x: f64, y: f64, half: f64, high: f64) -> String {
    if kind == NodeKind::Computed {
        let [left, right] = [x - high, x + high];
        let [top, bottom] = [y - high, y + high];
        return format!(
            r#"<path d="M{x:.1} {top:.1}L{right:.1} {y:.1}L{x:.1} {bottom:.1}L{left:.1} {y:.1}z" fill="none" stroke="{INK}" stroke-width="1.5"/>"#
        );
    }
    let (stroke, fill) = match (collapsed, kind) {
        (true, _) => (COLLAPSED, 0.0),
        (false, NodeKind::Observed) if !partly => (INK, SHADE),
        _ => (INK, 0.0),
    };
    let ellipse = |more: f64| {
        format!(
            r#"<ellipse cx="{x:.1}" cy="{y:.1}" rx="{:.1}" ry="{:.1}" fill="{INK}" fill-opacity="{fill}" stroke="{stroke}" stroke-width="1.5"/>"#,
            half + more,
            high + more
        )
    };
    let mut text = ellipse(0.0);
    if collapsed {
        text += &ellipse(RIM);
    }
    if partly {
        // The lower half.
        let (left, right) = (x - half, x + half);
        text = format!(
            r#"{text}<path d="M{left:.1} {y:.1}A{half:.1} {high:.1} 0 0 0 {right:.1} {y:.1}z" fill="{INK}" fill-opacity="{SHADE}"/>"#
        );
    }
    text
}

/// What signs mean, of those that there are.
fn legend(drawing: &Drawing) -> Vec<(Sign, &'static str)> {
    let signs = [
        ((NodeKind::Observed, false, false), "observed"),
        ((NodeKind::Observed, false, true), "observed in part"),
        ((NodeKind::Unknown, false, false), "explicit"),
        ((NodeKind::Unknown, true, false), "collapsed"),
        ((NodeKind::Computed, false, false), "computed"),
    ];
    let nodes = || drawing.outline.nodes.iter().zip(&drawing.collapsed);
    let there = |(sign, _): &(Sign, &str)| {
        nodes().any(|(node, collapsed)| (node.kind, *collapsed, node.partly) == *sign)
    };
    let mut found: Vec<(Sign, &str)> = signs.into_iter().filter(there).collect();
    // Without data nothing is known to be explicit either.
    if !drawing.collapsed.contains(&true) {
        for (_, text) in (found.iter_mut()).filter(|(sign, _)| sign.0 == NodeKind::Unknown) {
            *text = "stochastic";
        }
    }
    found
}

/// Text as XML takes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn legend_step(text: &str) -> f64 {
    32.0 + 6.5 * text.chars().count() as f64 + 26.0
}

#[cfg(test)]
mod tests {
    use super::super::layout::Plate;
    use super::*;
    use crate::{Data, Model};

    fn drawing(source: &str) -> Drawing {
        let model = Model::parse(source).expect("a model");
        Drawing::new(&model.outline(&Data::default()), None)
    }

    const MODEL: &str = "model {
        for (n in 1:N) {
            z[n] ~ dcat(p[])
            for (d in 1:D) { y[n, d] ~ dnorm(mu[z[n], d], tau[d]) }
        }
        for (k in 1:K) { for (d in 1:D) { mu[k, d] ~ dnorm(m, tau[d]) } }
        for (d in 1:D) { tau[d] ~ dgamma(1, 1)  sd[d] <- 1 / sqrt(tau[d]) }
        p[1:K] ~ ddirch(alpha[])
        m ~ dnorm(0, 1)
        for (t in 2:T) { x[t] ~ dnorm(x[t - 1], 1) }
    }";

    #[test]
    fn data_with_gaps_are_half_shaded() {
        let mut drawing = drawing(MODEL);
        assert!(!drawing.svg("").contains("observed in part"));
        let y = drawing
            .outline
            .nodes
            .iter_mut()
            .find(|node| node.name == "y");
        let y = y.expect("y is drawn");
        (y.kind, y.partly) = (NodeKind::Observed, true);
        let text = drawing.svg("");
        assert!(text.contains("observed in part") && !text.contains(">observed<"));
    }

    #[test]
    fn plates_are_nested_or_apart_and_hold_their_nodes() {
        let drawing = drawing(MODEL);
        let nodes = &drawing.outline.nodes;
        let layout = drawing.arrange(&(0..nodes.len()).collect::<Vec<_>>(), 0);
        assert_eq!(layout.nodes.len(), nodes.len());
        // Loops that are nested differently are different plates: n, d in n, k, d in k, d, t.
        assert_eq!(layout.plates.len(), 6);
        for (place, a) in layout.plates.iter().enumerate() {
            for b in &layout.plates[..place] {
                let apart = a.x >= b.x + b.width
                    || b.x >= a.x + a.width
                    || a.y >= b.y + b.height
                    || b.y >= a.y + a.height;
                let inside = |a: &Plate, b: &Plate| {
                    a.x > b.x
                        && a.y > b.y
                        && a.x + a.width < b.x + b.width
                        && a.y + a.height < b.y + b.height
                };
                assert!(apart || inside(a, b) || inside(b, a), "{a:?} {b:?}");
            }
        }
        for &(place, x, y) in &layout.nodes {
            let holders = layout.plates.iter().filter(|plate| {
                (plate.x..plate.x + plate.width).contains(&x)
                    && (plate.y..plate.y + plate.height).contains(&y)
            });
            let mut holders: Vec<&str> = holders.map(|plate| plate.text.as_str()).collect();
            let mut plates = nodes[place].plates.clone();
            holders.sort_unstable();
            plates.sort_unstable();
            assert_eq!(holders, plates, "{}", nodes[place].name);
        }
    }

    #[test]
    fn pictures_are_whole() {
        let drawing = drawing(MODEL);
        let svg = drawing.svg("a < b");
        assert!(svg.contains("<title>a &lt; b</title>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        // An arrow for each edge, and an outline for each node and sign of the legend.
        let edges = drawing.outline.edges.len();
        assert_eq!(svg.matches("marker-end").count(), edges);
        let outlines = svg.matches("<ellipse").count() + svg.matches("z\" fill=\"none\"").count();
        assert_eq!(outlines, drawing.outline.nodes.len() + 2);
        let dot = drawing.dot();
        assert_eq!(dot.matches(" -> ").count(), edges);
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
        assert_eq!(dot.matches("subgraph").count(), 6);
    }
}
