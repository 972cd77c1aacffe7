//! Loads all languages of a server's pages.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::json;

use super::bundle::Bundle;
use super::file::{self, LanguageError};
use super::texts::Texts;
use crate::private;

/// The built-in languages: English, then Spanish.
static BUILTIN: LazyLock<[&'static Texts; 2]> = LazyLock::new(|| {
    let english = builtin("en.ftl", include_str!("../../../../templates/languages/en.ftl"), None);
    let spanish = include_str!("../../../../templates/languages/es.ftl");
    [english, builtin("es.ftl", spanish, Some(english))]
});

/// The source of the link component's script, with its texts in the built-in languages.
const LINK: &str = include_str!("../../../../templates/connect/link/link.js");
/// The code directly before and directly after the texts in `LINK`.
const LINK_TEXTS: [&str; 2] = ["  const texts = ", ";\n"];

/// The languages of a server's pages.
#[derive(Clone, Debug)]
pub struct Languages {
    all: Vec<&'static Texts>,
    link: String,
}

impl Default for Languages {
    fn default() -> Languages {
        Languages::of(BUILTIN.to_vec())
    }
}

impl Languages {
    /// Loads the built-in languages, and one for each `.ftl` file of a folder. A file replaces the built-in language
    /// with the same tag. A text that a file lacks is shown in English, and a warning is logged.
    pub fn with_folder(folder: &Path) -> Result<Languages, LanguageError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            |source| LanguageError::Unreadable { path, source }
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "ftl") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut all = BUILTIN.to_vec();
        for path in paths {
            let text = private::read_to_string(&path).map_err(unreadable(&path))?;
            let texts = loaded(&path, text, Some(BUILTIN[0]))?;
            // Pages hold references to their texts for as long as the program runs. A server loads them only once, so
            // leaking them is harmless.
            let texts: &'static Texts = Box::leak(Box::new(texts));
            match all.iter_mut().find(|known| known.lang == texts.lang) {
                Some(known) => *known = texts,
                None => all.push(texts),
            }
        }
        Ok(Languages::of(all))
    }

    fn of(all: Vec<&'static Texts>) -> Languages {
        let words = all.iter().map(|texts| {
            let (close, title) = (json!(texts.link_close), json!(texts.link_title));
            format!("{}:{{\"close\":{close},\"title\":{title}}}", json!(texts.lang))
        });
        let words = format!("{{{}}}", words.collect::<Vec<_>>().join(","));
        let link = with_words(&words);
        Languages { all, link }
    }

    /// Returns all languages, English first.
    pub(in crate::http) fn all(&self) -> &[&'static Texts] {
        &self.all
    }

    /// Returns the link component's script. It contains the texts of the component in all languages.
    pub(in crate::http::connect) fn link(&self) -> &str {
        &self.link
    }

    /// Finds the language with this tag. If there is none, tries the parent tags, the nearest one first.
    pub(super) fn find(&self, tag: &str) -> Option<&'static Texts> {
        let named = |wanted: &str| self.all.iter().find(|texts| texts.lang.eq_ignore_ascii_case(wanted));
        let mut wanted = tag;
        loop {
            if let Some(texts) = named(wanted) {
                return Some(texts);
            }
            // `zh-Hant-TW` falls back to `zh-Hant` and `zh` (RFC 4647, section 3.4).
            wanted = &wanted[..wanted.rfind('-')?];
        }
    }
}

/// Returns the link component's script with other texts. `words` is a JavaScript object that has a member for each
/// language.
fn with_words(words: &str) -> String {
    let [before, behind] = LINK_TEXTS;
    // A test checks that `LINK` contains the code in `LINK_TEXTS`, so this code is always found.
    let Some((head, rest)) = LINK.split_once(before) else {
        return LINK.to_owned();
    };
    let tail = rest.split_once(behind).map_or("", |(_, tail)| tail);
    format!("{head}{before}{words}{behind}{tail}")
}

fn builtin(name: &str, text: &str, english: Option<&'static Texts>) -> &'static Texts {
    // A test loads each built-in language, so this cannot fail in a tested program.
    #[allow(clippy::expect_used)]
    let texts = loaded(Path::new(name), text.to_owned(), english).expect("a language of the program is well-formed");
    Box::leak(Box::new(texts))
}

fn loaded(path: &Path, text: String, english: Option<&'static Texts>) -> Result<Texts, LanguageError> {
    let tag = file::tag(path)?;
    let resource = file::parsed(path, text)?;
    let strange = file::check(path, &resource, Texts::KEYS)?;
    let bundle = Bundle::new(tag, resource);
    let missing = Texts::KEYS.iter().map(|(key, _)| *key).filter(|key| !bundle.has(key));
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        let missing = missing.join(" ");
        tracing::warn!(language = %bundle.tag, missing, "a language leaves texts out: they are said in English");
    }
    if !strange.is_empty() {
        let unknown = strange.join(" ");
        tracing::warn!(language = %bundle.tag, unknown, "a language has texts that no page shows");
    }
    let texts = Texts::new(bundle, english);
    match texts.problems().into_iter().next() {
        Some((key, problem)) => Err(LanguageError::Placeholder {
            path: path.to_owned(),
            key: key.to_owned(),
            problem,
        }),
        None => Ok(texts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_languages_of_the_program_are_whole() {
        for texts in Languages::default().all() {
            for (key, _) in Texts::KEYS {
                assert!(texts.says(key), "{}: {key}", texts.lang);
            }
            for (key, text) in texts.filled() {
                assert!(
                    !text.is_empty() && !text.contains(['{', '}']),
                    "{}: {key}: {text}",
                    texts.lang
                );
            }
        }
    }

    #[test]
    fn the_link_component_of_the_package_has_the_words_of_the_program() {
        // The npm package contains the file `link.js`. A server without additional languages must serve the same bytes.
        let languages = Languages::default();
        assert_eq!(languages.link(), LINK);
        for texts in languages.all() {
            let words = format!("{:?}:{{\"close\":{:?}", texts.lang, texts.link_close);
            assert!(LINK.contains(&words), "{words}");
        }
    }

    #[test]
    fn a_folder_adds_a_language_and_english_says_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("he.ftl"),
            "language_name = עברית\ncancel = חזרה אל { $app }",
        )
        .unwrap();
        std::fs::write(folder.path().join("README"), "not a language").unwrap();
        let languages = Languages::with_folder(folder.path()).unwrap();
        let texts = languages.find("he-IL").unwrap();
        assert_eq!((texts.lang, texts.dir), ("he", "rtl"));
        assert_eq!(texts.fill(texts.cancel, "Well"), "חזרה אל \u{2068}Well\u{2069}");
        assert_eq!(texts.skip, languages.all()[0].skip);
        assert!(languages.link().contains(r#","he":{"close":"Close","title":"#));
        assert!(languages.link().starts_with(LINK.split_once(LINK_TEXTS[0]).unwrap().0));

        std::fs::write(folder.path().join("fr.ftl"), "cancel = Retour").unwrap();
        let error = Languages::with_folder(folder.path()).unwrap_err();
        assert!(
            error.to_string().ends_with("fr.ftl: cancel: $app is left out"),
            "{error}"
        );
        assert!(Languages::with_folder(&folder.path().join("none")).is_err());
    }
}
