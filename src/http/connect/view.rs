//! The pages as the templates see them. Nothing is decided here but which words stand where.

use askama::Template;

use super::texts::{Filled, Texts};
use crate::consent::{Details, Way};

/// What all pages share.
pub(super) struct Shell<'a> {
    pub(super) t: &'static Texts,
    /// The path that the service's addresses begin with; empty at the root of a host.
    pub(super) base: &'a str,
    pub(super) title: String,
    /// The application's name, where one is known.
    pub(super) app: Option<&'a str>,
    pub(super) test: bool,
    /// What forms carry; `None` outside of a session.
    pub(super) csrf: Option<String>,
    pub(super) steps: Vec<StepMark>,
    /// Whether "cancel" leads back to the sources that are connected already.
    pub(super) to_hub: bool,
}

/// A step of the way, as it is shown above the page.
pub(super) struct StepMark {
    pub(super) name: &'static str,
    place: std::cmp::Ordering,
}

impl StepMark {
    /// The steps of a way, of which the one numbered `current` is shown. A source that is named beforehand is not chosen.
    pub(super) fn all(t: &'static Texts, way: Way, named: bool, current: usize) -> Vec<StepMark> {
        let (names, first): (&[&'static str], usize) = match way {
            Way::Choose if named => (&[t.step_review, t.step_sign_in], 1),
            Way::Choose => (&[t.step_find, t.step_review, t.step_sign_in], 0),
            Way::Search => (&[t.step_find, t.step_connect, t.step_share], 0),
            Way::Identity => (&[t.step_verify, t.step_connect, t.step_share], 0),
        };
        let marks = names.iter().enumerate();
        marks
            .map(|(at, name)| StepMark {
                name,
                place: (at + first).cmp(&current),
            })
            .collect()
    }

    fn class(&self) -> &'static str {
        match self.place {
            std::cmp::Ordering::Less => "done",
            std::cmp::Ordering::Equal => "current",
            std::cmp::Ordering::Greater => "ahead",
        }
    }

    fn is_current(&self) -> bool {
        self.place.is_eq()
    }

    fn is_done(&self) -> bool {
        self.place.is_lt()
    }
}

/// An organization to choose.
pub(super) struct Organization {
    pub(super) endpoint: String,
    pub(super) name: String,
    /// Who runs it, where that is another name.
    pub(super) by: Option<String>,
    pub(super) connected: bool,
}

/// The organizations that a name found.
pub(super) struct Found {
    pub(super) query: String,
    pub(super) organizations: Vec<Organization>,
    /// At most so many are shown.
    pub(super) limit: usize,
    pub(super) more: bool,
}

impl Found {
    /// How many there are, in words.
    fn said(&self, t: &'static Texts) -> String {
        match (self.organizations.len(), self.query.is_empty()) {
            (0, true) => t.choose_empty.to_owned(),
            (0, false) => t.fill(t.choose_none, &self.query).to_string(),
            (number, _) if self.more => t.fill(t.choose_many, &number.to_string()).to_string(),
            (1, _) => t.choose_found_one.to_owned(),
            (number, _) => t.fill(t.choose_found, &number.to_string()).to_string(),
        }
    }

    fn is_cut(&self) -> bool {
        self.more
    }

    fn cut(&self, t: &'static Texts) -> String {
        t.fill(t.choose_more, &self.limit.to_string()).to_string()
    }
}

#[derive(Template)]
#[template(path = "connect/choose.html")]
pub(super) struct Choose<'a> {
    pub(super) s: Shell<'a>,
    pub(super) found: Found,
    pub(super) details: bool,
}

/// What is put in the place of the organizations while a name is typed.
#[derive(Template)]
#[template(path = "connect/fragment.html")]
pub(super) struct Fragment<'a> {
    pub(super) s: Shell<'a>,
    pub(super) found: Found,
}

/// What is shared.
pub(super) struct What {
    pub(super) categories: Vec<Category>,
    /// Nobody tells what there is.
    pub(super) unsure: bool,
}

/// Kinds of records under one heading.
pub(super) struct Category {
    pub(super) name: &'static str,
    pub(super) kinds: String,
}

#[derive(Template)]
#[template(path = "connect/share.html")]
pub(super) struct Share<'a> {
    pub(super) s: Shell<'a>,
    pub(super) what: What,
    pub(super) app: &'a str,
    pub(super) source: &'a str,
    /// For how long, if the source grants what it is asked for.
    pub(super) duration: Filled<'a>,
    pub(super) ongoing: bool,
    /// The application asked for longer than the source grants.
    pub(super) forced: bool,
    /// Days until the source asks the patient to sign in again.
    pub(super) longest: Option<&'a str>,
    /// Whether another organization may be chosen instead.
    pub(super) other: bool,
}

/// A button that leads on.
pub(super) struct Onward {
    pub(super) action: &'static str,
    pub(super) label: String,
}

#[derive(Template)]
#[template(path = "connect/problem.html")]
pub(super) struct Problem<'a> {
    pub(super) s: Shell<'a>,
    /// Something is broken, rather than decided by the patient.
    pub(super) bad: bool,
    pub(super) text: &'static str,
    pub(super) again: Option<Onward>,
    pub(super) other: Option<Onward>,
    /// Leaving means that no records were found, rather than that the patient cancelled.
    pub(super) leave: Option<Filled<'a>>,
}

