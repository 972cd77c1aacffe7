//! Values as R4 writes them: decimals, dates, references, narratives.

pub mod decimal;
pub mod narrative;
pub mod reference;
pub mod temporal;
