//! The two bounds along a line through their common point: the paper's figure 1(b), computed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use collapsar::mixture::{Mixture, Settings, Start};
use collapsar::{Direction, Driver, Stop};
use collapsar_formats::write_atomically;

use super::line::{Line, slowest};
use super::ring::ring;
use super::svg::{Mark, Panel, picture};
use crate::common::Common;

/// Draws the figure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The picture to write
    #[arg(long, value_name = "FILE", default_value = "curvature.svg")]
    out: PathBuf,
    /// Of the data and of the start
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Rows, R and components of the example: small, and slow enough for VBEM to show the difference.
const ROWS: usize = 60;
const RADIUS: f64 = 3.0;
const COMPONENTS: usize = 3;
/// VBEM steps before the first panel: some way to go, and structure formed.
const STEPS: u64 = 2;

/// The two lines of the figure: one on the way, one at the end.
struct Figure<'a> {
    /// After a few VBEM steps, along the natural gradient, in VBEM steps.
    early: Line<'a>,
    /// At the optimum, along the slowest direction, in Fisher lengths.
    late: Line<'a>,
    /// VBEM's rate in that direction.
    rate: f64,
}

impl<'a> Figure<'a> {
    fn new(model: &'a Mixture, seed: u64) -> collapsar::Result<Self> {
        let (start, _) = model.start(&Start::KMeans, seed)?;
        let vbem = |stop| Driver::new(model, Direction::Vbem).stop(stop);
        let early = vbem(Stop::Iterations(STEPS)).run(start.clone())?.point;
        let fit = vbem(Stop::Gain(1e-12) | Stop::Iterations(100_000)).run(start)?;
        let (along, rate) = slowest(model, &fit.point)?;
        Ok(Self {
            early: Line::new(model, early.messages, early.gradient)?,
            late: Line::new(model, fit.point.messages, along)?,
            rate,
        })
    }
}

pub(super) fn run(args: &Args, common: &Common) -> Result<()> {
    let data = ring(ROWS, RADIUS, args.seed);
    let model = Mixture::new(&data, 2, &Settings::new(COMPONENTS))?;
    let figure = Figure::new(&model, args.seed)?;
    let (panels, words) = panels(&figure)?;
    let curves = || {
        panels
            .iter()
            .map(|panel| (&panel.curves[0], &panel.curves[1]))
    };
    let gaps = curves().flat_map(|(above, below)| above.iter().zip(below));
    let least = gaps.map(|(a, b)| a.1 - b.1).fold(f64::INFINITY, f64::min);
    // Rounding of a bound of some hundred nats.
    if least < -1e-9 {
        bail!(
            "the mean-field bound lies {least:e} above the collapsed one, expected below: a defect"
        );
    }
    let svg = picture(
        "The KL-corrected bound and the mean-field bound along a line",
        &[
            "KL-corrected bound",
            "mean-field bound, q(X) fixed where they touch",
        ],
        &panels,
    );
    write_atomically(&args.out, |file| file.write_all(svg.as_bytes()))?;
    let points: usize = curves().map(|(above, _)| above.len()).sum();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "The KL-corrected bound (KLC) and the mean-field bound (HRL12, figure 1b) of a mixture of {COMPONENTS} \
         components\non {ROWS} rows of the ring at R={RADIUS}, seed {}, along lines on which q(X) of the mean-field bound stays as it\n\
         is at t=0.\n",
        args.seed
    )?;
    out.write_all(words.as_bytes())?;
    writeln!(
        out,
        "KLC is the higher one at all {points} points, and equal at t=0."
    )?;
    if !common.quiet {
        eprintln!("wrote {}", args.out.display());
    }
    Ok(())
}

