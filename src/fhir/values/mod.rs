//! Values in R4's form: decimals, dates, references, narratives.

pub mod decimal;
pub mod narrative;
pub mod reference;
pub mod temporal;
