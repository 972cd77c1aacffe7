//! Everything that the pages say, in one table for a language. A translation is one more table, and a line in
//! [`Texts::spoken`].
//!
//! A text with a gap has a type that cannot be shown: [`Gap`] is filled with one value where it has `{}`, [`Gaps`] with
//! two where it has `{}` and `{2}`. So no page shows a gap.

use std::borrow::Borrow;
use std::fmt;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;

/// A text with one gap, `{}`, which may stand more than once.
#[derive(Clone, Copy, Debug)]
pub(in crate::http::connect) struct Gap(&'static str);

/// A text with two gaps, `{}` and `{2}`.
#[derive(Clone, Copy, Debug)]
pub(in crate::http::connect) struct Gaps(&'static str);

macro_rules! text_type {
    () => { &'static str };
    (gap) => { Gap };
    (gaps) => { Gaps };
}

macro_rules! text_value {
    ($english:literal) => {
        $english
    };
    (gap $english:literal) => {
        Gap($english)
    };
    (gaps $english:literal) => {
        Gaps($english)
    };
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $($gap:ident)? $english:literal,)+) => {
        /// The texts of one language.
        #[derive(Debug)]
        pub(in crate::http::connect) struct Texts {
            $($(#[$doc])* pub(in crate::http::connect) $name: text_type!($($gap)?),)+
        }

        static ENGLISH: Texts = Texts { $($name: text_value!($($gap)? $english),)+ };

        #[cfg(test)]
        impl Texts {
            /// Every text as a page shows it, its gaps filled, by its name.
            fn shown(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($name), tests::FilledForTest::filled_for_test(&self.$name, self)),)+]
            }
        }
    };
}

