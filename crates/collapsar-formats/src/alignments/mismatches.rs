//! Reads the MD tag: how many bases agree, then what the target has where one does not, and so on.

/// The mismatches of an MD tag, counted over the bases of the read that lie on the target.
#[derive(Debug)]
pub(super) struct Mismatches<'a> {
    rest: &'a [u8],
    /// Bases passed so far.
    index: usize,
    next: Option<(usize, u8)>,
    valid: bool,
}

impl<'a> Mismatches<'a> {
    pub(super) fn new(tag: &'a [u8]) -> Self {
        let mut mismatches = Mismatches {
            rest: tag,
            index: 0,
            next: None,
            valid: true,
        };
        mismatches.advance();
        mismatches
    }

    /// The next mismatch before base `end`, and the target's base there.
    pub(super) fn before(&mut self, end: usize) -> Option<(usize, u8)> {
        let found = self.next.filter(|&(index, _)| index < end)?;
        self.advance();
        Some(found)
    }

    /// The bases that the tag covers, if it is a tag and all its mismatches have been taken.
    pub(super) fn length(&self) -> Option<usize> {
        (self.valid && self.next.is_none()).then_some(self.index)
    }

    fn advance(&mut self) {
        self.next = None;
        while let [byte, rest @ ..] = self.rest {
            match byte {
                b'0'..=b'9' => {
                    let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
                    let (number, rest) = self.rest.split_at(digits);
                    let number = number.iter().fold(0_usize, |sum, digit| {
                        sum.saturating_mul(10)
                            .saturating_add(usize::from(digit - b'0'))
                    });
                    self.index = self.index.saturating_add(number);
                    self.rest = rest;
                }
                // Deleted bases, up to the next number.
                b'^' => {
                    let deleted = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
                    self.rest = &rest[deleted..];
                }
                letter if letter.is_ascii_alphabetic() => {
                    self.next = Some((self.index, letter.to_ascii_uppercase()));
                    self.index = self.index.saturating_add(1);
                    self.rest = rest;
                    return;
                }
                _ => {
                    self.valid = false;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mismatches;

    fn read(tag: &str) -> (Vec<(usize, u8)>, Option<usize>) {
        let mut mismatches = Mismatches::new(tag.as_bytes());
        let mut all = Vec::new();
        while let Some(found) = mismatches.before(usize::MAX) {
            all.push(found);
        }
        (all, mismatches.length())
    }

    #[test]
    fn tags() {
        assert_eq!(read("75"), (vec![], Some(75)));
        assert_eq!(read("10A5^AC6"), (vec![(10, b'A')], Some(22)));
        assert_eq!(
            read("0g0T3^A0C"),
            (vec![(0, b'G'), (1, b'T'), (5, b'C')], Some(6))
        );
        assert_eq!(read("7-3"), (vec![], None));
        // More bases than can be counted fit no alignment.
        assert_eq!(read("99999999999999999999999A1").1, None);
        let mut mismatches = Mismatches::new(b"3A4");
        assert_eq!(mismatches.before(3), None);
        assert_eq!(mismatches.length(), None);
        assert_eq!(mismatches.before(4), Some((3, b'A')));
        assert_eq!(mismatches.length(), Some(8));
    }
}
