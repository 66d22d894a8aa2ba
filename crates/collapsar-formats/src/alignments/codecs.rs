//! Decides how much a packed block of CRAM makes its decoder take memory for, by all the sizes that stand inside it.
//!
//! Codecs hold others, each with a size of its own, for which the format crate takes memory before it looks for a byte. All of them
//! stand in the clear, but for those of xz blocks after the first.

/// Codecs inside one another, beyond which no encoder goes and a decoder's stack might not either.
const DEEPEST: u32 = 4;
/// What the models of qualities take, whatever the size, and what each name of a read does.
const MODELS: u64 = 1 << 24;
const NAME: u64 = 128 * 24;
/// Bits of the flags of newer codecs.
const ORDER: u8 = 0x01;
const STRIPE: u8 = 0x08;
const WITHOUT_SIZE: u8 = 0x10;
const PLAIN: u8 = 0x20;
const RUNS: u8 = 0x40;
const PACKED: u8 = 0x80;
/// Codecs by the numbers of their methods.
const XZ: u8 = 3;
const RANS_4X8: u8 = 4;
const RANS_NX16: u8 = 5;
const ARITHMETIC: u8 = 6;
const QUALITIES: u8 = 7;
const NAMES: u8 = 8;

/// Whether a method is that of qualities, whose models take milliseconds to make, however little they decode.
pub(super) fn has_models(method: u8) -> bool {
    method == QUALITIES
}

/// Bytes that decoding a block takes at most, which says of itself that it becomes so many.
pub(super) fn claimed(method: u8, data: &[u8], size: u32) -> u64 {
    let mut claims = Claims(0);
    let mut data = Bytes(data);
    // Where bytes end too early the decoder ends as well.
    let _ = match method {
        XZ => claims.xz(&mut data),
        // The order and the packed size come first.
        RANS_4X8 => data
            .split(5)
            .and_then(|_| data.word())
            .map(|size| claims.take(size)),
        RANS_NX16 | ARITHMETIC => claims.stream(&mut data, size.into(), method, 0),
        QUALITIES => {
            claims.take(MODELS);
            data.sevens().map(|size| claims.take(size))
        }
        NAMES => claims.names(&mut data),
        _ => None,
    };
    claims.0.max(size.into())
}

