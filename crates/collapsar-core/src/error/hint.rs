//! What to try next, as data: options have one name here, and each front end its own for them.

use super::Terms;

/// What to try.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Another value of an option.
    Option(&'static str, Change),
    /// Something that is not an option, in plain words: an imperative's object, as in
    /// `iconv -f latin1 -t utf8`.
    Plain(String),
    /// Any one of these.
    Any(Vec<Hint>),
    /// All of these together.
    All(Vec<Hint>),
}

/// How an option might be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Give it.
    Give,
    /// Give it this value.
    To(String),
    /// Give a lower value.
    Lower,
    /// Give a higher value.
    Higher,
    /// Give fewer or less.
    Fewer,
    /// Leave it out.
    Omit,
    /// Give it, with what these words say, as in `some of the numeric columns`.
    With(Box<str>),
}

impl Hint {
    /// Give the option.
    pub fn give(option: &'static str) -> Self {
        Self::Option(option, Change::Give)
    }

    /// Give the option this value.
    #[expect(clippy::needless_pass_by_value, reason = "texts and numbers alike")]
    pub fn set(option: &'static str, value: impl ToString) -> Self {
        Self::Option(option, Change::To(value.to_string()))
    }

    /// Give the option a lower value.
    pub fn lower(option: &'static str) -> Self {
        Self::Option(option, Change::Lower)
    }

    /// Give the option a higher value.
    pub fn higher(option: &'static str) -> Self {
        Self::Option(option, Change::Higher)
    }

    /// Something that is not an option.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// What follows `try`, in the terms of a front end; `None` where it offers nothing of it.
    pub fn in_terms(&self, terms: &dyn Terms) -> Option<String> {
        let worded = |hint: &Hint| hint.in_terms(terms);
        match self {
            Self::Option(name, change) => terms.offers(name).then(|| change.of(name, terms)),
            Self::Plain(text) => Some(text.clone()),
            Self::Any(hints) => {
                let words: Vec<String> = hints.iter().filter_map(worded).collect();
                (!words.is_empty()).then(|| words.join(" or "))
            }
            Self::All(hints) => {
                let words: Option<Vec<String>> = hints.iter().map(worded).collect();
                Some(words?.join(" and "))
            }
        }
    }

    /// How a sentence ends that may have a hint: `; try …`, or nothing.
    pub fn ending(hint: Option<&Self>, terms: &dyn Terms) -> String {
        let words = hint.and_then(|hint| hint.in_terms(terms));
        words.map_or_else(String::new, |words| format!("; try {words}"))
    }
}

impl Change {
    fn of(&self, name: &'static str, terms: &dyn Terms) -> String {
        let option = terms.option(name);
        match self {
            Self::Give => option,
            Self::To(value) => terms.setting(name, value),
            Self::Lower => format!("a lower {option}"),
            Self::Higher => format!("a higher {option}"),
            Self::Fewer => format!("fewer {option}"),
            Self::Omit => format!("without {option}"),
            Self::With(words) => format!("{option} with {words}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plain;
    use super::*;

    /// A front end that has no columns to choose from.
    struct Arrays;

    impl Terms for Arrays {
        fn offers(&self, name: &'static str) -> bool {
            name != "columns"
        }
    }

    #[test]
    fn what_a_front_end_does_not_offer_is_left_out() {
        let both = || vec![Hint::give("columns"), Hint::lower("scale")];
        let (any, all) = (Hint::Any(both()), Hint::All(both()));
        let words = |hint: &Hint, terms: &dyn Terms| Hint::ending(Some(hint), terms);
        assert_eq!(words(&any, &Plain), "; try columns or a lower scale");
        assert_eq!(words(&all, &Plain), "; try columns and a lower scale");
        assert_eq!(words(&any, &Arrays), "; try a lower scale");
        assert_eq!(words(&all, &Arrays), "");
        assert_eq!(words(&Hint::set("columns", 2), &Arrays), "");
        assert_eq!(words(&Hint::Any(vec![]), &Plain), "");
        assert_eq!(Hint::ending(None, &Plain), "");
    }
}
