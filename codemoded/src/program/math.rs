//! The `math` namespace (Starlark's `math.star`): floats in, floats out, `ceil` and `floor` to exact integers.

use std::f64::consts;

use num_bigint::BigInt;
use num_traits::FromPrimitive;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::{UnpackValue, Value};

/// A function of `math` has no value here.
#[derive(Debug, thiserror::Error)]
#[error("math.{0}: {1}")]
struct OutsideDomain(&'static str, &'static str);

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    const e: f64 = consts::E;
    const pi: f64 = consts::PI;

    fn acos(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.acos())
    }

    fn acosh(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(libm::acosh(x.0))
    }

    fn asin(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.asin())
    }

    fn asinh(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(libm::asinh(x.0))
    }

    fn atan(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.atan())
    }

    fn atan2(
        #[starlark(require = pos)] y: UnpackFloat,
        #[starlark(require = pos)] x: UnpackFloat,
    ) -> starlark::Result<f64> {
        Ok(y.0.atan2(x.0))
    }

    fn atanh(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(libm::atanh(x.0))
    }

    fn ceil(#[starlark(require = pos)] x: Value<'_>) -> starlark::Result<BigInt> {
        whole("ceil", x, f64::ceil)
    }

    fn copysign(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> starlark::Result<f64> {
        Ok(x.0.copysign(y.0))
    }

    fn cos(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.cos())
    }

    fn cosh(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.cosh())
    }

    fn degrees(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.to_degrees())
    }

    fn exp(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.exp())
    }

    fn fabs(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.abs())
    }

    fn floor(#[starlark(require = pos)] x: Value<'_>) -> starlark::Result<BigInt> {
        whole("floor", x, f64::floor)
    }

    fn gamma(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(libm::tgamma(x.0))
    }

    fn hypot(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> starlark::Result<f64> {
        Ok(x.0.hypot(y.0))
    }

    fn log(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] base: Option<UnpackFloat>,
    ) -> starlark::Result<f64> {
        match base {
            None => Ok(x.0.ln()),
            Some(UnpackFloat(1.0)) => Err(starlark::Error::new_value(OutsideDomain("log", "base 1 has no logarithm"))),
            Some(UnpackFloat(2.0)) => Ok(x.0.log2()),
            Some(UnpackFloat(10.0)) => Ok(x.0.log10()),
            Some(UnpackFloat(base)) => Ok(x.0.ln() / base.ln()),
        }
    }

    fn r#mod(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> starlark::Result<f64> {
        Ok(x.0 % y.0)
    }

    fn pow(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> starlark::Result<f64> {
        Ok(x.0.powf(y.0))
    }

    fn radians(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.to_radians())
    }

    fn remainder(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> starlark::Result<f64> {
        Ok(libm::remainder(x.0, y.0))
    }

    fn round(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.round())
    }

    fn sin(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.sin())
    }

    fn sinh(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.sinh())
    }

    fn sqrt(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.sqrt())
    }

    fn tan(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.tan())
    }

    fn tanh(#[starlark(require = pos)] x: UnpackFloat) -> starlark::Result<f64> {
        Ok(x.0.tanh())
    }
}

/// An integer is whole as it is, however large.
fn whole(function: &'static str, x: Value<'_>, round: impl Fn(f64) -> f64) -> starlark::Result<BigInt> {
    if let Some(integer) = BigInt::unpack_value(x)? {
        return Ok(integer);
    }
    let UnpackFloat(float) = UnpackFloat::unpack_value_err(x)?;
    BigInt::from_f64(round(float))
        .ok_or_else(|| starlark::Error::new_value(OutsideDomain(function, "no integer is nan or infinite")))
}
