//! The operator's own name, logo and colour on the pages: a folder with a `branding.toml`, checked before a patient
//! sees it.

mod color;
mod file;

pub use file::{Branding, BrandingError};
