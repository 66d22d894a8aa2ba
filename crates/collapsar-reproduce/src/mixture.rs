//! The first experiment: the same random starts for every method, in the paper's measure.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use collapsar::mixture::{Defaults, Mixture, Settings, Start};
use collapsar::{Direction, Driver, Restarts};
use collapsar_formats::read_table;
use serde_json::{Map, json};

use crate::measure::{Comparison, MethodRuns, RunSummary};
use crate::report::{csv, record};
use crate::ring::ring;
use crate::tables::tables;
use crate::{Error, Host, Plan, Report, Result, distinct, file_name};

/// R of the data drawn here.
const RADII: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

/// The paper's first experiment: five Gaussians, and a mixture of more components.
#[derive(Debug, Clone)]
pub struct MixtureRequest {
    /// Tables with columns x and y, one for each R in order; where there are none, data are drawn.
    pub files: Vec<PathBuf>,
    /// Rows drawn for each R.
    pub rows: usize,
    /// Components of the mixture.
    pub components: usize,
    /// Whose hyperparameters.
    pub defaults: Defaults,
    /// Bounds known from elsewhere, one for each R, or none.
    pub best: Vec<f64>,
    /// The runs on each data set.
    pub plan: Plan,
}

/// One row of the tables: a direction, with or without the model's jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Method {
    direction: Direction,
    jumps: bool,
}

impl Method {
    /// `collapsar mixture` jumps under `auto` and under nothing else, so that is what plain names mean.
    fn name(self) -> String {
        match (self.direction, self.jumps) {
            (Direction::Auto, false) => "auto, no jumps".to_owned(),
            (Direction::Auto, true) | (_, false) => self.direction.to_string(),
            (_, true) => format!("{} with jumps", self.direction),
        }
    }

    /// The directions asked for, then those that show what each ingredient of `auto` brings.
    fn all(directions: &[Direction]) -> Vec<Self> {
        let auto = Direction::Auto;
        let plain = directions.iter().map(|&d| (d, d == auto));
        let parts = [
            (auto, false),
            (Direction::Fr, true),
            (Direction::Vbem, true),
        ];
        let shown =
            |part: &(Direction, bool)| directions.contains(&auto) && directions.contains(&part.0);
        let all = plain.chain(parts.into_iter().filter(shown));
        distinct(all.map(|(direction, jumps)| Self { direction, jumps }))
    }
}

impl MixtureRequest {
    /// Runs the experiment.
    ///
    /// # Errors
    /// Where data or options are refused, and [`Error::PartOfRuns`] where it is interrupted.
    pub fn run(&self, host: &dyn Host) -> Result<Report> {
        let began = Instant::now();
        let models = self.models()?;
        if !self.best.is_empty() && self.best.len() != models.len() {
            let found = format!("{} numbers", self.best.len());
            let expected = format!("{}, one for each data set", models.len());
            return Err(collapsar::Error::setting("best", found, expected).into());
        }
        let methods = Method::all(&self.plan.methods);
        host.begin(self.plan.starts * models.len() * methods.len())?;
        let mut comparisons = Vec::new();
        for (index, model) in models.iter().enumerate() {
            let mut runs = Vec::new();
            for &method in &methods {
                let name = format!("R={} {}", index + 1, method.name());
                host.status(&|| name.clone());
                runs.push(self.restarts(model, method, host)?);
                host.detail(&format!("{name}: {:.1} s", began.elapsed().as_secs_f64()));
            }
            comparisons.push(Comparison::new(runs, self.best.get(index).copied()));
        }
        let best: Vec<f64> = comparisons.iter().map(|runs| runs.best).collect();
        let config = json!({
            "components": self.components,
            "rows": models.iter().map(Mixture::rows).collect::<Vec<_>>(),
            "methods": self.plan.methods,
            "restarts": self.plan.starts,
            "prior": models.iter().map(Mixture::prior).collect::<Vec<_>>(),
            "best": self.best,
        });
        let bound_is = format!("the best known at R={}", best.len());
        let extra = Map::from_iter([
            ("best_bounds".to_owned(), json!(best)),
            ("bound_is".to_owned(), bound_is.into()),
        ]);
        let bound = best[best.len() - 1];
        Ok(Report {
            text: self.preamble(&models, &best) + "\n" + &tables(&comparisons),
            files: self.files.clone(),
            stem: "mixture",
            csv: runs(&comparisons),
            record: record(&self.plan, &comparisons, bound, config, extra, began),
        })
    }

