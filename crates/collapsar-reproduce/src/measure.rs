//! What runs came to, and the paper's measure: their cost for each time that they find the best known bound.

use collapsar::{Fit, Outcome};

/// What all methods are compared with.
const VBEM: &str = "vbem";
/// How far below the best known bound a run may end and still count as having found it (HRL12, table 1).
const NATS: f64 = 10.0;

/// How one run ended and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSummary {
    pub(crate) bound: f64,
    pub(crate) iterations: u64,
    /// A fraction of one where only some of the data were looked at.
    pub(crate) passes: f64,
    pub(crate) seconds: f64,
    pub(crate) outcome: Outcome,
}

impl From<&Fit> for RunSummary {
    fn from(fit: &Fit) -> Self {
        Self {
            bound: fit.point.bound,
            iterations: fit.iterations,
            passes: fit.passes as f64,
            seconds: fit.seconds,
            outcome: fit.outcome.clone(),
        }
    }
}

impl RunSummary {
    /// Bound, iterations and passes, as CSV has them.
    pub(crate) fn numbers(&self) -> String {
        format!("{},{},{}", self.bound, self.iterations, self.passes)
    }
}

/// A number of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Seconds,
    Iterations,
    Passes,
    Bound,
}

impl Measure {
    fn of(self, run: &RunSummary) -> f64 {
        match self {
            Self::Seconds => run.seconds,
            Self::Iterations => run.iterations as f64,
            Self::Passes => run.passes,
            Self::Bound => run.bound,
        }
    }
}

/// The runs of one method, from one start after another.
#[derive(Debug, Clone)]
pub(crate) struct MethodRuns {
    pub(crate) name: String,
    pub(crate) runs: Vec<RunSummary>,
}

impl MethodRuns {
    pub(crate) fn new(name: String) -> Self {
        let runs = Vec::new();
        Self { name, runs }
    }

    pub(crate) fn converged(&self) -> usize {
        let converged = |run: &&RunSummary| run.outcome.converged();
        self.runs.iter().filter(converged).count()
    }

    pub(crate) fn total(&self, measure: Measure) -> f64 {
        self.runs.iter().map(|run| measure.of(run)).sum()
    }

    /// Mean and standard deviation, which one run alone does not have.
    pub(crate) fn mean(&self, measure: Measure) -> (f64, Option<f64>) {
        let values: Vec<f64> = self.runs.iter().map(|run| measure.of(run)).collect();
        let (mean, variance) = moments(&values);
        (mean, (values.len() > 1).then(|| variance.sqrt()))
    }
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (n - 1.0))
}

/// The runs of every method on one data set.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// The highest bound known, found here or elsewhere.
    pub(crate) best: f64,
    pub(crate) methods: Vec<MethodRuns>,
}

impl Comparison {
    pub(crate) fn new(methods: Vec<MethodRuns>, known: Option<f64>) -> Self {
        let found = methods.iter().flat_map(|method| &method.runs);
        let known = known.unwrap_or(f64::NEG_INFINITY);
        let best = found.map(|run| run.bound).fold(known, f64::max);
        Self { best, methods }
    }

