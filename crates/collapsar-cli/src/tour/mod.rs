//! `collapsar tour`: fits of data that the program carries or makes up, explained; the first thing to run.
//!
//! - `plot`: a scatter plot made of characters
//! - `topics`: the second part, topics of texts
//! - `quant`: the third part, reads of transcripts

mod plot;
mod quant;
mod topics;

use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use collapsar::mixture::{Component, Mixture, Settings, Start};
use collapsar::{Direction, Driver, Restarts};
use collapsar_formats::write_atomically;

use crate::common::{Common, exit};
use crate::text::{duration, measured, table};
use plot::Plot;

/// 272 eruptions of Old Faithful (Azzalini and Bowman 1990, as R's `faithful` has them).
const FAITHFUL: &str = include_str!("../../data/faithful.csv");
const COMPONENTS: usize = 8;
const STARTS: usize = 10;

/// See a real data set fitted and explained; needs no data
///
/// Fits 272 eruptions of the geyser Old Faithful, which the program carries, draws what it found, and
/// compares two ways of getting there. Then finds the topics of some made-up texts and the transcripts of
/// some made-up reads, and says what to try next.
#[derive(Debug, Args)]
pub(crate) struct TourArgs {
    /// Also write the data to FILE, as CSV, to try other commands on
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub(crate) fn run(args: &TourArgs, common: &Common) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.save {
        write_atomically(file, |out| out.write_all(FAITHFUL.as_bytes()))?;
        common.say(&format!("the data are in {}", file.display()));
    }
    let colour = std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let interrupt = common.listen();
    let text = [
        eruptions(colour, interrupt)?,
        topics::tour(interrupt)?,
        quant::tour(interrupt)?,
        next(args.save.is_some()),
    ];
    std::io::stdout().write_all(text.concat().as_bytes())?;
    Ok(exit())
}

/// One way of climbing, from every start.
struct Climbs {
    name: &'static str,
    restarts: Restarts,
    seconds: f64,
}

impl Climbs {
    fn bound(&self) -> f64 {
        self.restarts.best().point.bound
    }
}

/// The first part of the tour: groups of eruptions.
fn eruptions(colour: bool, interrupt: &AtomicBool) -> collapsar::Result<String> {
    let values = data();
    let model = Mixture::new(&values, 2, &Settings::new(COMPONENTS))?;
    let climb = |name, direction, jumps| -> collapsar::Result<Climbs> {
        let began = Instant::now();
        let restarts = Restarts::run(STARTS, |seed| {
            let (start, passes) = model.start(&Start::KMeans, seed as u64)?;
            let driver = Driver::new(&model, direction)
                .interrupt(interrupt)
                .spent(passes);
            if jumps { driver.search(&model) } else { driver }.run(start)
        })?;
        Ok(Climbs {
            name,
            restarts,
            seconds: began.elapsed().as_secs_f64(),
        })
    };
    let climbs = [
        climb("vbem", Direction::Vbem, false)?,
        climb("auto, --jumps off", Direction::Auto, false)?,
        climb("auto", Direction::Auto, true)?,
    ];
    let best = climbs[2].restarts.best();
    let fit = model.fit(&best.point)?;
    let components = fit.components.iter().enumerate();
    let mut groups: Vec<(usize, &Component)> = components.filter(|(_, c)| c.count >= 1.0).collect();
    groups.sort_by(|a, b| a.1.mean[0].total_cmp(&b.1.mean[0]));
    let rank = |component: usize| groups.iter().position(|(k, _)| *k == component);

    let mut labels = Vec::with_capacity(model.rows());
    model.responsibilities(&best.point.messages, |_, row| {
        let likeliest = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
        labels.push(likeliest.and_then(rank).unwrap_or(0));
    })?;
    let points: Vec<[f64; 2]> = values.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
    let plot = Plot {
        points: &points,
        groups: &labels,
        colour,
    };
    Ok(format!(
        "Old Faithful, a geyser in Yellowstone: {} eruptions, how long each lasted and how long\n\
         people then waited for the next, in minutes.\n\n\
         {}{}\
         The bound is {:.2} nats: ln p(data) is no lower than that, under this model and its prior.\n\n\
         {}",
        model.rows(),
        plot.draw("minutes of eruption", "minutes of waiting"),
        words(&groups, colour),
        best.point.bound,
        comparison(&climbs)
    ))
}

