//! One language: its Fluent messages, its number format, and its writing direction.

use std::borrow::Cow;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_decimal::options::DecimalFormatterOptions;
use icu_locale_core::Locale;
use intl_memoizer::Memoizable;
use intl_memoizer::concurrent::IntlLangMemoizer;
use unic_langid::{CharacterDirection, LanguageIdentifier};

/// The messages of a language.
pub(super) struct Bundle {
    pub(super) tag: LanguageIdentifier,
    messages: FluentBundle<FluentResource>,
}

impl Bundle {
    pub(super) fn new(tag: LanguageIdentifier, resource: FluentResource) -> Bundle {
        let mut messages = FluentBundle::new_concurrent(vec![tag.clone()]);
        // By default, Fluent puts directional isolates (invisible control characters) around every value. They disturb
        // copied text and screen readers. So `isolated` adds them only where they are needed.
        messages.set_use_isolating(false);
        messages.set_formatter(Some(number));
        messages.add_resource_overriding(resource);
        Bundle { tag, messages }
    }

    /// Whether the language is written from right to left.
    pub(super) fn is_right_to_left(&self) -> bool {
        self.tag.character_direction() == CharacterDirection::RTL
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.messages
            .get_message(key)
            .is_some_and(|message| message.value().is_some())
    }

    /// Formats a message with these values. Returns the text and the problems that occurred.
    pub(super) fn format(&self, key: &str, values: &[(&'static str, Value<'_>)]) -> (String, Vec<String>) {
        let Some(pattern) = self.messages.get_message(key).and_then(|message| message.value()) else {
            return (String::new(), vec![format!("{key} is missing")]);
        };
        let mut args = FluentArgs::with_capacity(values.len());
        for (name, value) in values {
            let value = match value {
                Value::Text(text) => FluentValue::from(self.isolated(text)),
                Value::Number(number) => FluentValue::from(*number),
            };
            args.set(*name, value);
        }
        let mut errors = Vec::new();
        let text = self.messages.format_pattern(pattern, Some(&args), &mut errors);
        (
            text.into_owned(),
            errors.into_iter().map(|error| error.to_string()).collect(),
        )
    }

    /// Puts directional isolates around a value whose writing direction differs from that of the language. Without
    /// isolates, the value would change the order of the words around it.
    fn isolated<'t>(&self, value: &'t str) -> Cow<'t, str> {
        let turns = if self.is_right_to_left() {
            value
                .chars()
                .any(|letter| letter.is_alphanumeric() && !is_right_to_left(letter))
        } else {
            value.chars().any(is_right_to_left)
        };
        if turns {
            Cow::Owned(format!("\u{2068}{value}\u{2069}"))
        } else {
            Cow::Borrowed(value)
        }
    }
}

/// A value for a placeholder of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'t> {
    Text(&'t str),
    Number(usize),
}

/// Whether a character is a letter of the scripts from Hebrew to Arabic, one of their presentation forms, or a
/// control character for right-to-left text.
fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{200f}' | '\u{202b}' | '\u{202e}' | '\u{2067}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
}

/// The locale that formats numbers. Fluent caches it for each language.
struct Written(Locale);

impl Memoizable for Written {
    type Args = ();
    type Error = icu_locale_core::ParseError;

    fn construct(language: LanguageIdentifier, (): ()) -> Result<Written, Self::Error> {
        language.to_string().parse().map(Written)
    }
}

/// Formats a number as the language does. `None` for other values.
fn number(value: &FluentValue<'_>, known: &IntlLangMemoizer) -> Option<String> {
    let FluentValue::Number(number) = value else {
        return None;
    };
    // Drop the fraction: the pages show only counts, which are whole numbers.
    let count = number.value.is_finite().then_some(number.value as i64)?;
    let written = known.with_try_get::<Written, _, _>((), |Written(locale)| {
        let digits = DecimalFormatter::try_new(locale.into(), DecimalFormatterOptions::default()).ok()?;
        Some(digits.format_to_string(&Decimal::from(count)))
    });
    written.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(tag: &str, text: &str) -> Bundle {
        Bundle::new(tag.parse().unwrap(), FluentResource::try_new(text.to_owned()).unwrap())
    }

    #[test]
    fn numbers_and_plurals_are_those_of_the_language() {
        let text = "places = { $number ->\n    [one] { $number } place\n   *[other] { $number } places\n }";
        let said = |tag: &str, number| {
            bundle(tag, text)
                .format("places", &[("number", Value::Number(number))])
                .0
        };
        assert_eq!(said("en", 1), "1 place");
        assert_eq!(said("en", 10_000), "10,000 places");
        assert_eq!(said("de", 10_000), "10.000 places");
        assert_eq!(said("fr", 0), "0 place");
    }

    #[test]
    fn names_of_another_direction_stand_apart() {
        let hebrew = "\u{5de}\u{5db}\u{5d1}\u{5d9}";
        let said = |tag: &str, name| {
            bundle(tag, "by = a { $name } b")
                .format("by", &[("name", Value::Text(name))])
                .0
        };
        assert_eq!(said("en", hebrew), format!("a \u{2068}{hebrew}\u{2069} b"));
        assert_eq!(said("en", "{ $name }"), "a { $name } b");
        assert_eq!(said("ar", "Oak"), "a \u{2068}Oak\u{2069} b");
        assert_eq!(said("ar", hebrew), format!("a {hebrew} b"));
    }
}