/// Both panels, and what they show in words.
fn panels(figure: &Figure) -> Result<(Vec<Panel>, String)> {
    let mut words = String::new();
    let mut describe = |title: &str, line: &Line, rest: String| -> Result<String> {
        let (here, (collapsed, mean_field)) = (line.at(0.0)?, line.curvatures()?);
        let ratio = if collapsed < 0.0 {
            format!("{:.1} times less", mean_field / collapsed)
        } else {
            "of the other sign".to_owned()
        };
        // The sign of a rounded zero says nothing.
        let slope = |x: f64| if x.abs() < 5e-5 { 0.0 } else { x };
        write!(
            words,
            "{title}\n  value      KLC {:10.4}   mean field {:10.4}\n  slope      KLC {:10.4}   mean field {:10.4}\n  \
             curvature  KLC {collapsed:10.4}   mean field {mean_field:10.4}   ({ratio})\n  {rest}\n\n",
            here.collapsed,
            here.mean_field,
            slope(here.collapsed_slope),
            slope(here.mean_field_slope),
        )?;
        Ok(format!("curvature {collapsed:.3} against {mean_field:.3}").replace('-', "−"))
    };
    let (early, late) = (&figure.early, &figure.late);
    let peak = early.peak(20.0)?;
    let subtitle = describe(
        &format!("After {STEPS} VBEM steps, along the natural gradient; t counts VBEM steps"),
        early,
        format!("the mean-field bound peaks at t=1, KLC at t={peak:.2}: VBEM stops short"),
    )?;
    let zero = early.at(0.0)?.collapsed;
    let (top, vbem) = (early.at(peak)?.collapsed - zero, early.at(1.0)?);
    let range = (-1.0, f64::max(3.0, 1.4 * peak));
    let mark = |at, label: &str, curve, shift| Mark {
        at,
        label: label.to_owned(),
        curve,
        shift,
    };
    let on_the_way = Panel {
        title: "On the way: the same value and slope".into(),
        subtitle,
        x_label: "t, in VBEM steps along the natural gradient".into(),
        y_label: "nats above the common point".into(),
        x: range,
        y: (-1.3 * top, 1.3 * top),
        curves: early.curves(range)?,
        marks: vec![
            mark((0.0, 0.0), "q(X) = q*(X)", None, (9.0, 14.0)),
            mark(
                (1.0, vbem.mean_field - zero),
                "VBEM step",
                Some(1),
                (16.0, -4.0),
            ),
            mark((peak, top), "best step on KLC", Some(0), (-20.0, -11.0)),
        ],
    };
    let subtitle = describe(
        "At the optimum, along the slowest direction; t is a Fisher length",
        late,
        format!(
            "VBEM leaves {:.3} of the distance at each step: one minus KLC's curvature over the other",
            figure.rate
        ),
    )?;
    let range = (-2.2, 2.2);
    let at_the_end = Panel {
        title: "At the optimum: the same peak".into(),
        subtitle,
        x_label: "t, in Fisher lengths along the slowest direction".into(),
        y_label: "nats above the optimum".into(),
        x: range,
        y: (-2.0, 0.3),
        curves: late.curves(range)?,
        marks: vec![mark((0.0, 0.0), "q(X) = q*(X)", None, (6.0, -8.0))],
    };
    Ok((vec![on_the_way, at_the_end], words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_shows_two_panels_of_two_curves() {
        let data = ring(ROWS, RADIUS, 3);
        let model = Mixture::new(&data, 2, &Settings::new(COMPONENTS)).unwrap();
        let (panels, words) = panels(&Figure::new(&model, 3).unwrap()).unwrap();
        assert_eq!(panels.len(), 2);
        for panel in &panels {
            let (above, below) = (&panel.curves[0], &panel.curves[1]);
            // Rounding of a bound of some hundred nats.
            assert!(above.iter().zip(below).all(|(a, b)| a.1 >= b.1 - 1e-9));
            assert!(panel.marks.iter().all(|mark| mark.at.1 < panel.y.1));
        }
        assert!(words.contains("times less"), "{words}");
    }
}