texts! {
    /// As BCP 47 names the language.
    lang: "en",
    service: "Tabularium",
    skip: "Skip to the content",
    test_mode: "Test mode: nobody in these records is real.",
    wanted_by: gap "{} would like to see your health records",
    cancel: gap "Cancel and go back to {}",
    working: "One moment…",
    optional: "optional",
    to_correct: "There is something to correct",
    /// The title of a page with something to correct, which is read out first.
    wrong_title: gap "To correct: {}",
    footer: "You decide what is shared. Nothing is shared before you agree.",
    progress: "Progress",
    step_find: "Find",
    step_review: "Review",
    step_sign_in: "Sign in",
    step_verify: "Verify",
    step_connect: "Connect",
    step_share: "Share",
    step_done: "done",

    choose_title: "Where are your records?",
    choose_lead: "Find your health plan, clinic or hospital. You then sign in there, on its own page.",
    choose_lead_details: "Find your health plan, clinic or hospital. You then sign in there, on its own page, or are looked for there by your details.",
    choose_label: "Name of your plan or provider",
    choose_hint: "For example a brand on your insurance card",
    choose_search: "Search",
    choose_results: "Organizations",
    choose_none: gap "Nothing was found for “{}”. Check the spelling, or try a shorter name.",
    choose_empty: "There is no organization to connect here yet.",
    choose_found_one: "1 organization",
    choose_found: gap "{} organizations",
    choose_many: gap "More than {} organizations",
    choose_more: gap "Only the first {} are shown. Type more of the name to narrow them down.",
    choose_connected: "Connected",
    choose_details: "Search by my details instead",
    choose_hub: "Back to my sources",

    share_title: gap "Share your records from {}?",
    share_with: gap "{} will receive:",
    share_person: "Who you are",
    share_person_more: "name, date of birth, address and contact details",
    share_insurance: "Insurance",
    share_health: "Health",
    share_care: "Care",
    share_more: "More",
    share_more_more: "other records about you",
    kind_coverage: "coverage",
    kind_claims: "claims with what was paid",
    kind_conditions: "conditions",
    kind_allergies: "allergies",
    kind_medications: "medications",
    kind_immunizations: "immunizations",
    kind_visits: "visits",
    kind_procedures: "procedures",
    kind_results: "test results",
    kind_documents: "documents",
    kind_plans: "care plans",
    kind_teams: "care teams",
    kind_devices: "medical devices",
    /// Between the parts of a list, and before the last of them.
    list_comma: ", ",
    list_and: " and ",
    share_where: "Not every organization keeps all of these. What it does not have is not shared.",
    share_how_long: "For how long",
    share_once: gap "Your records are fetched once: {} can see them for 24 hours, then they are deleted here.",
    share_once_forced: gap "{} asked for longer, but this organization gives records out only once.",
    share_ongoing: gap "{} may go on receiving new records without asking you again, until you or it ends this or it does not renew its access for 90 days; then the records are deleted here.",
    share_declined: gap "If you decline lasting access at {}, or it grants none, your records are fetched once and deleted here after a day.",
    share_longest: gap "After {} days the organization asks you to sign in again.",
    share_end: gap "You can end this at any time in {}. The records kept here are then deleted.",
    share_next: gaps "You now go to {} to sign in. Your password stays there: neither this service nor {2} sees it.",
    share_agree: gap "Agree and continue to {}",
    share_other: "Choose another organization",

    problem_refused_title: gap "{} did not share your records",
    problem_refused: "It said that access was not granted. You may have cancelled there, or not agreed. Nothing was shared.",
    problem_no_patient_title: gap "{} found no records for you",
    problem_no_patient: "You signed in, but no records are kept there under your name. Nothing was shared.",
    problem_down_title: gap "{} cannot be reached",
    problem_down: "It did not answer as expected, so nothing was shared. This may pass: try again in a few minutes.",
    problem_rejected_title: gap "{} does not accept this service",
    problem_rejected: "It refused the request before you could agree, because of how this service is set up there. Nothing was shared. The operator has been told.",
    problem_unreadable_title: gap "{} cannot be connected",
    problem_unreadable: "It keeps records in a form that this service cannot read. Nothing was shared, and trying again will not help.",
    problem_again: gap "Try {} again",
    problem_other: "Choose another organization",

    hub_title: "Your sources",
    hub_lead: gap "Connect as many as you like, then share them all with {} at once.",
    hub_connected: "Ready to share",
    hub_failed: "Not connected",
    hub_none: "Nothing is connected yet.",
    hub_add: "Add another source",
    hub_finish: gap "Share with {}",
    hub_drop: "Share nothing",
    hub_leave: gap "Go back to {}",
    hub_failed_all: "None of your sources could be connected. Try again, add one by hand, or go back.",
    hub_found: "Show the places that were found",

    details_title: "Find your records by your details",
    details_title_at: gap "Find your records at {}",
    details_lead_at: gap "{} has no page to sign in at. It is asked through a network of providers, which we give these details. They are used for this search only.",
    details_lead: "We ask a network of providers whether they know a person with these details. They are used for this search only.",
    details_given: "First name",
    details_family: "Last name",
    details_birth_date: "Date of birth",
    details_birth_date_hint: "Year, month, day: 1980-12-31",
    details_gender: "Sex on record",
    details_gender_none: "Rather not say",
    details_female: "Female",
    details_male: "Male",
    details_other: "Other",
    details_unknown: "Unknown",
    details_postal_code: "Postal code",
    details_search: "Search",
    details_manual: "Find an organization by name instead",
    details_missing_given: "Enter your first name",
    details_missing_family: "Enter your last name",
    details_bad_birth_date: "Enter your date of birth as year, month and day, like 1980-12-31",
    details_long: "This is too long",
    details_down_title: "The search did not work",
    details_down: "The network did not answer. Try again in a moment, or find an organization by name.",

    identity_title: "First, show that it is you",
    identity_lead: "An identity provider checks who you are. With that we ask a nationwide network which providers hold records of yours.",
    identity_what: "We learn your name, date of birth, sex and address from it, and nothing else.",
    identity_go: gap "Verify with {}",
    identity_none_title: "Identity verification is not available",
    identity_none: "No identity provider is set up here at the moment.",
    /// An identity provider that is not in the directory any more.
    identity_unknown: "The identity provider",
    identity_refused_title: "Your identity was not verified",
    identity_refused: gap "{} did not confirm who you are. You may have cancelled there. Nothing was shared.",
    identity_down_title: gap "{} cannot be reached",
    identity_down: "It did not answer as expected. Try again in a few minutes.",

    facilities_title: "These places have records of yours",
    facilities_not_there: gap "{} knows no records under these details. These other places may have some.",
    facilities_title_details: "These places may have records of yours",
    facilities_lead: "Choose which ones to connect. You can add health plans and others by hand afterwards.",
    facilities_legend: "Places found",
    facilities_connect: "Agree and connect",
    facilities_skip: "Connect none of these",
    facilities_nothing: "Choose at least one place, or go on without",
    facilities_none_title: "No records were found for you",
    facilities_none_identity: "Your identity is verified, but nobody on the network knows records under your details. You can still add a plan or provider by hand.",
    facilities_none_at: gap "Neither {} nor anybody else on the network knows records under these details. Check them, or find an organization by name.",
    facilities_none_details: "Nobody on the network knows records under these details. Check them, or find an organization by name.",
    facilities_add: "Add a source by hand",
    facilities_again: "Change my details",
    facilities_leave: gap "Go back to {} without sharing",

    waiting_source: gap "Connecting to {}",
    waiting_source_text: gap "You have signed in at {}. We are completing the connection, which can take half a minute.",
    waiting_provider: "Looking for your records",
    waiting_provider_text: gap "{} is confirming who you are. Then we ask which places have records of yours. This can take half a minute.",
    waiting_search: "Looking for your records",
    waiting_search_text: "We are asking which places may have records of yours. This can take half a minute.",
    waiting_places: "Connecting your places",
    waiting_places_text: "We are asking each of them for access to your records. This can take a minute.",
    waiting_here: "This page goes on by itself. Keep it open.",
    waiting_late: "This takes longer than usual. You need not do anything.",
    waiting_look: "Look again now",
    place_asked: "Connecting…",
    place_connected: "Connected",
    place_failed: "Not connected",

    frame_title: gap "Sign in at {}",
    frame_lead: gap "{} opens in a window of its own. When you are done there, this page goes on by itself.",
    frame_open: gap "Open {}",
    frame_waiting: "Waiting for you to finish in the other window.",
    frame_check: "I am done there",

    window_title: "You can close this window",
    window_text: "Go on in the page that you came from.",

    done_title: "Done",
    done_text: gap "Your records are on their way to {}. You can close this window.",
    left_title: "Nothing was shared",
    left_text: "You can close this window.",

    over_title: "This page is no longer open",
    over_text: "The time for it is over, or it was finished or opened in another window.",
    over_again: "To begin again, go back to the application or website that sent you here, and start there.",
    over_left: gap "Nothing was shared with {} here. You can begin again there whenever you like.",
    over_shared_title: "You are done here",
    over_shared: gap "You have shared your records with {}. There is nothing left to do on this page.",
    over_back: gap "Go back to {}",
    over_close: "You can close this window.",
    other_title: "You went on in another window",
    other_text: "You began anew since this page was opened, and only the newest one can be used. Nothing is lost: go on there, and close other windows like this one.",
    other_go_on: "Go on in the newest one",
    ticket_title: "This window is out of date",
    ticket_text: "Close it, go back to the page that opened it, and press the button there again. Nothing was shared by this.",
    callback_title: "We cannot tell where you come from",
    callback_text: "An organization sent you back, but not from a sign-in that is open in this browser. Nothing was shared. Go back to the application that sent you, and begin again.",
    busy_title: "Too many people at once",
    busy_text: "Too much has come from your network just now. Nothing was shared by it. Wait a few seconds and load this page again.",
    broken_title: "Something went wrong here",
    broken_text: "It is not your fault, and nothing was shared by it. Try again in a moment.",

    untrusted_title: "This link does not work",
    untrusted_client: "The application that sent you is not known here.",
    untrusted_no_redirect: "The application that sent you did not say where you should be sent back to.",
    untrusted_redirect: "The application that sent you asked to send you back to an address that is not registered for it.",
    untrusted_origin: "The page that opened this window is not registered for the application that it names.",
    untrusted_what: "Nothing was shared. Close this window and tell the maker of the application.",
    untrusted_detail: "For its maker:",

    errors_title: "Error codes",
    errors_lead: "What an application is told when a patient comes back without records, and what may be done about it.",
    errors_back: "All error codes",
    errors_patient: "If you were sharing your records",
    errors_developer: "If you make the application",
    errors_unknown_title: "There is no such error code",

    error_access_denied: "The patient did not complete the authorization",
    error_access_denied_patient: "Nothing was shared. Begin again in the application whenever you like.",
    error_access_denied_developer: "The patient cancelled, left, or no records were found for them; error_description says which. Let them begin again when they wish to.",
    error_session_timeout: "The session timed out",
    error_session_timeout_patient: "You were away for more than 30 minutes, so the pages were closed to protect you. Nothing was shared. Begin again in the application.",
    error_session_timeout_developer: "The patient came back after 30 minutes without a step. Offer to begin again with a new state and code_challenge.",
    error_abandoned: "The authorization was abandoned",
    error_abandoned_patient: "The sharing that you had begun was ended before it was complete. Nothing was shared. Begin again in the application.",
    error_abandoned_developer: "The flow was ended before the patient finished it. Offer to begin again with a new state and code_challenge.",
    error_no_facilities: "No source could be authorized",
    error_no_facilities_patient: "None of the places you chose could be connected. Nothing was shared. Try again later.",
    error_no_facilities_developer: "Every source that the patient chose failed for technical reasons. Offer to try again later.",
    error_server_error: "The service failed",
    error_server_error_patient: "Something broke here. Nothing was shared. Try again in a few minutes.",
    error_server_error_developer: "The flow could not be begun or finished for internal reasons. Offer to try again; if it persists, report the X-Request-Id of the last answer.",
}

