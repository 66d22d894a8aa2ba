//! Values that flags of several subcommands take.

use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use collapsar::limits::{COMPONENTS, NUMBERS, THREADS};

/// Takes one of the library's own names.
pub(crate) fn named<T, const N: usize>(
    all: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.map(|(name, _)| name)).map(move |given: String| {
        let found = all.iter().find(|(name, _)| *name == given);
        found.expect("one of the names offered").1
    })
}

pub(crate) fn not_negative(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number of 0 or more"),
    }
}

/// A count that is no more than a limit.
pub(crate) fn up_to(limit: u32) -> impl TypedValueParser<Value = usize> {
    let counts = clap::value_parser!(u32).range(..=i64::from(limit));
    counts.map(|count| count as usize)
}

/// How many threads: each takes memory before it does anything.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let given = text.parse().ok();
    given
        .filter(|given: &NonZeroUsize| given.get() <= THREADS as usize)
        .ok_or_else(|| format!("expected a number from 1 to {THREADS}"))
}

/// Bytes, as in 2GB.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    collapsar_run::bytes(text)
}

/// A number, or nothing where it is to be learned.
pub(crate) fn auto(text: &str) -> Result<Option<f64>, &'static str> {
    match text {
        "auto" => Ok(None),
        _ => text
            .parse()
            .map(Some)
            .map_err(|_| "expected auto or a number"),
    }
}

/// Numbers of components or topics to fit, each once, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(pub(crate) Vec<usize>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || "expected a number such as 8, a range such as 1..12 or a list such as 2,4,8";
        let too_many = || format!("expected at most {NUMBERS} numbers");
        let number = |text: &str| match text.trim().parse() {
            Ok(0) => Err("expected at least 1".to_owned()),
            Ok(number) if number > COMPONENTS => Err(format!("expected at most {COMPONENTS}")),
            Ok(number) => Ok(number),
            Err(_) => Err(refused().to_owned()),
        };
        let numbers: Vec<usize> = if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
            if first > last {
                return Err(format!(
                    "expected the smaller number first: {last}..{first}"
                ));
            }
            if last - first >= NUMBERS {
                return Err(too_many());
            }
            (first..=last).collect()
        } else {
            text.split(',').map(number).collect::<Result<_, _>>()?
        };
        if numbers.len() > NUMBERS {
            return Err(too_many());
        }
        let mut once = Vec::with_capacity(numbers.len());
        for number in numbers {
            if !once.contains(&number) {
                once.push(number);
            }
        }
        Ok(Self(once))
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn numbers() {
        let parse = |text: &str| text.parse::<Numbers>().map(|numbers| numbers.0);
        assert_eq!(parse("8"), Ok(vec![8]));
        assert_eq!(parse("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(parse("1..=3"), Ok(vec![1, 2, 3]));
        assert_eq!(parse("4, 2,4"), Ok(vec![4, 2]));
        for wrong in [
            "",
            "0",
            "x",
            "0..3",
            "4..2",
            "1..",
            "1,,2",
            "-3",
            "1..18446744073709551615",
            "1..1001",
            "1000001",
            "18446744073709551616",
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
