//! Which functions of a row a component sees, made for a block of rows at a time.

/// Which products of a row's numbers are its features, beside one and the numbers themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Features {
    /// The product of each pair of numbers.
    Full,
    /// The square of each number.
    Diagonal,
    /// The sum of all squares.
    Spherical,
    /// None.
    Linear,
    /// For each number whether it is there; the square of each number; NaN is none.
    DiagonalWithGaps,
    /// The same, with the sum of the squares of those that are there.
    SphericalWithGaps,
}

impl Features {
    /// How many features a row of `columns` numbers has (maths §4.1).
    pub fn count(self, columns: usize) -> usize {
        match self {
            Self::Full => 1 + columns + columns * (columns + 1) / 2,
            Self::Diagonal => 1 + 2 * columns,
            Self::Spherical => 2 + columns,
            Self::Linear => 1 + columns,
            Self::DiagonalWithGaps => 1 + 3 * columns,
            Self::SphericalWithGaps => 2 + 2 * columns,
        }
    }

    /// Writes the features of a block, a row each: `block` holds the block's columns, each of
    /// `width` numbers, and so do both sides' rows.
    pub(super) fn expand(self, block: &[f64], width: usize, out: &mut [f64]) {
        self.expand_columns(block, block.len() / width, width, out);
    }

    /// The same of so many columns, of which there may be none.
    pub(super) fn expand_columns(
        self,
        block: &[f64],
        columns: usize,
        width: usize,
        out: &mut [f64],
    ) {
        out[..width].fill(1.0);
        if matches!(self, Self::DiagonalWithGaps | Self::SphericalWithGaps) {
            self.expand_there(block, width, &mut out[width..]);
            return;
        }
        out[width..width + block.len()].copy_from_slice(block);
        let squares = &mut out[width + block.len()..];
        match self {
            Self::Full => {
                let pairs = (0..columns).flat_map(|i| (i..columns).map(move |j| (i, j)));
                for (row, (i, j)) in squares.chunks_exact_mut(width).zip(pairs) {
                    let (left, right) = (&block[i * width..][..width], &block[j * width..]);
                    for ((p, a), b) in row.iter_mut().zip(left).zip(right) {
                        *p = a * b;
                    }
                }
            }
            Self::Diagonal => {
                for (p, a) in squares.iter_mut().zip(block) {
                    *p = a * a;
                }
            }
            Self::Spherical => {
                let row = &mut squares[..width];
                row.fill(0.0);
                for column in block.chunks_exact(width) {
                    for (p, a) in row.iter_mut().zip(column) {
                        *p += a * a;
                    }
                }
            }
            Self::Linear | Self::DiagonalWithGaps | Self::SphericalWithGaps => {}
        }
    }

    /// Writes which numbers are there, those, and their squares.
    fn expand_there(self, block: &[f64], width: usize, out: &mut [f64]) {
        let (there, rest) = out.split_at_mut(block.len());
        let (numbers, squares) = rest.split_at_mut(block.len());
        squares.fill(0.0);
        for (at, x) in block.iter().enumerate() {
            let missing = x.is_nan();
            there[at] = f64::from(u8::from(!missing));
            numbers[at] = if missing { 0.0 } else { *x };
            let place = match self {
                Self::DiagonalWithGaps => at,
                _ => at % width,
            };
            squares[place] += numbers[at] * numbers[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_what_maths_says() {
        let block = [2.0, 5.0, 3.0, 7.0]; // two rows (2,3) and (5,7), column by column
        let expand = |kind: Features| {
            let mut out = vec![f64::NAN; kind.count(2) * 2];
            kind.expand(&block, 2, &mut out);
            out
        };
        let block = [2.0, f64::NAN, 3.0, 7.0];
        let gaps = |kind: Features| {
            let mut out = vec![f64::NAN; kind.count(2) * 2];
            kind.expand(&block, 2, &mut out);
            out
        };
        assert_eq!(
            gaps(Features::DiagonalWithGaps),
            [1., 1., 1., 0., 1., 1., 2., 0., 3., 7., 4., 0., 9., 49.]
        );
        assert_eq!(
            gaps(Features::SphericalWithGaps),
            [1., 1., 1., 0., 1., 1., 2., 0., 3., 7., 13., 49.]
        );
        assert_eq!(expand(Features::Linear), [1., 1., 2., 5., 3., 7.]);
        assert_eq!(
            expand(Features::Spherical),
            [1., 1., 2., 5., 3., 7., 13., 74.]
        );
        assert_eq!(
            expand(Features::Diagonal),
            [1., 1., 2., 5., 3., 7., 4., 25., 9., 49.]
        );
        assert_eq!(
            expand(Features::Full),
            [1., 1., 2., 5., 3., 7., 4., 25., 6., 35., 9., 49.]
        );
    }
}
