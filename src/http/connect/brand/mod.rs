//! The operator's name, logo and colour on the patient's pages. They come from a folder with a `branding.toml`, which
//! is checked when the server starts.

mod color;
mod file;

pub use file::{Branding, BrandingError};
