//! Elementary functions whose bits are those of the program, whatever it runs on.
//!
//! The methods of `f64` of these names call the C library, which has several versions of each and takes one by the
//! processor: glibc's logarithm and exponential round otherwise where it finds fused multiply-add. Those of `libm` are
//! plain Rust without such a choice, the ports that musl and FreeBSD have, to less than one unit in the last place. Its
//! exponential took 2.4 times as long as glibc's, which passes of all models noticed: `exp` has a faster one. `ln` has the same
//! bits as theirs, in fewer branches. `pxfm`, whose functions
//! are rounded right, took 2.5 times as long as glibc for logarithms and 60 times for powers.
//! Of `f64` itself, what IEEE 754 defines to the last bit may be used: sums, products, quotients, roots,
//! `mul_add`, comparisons and roundings. `clippy.toml` lists what may not.
//!
//! On hot paths `kernel` has its own logarithm and exponential, which become vector code, and `kernel::logarithm` the one here.

#![allow(clippy::inline_always)] // vectors exist only where everything is inlined into the dispatch

mod exp;
mod ln;

/// What `kernel` makes vectors of.
pub(crate) mod many {
    /// Whether a number is normal and above zero.
    #[inline(always)]
    pub(crate) fn is_normal(x: f64) -> bool {
        super::ln::is_normal(x)
    }

    /// $\ln x$ of a number that is.
    #[inline(always)]
    pub(crate) fn ln_of_normal(x: f64) -> f64 {
        super::ln::of_normal(x)
    }
}

/// Functions named as those of `f64`, with an underscore because the names are taken.
pub trait Elementary: Sized {
    /// $e^x$.
    #[must_use]
    fn exp_(self) -> Self;
    /// $e^x - 1$.
    #[must_use]
    fn exp_m1_(self) -> Self;
    /// $\ln x$.
    #[must_use]
    fn ln_(self) -> Self;
    /// $\ln(1 + x)$.
    #[must_use]
    fn ln_1p_(self) -> Self;
    /// $\log_2 x$.
    #[must_use]
    fn log2_(self) -> Self;
    /// $\log_{10} x$.
    #[must_use]
    fn log10_(self) -> Self;
    /// $x^y$.
    #[must_use]
    fn powf_(self, exponent: Self) -> Self;
    /// $x^{1/3}$.
    #[must_use]
    fn cbrt_(self) -> Self;
    /// $\sqrt{x^2 + y^2}$.
    #[must_use]
    fn hypot_(self, other: Self) -> Self;
    /// $\sin x$.
    #[must_use]
    fn sin_(self) -> Self;
    /// $\cos x$.
    #[must_use]
    fn cos_(self) -> Self;
    /// $\sin x$ and $\cos x$.
    #[must_use]
    fn sin_cos_(self) -> (Self, Self);
    /// $\tan x$.
    #[must_use]
    fn tan_(self) -> Self;
    /// $\arcsin x$.
    #[must_use]
    fn asin_(self) -> Self;
    /// $\arccos x$.
    #[must_use]
    fn acos_(self) -> Self;
    /// $\arctan x$.
    #[must_use]
    fn atan_(self) -> Self;
    /// The angle of the point at `x` to the right and `self` up.
    #[must_use]
    fn atan2_(self, x: Self) -> Self;
    /// $\sinh x$.
    #[must_use]
    fn sinh_(self) -> Self;
    /// $\cosh x$.
    #[must_use]
    fn cosh_(self) -> Self;
    /// $\tanh x$.
    #[must_use]
    fn tanh_(self) -> Self;
    /// $\operatorname{arsinh} x$.
    #[must_use]
    fn asinh_(self) -> Self;
    /// $\operatorname{arcosh} x$.
    #[must_use]
    fn acosh_(self) -> Self;
    /// $\operatorname{artanh} x$.
    #[must_use]
    fn atanh_(self) -> Self;
}

macro_rules! of_libm {
    ($($name:ident = $function:ident;)*) => {
        $(
            #[inline]
            fn $name(self) -> Self {
                libm::$function(self)
            }
        )*
    };
}

impl Elementary for f64 {
    of_libm! {
        exp_m1_ = expm1;
        ln_1p_ = log1p;
        log2_ = log2;
        log10_ = log10;
        cbrt_ = cbrt;
        sin_ = sin;
        cos_ = cos;
        tan_ = tan;
        asin_ = asin;
        acos_ = acos;
        atan_ = atan;
        sinh_ = sinh;
        cosh_ = cosh;
        tanh_ = tanh;
        asinh_ = asinh;
        acosh_ = acosh;
        atanh_ = atanh;
    }

    #[inline]
    fn exp_(self) -> Self {
        exp::exp(self)
    }

    #[inline]
    fn ln_(self) -> Self {
        ln::ln(self)
    }

    #[inline]
    fn powf_(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }

    #[inline]
    fn hypot_(self, other: Self) -> Self {
        libm::hypot(self, other)
    }

    #[inline]
    fn sin_cos_(self) -> (Self, Self) {
        libm::sincos(self)
    }

    #[inline]
    fn atan2_(self, x: Self) -> Self {
        libm::atan2(self, x)
    }
}
