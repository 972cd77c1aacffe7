//! The texts of the pages by key, with their gaps. A gap is a placeholder for a value. A text with gaps has a type
//! that a template cannot show: [`Gap`] takes a value, and [`Count`] a number. So no page shows an unfilled gap.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use super::bundle::{Bundle, Value};

/// A text with one gap.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Gap {
    key: &'static str,
    name: &'static str,
}

/// A text whose form depends on a number.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Count {
    key: &'static str,
    name: &'static str,
}

macro_rules! text_type {
    () => { &'static str };
    (($one:ident)) => { Gap };
    ([$number:ident]) => { Count };
}

macro_rules! text_value {
    ($bundle:ident $english:ident $key:ident) => {
        leaked_text($bundle, $english, stringify!($key))
    };
    ($bundle:ident $english:ident $key:ident ($one:ident)) => {
        Gap {
            key: stringify!($key),
            name: stringify!($one),
        }
    };
    ($bundle:ident $english:ident $key:ident [$number:ident]) => {
        Count {
            key: stringify!($key),
            name: stringify!($number),
        }
    };
}

macro_rules! text_gaps {
    () => {
        &[]
    };
    (($name:ident)) => {
        &[stringify!($name)]
    };
    ([$name:ident]) => {
        &[stringify!($name)]
    };
}

macro_rules! texts {
    ($($key:ident $(($gap:ident))? $([$count:ident])?,)+) => {
        /// The texts of one language.
        #[allow(dead_code, reason = "a script reads its texts by their keys")]
        pub(in crate::http) struct Texts {
            /// The language's BCP 47 tag.
            pub(in crate::http) lang: &'static str,
            /// The writing direction: `ltr` or `rtl`.
            pub(in crate::http) dir: &'static str,
            bundle: Bundle,
            /// English, for texts that this language lacks.
            english: Option<&'static Texts>,
            $(pub(in crate::http) $key: text_type!($(($gap))? $([$count])?),)+
        }

        impl Texts {
            /// All keys, with the names of their gaps.
            pub(super) const KEYS: &'static [(&'static str, &'static [&'static str])] =
                &[$((stringify!($key), text_gaps!($(($gap))? $([$count])?)),)+];

            pub(super) fn new(bundle: Bundle, english: Option<&'static Texts>) -> Texts {
                let from = &bundle;
                Texts {
                    lang: bundle.tag.to_string().leak(),
                    dir: if bundle.is_right_to_left() { "rtl" } else { "ltr" },
                    $($key: text_value!(from english $key $(($gap))? $([$count])?),)+
                    english,
                    bundle,
                }
            }
        }
    };
}

