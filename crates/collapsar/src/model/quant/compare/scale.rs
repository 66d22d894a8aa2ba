//! Samples made comparable: size factors, lengths, logs of expression.

use super::median;
use collapsar_core::elementary::Elementary;
use collapsar_core::vector::add;
use collapsar_core::{Error, Place, Result};

/// Added to counts before their logs are taken: the log of a Poisson count then has the log of its
/// mean as mean, up to the square of one over it.
const OFFSET: f64 = 0.5;
/// A transcript says how deep samples are if it has so many reads in each.
const ENOUGH: f64 = 10.0;
/// With fewer such transcripts totals decide.
const SOME: usize = 10;

/// The quantification of one sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Its name, for refusals.
    pub name: &'a str,
    /// Reads of each transcript.
    pub counts: &'a [f64],
    /// Effective length of each transcript in this sample.
    pub effective: &'a [f64],
}

/// What makes samples comparable, for transcripts or for genes.
///
/// Counts are taken to the same effective length in all samples. Those of a gene are sums over its
/// transcripts of counts by length, times the gene's length, which is the mean over its transcripts
/// in proportion to their abundance: where one transcript gives way to a longer one, the gene does
/// not change.
#[derive(Debug, Clone, Default)]
pub struct Scale {
    factors: Vec<f64>,
    names: Vec<String>,
    counts: Vec<Vec<f64>>,
    effective: Vec<Vec<f64>>,
    /// The gene of each transcript, unless transcripts are compared.
    genes: Option<Vec<u32>>,
    /// The length of each unit.
    lengths: Vec<f64>,
    reads: Vec<f64>,
    tpm: f64,
}

/// Log2 expression of one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Log2 of the counts by size factor, for each transcript or gene.
    pub means: Vec<f64>,
    /// Their inferential variances, zero without draws.
    pub variances: Vec<f64>,
}

impl Scale {
    /// The scale of these samples' transcripts.
    ///
    /// Size factors are medians of the ratios of counts to their geometric means over samples
    /// (Anders10), over transcripts with ten reads or more in each sample; where there are fewer
    /// than ten of these, they are totals. Their product is one.
    ///
    /// # Errors
    /// [`Error::Data`] where samples differ in their number of transcripts, or one has no reads or
    /// a number that is not finite or negative.
    pub fn new(samples: &[Sample]) -> Result<Self> {
        let transcripts = samples.first().map_or(0, |sample| sample.counts.len());
        let mut scale = Self::default();
        for sample in samples {
            check(sample, transcripts)?;
            scale.names.push(sample.name.to_owned());
            scale.counts.push(sample.counts.to_vec());
            // A length of less than a base is none.
            let effective = sample.effective.iter().map(|l| l.max(1.0));
            scale.effective.push(effective.collect());
        }
        scale.measure(transcripts);
        let scaled: Vec<Vec<f64>> = (scale.counts.iter().enumerate())
            .map(|(sample, counts)| scale.gathered(sample, counts))
            .collect();
        scale.factors = factors(&scale.counts, &scaled);
        let mut rates = 0.0;
        for (scaled, factor) in scaled.iter().zip(&scale.factors) {
            let pairs = scaled.iter().zip(&scale.lengths);
            rates += pairs.map(|(count, length)| count / length).sum::<f64>() / factor;
        }
        scale.tpm = 1e6 * samples.len() as f64 / rates;
        Ok(scale)
    }

    /// The scale of genes, with the same size factors; each gene is given by its transcripts. A
    /// transcript of no gene is left out.
    ///
    /// # Errors
    /// [`Error::Data`] where a gene has a transcript that is not there, or that another has.
    pub fn genes(&self, members: &[Vec<u32>]) -> Result<Self> {
        let transcripts = self.counts.first().map_or(0, Vec::len);
        let none = members.len() as u32;
        let mut genes = vec![none; transcripts];
        for (gene, members) in members.iter().enumerate() {
            for &member in members {
                let place = genes.get_mut(member as usize);
                let Some(place) = place.filter(|place| **place == none) else {
                    let expected = format!("each of {transcripts} at most once");
                    let found = format!("transcript {}", member + 1);
                    return Err(Error::data(Place::item("gene", gene), found, expected));
                };
                *place = gene as u32;
            }
        }
        let mut scale = self.clone();
        scale.genes = Some(genes);
        scale.measure(members.len());
        Ok(scale)
    }

    /// How deep each sample is, compared with the others.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Reads in all samples together, of each transcript or gene.
    pub fn reads(&self) -> &[f64] {
        &self.reads
    }

