//! What a fit says of documents in a file, which are read once more for each of these.

use std::ops::ControlFlow;

use collapsar_core::{Point, Result};

use super::super::quality::{correlations, typical};
use super::super::{DocumentScore, Quality, Topics, TopicsFit};
use super::StoredDocuments;
use collapsar_core::Collapsed;

impl Topics<StoredDocuments> {
    /// As [`TopicsFit::typical_documents_of_all`], of documents in a file.
    ///
    /// # Errors
    /// Where documents or counts cannot be read.
    pub fn typical_documents(&self, point: &Point, n: usize) -> Result<Vec<Vec<DocumentScore>>> {
        let (_, alpha, _) = self.warm_of(point);
        typical(alpha, n, &|visit| self.each_counts(point, visit))
    }

    /// As [`TopicsFit::topic_correlations`], of documents in a file.
    ///
    /// # Errors
    /// Where documents or counts cannot be read.
    pub fn correlations(&self, point: &Point) -> Result<Vec<f64>> {
        let (_, alpha, _) = self.warm_of(point);
        correlations(alpha, &|visit| self.each_counts(point, visit))
    }

    /// As [`TopicsFit::quality`] on the documents that were fitted.
    ///
    /// # Errors
    /// Where documents cannot be read.
    pub fn quality(&self, fit: &TopicsFit, n: usize) -> Result<Quality> {
        let corpus = self.local().corpus();
        fit.quality_of_each(n, &|visit| {
            corpus.each(0..corpus.documents(), &mut |block| {
                for index in 0..block.len() {
                    visit(block.document(index).0);
                }
                Ok(ControlFlow::Continue(()))
            })
        })
    }

    fn each_counts(&self, point: &Point, visit: &mut dyn FnMut(usize, &[f64])) -> Result<()> {
        self.local().each(&point.warm, &mut |block, counts| {
            visit(block.first, counts);
            Ok(ControlFlow::Continue(()))
        })
    }
}