texts! {
    language_name,
    language_switch (language),
    service,
    skip,
    test_mode,
    wanted_by (app),
    cancel (app),
    working,
    optional,
    to_correct,
    wrong_title (title),
    promise (app),
    promise_shared (app),
    app_privacy (app),
    app_privacy_short,
    app_terms,
    brand_privacy,
    brand_help,
    brand_contact,
    organization_payer,
    organization_provider,
    organization_pharmacy,
    organization_lab,
    progress,
    step_find,
    step_review,
    step_sign_in,
    step_verify,
    step_connect,
    step_share,
    step_done,
    choose_title,
    choose_lead,
    choose_lead_details,
    choose_label,
    choose_hint,
    choose_search,
    choose_results,
    choose_none (query),
    choose_empty,
    choose_found [number],
    choose_many [number],
    choose_more [number],
    choose_connected,
    choose_details,
    choose_searching,
    choose_lost,
    choose_lost_tips,
    choose_lost_details,
    choose_lost_app (app),
    choose_lost_contact,
    choose_lost_tell,
    choose_hub,
    share_title (source),
    share_with (app),
    share_person,
    share_person_more,
    share_insurance,
    share_health,
    share_care,
    share_more,
    share_more_more,
    kind_coverage,
    kind_claims,
    kind_conditions,
    kind_allergies,
    kind_medications,
    kind_immunizations,
    kind_visits,
    kind_procedures,
    kind_results,
    kind_documents,
    kind_plans,
    kind_teams,
    kind_devices,
    list_comma,
    list_and,
    share_what_more,
    share_long_more,
    share_where,
    share_how_long,
    share_once_short,
    share_once (app),
    share_once_forced (app),
    share_ongoing_short,
    share_ongoing (app),
    share_declined (source),
    share_longest [number],
    share_end (app),
    share_password,
    share_agree (source),
    share_other,
    problem_refused_title (source),
    problem_refused,
    problem_no_patient_title (source),
    problem_no_patient,
    problem_down_title (source),
    problem_down,
    problem_rejected_title (source),
    problem_rejected,
    problem_unreadable_title (source),
    problem_unreadable,
    problem_again (source),
    problem_other,
    hub_title,
    hub_title_alone,
    hub_lead_alone(app),
    hub_remove,
    hub_remove_named(source),
    hub_again,
    hub_lead (app),
    hub_connected,
    hub_failed,
    hub_none,
    hub_add,
    hub_finish (app),
    hub_drop,
    hub_leave (app),
    hub_failed_all,
    hub_found,
    details_title,
    details_title_at (source),
    details_lead_at (source),
    details_lead,
    details_given,
    details_family,
    details_birth_date,
    details_birth_date_hint,
    details_day,
    details_month,
    details_year,
    date_order,
    month_names,
    details_birth_date_future,
    details_birth_date_old,
    details_gender,
    details_gender_none,
    details_female,
    details_male,
    details_other,
    details_unknown,
    details_postal_code,
    details_search,
    details_manual,
    details_missing_given,
    details_missing_family,
    details_bad_birth_date,
    details_long,
    details_down_title,
    details_down,
    identity_title,
    identity_lead,
    identity_what,
    identity_go (provider),
    identity_none_title,
    identity_none,
    identity_unknown,
    identity_refused_title,
    identity_refused (provider),
    identity_down_title (provider),
    identity_down,
    facilities_title,
    facilities_not_there (source),
    facilities_title_details,
    facilities_lead,
    facilities_legend,
    facilities_connect,
    facilities_skip,
    facilities_nothing,
    facilities_none_title,
    facilities_none_identity,
    facilities_none_at (source),
    facilities_none_details,
    facilities_add,
    facilities_again,
    facilities_leave (app),
    waiting_source (source),
    waiting_source_text (source),
    waiting_provider,
    waiting_provider_text (provider),
    waiting_search,
    waiting_search_text,
    waiting_places,
    waiting_places_text,
    waiting_here,
    waiting_late,
    waiting_look,
    place_asked,
    place_connected,
    place_failed,
    frame_title (source),
    frame_lead (source),
    frame_open (source),
    frame_waiting,
    frame_check,
    link_title,
    link_close,
    window_title,
    window_text,
    done_title,
    done_text (app),
    done_next(app),
    left_title,
    left_text,
    ends_for [number],
    ends_until (time),
    ends_more,
    ends_title,
    ends_text (time),
    ends_stay,
    nowhere_title,
    nowhere_text,
    nowhere_start,
    nowhere_help,
    over_title,
    over_text,
    over_again,
    over_left (app),
    over_shared_title,
    over_shared (app),
    over_back (app),
    over_close,
    other_title,
    other_text,
    other_go_on,
    ticket_title,
    ticket_text,
    callback_title,
    callback_text,
    busy_title,
    busy_text,
    broken_title,
    broken_text,
    untrusted_title,
    untrusted_client,
    untrusted_no_redirect,
    untrusted_redirect,
    untrusted_origin,
    untrusted_what,
    untrusted_detail,
    errors_title,
    errors_lead,
    errors_back,
    errors_patient,
    errors_developer,
    errors_unknown_title,
    error_access_denied,
    error_access_denied_patient,
    error_access_denied_developer,
    error_session_timeout,
    error_session_timeout_patient,
    error_session_timeout_developer,
    error_abandoned,
    error_abandoned_patient,
    error_abandoned_developer,
    error_no_facilities,
    error_no_facilities_patient,
    error_no_facilities_developer,
    error_server_error,
    error_server_error_patient,
    error_server_error_developer,
    viewer_title,
    viewer_needs,
    viewer_passcode,
    viewer_passcode_about,
    viewer_recipient,
    viewer_recipient_about,
    viewer_open,
    viewer_contents,
    viewer_footer,
    viewer_ended_title,
    viewer_ended,
    viewer_newer_title,
    viewer_newer,
    viewer_elsewhere_title,
    viewer_elsewhere,
    viewer_unfetched_title,
    viewer_offline,
    viewer_busy_title,
    viewer_busy,
    viewer_failed,
    viewer_damaged_title,
    viewer_damaged,
    viewer_unshown_title,
    viewer_unshown,
    viewer_tries_over,
    viewer_wrong [number],
    viewer_opening,
    viewer_protected,
    viewer_protected_named (label),
    viewer_shared_as,
    viewer_patient,
    viewer_born,
    viewer_made,
    viewer_issued,
    viewer_issued_by,
    viewer_signature,
    viewer_card,
    viewer_card_codes,
    viewer_download_card,
    viewer_print,
    viewer_download_pdf,
    viewer_download_data,
    viewer_no_document,
    viewer_section,
    viewer_empty,
    viewer_what,
    viewer_when,
    viewer_value,
    viewer_status,
    viewer_unsaid,
    viewer_signed_elsewhere,
    viewer_signed_unknown,
    viewer_signed_changed,
    viewer_signed_revoked,
    viewer_signed_good,
    viewer_signed_unchecked,
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts")
            .field("lang", &self.lang)
            .finish_non_exhaustive()
    }
}

