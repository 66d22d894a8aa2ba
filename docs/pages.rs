//! Decides which pages have their Rust examples compiled and run, by the documentation tests of this crate.

/// Makes the examples of a page tests.
macro_rules! pages {
    ($($name:ident = $page:literal),+ $(,)?) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!($page)]
            struct $name;
        )+
    };
}

pages! {
    Readme = "../README.md",
    Topics = "topics.md",
    Quant = "quant.md",
    Rust = "rust.md",
}
