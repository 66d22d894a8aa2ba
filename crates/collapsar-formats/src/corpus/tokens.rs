//! Decides what a word of a text is: a word by the rules of Unicode (UAX 29), in lower case.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// The words of a text in their order.
pub(super) fn tokens(text: &str, lowercase: bool) -> impl Iterator<Item = Cow<'_, str>> {
    text.unicode_words().map(move |word| {
        // U+FFFD is no part of a word, so what was replaced separates.
        if lowercase && word.chars().any(|c| !c.is_ascii_lowercase()) {
            Cow::Owned(word.to_lowercase())
        } else {
            Cow::Borrowed(word)
        }
    })
}

/// Whether a word is nothing but figures and marks.
pub(super) fn has_no_letter(word: &str) -> bool {
    !word.chars().any(char::is_alphabetic)
}

/// Whether a word has fewer characters than `least`. An ideograph never is too short: Unicode takes each
/// for a word of its own, and a limit meant for initials would empty every Chinese text.
pub(super) fn is_short(word: &str, least: usize) -> bool {
    word.chars().count() < least && !word.chars().any(is_ideograph)
}

fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_unicode() {
        let words = |text: &str| -> Vec<String> { tokens(text, true).map(Into::into).collect() };
        assert_eq!(
            words("The CAT's 3.5 naïve—façades; don’t (ÉCOLE) x\u{fffd}y"),
            [
                "the", "cat's", "3.5", "naïve", "façades", "don’t", "école", "x", "y"
            ]
        );
        assert_eq!(words("主题模型"), ["主", "题", "模", "型"]);
        assert_eq!(words(" \u{0} -- \n"), Vec::<String>::new());
        let kept: Vec<Cow<'_, str>> = tokens("The CAT", false).collect();
        assert_eq!(kept, ["The", "CAT"]);
    }

    #[test]
    fn short_words_and_numbers() {
        assert!(is_short("x", 2) && !is_short("of", 2) && !is_short("题", 2));
        assert!(has_no_letter("3.5") && has_no_letter("1_000") && !has_no_letter("3d"));
    }
}