/// Formats a text without gaps. Leaks it, because pages use it for as long as the program runs.
fn leaked_text(bundle: &Bundle, english: Option<&'static Texts>, key: &str) -> &'static str {
    let says = english.filter(|_| !bundle.has(key));
    says.map_or(bundle, |english| &english.bundle).format(key, &[]).0.leak()
}

impl Texts {
    /// Fills the gap of a text.
    pub(in crate::http) fn fill(&self, text: impl Borrow<Gap>, value: &str) -> String {
        let Gap { key, name } = *text.borrow();
        self.format(key, &[(name, Value::Text(value))])
    }

    /// Formats a text in its form for this number.
    pub(in crate::http::connect) fn count(&self, text: impl Borrow<Count>, number: impl Borrow<usize>) -> String {
        let Count { key, name } = *text.borrow();
        self.format(key, &[(name, Value::Number(*number.borrow()))])
    }

    /// Joins the parts of a list as a sentence does: `a, b and c`.
    pub(in crate::http::connect) fn list(&self, parts: &[&str]) -> String {
        match parts {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [before @ .., last] => format!("{}{}{last}", before.join(self.list_comma), self.list_and),
        }
    }

    /// Returns the texts for a page's script: those whose keys have this prefix. The keys of the result are without the
    /// prefix. Each gap becomes its name in braces, which the script replaces by a value. A text whose form depends on
    /// a number is there once for each of the `numbers`, with the number at the end of its key: `wrong_3`.
    pub(in crate::http) fn of_script(&self, prefix: &str, numbers: RangeInclusive<usize>) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        for (key, names) in Texts::KEYS {
            let Some(short) = key.strip_prefix(prefix) else {
                continue;
            };
            if names.contains(&"number") {
                for number in numbers.clone() {
                    let text = self.format(key, &[("number", Value::Number(number))]);
                    texts.insert(format!("{short}_{number}"), text);
                }
                continue;
            }
            let gaps: Vec<_> = names.iter().map(|name| (*name, format!("{{{name}}}"))).collect();
            let values: Vec<_> = gaps.iter().map(|(name, gap)| (*name, Value::Text(gap))).collect();
            texts.insert(short.to_owned(), self.format(key, &values));
        }
        texts
    }

    fn format(&self, key: &str, values: &[(&'static str, Value<'_>)]) -> String {
        let says = self.english.filter(|_| !self.bundle.has(key));
        says.map_or(&self.bundle, |english| &english.bundle)
            .format(key, values)
            .0
    }

    /// Formats all texts that the language has itself, with sample values. Skips texts that are shown in English
    /// because the language lacks them. Returns the problems that Fluent reports, with the keys of the texts.
    pub(super) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        for (key, names) in Texts::KEYS.iter().filter(|(key, _)| self.bundle.has(key)) {
            for number in [0, 1, 2, 5, 11] {
                let values: Vec<(&'static str, Value<'_>)> =
                    names.iter().map(|name| (*name, filler(name, number))).collect();
                let (_, errors) = self.bundle.format(key, &values);
                problems.extend(errors.into_iter().map(|problem| (*key, problem)));
            }
        }
        problems
    }
}