    /// One model for each data set.
    fn models(&self) -> Result<Vec<Mixture>> {
        let mut settings = Settings::new(self.components);
        settings.defaults = self.defaults;
        if self.files.is_empty() {
            let drawn = RADII.map(|radius| ring(self.rows, radius, self.plan.seed));
            let models = drawn.iter().map(|data| Mixture::new(data, 2, &settings));
            return Ok(models.collect::<collapsar::Result<_>>()?);
        }
        let names = ["x".to_owned(), "y".to_owned()];
        let read = |path: &PathBuf| {
            let table = read_table(path, Some(&names))?;
            Mixture::new(&table.values, 2, &settings).map_err(Error::in_file(path))
        };
        self.files.iter().map(read).collect()
    }

    /// All restarts of one method on one data set.
    fn restarts(&self, model: &Mixture, method: Method, host: &dyn Host) -> Result<MethodRuns> {
        let restarts = Restarts::run(self.plan.starts, |index| {
            let (start, passes) = model.start(&Start::Random, self.plan.seed(index))?;
            let mut driver = Driver::new(model, method.direction)
                .spent(passes)
                .interrupt(host.interrupt())
                .stop(self.plan.stop());
            if method.jumps {
                driver = driver.search(model);
            }
            let fit = driver.run(start);
            host.advance();
            fit
        })?;
        if host.interrupt().load(Ordering::Relaxed) {
            return Err(Error::PartOfRuns);
        }
        Ok(MethodRuns {
            name: method.name(),
            runs: restarts.fits.iter().map(RunSummary::from).collect(),
        })
    }

    /// What was run, so that the figures can be had again.
    fn preamble(&self, models: &[Mixture], best: &[f64]) -> String {
        let data = if self.files.is_empty() {
            format!(
                "N = {} rows for each R, drawn with seed {}",
                self.rows, self.plan.seed
            )
        } else {
            let files = self.files.iter().zip(models);
            let files =
                files.map(|(path, model)| format!("{} (N = {})", file_name(path), model.rows()));
            files.collect::<Vec<_>>().join(", ")
        };
        let (whose, scale) = match self.defaults {
            Defaults::Sklearn => (
                "data-driven, scikit-learn's defaults",
                "the data's covariance",
            ),
            Defaults::Paper => ("uninformative, the paper's", "0.001 times the identity"),
        };
        let first = models[0].prior();
        let priors = models.iter().enumerate().map(|(index, model)| {
            let (r, m, s) = (index + 1, &model.prior().location, &model.prior().scale);
            format!(
                "- Prior at R={r}: location ({:.4}, {:.4}), scale ({:.4} {:.4}; {:.4} {:.4})\n",
                m[0], m[1], s[0], s[1], s[2], s[3]
            )
        });
        let priors: Vec<String> = priors.collect();
        let starts = format!("{} restarts from random responsibilities", self.plan.starts);
        let best: Vec<String> = best.iter().map(|bound| format!("{bound:.3}")).collect();
        format!(
            "The paper's first experiment (HRL12, section 5.1): five unit Gaussians at (0,0) and (±R,±R), \
             a mixture of {} components with full covariances.\n\n\
             - Data: {data}\n\
             - Prior ({whose}): weights Dirichlet with concentration {} for each component; means around the \
             data's mean with mean precision {}; precisions Wishart with {} degrees of freedom and scale {scale}\n\
             {}\
             - {}\n\
             - The paper states neither N nor the values of its priors: its figures are a guide\n\
             - Best known bounds: {}\n\
             - Jumps: components split and merged when a climb slows down, as `collapsar mixture` does under `auto`; \
             their iterations and passes count\n",
            self.components,
            first.concentration,
            first.mean_precision,
            first.degrees_of_freedom,
            priors.concat(),
            self.plan.sentence(&starts),
            best.join(", ")
        )
    }
}

/// Every run, one to a line.
fn runs(comparisons: &[Comparison]) -> String {
    let lines = comparisons.iter().enumerate().flat_map(|(index, runs)| {
        runs.runs().map(move |(name, restart, run)| {
            let (r, numbers, outcome) = (index + 1, run.numbers(), &run.outcome);
            format!("{r},\"{name}\",{restart},{numbers},{outcome}")
        })
    });
    csv("R,method,restart,bound,iterations,passes,outcome", lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::comparison;

    #[test]
    fn methods_name_each_ingredient_of_auto() {
        use Direction::{Auto, Fr, Vbem};
        let names = |directions| -> Vec<String> {
            Method::all(directions)
                .into_iter()
                .map(Method::name)
                .collect()
        };
        assert_eq!(names(&[Vbem, Fr, Vbem]), ["vbem", "fr"]);
        let all = ["vbem", "auto", "auto, no jumps", "vbem with jumps"];
        assert_eq!(names(&[Vbem, Auto]), all);
    }

    #[test]
    fn raw_runs_are_one_to_a_line() {
        let text = runs(&[comparison()]);
        assert_eq!(text.lines().count(), 7);
        let fr = "1,\"fr\",0,-99,30,60,gain below 1e-6";
        assert_eq!(text.lines().nth(4), Some(fr));
    }
}
