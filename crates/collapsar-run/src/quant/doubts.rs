//! What makes the result of a quantification doubtful, as data.

use collapsar::quant::fragment::{Library, LibraryType, Strand};

use super::input::QuantInput;
use super::request::QuantRequest;
use super::solve::Solved;

/// A reason to doubt a result. Numbers are fractions of the reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// The climb was stopped for this reason.
    NotConverged(String),
    /// Draws of the collapsed posterior are too alike where transcripts share reads.
    CollapsedDraws,
    /// So few reads are aligned, as with the wrong transcripts.
    FewAligned(f64),
    /// So few reads fit the library type that was given.
    FewFit(LibraryType, f64),
    /// Only so many reads fit the library type that was learned.
    UncertainFit(LibraryType, f64),
    /// So many reads are of one strand in a library that was found to be unstranded.
    UncertainStrand(LibraryType, f64),
}

/// Fewer aligned reads, or reads that fit a given library type, are a sign of a mistake.
const FEW: f64 = 0.5;
/// A learned library type that fewer reads fit is uncertain.
const FIT: f64 = 0.9;
/// An unstranded library with more reads of one strand is uncertain.
const SKEWED: f64 = 0.7;
/// Reads from which on fractions are worth a warning.
const ENOUGH: u64 = 100;

/// What makes a result doubtful.
pub(super) fn doubts(request: &QuantRequest, input: &QuantInput, solved: &Solved) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if !solved.outcome.converged {
        doubts.push(Doubt::NotConverged(solved.outcome.reason.clone()));
    }
    if request.draws > 0 && !request.exact {
        doubts.push(Doubt::CollapsedDraws);
    }
    let Some(learned) = &input.learned else {
        return doubts;
    };
    if learned.aligned() < FEW {
        doubts.push(Doubt::FewAligned(learned.aligned()));
    }
    let (library, seen) = (learned.report.library, &learned.report.orientations);
    let fit = seen.fraction(library);
    let of_strand = |strand| seen.fraction(LibraryType { strand, ..library });
    let larger = of_strand(Strand::Forward).max(of_strand(Strand::Reverse));
    let larger = larger / fit.max(f64::MIN_POSITIVE);
    let doubt = match request.fragments.library {
        _ if seen.total() < ENOUGH => None,
        Library::Given(_) => (fit < FEW).then_some(Doubt::FewFit(library, fit)),
        Library::Auto if fit < FIT => Some(Doubt::UncertainFit(library, fit)),
        Library::Auto if library.strand == Strand::Either && larger > SKEWED => {
            Some(Doubt::UncertainStrand(library, larger))
        }
        Library::Auto => None,
    };
    doubts.extend(doubt);
    doubts
}
