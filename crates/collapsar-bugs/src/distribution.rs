//! Decides which distributions the language has: their names, their parameters and what they give.
//!
//! A new one is a line of the table. The compiler then asks for its terms (`lower/distributions.rs`), for the
//! variables that it is a prior of (`lower/kinds.rs`) and for draws (`predict.rs`).

use crate::diagnostic::{Checked, Diagnostic};
use crate::syntax::ast::Name;

use collapsar::elementary::Elementary;

/// The values that a distribution gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    Reals,
    Vectors,
    Positive,
    PositiveDefinite,
    Bounded,
    Simplex,
    /// As many whole numbers from the lowest on as the parameters say: unknown ones are labels.
    States(u32),
    Counts,
    CountVectors,
}

struct Entry {
    distribution: Distribution,
    /// The name in BUGS, then those of JAGS and R.
    names: &'static [&'static str],
    parameters: &'static [&'static str],
    support: Support,
}

macro_rules! distributions {
    ($($variant:ident $names:tt $parameters:tt $support:expr;)*) => {
        /// A distribution of the language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Distribution {
            $($variant),*
        }

        /// In the order of the enumeration, which is that in which they are told.
        const TABLE: &[Entry] = &[
            $(Entry {
                distribution: Distribution::$variant,
                names: &$names,
                parameters: &$parameters,
                support: $support,
            }),*
        ];
    };
}

distributions! {
    Normal ["dnorm"] ["mean", "precision"] Support::Reals;
    LogNormal ["dlnorm"] ["mean", "precision"] Support::Positive;
    Flat ["dflat"] [] Support::Reals;
    StudentT ["dt"] ["mean", "precision", "degrees of freedom"] Support::Reals;
    MultivariateNormal ["dmnorm"] ["mean", "precision"] Support::Vectors;
    Gamma ["dgamma"] ["shape", "rate"] Support::Positive;
    Exponential ["dexp"] ["rate"] Support::Positive;
    ChiSquared ["dchisqr", "dchisq"] ["degrees of freedom"] Support::Positive;
    ScaledGamma ["dscaled.gamma"] ["scale", "degrees of freedom"] Support::Positive;
    Pareto ["dpar"] ["shape", "lower end"] Support::Positive;
    Wishart ["dwish"] ["scale matrix", "degrees of freedom"] Support::PositiveDefinite;
    Beta ["dbeta"] ["first shape", "second shape"] Support::Bounded;
    Uniform ["dunif"] ["lower end", "upper end"] Support::Bounded;
    Dirichlet ["ddirch", "ddirich"] ["concentrations"] Support::Simplex;
    Categorical ["dcat"] ["probabilities"] Support::States(1);
    Bernoulli ["dbern"] ["probability"] Support::States(0);
    Binomial ["dbin", "dbinom"] ["probability", "number of trials"] Support::States(0);
    Multinomial ["dmulti", "dmultinom"] ["probabilities", "number of trials"] Support::CountVectors;
    Poisson ["dpois"] ["rate"] Support::Counts;
    NegativeBinomial ["dnegbin", "dnbinom"] ["probability", "size"] Support::Counts;
    Weibull ["dweib", "dweibull"] ["shape", "rate"] Support::Positive;
    NormalMixture ["dnormmix"] ["mean", "precision", "weight"] Support::Reals;
    Interval ["dinterval"] ["number", "cuts"] Support::Counts;
    Laplace ["ddexp"] ["mean", "rate"] Support::Reals;
    Logistic ["dlogis"] ["mean", "rate"] Support::Reals;
    GeneralisedGamma ["dgen.gamma", "dggamma"] ["shape", "rate", "power"] Support::Positive;
    F ["df"] ["first degrees of freedom", "second degrees of freedom"] Support::Positive;
    NoncentralChiSquared ["dnchisqr", "dnchisq"] ["degrees of freedom", "non-centrality"] Support::Positive;
    BetaBinomial ["dbetabin", "dbetabinom"] ["first shape", "second shape", "number of trials"] Support::Counts;
}