fn data() -> Vec<f64> {
    let lines = FAITHFUL.lines().skip(1);
    let numbers = lines.flat_map(|line| line.split(','));
    let numbers = numbers.map(str::parse);
    numbers
        .collect::<Result<_, _>>()
        .expect("a file of numbers")
}

/// What the components mean, one line each.
fn words(groups: &[(usize, &Component)], colour: bool) -> String {
    let lines = groups.iter().enumerate().map(|(rank, (_, group))| {
        let name = match (groups.len(), rank) {
            (2, 0) => "short eruptions: ".to_owned(),
            (2, 1) => "long eruptions:  ".to_owned(),
            _ => format!("group {}: ", rank + 1),
        };
        let mean = |d: usize| measured(group.mean[d], group.mean_sd.as_ref().map(|sds| sds[d]));
        format!(
            "  {} {name}{:2.0} % of all (± {:.0} %), {} min, then a wait of {} min\n",
            plot::mark(rank, colour),
            100.0 * group.weight,
            100.0 * group.weight_sd,
            mean(0),
            mean(1),
        )
    });
    format!(
        "\nOffered {COMPONENTS} components, the fit keeps {} and leaves {} empty. It found\n\
         {}where each ± is one posterior standard deviation.\n",
        groups.len(),
        COMPONENTS - groups.len(),
        lines.collect::<String>()
    )
}

/// What the same starts cost in different ways.
fn comparison(climbs: &[Climbs; 3]) -> String {
    let head = [
        "method",
        "iterations",
        "passes",
        "time",
        "best bound",
        "starts that reach it",
    ];
    let highest = climbs.iter().map(Climbs::bound).fold(f64::MIN, f64::max);
    // Starts that differ by less have ended at the same optimum.
    let reached = |climbs: &Climbs| {
        let bounds = climbs.restarts.fits.iter().map(|fit| fit.point.bound);
        bounds.filter(|bound| *bound > highest - 0.01).count()
    };
    let easy = climbs.iter().all(|climbs| reached(climbs) == STARTS);
    let rows = climbs.each_ref().map(|climbs| {
        vec![
            climbs.name.to_owned(),
            climbs.restarts.iterations().to_string(),
            climbs.restarts.passes().to_string(),
            duration(climbs.seconds),
            format!("{:.3}", climbs.bound()),
            format!("{} of {STARTS}", reached(climbs)),
        ]
    });
    let [vbem, plain, auto] = climbs
        .each_ref()
        .map(|climbs| climbs.restarts.passes() as f64);
    let change = |passes: f64| {
        let percent = 100.0 * (passes / vbem - 1.0);
        let word = if percent < 0.0 { "fewer" } else { "more" };
        format!("{:.0} % {word} passes", percent.abs())
    };
    format!(
        "The same {STARTS} starts, climbed to a gain below 1e-6 by the classic update (vbem) and by auto:\n\
         {}A pass over the data is what costs. Against vbem, auto takes {}, or\n\
         {} once it has tried the splits and merges that could lead to a better grouping.\n\
         {}\n",
        table(0, &head, rows),
        change(plain),
        change(auto),
        if easy {
            "These data are easy: every start ends at the same optimum."
        } else {
            "Not every start ends at the best optimum, which is what --restarts is for."
        },
    )
}

fn next(saved: bool) -> String {
    let save = "  collapsar tour --save faithful.csv                  keep the data to play with\n";
    let rest = "  collapsar mixture faithful.csv --out fit            fit it, all results in the folder fit
  collapsar mixture predict fit faithful.csv          label rows, spot anomalies
  collapsar mixture faithful.csv --components 1..6    how many groups are there?
  collapsar topics texts/ --topics 20                 topics of your own folder of texts
  collapsar reproduce --help                          the paper's experiments, rerun
  collapsar mixture --help                            your own CSV, TSV, NPY or Parquet
";
    format!("\nNext\n{}{rest}", if saved { "" } else { save })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_data_are_whole() {
        let values = super::data();
        assert_eq!(values.len(), 2 * 272);
        // Means as R prints them: 3.487783 and 70.89706.
        let mean = |d: usize| values.iter().skip(d).step_by(2).sum::<f64>() / 272.0;
        assert!((mean(0) - 3.487_783).abs() < 1e-6);
        assert!((mean(1) - 70.897_06).abs() < 1e-5);
    }
}