/// A source that is connected.
pub(super) struct Connected {
    pub(super) name: String,
    /// The headings of what it shares.
    pub(super) what: String,
    /// For how long.
    pub(super) duration: String,
}

#[derive(Template)]
#[template(path = "connect/hub.html")]
pub(super) struct Hub<'a> {
    pub(super) s: Shell<'a>,
    pub(super) app: &'a str,
    pub(super) connected: Vec<Connected>,
    pub(super) failed: Vec<String>,
    pub(super) add: bool,
    pub(super) facilities: bool,
}

/// A field that is not filled in as it must be.
pub(super) struct Wrong {
    pub(super) field: &'static str,
    pub(super) text: &'static str,
}

#[derive(Template)]
#[template(path = "connect/details.html")]
pub(super) struct DetailsPage<'a> {
    pub(super) s: Shell<'a>,
    pub(super) lead: String,
    pub(super) filled: Details,
    pub(super) wrong: Vec<Wrong>,
    pub(super) down: bool,
}

impl DetailsPage<'_> {
    fn wrong_with(&self, field: &str) -> Option<&'static str> {
        self.wrong.iter().find(|one| one.field == field).map(|one| one.text)
    }

    fn genders(&self) -> [(&'static str, &'static str); 4] {
        let t = self.s.t;
        [
            ("female", t.details_female),
            ("male", t.details_male),
            ("other", t.details_other),
            ("unknown", t.details_unknown),
        ]
    }
}

#[derive(Template)]
#[template(path = "connect/identity.html")]
pub(super) struct IdentityPage<'a> {
    pub(super) s: Shell<'a>,
    /// Code and name.
    pub(super) providers: Vec<(String, String)>,
    /// Heading and text.
    pub(super) problem: Option<(String, String)>,
}

/// A place that was found.
pub(super) struct PlaceView {
    pub(super) endpoint: String,
    pub(super) name: String,
    pub(super) connected: bool,
    pub(super) chosen: bool,
}

/// For how long places share records.
pub(super) struct Lasting {
    /// Their names, if other places share for longer or shorter.
    pub(super) places: Option<String>,
    /// In a sentence.
    pub(super) duration: String,
}

#[derive(Template)]
#[template(path = "connect/facilities.html")]
pub(super) struct Facilities<'a> {
    pub(super) s: Shell<'a>,
    pub(super) app: &'a str,
    pub(super) places: Vec<PlaceView>,
    pub(super) what: What,
    /// That the place which the patient chose by name is not among them.
    pub(super) missing: Option<String>,
    /// For how long.
    pub(super) durations: Vec<Lasting>,
    /// Nothing was chosen.
    pub(super) nothing: bool,
}

#[derive(Template)]
#[template(path = "connect/none.html")]
pub(super) struct NoneFound<'a> {
    pub(super) s: Shell<'a>,
    pub(super) app: &'a str,
    pub(super) text: String,
    pub(super) details: bool,
}

#[derive(Template)]
#[template(path = "connect/frame.html")]
pub(super) struct FramePage<'a> {
    pub(super) s: Shell<'a>,
    pub(super) source: &'a str,
    pub(super) ticket: String,
    /// The session's turn that this page is of.
    pub(super) mark: u64,
    /// A window has been opened from it.
    pub(super) opened: bool,
}

/// A place that is being connected, and how far that is.
pub(super) struct Asking {
    pub(super) name: String,
    pub(super) class: &'static str,
    pub(super) said: &'static str,
}

#[derive(Template)]
#[template(path = "connect/waiting.html")]
pub(super) struct WaitingPage<'a> {
    pub(super) s: Shell<'a>,
    pub(super) text: String,
    pub(super) places: Vec<Asking>,
    /// The session's turn that this page is of.
    pub(super) mark: u64,
}

/// What the page that holds the link component is told.
pub(super) struct Message<'a> {
    pub(super) origin: &'a str,
    pub(super) channel: &'a str,
    pub(super) event: &'static str,
    pub(super) token: &'a str,
    pub(super) error: &'a str,
    pub(super) description: &'a str,
}

#[derive(Template)]
#[template(path = "connect/end.html")]
pub(super) struct End<'a> {
    pub(super) s: Shell<'a>,
    pub(super) text: String,
    pub(super) good: bool,
    pub(super) message: Option<Message<'a>>,
}

#[derive(Template)]
#[template(path = "connect/message.html")]
pub(super) struct Notice<'a> {
    pub(super) s: Shell<'a>,
    pub(super) texts: Vec<String>,
    pub(super) bad: bool,
    pub(super) detail: Option<&'a str>,
    /// Where a button leads, and what it says.
    pub(super) onward: Option<(String, String)>,
}

/// An error code and what it says to whom.
pub(super) struct ErrorCode {
    pub(super) code: &'static str,
    pub(super) title: &'static str,
    pub(super) patient: &'static str,
    pub(super) developer: &'static str,
}

#[derive(Template)]
#[template(path = "connect/errors.html")]
pub(super) struct Errors<'a> {
    pub(super) s: Shell<'a>,
    pub(super) one: Option<&'a ErrorCode>,
    pub(super) all: &'a [ErrorCode],
}