impl Distribution {
    fn entry(self) -> &'static Entry {
        &TABLE[self as usize]
    }

    /// The distribution of a name, with so many arguments.
    pub(crate) fn named(name: &Name, arguments: usize) -> Checked<Self> {
        let Name { text, span } = name;
        let mut entries = TABLE.iter();
        let Some(entry) = entries.find(|entry| entry.names.contains(&text.as_str())) else {
            let message = format!("{text} is not a distribution that is supported");
            return Err(Diagnostic::new(*span, message, "unknown distribution").help(instead(text)));
        };
        let count = entry.parameters.len();
        if arguments != count {
            let message = format!("{text} takes {count} parameters, and {arguments} are given");
            return Err(Diagnostic::new(*span, message, "here"));
        }
        Ok(entry.distribution)
    }

    pub(crate) fn parameter(self, argument: usize) -> &'static str {
        self.entry().parameters[argument]
    }

    pub(crate) fn support(self) -> Support {
        self.entry().support
    }

    /// The value of the first state of a label.
    pub(crate) fn lowest_state(self) -> Option<u32> {
        match self.support() {
            Support::States(lowest) => Some(lowest),
            _ => None,
        }
    }

    /// Whether it gives several numbers together.
    pub(crate) fn is_multivariate(self) -> bool {
        use Support::{CountVectors, PositiveDefinite, Simplex, Vectors};
        matches!(
            self.support(),
            Vectors | PositiveDefinite | Simplex | CountVectors
        )
    }

    /// Whether a line may say bounds of its numbers.
    pub(crate) fn has_bounds(self) -> bool {
        matches!(
            self,
            Self::Normal | Self::StudentT | Self::Gamma | Self::Exponential | Self::ChiSquared
        )
    }

    /// Whether each parameter is one number.
    pub(crate) fn takes_single_numbers(self) -> bool {
        !self.is_multivariate()
            && !matches!(
                self,
                Self::Categorical | Self::NormalMixture | Self::Interval
            )
    }

    /// Whether it is left out of a fit and predicted where no datum depends on it; others are
    /// supported only where they are observed.
    pub(crate) fn is_predicted(self) -> bool {
        !matches!(self, Self::NormalMixture | Self::Interval | Self::Flat)
    }

    /// Whether parameters are probabilities, which may be products.
    pub(crate) fn has_probabilities(self) -> bool {
        use Distribution::{Bernoulli, Binomial, Categorical, Multinomial, NegativeBinomial};
        matches!(
            self,
            Categorical | Bernoulli | Binomial | Multinomial | NegativeBinomial
        )
    }

    /// Whether it is normal, perhaps in the logarithm: its terms are polynomials in what is [counted](Self::counted) of
    /// the data.
    pub(crate) fn is_normal(self) -> bool {
        matches!(
            self,
            Self::Normal | Self::MultivariateNormal | Self::LogNormal
        )
    }

    /// What terms are made of where a number is observed: itself, or its logarithm; nothing where it has none.
    pub(crate) fn counted(self, x: f64) -> Option<f64> {
        match self {
            Self::LogNormal if x > 0.0 => Some(x.ln_()),
            Self::LogNormal => None,
            _ => Some(x),
        }
    }
}

/// What to write for a distribution that there is not.
fn instead(name: &str) -> String {
    let instead = match name {
        "dt" => {
            "a Student distribution is a scale mixture: y ~ dnorm(mu, tau*w) with w ~ dgamma(k/2, k/2)"
        }
        "dgeom" => "dnegbin(p, 1) counts the failures before the first success",
        "dbetabin" | "dbetabinom" => {
            "write the probability out: y ~ dbin(p, n) with p ~ dbeta(a, b)"
        }
        "dinvgamma" | "dinv.gamma" | "digamma" => "give the precision, one over it, a dgamma prior",
        "dhalfnorm" | "dhnorm" => "dnorm(0, tau) T(0,) is half-normal",
        "car.normal" | "dcar" | "dcar_normal" => {
            "write u[1:N] ~ dmnorm(zero[], tau*Q[,]) with a known Q"
        }
        "norm" | "normal" | "gaussian" => "dnorm(mean, precision) is the normal distribution",
        _ => {
            let names: Vec<&str> = TABLE.iter().map(|entry| entry.names[0]).collect();
            return format!("supported are {}", names.join(", "));
        }
    };
    instead.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_distribution() {
        let named = |text: &str, arguments: usize| {
            let (text, span) = (text.to_owned(), crate::Span::default());
            Distribution::named(&Name { text, span }, arguments)
        };
        for entry in TABLE {
            for &name in entry.names {
                let count = entry.parameters.len();
                assert_eq!(named(name, count), Ok(entry.distribution));
                assert!(named(name, count + 1).is_err());
                assert!(named(&name[1..], count).is_err());
            }
        }
    }
}