/// Returns a sample value for a gap with this name.
fn filler(name: &str, number: usize) -> Value<'static> {
    match name {
        "number" => Value::Number(number),
        _ => Value::Text("Oak Health"),
    }
}

#[cfg(test)]
impl Texts {
    /// Whether the language itself has this text. If not, pages show the text in English.
    pub(super) fn says(&self, key: &str) -> bool {
        self.bundle.has(key)
    }

    /// Returns all texts by key, with sample values in their gaps.
    pub(super) fn filled(&self) -> Vec<(&'static str, String)> {
        let filled = Texts::KEYS.iter().flat_map(|(key, names)| {
            let numbers: &[usize] = if names.contains(&"number") {
                &[0, 1, 2, 5, 11, 10_000]
            } else {
                &[1]
            };
            numbers.iter().map(|number| {
                let values: Vec<_> = names.iter().map(|name| (*name, filler(name, *number))).collect();
                (*key, self.format(key, &values))
            })
        });
        filled.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Languages;

    #[test]
    fn lists_are_read_as_sentences() {
        let languages = Languages::default();
        let [english, spanish] = languages.all() else {
            panic!("two languages")
        };
        assert_eq!(english.list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(english.list(&["a"]), "a");
        assert_eq!(spanish.list(&["a", "b", "c"]), "a, b y c");
    }

    #[test]
    fn a_script_has_a_text_for_each_number() {
        let texts = Languages::default().all()[0].of_script("viewer_", 1..=2);
        assert!(texts["wrong_1"].contains("one more try"), "{texts:?}");
        assert!(texts["wrong_2"].contains("2 more tries"), "{texts:?}");
        assert!(texts["protected_named"].contains("{label}"), "{texts:?}");
        assert!(
            !texts.contains_key("wrong") && !texts.contains_key("wrong_3"),
            "{texts:?}"
        );
    }

    #[test]
    fn templates_have_no_words_of_their_own() {
        // A template must not contain a text of its own, because such a text cannot be translated. Texts belong in the
        // language files.
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/connect");
        let files = |folder: &std::path::Path| std::fs::read_dir(folder).unwrap();
        let code = regex::Regex::new(r"(?s)\{\{.*?\}\}|\{%.*?%\}").unwrap();
        let spoken = regex::Regex::new(r#"(?s)\s(?:alt|title|placeholder|aria-label)="([^"]*)""#).unwrap();
        let tag = regex::Regex::new(r"(?s)<[^>]*>").unwrap();
        for file in files(&folder).chain(files(&folder.join("parts"))) {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "html") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text = code.replace_all(&text, "");
            let attributes: String = spoken.captures_iter(&text).map(|found| found[1].to_owned()).collect();
            let words = format!("{attributes}{}", tag.replace_all(&text, ""));
            assert!(
                !words.contains(char::is_alphabetic),
                "{}: {}",
                path.display(),
                words.trim()
            );
        }
    }
}
