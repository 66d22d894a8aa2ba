//! Names of anyone's choice in HTML and scripts: shown as text, and never run.

use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The most characters of a name that a page shows.
const LONGEST: usize = 120;

/// JSON that may stand inside a script element: nothing in it can end the element or open a comment.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // Outside of strings JSON has none of these.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let code = letter as u32;
                write!(safe, "\\u{code:04x}").expect("strings take all text");
            }
            letter => safe.push(letter),
        }
    }
    safe
}

/// The source of a policy that lets this text run and no other.
pub(crate) fn source_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(digest))
}

/// A drawing as the address of a picture. In an `img` no script of it can run.
pub(crate) fn picture(svg: &str) -> String {
    format!(
        "data:image/svg+xml;base64,{}",
        STANDARD.encode(svg.as_bytes())
    )
}

/// A name that fits on a page: without control characters, and cut where it is long.
pub(crate) fn name(text: &str) -> String {
    self::text(text, LONGEST)
}

/// Text of at most so many characters, without control characters.
pub(crate) fn text(text: &str, longest: usize) -> String {
    let clean = |letter: char| {
        let mark = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if letter.is_control() || mark {
            '\u{fffd}'
        } else {
            letter
        }
    };
    let mut letters = text.chars().map(clean);
    let mut short: String = letters.by_ref().take(longest).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

/// What a run was given, which is long where names are; its record has all of it.
pub(crate) fn settings(text: &str) -> String {
    self::text(text, 2000)
}

/// Names that fit on a page and stay apart: those that are alike once they are cut get a number.
pub(crate) fn names<T: AsRef<str>>(all: &[T]) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let each = all.iter().map(|text| {
        let short = name(text.as_ref());
        let times = seen.entry(short.clone()).or_insert(0);
        *times += 1;
        match *times {
            1 => short,
            times => format!("{short} ({times})"),
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_ends_a_script() {
        let hostile = json!({"</script><script>alert(1)</script>": "<!-- & \u{2028} ]]>"});
        let text = json(&hostile);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }

    #[test]
    fn names_are_cut_and_keep_their_direction_to_themselves() {
        assert_eq!(name("mu[1]"), "mu[1]");
        assert_eq!(name("a\u{202e}b\n"), "a\u{fffd}b\u{fffd}");
        assert_eq!(name(&"x".repeat(10_000)).chars().count(), LONGEST + 1);
        assert_eq!(name("שלום"), "שלום");
        assert_eq!(names(&["a", "b", "a"]), ["a", "b", "a (2)"]);
    }

    #[test]
    fn the_digest_of_a_script() {
        // The example of the Content Security Policy specification.
        assert_eq!(
            source_of("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