impl Texts {
    /// Tables by language. The first one is used where none is asked for.
    fn spoken() -> [&'static Texts; 1] {
        [&ENGLISH]
    }

    /// The table of the language that the browser likes best among those spoken here.
    pub(in crate::http::connect) fn of(headers: &HeaderMap) -> &'static Texts {
        let wanted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        chosen(wanted.unwrap_or_default())
    }

    /// A text of this language with its gap filled.
    pub(in crate::http::connect) fn fill<'t>(&self, text: impl Borrow<Gap>, value: &'t str) -> Filled<'t> {
        Filled {
            text: text.borrow().0,
            values: [value, ""],
        }
    }

    /// The parts of a list in a sentence.
    pub(in crate::http::connect) fn list(&self, parts: &[&str]) -> String {
        match parts {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [before @ .., last] => format!("{}{}{last}", before.join(self.list_comma), self.list_and),
        }
    }

    /// A text of this language with both of its gaps filled.
    pub(in crate::http::connect) fn fill2<'t>(
        &self,
        text: impl Borrow<Gaps>,
        first: &'t str,
        second: &'t str,
    ) -> Filled<'t> {
        Filled {
            text: text.borrow().0,
            values: [first, second],
        }
    }
}

/// Goes by the quality values of `Accept-Language` (RFC 9110, section 12.5.4), the first of equals.
fn chosen(accepted: &str) -> &'static Texts {
    let mut best: Option<(f32, &'static Texts)> = None;
    for range in accepted.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let tag = parts.next().unwrap_or_default();
        let primary = tag.split('-').next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
        let quality = quality.unwrap_or(1.0);
        let spoken = Texts::spoken()
            .into_iter()
            .find(|texts| texts.lang.eq_ignore_ascii_case(primary));
        if let Some(texts) = spoken
            && quality > 0.0
            && best.is_none_or(|(known, _)| quality > known)
        {
            best = Some((quality, texts));
        }
    }
    best.map_or(Texts::spoken()[0], |(_, texts)| texts)
}

