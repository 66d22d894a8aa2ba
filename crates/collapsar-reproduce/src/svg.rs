//! Pairs of curves as a picture: panels with axes, ticks, marks and one legend, as SVG text.

use std::fmt::Display;

use collapsar::elementary::Elementary;

/// Strokes and letters that stand out on white and on black paper alike; the background stays clear.
const INK: &str = "#7a7f87";
/// Colours and dashes of the two curves.
const STROKES: [(&str, &str); 2] = [("#2f7fdb", "none"), ("#e0701a", "7 4")];

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 78.0;
/// The frame of a panel.
const WIDE: f64 = WIDTH - LEFT - RIGHT;
const HIGH: f64 = HEIGHT - TOP - BOTTOM;
const FLOOR: f64 = HEIGHT - BOTTOM;
const MIDDLE: f64 = LEFT + WIDE / 2.0;

/// Points in order.
pub(crate) type Curve = Vec<(f64, f64)>;

/// One plot.
#[derive(Debug, Default)]
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) subtitle: String,
    pub(crate) x_label: &'static str,
    pub(crate) y_label: &'static str,
    /// Least and greatest of each axis; what lies outside is cut off.
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
    pub(crate) curves: [Curve; 2],
    pub(crate) marks: Vec<Mark>,
}

/// A point and its label; which curve's colour it takes, none being that of the axes; and the offset of the label
/// in pixels, of which one to the left ends at the point.
pub(crate) type Mark = ((f64, f64), &'static str, Option<usize>, (f64, f64));

/// The panels side by side, with a legend below.
pub(crate) fn picture(title: &str, legend: [&str; 2], panels: &[Panel]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut lines = vec![
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}" role="img">"#
        ),
        format!("<title>{}</title>", escaped(title)),
    ];
    for (index, panel) in panels.iter().enumerate() {
        let left = WIDTH * index as f64;
        lines.push(format!(r#"<g transform="translate({left} 0)">"#));
        panel.draw(index, &mut lines);
        lines.push("</g>".to_owned());
    }
    // Names of about 7 pixels a letter, each after its stroke, the whole in the middle.
    let widths = legend.map(|name| 58.0 + 7.0 * name.chars().count() as f64);
    let mut x = (width - widths.iter().sum::<f64>()) / 2.0;
    let y = HEIGHT - 16.0;
    for (curve, (name, width)) in legend.iter().zip(widths).enumerate() {
        let (end, stroke) = (x + 30.0, stroke(curve));
        lines.push(format!(
            r#"<line x1="{x:.1}" y1="{y}" x2="{end:.1}" y2="{y}" {stroke}/>"#
        ));
        lines.push(text(format!("{:.1}", x + 38.0), y + 4.0, "", name));
        x += width;
    }
    lines.push("</svg>\n".to_owned());
    lines.join("\n")
}

fn stroke(curve: usize) -> String {
    let (colour, dashes) = STROKES[curve];
    format!(r#"stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dashes}""#)
}

/// Words at a place; `attributes` begin with a space where there are any.
fn text(x: impl Display, y: impl Display, attributes: &str, words: &str) -> String {
    format!(
        r#"<text x="{x}" y="{y}"{attributes}>{}</text>"#,
        escaped(words)
    )
}

/// Text as XML takes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Panel {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = (x - self.x.0) / (self.x.1 - self.x.0);
        let up = (y - self.y.0) / (self.y.1 - self.y.0);
        (LEFT + across * WIDE, FLOOR - up * HIGH)
    }

    fn draw(&self, index: usize, lines: &mut Vec<String>) {
        let (centred, right) = (r#" text-anchor="middle""#, LEFT + WIDE);
        let bold = r#" text-anchor="middle" font-size="14" font-weight="bold""#;
        lines.push(text(MIDDLE, 26, bold, self.title));
        lines.push(text(MIDDLE, 46, centred, &self.subtitle));
        for tick in ticks(self.x) {
            let x = format!("{:.1}", self.place((tick, self.y.0)).0);
            let label = text(&x, FLOOR + 17.0, centred, &label(tick));
            lines.push(format!(
                r#"<path d="M{x} {TOP}V{FLOOR}" stroke="{INK}" stroke-opacity="0.18"/>{label}"#
            ));
        }
        for tick in ticks(self.y) {
            let (_, y) = self.place((self.x.0, tick));
            let below = format!("{:.1}", y + 4.0);
            let label = text(LEFT - 7.0, below, r#" text-anchor="end""#, &label(tick));
            lines.push(format!(
                r#"<path d="M{LEFT} {y:.1}H{right}" stroke="{INK}" stroke-opacity="0.18"/>{label}"#
            ));
        }
        lines.push(format!(
            r#"<path d="M{LEFT} {TOP}V{FLOOR}H{right}" fill="none" stroke="{INK}"/>"#
        ));
        lines.push(text(MIDDLE, FLOOR + 36.0, centred, self.x_label));
        let (middle, label) = (TOP + HIGH / 2.0, escaped(self.y_label));
        lines.push(format!(
            r#"<text transform="translate(16 {middle}) rotate(-90)"{centred}>{label}</text>"#
        ));
        lines.push(format!(
            r#"<clipPath id="inside{index}"><rect x="{LEFT}" y="{TOP}" width="{WIDE}" height="{HIGH}"/></clipPath>"#
        ));
        for (curve, points) in self.curves.iter().enumerate() {
            let points = points.iter().map(|&point| self.place(point));
            let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let (stroke, points) = (stroke(curve), points.join(" "));
            lines.push(format!(
                r#"<polyline clip-path="url(#inside{index})" fill="none" {stroke} points="{points}"/>"#
            ));
        }
        for &(at, label, curve, shift) in &self.marks {
            let (x, y) = self.place(at);
            let colour = curve.map_or(INK, |curve| STROKES[curve].0);
            let anchor = if shift.0 < 0.0 { "end" } else { "start" };
            let label = text(
                format!("{:.1}", x + shift.0),
                format!("{:.1}", y + shift.1),
                &format!(r#" text-anchor="{anchor}""#),
                label,
            );
            lines.push(format!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{colour}"/>{label}"#
            ));
        }
    }
}

/// Three to nine round numbers within a range.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 8.0;
    let power = 10.0_f64.powf_(rough.log10_().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|s| s * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// A tick as short as it is exact, with a true minus.
fn label(tick: f64) -> String {
    let text = format!("{tick:.6}").replace('-', "−");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        Panel {
            title: "a < b & c",
            x: (-1.0, 3.0),
            y: (-2.0, 0.5),
            curves: [vec![(-1.0, -2.0), (3.0, 0.5)], vec![]],
            marks: vec![((0.0, 0.0), "here", None, (-6.0, 0.0))],
            ..Panel::default()
        }
    }

    /// Every element opened is closed, in order, and no text holds a bare sign.
    fn well_formed(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("a closed tag");
            assert!(!text.contains('>'), "bare > after {tag}");
            assert_eq!(tag.matches('"').count() % 2, 0, "quotes in {tag}");
            let signs = |sign| text.matches(sign).count();
            assert_eq!(signs('&'), signs(';'), "{text}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().expect("a name"));
            }
        }
        assert!(open.is_empty(), "{open:?} left open");
    }

    #[test]
    fn pictures_are_well_formed() {
        let svg = picture("t", ["one", "two & three"], &[panel(), panel()]);
        well_formed(&svg);
        assert!(svg.contains("a &lt; b &amp; c"));
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn corners_of_the_ranges_are_corners_of_the_frame() {
        let svg = picture("t", ["", ""], &[panel()]);
        let right = WIDTH - RIGHT;
        let points = format!("points=\"{LEFT:.1},{FLOOR:.1} {right:.1},{TOP:.1}\"");
        assert!(svg.contains(&points), "{points}");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((-1.0, 7.1)), [0.0, 2.0, 4.0, 6.0]);
        let labels: Vec<String> = ticks((-0.35, 0.11)).into_iter().map(label).collect();
        assert_eq!(labels, ["−0.3", "−0.2", "−0.1", "0", "0.1"]);
    }
}