/// Bytes that are left to look at.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn byte(&mut self) -> Option<u8> {
        self.split(1).map(|byte| byte[0])
    }

    fn word(&mut self) -> Option<u64> {
        let bytes = self.split(4)?.first_chunk().copied()?;
        Some(u32::from_le_bytes(bytes).into())
    }

    fn split(&mut self, count: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of which each byte has seven bits, the highest first.
    fn sevens(&mut self) -> Option<u64> {
        let mut number = 0;
        for _ in 0..5 {
            let byte = self.byte()?;
            number = number << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

/// Bytes that are claimed so far.
struct Claims(u64);

impl Claims {
    fn take(&mut self, bytes: u64) {
        self.0 = self.0.saturating_add(bytes);
    }

    /// rANS with 4 or 32 states, or the adaptive arithmetic coder.
    fn stream(&mut self, data: &mut Bytes<'_>, size: u64, method: u8, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            self.take(u64::MAX);
            return None;
        }
        let flags = data.byte()?;
        let is = |flag: u8| flags & flag != 0;
        let mut size = if is(WITHOUT_SIZE) {
            size
        } else {
            data.sevens()?
        };
        if is(STRIPE) {
            self.take(size);
            let count = u64::from(data.byte()?);
            let packed: Vec<u64> = (0..count).map(|_| data.sevens()).collect::<Option<_>>()?;
            for (index, packed) in (0..).zip(packed) {
                let share = size / count + u64::from(size % count > index);
                let mut part = Bytes(data.split(packed)?);
                // What ends early inside ends there, after what was claimed before.
                self.stream(&mut part, share, method, depth + 1);
            }
            return Some(());
        }
        if is(PACKED) {
            self.take(size);
            let symbols = data.byte()?;
            data.split(symbols.into())?;
            size = data.sevens()?;
        }
        if is(RUNS) && method == RANS_NX16 {
            self.take(size);
            let lengths = data.sevens()?;
            size = data.sevens()?;
            if lengths & 1 == 0 {
                let packed = data.sevens()?;
                data.split(packed)?;
                self.take(lengths >> 1);
            } else {
                data.split(lengths >> 1)?;
            }
        }
        self.take(size);
        if is(ORDER) && !is(PLAIN) && method == RANS_NX16 && data.byte()? & 1 != 0 {
            self.take(data.sevens()?);
        }
        Some(())
    }

    /// Names of reads: tokens of each, place by place, in streams of their own or as those of another place.
    fn names(&mut self, data: &mut Bytes<'_>) -> Option<()> {
        self.take(data.word()?);
        let names = data.word()?;
        self.take(names.saturating_mul(NAME));
        let method = if data.byte()? == 0 {
            RANS_NX16
        } else {
            ARITHMETIC
        };
        let mut largest = names;
        while let Some(kind) = data.byte() {
            // The kinds of a place that begins without any are those of the names before.
            if kind & 0x80 != 0 && kind & 0x3f != 0 {
                self.take(names);
            }
            if kind & 0x40 != 0 {
                data.split(2)?;
                self.take(largest);
            } else {
                let packed = data.sevens()?;
                let before = self.0;
                self.stream(&mut Bytes(data.split(packed)?), 0, method, 1);
                largest = largest.max(self.0 - before);
            }
        }
        Some(())
    }

    /// The dictionary of the first block of xz.
    fn xz(&mut self, data: &mut Bytes<'_>) -> Option<()> {
        // The stream's header, then the size of the block's and its flags.
        data.split(13)?;
        let flags = data.byte()?;
        let given = u32::from(flags & 0x40 != 0) + u32::from(flags & 0x80 != 0);
        for _ in 0..given {
            while data.byte()? & 0x80 != 0 {}
        }
        for _ in 0..=flags & 3 {
            let filter = data.byte()?;
            let properties = data.byte()?;
            let properties = data.split(properties.into())?;
            if filter == 0x21 {
                let bits = u32::from(*properties.first()? & 0x3f).min(40);
                let mantissa = 2 | u64::from(bits & 1);
                self.take(mantissa << (bits / 2 + 11));
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2³² - 1 and 128 in sevens.
    const HUGE: [u8; 5] = [0x8f, 0xff, 0xff, 0xff, 0x7f];
    const LARGE: u64 = u32::MAX as u64;

    #[test]
    fn sizes_inside_are_seen() {
        let of = |method, parts: &[&[u8]]| claimed(method, &parts.concat(), 7);
        // What has no size of its own has that of the block.
        assert_eq!(of(RANS_NX16, &[&[WITHOUT_SIZE]]), 7);
        assert_eq!(of(RANS_4X8, &[&[0; 5], &[0xff; 4]]), LARGE);
        for method in [RANS_NX16, ARITHMETIC] {
            assert_eq!(of(method, &[&[0], &HUGE]), LARGE);
            // Packed: becomes 7, of one symbol, from so many.
            assert_eq!(of(method, &[&[PACKED, 7, 1, 0], &HUGE]), 7 + LARGE);
            // One of two stripes.
            let stripe = [&[0][..], &HUGE].concat();
            let sizes = [0, 1, stripe.len() as u8];
            let stripes = of(method, &[&[STRIPE, 7, 2], &sizes[1..], &[0], &stripe]);
            assert_eq!(stripes, 7 + LARGE);
        }
        // Runs: their lengths, and what is repeated.
        assert_eq!(of(RANS_NX16, &[&[RUNS, 7], &HUGE]), 7);
        assert_eq!(of(RANS_NX16, &[&[RUNS, 7, 1], &HUGE]), 7 + LARGE);
        let lengths = [&[RUNS, 7][..], &[0x8f, 0xff, 0xff, 0xff, 0x7e], &[1, 0]];
        assert_eq!(of(RANS_NX16, &lengths), 7 + LARGE / 2 + 1);
        // A table of frequencies that is packed itself.
        assert_eq!(of(RANS_NX16, &[&[ORDER, 7, 1], &HUGE]), 7 + LARGE);
        assert_eq!(of(QUALITIES, &[&HUGE]), MODELS + LARGE);
    }

    #[test]
    fn names_and_their_streams() {
        let of = |parts: &[&[u8]]| claimed(NAMES, &parts.concat(), 7);
        let (none, two, many) = ([0; 4], [2, 0, 0, 0], [0xff; 4]);
        assert_eq!(of(&[&many, &two, &[0]]), LARGE + 2 * NAME);
        assert_eq!(of(&[&none, &many, &[0]]), LARGE * NAME);
        // A stream of a new place, and what repeats it.
        let stream = [&[0x81, 6, 0][..], &HUGE].concat();
        let all = 2 * NAME + 2 + LARGE;
        assert_eq!(of(&[&none, &two, &[0], &stream]), all);
        assert_eq!(
            of(&[&none, &two, &[0], &stream, &[0x41, 0, 0]]),
            all + LARGE
        );
    }

    #[test]
    fn stripes_inside_stripes_end() {
        let mut bytes = vec![0, 7];
        for _ in 0..12 {
            bytes = [&[STRIPE, 7, 1, bytes.len() as u8], &bytes[..]].concat();
        }
        assert_eq!(claimed(RANS_NX16, &bytes, 7), u64::MAX);
    }

    #[test]
    fn dictionaries_of_xz() {
        let block = |flags: u8, given: &[u8], dictionary: u8| {
            let header = [&[0; 12][..], &[2, flags], given, &[0x21, 1, dictionary]];
            claimed(XZ, &header.concat(), 7)
        };
        assert_eq!(block(0, &[], 0), 4096);
        assert_eq!(block(0xc0, &[0x81, 0, 5], 22), 8 << 20);
        assert_eq!(block(0, &[], 40), 4 << 30);
    }
}