    /// Log2 expression of the sample of this number, with draws of its counts, if there are two or
    /// more.
    ///
    /// The level is the log of the mean over draws rather than the mean of logs: the latter falls
    /// as draws spread, and so would differ between deep and shallow samples.
    ///
    /// # Errors
    /// [`Error::Data`] where draws are not of the sample's transcripts.
    pub fn levels(&self, sample: usize, draws: &[Vec<f64>]) -> Result<Levels> {
        let shift = self.factors[sample].log2_();
        let log = |count: f64| (count + OFFSET).log2_() - shift;
        let draws = match draws {
            [] | [_] => &self.counts[sample..=sample],
            _ => draws,
        };
        let (units, number) = (self.lengths.len(), draws.len() as f64);
        // Welford's recurrence: no draw is kept, and no digits are lost.
        let [mut means, mut centres, mut squares] = [(); 3].map(|()| vec![0.0; units]);
        for (k, draw) in draws.iter().enumerate() {
            let transcripts = self.counts[sample].len();
            if draw.len() != transcripts {
                let place = Place::Named(self.names[sample].clone()).at(Place::item("draw", k));
                let found = format!("{} transcripts", draw.len());
                return Err(Error::data(place, found, transcripts.to_string()));
            }
            for (unit, count) in self.gathered(sample, draw).into_iter().enumerate() {
                means[unit] += count / number;
                let value = log(count);
                let gap = value - centres[unit];
                centres[unit] += gap / (k + 1) as f64;
                squares[unit] += gap * (value - centres[unit]);
            }
        }
        Ok(Levels {
            means: means.into_iter().map(log).collect(),
            variances: squares
                .iter()
                .map(|sum| sum / (number - 1.0).max(1.0))
                .collect(),
        })
    }

    /// What to add to a unit's level for log2 TPM.
    pub(super) fn to_tpm(&self, unit: usize) -> f64 {
        (self.tpm / self.lengths[unit]).log2_()
    }

    /// Counts of one sample, or a draw of them, at the common lengths.
    fn gathered(&self, sample: usize, counts: &[f64]) -> Vec<f64> {
        let pairs = counts.iter().zip(&self.effective[sample]);
        let mut gathered = vec![0.0; self.lengths.len()];
        for (transcript, (count, effective)) in pairs.enumerate() {
            let unit = self.unit(transcript);
            if let Some(sum) = gathered.get_mut(unit) {
                *sum += count * self.lengths[unit] / effective;
            }
        }
        gathered
    }

    fn unit(&self, transcript: usize) -> usize {
        let genes = self.genes.as_ref();
        genes.map_or(transcript, |genes| genes[transcript] as usize)
    }

    /// Lengths and reads of units over all samples.
    fn measure(&mut self, units: usize) {
        // Reads and reads by length; and, for units without reads, lengths and how many.
        let mut sums = vec![[0.0; 4]; units];
        for (counts, effective) in self.counts.iter().zip(&self.effective) {
            for (transcript, (count, length)) in counts.iter().zip(effective).enumerate() {
                if let Some(sums) = sums.get_mut(self.unit(transcript)) {
                    add(sums, 1.0, &[*count, count / length, *length, 1.0]);
                }
            }
        }
        let length = |&[reads, rate, plain, number]: &[f64; 4]| match (rate > 0.0, number > 0.0) {
            (true, _) => reads / rate,
            (false, true) => plain / number,
            (false, false) => 1.0,
        };
        self.lengths = sums.iter().map(length).collect();
        self.reads = sums.iter().map(|sums| sums[0]).collect();
    }
}

fn check(sample: &Sample, transcripts: usize) -> Result<()> {
    let refused = |found: String, expected: String| {
        let place = Place::Named(sample.name.to_owned());
        Err(Error::data(place, found, expected))
    };
    for (what, values) in [("counts", sample.counts), ("lengths", sample.effective)] {
        if values.len() != transcripts {
            let expected = format!("{transcripts}, one for each transcript");
            return refused(format!("{} {what}", values.len()), expected);
        }
        if let Some(wrong) = values.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            let found = format!("{wrong} among the {what}");
            return refused(found, "finite numbers from 0".into());
        }
    }
    if sample.counts.iter().sum::<f64>() <= 0.0 {
        return refused("no reads".into(), "some; leave the sample out".into());
    }
    Ok(())
}