/// A text whose gaps are filled when it is written. The template escapes the whole of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::http::connect) struct Filled<'t> {
    text: &'t str,
    values: [&'t str; 2],
}

impl fmt::Display for Filled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values are never looked through for gaps: an organization may be called what it likes.
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once('{') {
            f.write_str(before)?;
            let Some((gap, behind)) = after.split_once('}') else {
                f.write_str("{")?;
                rest = after;
                continue;
            };
            let value = self.values[usize::from(gap == "2")];
            // A name that is written from right to left must not pull the words around it along.
            match value.chars().any(is_right_to_left) {
                true => write!(f, "\u{2068}{value}\u{2069}")?,
                false => f.write_str(value)?,
            }
            rest = behind;
        }
        f.write_str(rest)
    }
}

/// Letters of the scripts from Hebrew to Arabic, their presentation forms, and what turns the direction by itself.
fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{200f}' | '\u{202b}' | '\u{202e}' | '\u{2067}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_values_left_alone() {
        let texts = Texts::spoken()[0];
        assert_eq!(texts.fill(Gap("a {} b"), "{2}").to_string(), "a {2} b");
        assert_eq!(texts.fill2(Gaps("{} and {2}, {}"), "x", "y").to_string(), "x and y, x");
    }

    /// A text as a page shows it.
    pub(super) trait FilledForTest {
        fn filled_for_test(&self, texts: &Texts) -> String;
    }

    impl FilledForTest for &'static str {
        fn filled_for_test(&self, _: &Texts) -> String {
            (*self).to_owned()
        }
    }

    impl FilledForTest for Gap {
        fn filled_for_test(&self, texts: &Texts) -> String {
            assert!(self.0.contains("{}"), "no gap: {}", self.0);
            texts.fill(*self, "Somebody").to_string()
        }
    }

    impl FilledForTest for Gaps {
        fn filled_for_test(&self, texts: &Texts) -> String {
            assert!(self.0.contains("{}") && self.0.contains("{2}"), "no gaps: {}", self.0);
            texts.fill2(*self, "Somebody", "Anybody").to_string()
        }
    }

    #[test]
    fn no_text_is_shown_with_a_gap() {
        // "{} did not confirm who you are." stood on the identity page as it is here.
        for texts in Texts::spoken() {
            for (name, text) in texts.shown() {
                assert!(!text.contains(['{', '}']), "{name}: {text}");
                assert!(!text.is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn a_name_from_right_to_left_stands_apart() {
        let texts = Texts::spoken()[0];
        let name = "\u{5de}\u{5db}\u{5d1}\u{5d9}";
        assert_eq!(
            texts.fill(Gap("a {} b"), name).to_string(),
            format!("a \u{2068}{name}\u{2069} b")
        );
    }

    #[test]
    fn lists_are_read_as_sentences() {
        let texts = Texts::spoken()[0];
        assert_eq!(texts.list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(texts.list(&["a"]), "a");
    }

    #[test]
    fn templates_have_no_words_of_their_own() {
        // What stands in a template and not in the table is English to everybody.
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/connect");
        let code = regex::Regex::new(r"(?s)\{\{.*?\}\}|\{%.*?%\}").unwrap();
        let spoken = regex::Regex::new(r#"(?s)\s(?:alt|title|placeholder|aria-label)="([^"]*)""#).unwrap();
        let tag = regex::Regex::new(r"(?s)<[^>]*>").unwrap();
        for file in std::fs::read_dir(folder).unwrap() {
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

    #[test]
    fn a_language_that_is_not_spoken_gets_the_first_one() {
        for accepted in ["", "de-CH, fr;q=0.9", "en-GB;q=0", "*", "en;q=x, ;;,"] {
            assert_eq!(chosen(accepted).lang, "en", "{accepted}");
        }
    }
}