    /// Every run, with its method's name and the number of its start.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&str, usize, &RunSummary)> {
        self.methods.iter().flat_map(|MethodRuns { name, runs }| {
            let numbered = runs.iter().enumerate();
            numbered.map(move |(start, run)| (name.as_str(), start, run))
        })
    }

    /// Which method is vbem, without jumps.
    pub(crate) fn vbem(&self) -> Option<usize> {
        self.methods.iter().position(|method| method.name == VBEM)
    }

    pub(crate) fn successes(&self, method: usize) -> usize {
        let near = |run: &&RunSummary| run.bound > self.best - NATS;
        self.methods[method].runs.iter().filter(near).count()
    }

    /// The cost of all runs over the number that found the best known bound.
    pub(crate) fn cost(&self, method: usize, measure: Measure) -> f64 {
        self.methods[method].total(measure) / self.successes(method) as f64
    }

    /// Passes of `base` over passes of `method`. One that never succeeds would have cost more than
    /// all its runs together, hence the signs.
    pub(crate) fn ratio(&self, base: usize, method: usize) -> String {
        let cost = |method: usize| {
            let passes = self.methods[method].total(Measure::Passes);
            passes / self.successes(method).max(1) as f64
        };
        let sign = match (self.successes(base), self.successes(method)) {
            (0, 0) => return "–".to_owned(),
            (0, _) => ">",
            (_, 0) => "<",
            _ => "",
        };
        format!("{sign}{:.2}", cost(base) / cost(method))
    }

    /// Differences between the bounds of the same starts.
    pub(crate) fn differences(&self, method: usize, base: usize) -> Vec<f64> {
        let (runs, base) = (&self.methods[method].runs, &self.methods[base].runs);
        let pairs = runs.iter().zip(base);
        pairs.map(|(a, b)| a.bound - b.bound).collect()
    }
}

/// The mean of differences, to be read with its sign, and its standard error.
pub(crate) fn mean_difference(differences: &[f64]) -> (String, f64) {
    let (mean, variance) = moments(differences);
    // The sign of a rounded zero says nothing.
    let mean = if mean.abs() < 0.005 { 0.0 } else { mean };
    let error = (variance / differences.len() as f64).sqrt();
    (format!("{mean:+.2}"), error)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use collapsar::Stop;

    fn runs(name: &str, runs: [(f64, u64, u64); 3]) -> MethodRuns {
        let summary = |(bound, iterations, passes)| RunSummary {
            bound,
            iterations,
            passes: passes as f64,
            seconds: passes as f64 / 100.0,
            outcome: Outcome::Converged(Stop::Gain(1e-6)),
        };
        MethodRuns {
            name: name.to_owned(),
            runs: runs.map(summary).to_vec(),
        }
    }

    /// Two methods, three restarts: vbem finds the optimum twice, fr once.
    pub(crate) fn comparison() -> Comparison {
        let vbem = [(-100.0, 900, 902), (-105.0, 90, 92), (-150.0, 10, 12)];
        let fr = [(-99.0, 30, 60), (-112.0, 20, 40), (-150.0, 10, 20)];
        Comparison::new(vec![runs("vbem", vbem), runs("fr", fr)], None)
    }

    #[test]
    fn runs_that_end_elsewhere_count_in_the_cost() {
        let comparison = comparison();
        assert_eq!(comparison.best, -99.0);
        assert_eq!(comparison.successes(0), 2);
        assert_eq!(comparison.cost(0, Measure::Iterations), 500.0);
        assert_eq!(comparison.cost(1, Measure::Passes), 120.0);
        assert_eq!(comparison.ratio(0, 1), "4.19"); // (1006 / 2) / 120
    }

    #[test]
    fn differences_are_paired() {
        let differences = comparison().differences(1, 0);
        assert_eq!(differences, [1.0, -7.0, 0.0]);
        // The sum of squares about the mean is 38, over 2 and over 3.
        let expected = ("-2.00".to_owned(), (38.0_f64 / 6.0).sqrt());
        assert_eq!(mean_difference(&differences), expected);
        assert_eq!(mean_difference(&[-0.004, 0.0]).0, "+0.00");
    }

    #[test]
    fn a_better_bound_known_beforehand_fails_them_all() {
        let known = |bound| Comparison::new(comparison().methods, Some(bound));
        assert_eq!(known(-50.0).cost(0, Measure::Iterations), f64::INFINITY);
        assert_eq!(known(-50.0).ratio(0, 1), "–");
        assert_eq!(known(-90.5).ratio(0, 1), "8.38"); // both found it once: 1006 / 120
        assert_eq!(known(-89.5).ratio(0, 1), ">8.38");
    }
}
