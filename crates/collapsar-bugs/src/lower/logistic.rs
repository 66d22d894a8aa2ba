//! How a count whose log odds are a predictor becomes terms: by a Pólya-Gamma variable of its own (maths §9.10).

use std::rc::Rc;

use collapsar::graph::{Atom, Kind};

use super::emit::Emit;
use crate::elaborate::Resolved;
use crate::value::{Inverse, Scalar};

impl Emit<'_> {
    /// Adds ln of p^x (1 - p)^{n - x}, where p is the first parameter and has a polynomial of Gaussians as its log odds:
    /// κψ - ωψ²/2 - n ln 2 with κ = x - n/2 (PolsonEtAl13).
    pub(super) fn logistic(&mut self, x: f64, n: f64, p: &Scalar) -> Resolved {
        let Scalar::Linked(Inverse::Logit, predictor) = p else {
            return Ok(());
        };
        if n == 0.0 {
            return Ok(());
        }
        let predictor = Scalar::Polynomial(Rc::clone(predictor));
        self.check_mean(&predictor)?;
        let variable = self.hidden("the Pólya-Gamma variables", Kind::PolyaGamma)?;
        self.sink.shapes.push((variable, n));
        self.add(-n * std::f64::consts::LN_2, &[])?;
        self.add_times(x - 0.5 * n, vec![], &predictor)?;
        let omega = Atom { variable, part: 0 };
        self.add_product_of(-0.5, vec![omega], &predictor, &predictor)
    }
}