/// Size factors from counts at common lengths; the raw ones tell which are reliable.
fn factors(raw: &[Vec<f64>], scaled: &[Vec<f64>]) -> Vec<f64> {
    let transcripts = raw.first().map_or(0, Vec::len);
    let reliable: Vec<usize> = (0..transcripts)
        .filter(|&t| raw.iter().all(|counts| counts[t] >= ENOUGH))
        .collect();
    let mut logs: Vec<f64> = if reliable.len() < SOME {
        let totals = scaled.iter().map(|counts| counts.iter().sum::<f64>());
        totals.map(f64::ln_).collect()
    } else {
        let count = scaled.len() as f64;
        let centre = |t: usize| scaled.iter().map(|counts| counts[t].ln_()).sum::<f64>() / count;
        let centres: Vec<f64> = reliable.iter().map(|&t| centre(t)).collect();
        let ratios = scaled.iter().map(|counts| {
            let pairs = reliable.iter().zip(&centres);
            let mut ratios: Vec<f64> = pairs.map(|(&t, c)| counts[t].ln_() - c).collect();
            median(&mut ratios)
        });
        ratios.collect()
    };
    let middle = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    for log in &mut logs {
        *log -= middle;
    }
    logs.into_iter().map(f64::exp_).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(counts: &[Vec<f64>], effective: &[Vec<f64>]) -> Result<Scale> {
        let samples: Vec<Sample> = (counts.iter().zip(effective))
            .map(|(counts, effective)| Sample {
                name: "s",
                counts,
                effective,
            })
            .collect();
        Scale::new(&samples)
    }

    #[test]
    fn factors_ignore_what_changes() {
        let first: Vec<f64> = (0..40).map(|t| 20.0 + f64::from(t)).collect();
        let mut second: Vec<f64> = first.iter().map(|count| 4.0 * count).collect();
        second[3] *= 1000.0;
        second[4] = 0.0;
        let lengths = vec![500.0; 40];
        let scale = scale(&[first, second], &[lengths.clone(), lengths]).unwrap();
        assert!((scale.factors()[0] - 0.5).abs() < 1e-12);
        assert!((scale.factors()[1] - 2.0).abs() < 1e-12);
    }

    #[test]
    fn few_transcripts_go_by_totals() {
        let lengths = vec![vec![500.0; 2]; 2];
        let scale = scale(&[vec![1.0, 3.0], vec![30.0, 34.0]], &lengths).unwrap();
        assert!((scale.factors()[1] / scale.factors()[0] - 16.0).abs() < 1e-12);
    }

    #[test]
    fn a_gene_whose_transcripts_give_way_to_longer_ones_does_not_change() {
        // As many molecules in both samples, of twice the length in the second.
        let counts = [vec![100.0, 0.0, 500.0], vec![0.0, 200.0, 500.0]];
        let lengths = vec![vec![400.0, 800.0, 1000.0]; 2];
        let mut transcripts = scale(&counts, &lengths).unwrap();
        transcripts.factors = vec![1.0; 2];
        let genes = transcripts.genes(&[vec![0, 1], vec![2]]).unwrap();
        let levels = [0, 1].map(|sample| genes.levels(sample, &[]).unwrap());
        assert!((levels[0].means[0] - levels[1].means[0]).abs() < 1e-12);
        assert_eq!(genes.reads(), [300.0, 1000.0]);
        // Draws that swap the two within a sample leave counts but not abundance alone.
        let draws = [vec![100.0, 0.0, 500.0], vec![0.0, 100.0, 500.0]];
        let levels = genes.levels(0, &draws).unwrap();
        assert!(levels.variances[0] > 0.4 && levels.variances[1] == 0.0);
        assert!(genes.levels(0, &[vec![1.0], vec![1.0]]).is_err());
        assert!(transcripts.genes(&[vec![0], vec![0]]).is_err());
        assert!(transcripts.genes(&[vec![7]]).is_err());
    }

    #[test]
    fn refusals() {
        let texts = [
            scale(&[vec![1.0], vec![1.0, 2.0]], &[vec![1.0], vec![1.0]]),
            scale(&[vec![1.0, f64::NAN]], &[vec![1.0, 1.0]]),
            scale(&[vec![0.0, 0.0]], &[vec![1.0, 1.0]]),
        ]
        .map(|refused| refused.unwrap_err().to_string());
        assert_eq!(
            texts,
            [
                "s: 2 counts, expected 1, one for each transcript",
                "s: NaN among the counts, expected finite numbers from 0",
                "s: no reads, expected some; leave the sample out",
            ]
        );
    }
}
