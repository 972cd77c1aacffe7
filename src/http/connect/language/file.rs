//! Parses and checks a language file when the server starts.

use std::path::{Path, PathBuf};

use fluent_bundle::FluentResource;
use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use unic_langid::LanguageIdentifier;

/// Why a language file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LanguageError {
    /// The folder or a file in it cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file's name is not a language tag.
    #[error("{}: name the file after its language as BCP 47 does, like fr.ftl or pt-BR.ftl", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// The file is not valid Fluent.
    #[error("{}, line {line}: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The error of the Fluent parser.
        problem: String,
    },
    /// A message does not have exactly the placeholders that the pages fill.
    #[error("{}: {key}: {problem}", path.display())]
    Placeholder {
        /// The file.
        path: PathBuf,
        /// The key of the message.
        key: String,
        /// What is wrong.
        problem: String,
    },
}

/// Reads the language tag from a file's name.
pub(super) fn tag(path: &Path) -> Result<LanguageIdentifier, LanguageError> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.parse().map_err(|_| LanguageError::Name { path: path.to_owned() })
}

pub(super) fn parsed(path: &Path, text: String) -> Result<FluentResource, LanguageError> {
    let lines = |at: usize, text: &str| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    FluentResource::try_new(text).map_err(|(resource, errors)| {
        let error = errors.first();
        LanguageError::Syntax {
            path: path.to_owned(),
            line: error.map_or(1, |error| lines(error.pos.start, resource.source())),
            problem: error.map(|error| error.kind.to_string()).unwrap_or_default(),
        }
    })
}

/// Checks the placeholders of all messages that the pages use. Returns the keys that no page uses.
pub(super) fn check(
    path: &Path,
    resource: &FluentResource,
    keys: &[(&'static str, &'static [&'static str])],
) -> Result<Vec<String>, LanguageError> {
    let mut strange = Vec::new();
    for entry in resource.entries() {
        let Entry::Message(message) = entry else { continue };
        let (key, Some(pattern)) = (message.id.name, &message.value) else {
            continue;
        };
        let Some((_, filled)) = keys.iter().find(|(known, _)| *known == key) else {
            strange.push(key.to_owned());
            continue;
        };
        let problem = |problem: String| LanguageError::Placeholder {
            path: path.to_owned(),
            key: key.to_owned(),
            problem,
        };
        let mut named = Vec::new();
        in_pattern(pattern, &mut named);
        if let Some(name) = named.iter().find(|name| !filled.contains(name)) {
            return Err(problem(format!("the pages do not fill ${name} here")));
        }
        if let Some(name) = filled.iter().find(|name| !named.contains(name)) {
            return Err(problem(format!("${name} is left out")));
        }
    }
    Ok(strange)
}

fn in_pattern<'p>(pattern: &Pattern<&'p str>, named: &mut Vec<&'p str>) {
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            in_expression(expression, named);
        }
    }
}

fn in_expression<'p>(expression: &Expression<&'p str>, named: &mut Vec<&'p str>) {
    match expression {
        Expression::Inline(inline) => in_inline(inline, named),
        Expression::Select { selector, variants } => {
            in_inline(selector, named);
            for variant in variants {
                in_pattern(&variant.value, named);
            }
        }
    }
}

fn in_inline<'p>(inline: &InlineExpression<&'p str>, named: &mut Vec<&'p str>) {
    match inline {
        InlineExpression::VariableReference { id } => named.push(id.name),
        InlineExpression::Placeable { expression } => in_expression(expression, named),
        InlineExpression::FunctionReference { arguments, .. } => {
            for argument in &arguments.positional {
                in_inline(argument, named);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Vec<String>, String> {
        let path = Path::new("fr.ftl");
        let resource = parsed(path, text.to_owned()).map_err(|error| error.to_string())?;
        let keys: &[(&str, &[&str])] = &[("skip", &[]), ("cancel", &["app"]), ("found", &["number"])];
        check(path, &resource, keys).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_says_where_it_is_wrong() {
        assert_eq!(checked("skip = Passer\ncancel = Retour à { $app }").unwrap(), [""; 0]);
        assert_eq!(checked("extra = Rien").unwrap(), ["extra"]);
        assert!(
            checked("skip = a\n\ncancel = Retour à { $app")
                .unwrap_err()
                .starts_with("fr.ftl, line 3: ")
        );
        assert_eq!(
            checked("cancel = Retour à { $apps }").unwrap_err(),
            "fr.ftl: cancel: the pages do not fill $apps here"
        );
        assert_eq!(
            checked("cancel = Retour").unwrap_err(),
            "fr.ftl: cancel: $app is left out"
        );
        let plural = "found = { $number ->\n    [one] un lieu\n   *[other] { $number } lieux\n }";
        assert_eq!(checked(plural).unwrap(), [""; 0]);
    }

    #[test]
    fn a_file_is_named_after_its_language() {
        assert_eq!(tag(Path::new("x/pt-BR.ftl")).unwrap().to_string(), "pt-BR");
        assert!(tag(Path::new("x/not a language.ftl")).is_err());
    }
}
