//! The operator's name, logo and colour on the pages. They come from a folder with a `branding.toml`. The server checks
//! them when it starts.

mod color;
mod file;

pub use file::{Branding, BrandingError};
