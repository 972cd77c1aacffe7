//! Reads and checks `branding.toml`.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use super::color::{Color, Palette, READABLE};
use crate::consent::{self, Logo};
use crate::fhir::hidden::is_hidden;
use crate::private;

const FILE: &str = "branding.toml";
/// The maximum number of bytes that are read of a logo. A logo of this size is refused as too large.
const MAX_LOGO: u64 = 1 << 20;

/// Why the operator's brand cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BrandingError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not valid TOML, or has an unknown option.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The error of the TOML parser.
        source: Box<toml::de::Error>,
    },
    /// The value of an option is not allowed.
    #[error("{}: {option} {problem}", path.display())]
    Option {
        /// The file.
        path: PathBuf,
        /// The option's name.
        option: &'static str,
        /// What is wrong with the value.
        problem: &'static str,
    },
    /// The logo is not an accepted image.
    #[error("{}: {source}", path.display())]
    Logo {
        /// The file.
        path: PathBuf,
        /// Why the image is not accepted.
        source: consent::Error,
    },
}

/// The contents of `branding.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    logo: Option<PathBuf>,
    color: Option<String>,
    privacy: Option<String>,
    help: Option<String>,
    contact: Option<String>,
}

/// The operator's brand on the patient's pages.
#[derive(Clone, Debug, Default)]
pub struct Branding {
    /// The operator's name.
    pub(in crate::http::connect) name: Option<String>,
    pub(in crate::http::connect) logo: Option<Logo>,
    /// A style sheet with the brand's colours.
    pub(in crate::http::connect) css: Option<String>,
    /// The URL of the operator's page about the use of patients' data.
    pub(in crate::http::connect) privacy: Option<String>,
    /// The URL of the operator's page with help for patients.
    pub(in crate::http::connect) help: Option<String>,
    /// How patients reach the operator: a `mailto:` or `https:` URL.
    pub(in crate::http::connect) contact: Option<String>,
}

impl Branding {
    /// Returns the operator's name. Without a brand, returns the service's own name.
    pub(in crate::http) fn name_or<'a>(&'a self, own: &'a str) -> &'a str {
        self.name.as_deref().unwrap_or(own)
    }

    /// Returns the URL where patients get help: the operator's page with help, or else the operator's contact.
    pub(in crate::http) fn support(&self) -> Option<&str> {
        self.help.as_deref().or(self.contact.as_deref())
    }

    /// Reads the brand from `branding.toml` in a folder. If the brand's colour has too little contrast, logs a warning
    /// and uses a darker or lighter one.
    pub fn from_folder(folder: &Path) -> Result<Branding, BrandingError> {
        let path = folder.join(FILE);
        let text = private::read_to_string(&path).map_err(|source| BrandingError::Unreadable {
            path: path.clone(),
            source,
        })?;
        let written: Written = toml::from_str(&text).map_err(|source| BrandingError::Syntax {
            path: path.clone(),
            source: Box::new(source),
        })?;
        let wrong = |option, problem| BrandingError::Option {
            path: path.clone(),
            option,
            problem,
        };
        let name = written.name.trim();
        if name.is_empty() || name.chars().count() > 60 || name.chars().any(is_hidden) {
            return Err(wrong("name", "has to be a line of at most 60 letters"));
        }
        let link = |option, text: Option<String>, mail: bool| match text {
            Some(text) if !is_link(&text, mail) => Err(wrong(
                option,
                if mail {
                    "is neither a mailto: nor an https: address"
                } else {
                    "is no https: address"
                },
            )),
            text => Ok(text),
        };
        let css = match written.color.as_deref().map(Color::parse) {
            None => None,
            Some(None) => return Err(wrong("color", "has to be written like #0b6b6b")),
            Some(Some(color)) => {
                let palette = Palette::of(color);
                if !palette.kept {
                    tracing::warn!(%color, needed = READABLE, "the brand's colour has too little contrast: a darker or lighter one is shown");
                }
                Some(palette.css())
            }
        };
        Ok(Branding {
            logo: written.logo.map(|logo| read_logo(&folder.join(logo))).transpose()?,
            css,
            privacy: link("privacy", written.privacy, false)?,
            help: link("help", written.help, false)?,
            contact: link("contact", written.contact, true)?,
            name: Some(name.to_owned()),
        })
    }
}

fn is_link(text: &str, mail: bool) -> bool {
    Url::parse(text).is_ok_and(|url| match url.scheme() {
        "https" => url.has_host(),
        "mailto" => mail && url.path().contains('@'),
        _ => false,
    })
}

fn read_logo(path: &Path) -> Result<Logo, BrandingError> {
    let path = path.to_owned();
    let mut bytes = Vec::new();
    let read = private::open(&path).and_then(|file| file.take(MAX_LOGO).read_to_end(&mut bytes));
    match read {
        Ok(_) => Logo::new(bytes).map_err(|source| BrandingError::Logo { path, source }),
        Err(source) => Err(BrandingError::Unreadable { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Branding, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        std::fs::write(
            folder.path().join("logo.svg"),
            "<svg xmlns='http://www.w3.org/2000/svg'/>",
        )
        .unwrap();
        std::fs::write(folder.path().join("logo.txt"), "a logo").unwrap();
        Branding::from_folder(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_brand_is_read() {
        let brand = read(
            "name = 'Oak Exchange'\nlogo = 'logo.svg'\ncolor = '#734'\nprivacy = 'https://oak.example/privacy'\n\
             help = 'https://oak.example/help'\ncontact = 'mailto:help@oak.example'\n",
        )
        .unwrap();
        assert_eq!(brand.name_or("Tabularium"), "Oak Exchange");
        assert_eq!(brand.support(), Some("https://oak.example/help"));
        let brand_with_contact = read("name = 'Oak'\ncontact = 'mailto:help@oak.example'").unwrap();
        assert_eq!(brand_with_contact.support(), Some("mailto:help@oak.example"));
        assert_eq!(Branding::default().name_or("Tabularium"), "Tabularium");
        assert_eq!(Branding::default().support(), None);
        assert!(brand.css.unwrap().contains("--accent: #773344"));
        assert_eq!(brand.logo.unwrap().media, "image/svg+xml");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
            ("", "missing field `name`"),
            ("name = ''", "name has to be a line"),
            ("name = 'x'\ncolour = '#734'", "unknown field `colour`"),
            ("name = 'x'\ncolor = 'red'", "color has to be written like #0b6b6b"),
            ("name = 'x'\nhelp = 'javascript:alert(1)'", "help is no https: address"),
            ("name = 'x'\ncontact = 'http://x.example'", "contact is neither"),
            ("name = 'x'\nlogo = 'none.svg'", "none.svg: "),
            ("name = 'x'\nlogo = 'logo.txt'", "is no PNG, JPEG, WebP or SVG"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(Branding::from_folder(Path::new("/nowhere")).is_err());
    }
}
