//! The data of the templates. It only decides which texts are shown.

use askama::Template;
use chrono::DateTime;

use super::super::super::service::Service;
use super::super::brand::Branding;
use super::super::flow::birth_date::{self, Part};
use super::super::language::Texts;
use crate::consent::{ApplicationProfile, Details, Display, FlowRequest, Organization, OrganizationProfile, Way};

/// The parts that all pages share.
pub(in crate::http::connect) struct Shell<'a> {
    pub(in crate::http::connect) t: &'static Texts,
    /// The path prefix of the service's addresses. Empty at the root of a host.
    pub(in crate::http::connect) base: &'a str,
    pub(in crate::http::connect) title: String,
    /// The operator's brand.
    pub(in crate::http::connect) brand: &'a Branding,
    /// The application's name, if known.
    pub(in crate::http::connect) app: Option<&'a str>,
    /// The application's profile.
    pub(in crate::http::connect) asks: Option<&'a ApplicationProfile>,
    /// The application's id, for addresses.
    pub(in crate::http::connect) app_id: &'a str,
    pub(in crate::http::connect) test: bool,
    /// The token for forms. `None` outside a session.
    pub(in crate::http::connect) csrf: Option<String>,
    pub(in crate::http::connect) steps: Vec<StepMark>,
    /// Whether "cancel" leads back to the sources that are already connected.
    pub(in crate::http::connect) to_hub: bool,
    /// When the session times out. `None` outside a session.
    pub(in crate::http::connect) ends: Option<Ends>,
    /// The languages to which the page can be switched, if any.
    pub(in crate::http::connect) languages: Option<Switch<'a>>,
    /// The page with the link component. It gets a message about the current page.
    pub(in crate::http::connect) told: Option<Told<'a>>,
}

/// The page that holds the frame, and the link component's name for the current page. It names no source and no person,
/// because nothing is shared yet.
pub(in crate::http::connect) struct Told<'a> {
    pub(in crate::http::connect) origin: &'a str,
    pub(in crate::http::connect) channel: &'a str,
    pub(in crate::http::connect) view: &'static str,
}

impl<'a> Shell<'a> {
    /// The parts of a page that belongs to no session.
    pub(in crate::http::connect) fn outside(service: &'a Service, t: &'static Texts, title: &str) -> Shell<'a> {
        Shell {
            t,
            base: service.base_path(),
            title: title.to_owned(),
            brand: &service.pages.branding,
            app: None,
            asks: None,
            app_id: "",
            test: false,
            csrf: None,
            steps: Vec::new(),
            to_hub: false,
            ends: None,
            languages: None,
            told: None,
        }
    }

    /// The name of the service.
    fn service(&self) -> &str {
        self.brand.name.as_deref().unwrap_or(self.t.service)
    }

    /// The text about the use of the records: one before anything is shared, and one after.
    fn promise(&self) -> String {
        let text = if self.to_hub {
            self.t.promise_shared
        } else {
            self.t.promise
        };
        self.t.fill(text, self.app.unwrap_or_default())
    }
}

/// The time at which an idle session ends.
pub(in crate::http::connect) struct Ends {
    /// Seconds from now.
    pub(in crate::http::connect) seconds: i64,
    /// The time of day in UTC. Only a script knows the patient's time zone.
    pub(in crate::http::connect) at: String,
}

impl Ends {
    /// The end of a session that was active just now.
    pub(in crate::http::connect) fn after(now: i64, seconds: i64) -> Ends {
        let time = DateTime::from_timestamp(now + seconds, 0).unwrap_or_default();
        Ends {
            seconds,
            at: time.format("%H:%M UTC").to_string(),
        }
    }
}

/// The languages to choose from.
pub(in crate::http::connect) struct Switch<'a> {
    /// The address that shows the same page in the current language.
    pub(in crate::http::connect) address: String,
    pub(in crate::http::connect) all: &'a [&'static Texts],
}

impl Switch<'_> {
    /// The address of the page in another language.
    fn to(&self, texts: &Texts) -> String {
        let before = match self.address.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{}{before}language={}", self.address, texts.lang)
    }
}

/// A step, as the page shows it at the top.
pub(in crate::http::connect) struct StepMark {
    pub(in crate::http::connect) name: &'static str,
    place: std::cmp::Ordering,
}

impl StepMark {
    /// The steps of a flow. `current` is the number of the current one. A source named in advance needs no step for
    /// choosing. With one source the grant at the source ends the flow, except in a frame: there the patient shares
    /// after the grant.
    pub(in crate::http::connect) fn all(t: &'static Texts, request: &FlowRequest, current: usize) -> Vec<StepMark> {
        let all: &[&'static str] = match request.way {
            Way::Choose => &[t.step_find, t.step_review, t.step_sign_in, t.step_share],
            Way::Search => &[t.step_find, t.step_connect, t.step_share],
            Way::Identity => &[t.step_verify, t.step_connect, t.step_share],
        };
        let alone = request.way == Way::Choose;
        let first = usize::from(alone && request.endpoint.is_some());
        let shares = !alone || request.display == Display::Frame;
        let end = if shares { all.len() } else { all.len() - 1 };
        let names = &all[first..end];
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

/// The operator of a source, as patients know it.
pub(in crate::http::connect) struct OrganizationView {
    pub(in crate::http::connect) id: String,
    /// Its id in the logo's address.
    pub(in crate::http::connect) logo: Option<String>,
    /// The type and place of the organization.
    pub(in crate::http::connect) about: Option<String>,
}

impl OrganizationView {
    pub(in crate::http::connect) fn of(
        t: &'static Texts,
        organization: &Organization,
        profile: OrganizationProfile,
    ) -> OrganizationView {
        let kind = match organization.organization_type.to_ascii_uppercase().as_str() {
            "PAYER" => Some(t.organization_payer),
            "PROVIDER" => Some(t.organization_provider),
            "PHARMACY" => Some(t.organization_pharmacy),
            "LAB" => Some(t.organization_lab),
            _ => None,
        };
        let about: Vec<&str> = kind.into_iter().chain(profile.place.as_deref()).collect();
        OrganizationView {
            id: organization.id.clone(),
            logo: profile.logo,
            about: (!about.is_empty()).then(|| about.join(" · ")),
        }
    }
}

/// An organization to choose.
pub(in crate::http::connect) struct Choice {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    /// The operator's name, if it differs.
    pub(in crate::http::connect) by: Option<String>,
    pub(in crate::http::connect) organization: OrganizationView,
    pub(in crate::http::connect) connected: bool,
}

/// The organizations that match a name.
pub(in crate::http::connect) struct Found {
    pub(in crate::http::connect) query: String,
    pub(in crate::http::connect) organizations: Vec<Choice>,
    /// The maximum number shown.
    pub(in crate::http::connect) limit: usize,
    pub(in crate::http::connect) more: bool,
}

impl Found {
    /// A sentence with their number.
    fn said(&self, t: &'static Texts) -> String {
        match (self.organizations.len(), self.query.is_empty()) {
            (0, true) => t.choose_empty.to_owned(),
            (0, false) => t.fill(t.choose_none, &self.query),
            (_, _) if self.more => t.count(t.choose_many, self.limit),
            (number, _) => t.count(t.choose_found, number),
        }
    }

    fn is_cut(&self) -> bool {
        self.more
    }

    fn cut(&self, t: &'static Texts) -> String {
        t.count(t.choose_more, self.limit)
    }
}

#[derive(Template)]
#[template(path = "connect/choose.html")]
pub(in crate::http::connect) struct Choose<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) found: Found,
    pub(in crate::http::connect) details: bool,
}

/// The list of organizations alone. A script inserts it while the patient types.
#[derive(Template)]
#[template(path = "connect/fragment.html")]
pub(in crate::http::connect) struct Fragment<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) found: Found,
}

/// The shared records.
pub(in crate::http::connect) struct What {
    pub(in crate::http::connect) categories: Vec<Category>,
    /// The source has no list of types.
    pub(in crate::http::connect) unsure: bool,
}

impl What {
    /// The headings in a line.
    fn names(&self, t: &'static Texts) -> String {
        t.list(&self.categories.iter().map(|one| one.name).collect::<Vec<_>>())
    }
}

/// Kinds of records under one heading.
pub(in crate::http::connect) struct Category {
    pub(in crate::http::connect) name: &'static str,
    pub(in crate::http::connect) kinds: String,
}

#[derive(Template)]
#[template(path = "connect/share.html")]
pub(in crate::http::connect) struct Share<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) what: What,
    pub(in crate::http::connect) app: &'a str,
    pub(in crate::http::connect) source: &'a str,
    pub(in crate::http::connect) organization: OrganizationView,
    /// How long records are shared, if the source grants what is requested, in a few words.
    pub(in crate::http::connect) lasting: &'static str,
    /// The same as a sentence.
    pub(in crate::http::connect) duration: String,
    pub(in crate::http::connect) ongoing: bool,
    /// Whether the application requested a longer time than the source grants.
    pub(in crate::http::connect) forced: bool,
    /// Days until the source asks the patient to sign in again.
    pub(in crate::http::connect) longest: Option<usize>,
    /// Whether another organization may be chosen instead.
    pub(in crate::http::connect) other: bool,
}

/// A button that leads to the next page.
pub(in crate::http::connect) struct Onward {
    pub(in crate::http::connect) action: &'static str,
    pub(in crate::http::connect) label: String,
}

#[derive(Template)]
#[template(path = "connect/problem.html")]
pub(in crate::http::connect) struct Problem<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    /// Whether an error caused this page. Otherwise the patient chose it.
    pub(in crate::http::connect) bad: bool,
    pub(in crate::http::connect) text: &'static str,
    pub(in crate::http::connect) again: Option<Onward>,
    pub(in crate::http::connect) other: Option<Onward>,
    /// The label of the button to leave, if the application is then told that no records were found. Otherwise leaving
    /// counts as a cancellation by the patient.
    pub(in crate::http::connect) leave: Option<String>,
}

/// A connected source.
pub(in crate::http::connect) struct Connected {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    /// The headings of the records that it shares.
    pub(in crate::http::connect) what: String,
    /// How long the source shares records, in a few words.
    pub(in crate::http::connect) lasting: &'static str,
    /// The same as a sentence.
    pub(in crate::http::connect) duration: String,
}

/// A source that failed to connect.
pub(in crate::http::connect) struct Failed {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    /// Whether the patient can try it again.
    pub(in crate::http::connect) again: bool,
}

#[derive(Template)]
#[template(path = "connect/hub.html")]
pub(in crate::http::connect) struct Hub<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) app: &'a str,
    pub(in crate::http::connect) connected: Vec<Connected>,
    pub(in crate::http::connect) failed: Vec<Failed>,
    /// Whether a source can be removed from the list.
    pub(in crate::http::connect) remove: bool,
    /// Whether there is another source to add.
    pub(in crate::http::connect) add: bool,
    pub(in crate::http::connect) facilities: bool,
}

/// A field with a wrong or missing value.
pub(in crate::http::connect) struct Wrong {
    pub(in crate::http::connect) field: &'static str,
    pub(in crate::http::connect) text: &'static str,
}

/// A part of the date of birth.
pub(in crate::http::connect) struct BirthField {
    id: &'static str,
    name: &'static str,
    label: &'static str,
    autocomplete: &'static str,
    value: String,
}

impl BirthField {
    /// The fields in the order of the language. They hold the typed text, otherwise the stored date.
    pub(in crate::http::connect) fn all(t: &'static Texts, date: &str, typed: Option<[String; 3]>) -> [BirthField; 3] {
        let mut parts = date.split('-').map(|part| part.trim_start_matches('0').to_owned());
        let mut part = || parts.next().unwrap_or_default();
        let (year, month, day) = (part(), part(), part());
        let [day, month, year] = typed.unwrap_or([day, month, year]);
        let mut first = true;
        birth_date::order(t.date_order).map(|part| {
            let (name, label, autocomplete, value) = match part {
                Part::Day => ("birth_day", t.details_day, "bday-day", day.clone()),
                Part::Month => ("birth_month", t.details_month, "bday-month", month.clone()),
                Part::Year => ("birth_year", t.details_year, "bday-year", year.clone()),
            };
            // The error summary links to the first field.
            let id = if std::mem::take(&mut first) { "birth_date" } else { name };
            BirthField {
                id,
                name,
                label,
                autocomplete,
                value,
            }
        })
    }
}

#[derive(Template)]
#[template(path = "connect/details.html")]
pub(in crate::http::connect) struct DetailsPage<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) lead: String,
    pub(in crate::http::connect) filled: Details,
    pub(in crate::http::connect) birth: [BirthField; 3],
    pub(in crate::http::connect) wrong: Vec<Wrong>,
    pub(in crate::http::connect) down: bool,
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
pub(in crate::http::connect) struct IdentityPage<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    /// Code and name.
    pub(in crate::http::connect) providers: Vec<(String, String)>,
    /// Heading and text.
    pub(in crate::http::connect) problem: Option<(String, String)>,
}

/// A found place.
pub(in crate::http::connect) struct PlaceView {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    pub(in crate::http::connect) connected: bool,
    pub(in crate::http::connect) chosen: bool,
}

/// How long places share records.
pub(in crate::http::connect) struct Lasting {
    /// The names of these places, if other places share for a different time.
    pub(in crate::http::connect) places: Option<String>,
    /// The time as a sentence.
    pub(in crate::http::connect) duration: String,
}

#[derive(Template)]
#[template(path = "connect/facilities.html")]
pub(in crate::http::connect) struct Facilities<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) app: &'a str,
    pub(in crate::http::connect) places: Vec<PlaceView>,
    pub(in crate::http::connect) what: What,
    /// The name of the place that the patient chose, if it was not found.
    pub(in crate::http::connect) missing: Option<String>,
    /// How long the places share records.
    pub(in crate::http::connect) durations: Vec<Lasting>,
    /// Whether the patient chose nothing.
    pub(in crate::http::connect) nothing: bool,
}

#[derive(Template)]
#[template(path = "connect/none.html")]
pub(in crate::http::connect) struct NoneFound<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) app: &'a str,
    pub(in crate::http::connect) text: String,
    pub(in crate::http::connect) details: bool,
}

#[derive(Template)]
#[template(path = "connect/frame.html")]
pub(in crate::http::connect) struct FramePage<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) source: &'a str,
    pub(in crate::http::connect) ticket: String,
    /// The session's turn for which this page was made.
    pub(in crate::http::connect) mark: u64,
    /// Whether the page has opened a window.
    pub(in crate::http::connect) opened: bool,
}

/// A place that is being connected, with its progress.
pub(in crate::http::connect) struct Asking {
    pub(in crate::http::connect) name: String,
    pub(in crate::http::connect) class: &'static str,
    pub(in crate::http::connect) said: &'static str,
}

#[derive(Template)]
#[template(path = "connect/waiting.html")]
pub(in crate::http::connect) struct WaitingPage<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) text: String,
    pub(in crate::http::connect) places: Vec<Asking>,
    /// The session's turn for which this page was made.
    pub(in crate::http::connect) mark: u64,
}

/// The message to the page that holds the link component.
pub(in crate::http::connect) struct Message<'a> {
    pub(in crate::http::connect) origin: &'a str,
    pub(in crate::http::connect) channel: &'a str,
    pub(in crate::http::connect) event: &'static str,
    pub(in crate::http::connect) token: &'a str,
    pub(in crate::http::connect) error: &'a str,
    pub(in crate::http::connect) description: &'a str,
}

impl<'a> Message<'a> {
    /// The message that nothing was shared, for the page of this origin and channel.
    pub(in crate::http::connect) fn exit(origin: &'a str, channel: &'a str) -> Message<'a> {
        Message {
            origin,
            channel,
            event: "exit",
            token: "",
            error: "",
            description: "",
        }
    }
}

#[derive(Template)]
#[template(path = "connect/end.html")]
pub(in crate::http::connect) struct End<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) text: String,
    /// The text about what happens next.
    pub(in crate::http::connect) next: Option<String>,
    pub(in crate::http::connect) good: bool,
    pub(in crate::http::connect) message: Option<Message<'a>>,
}

#[derive(Template)]
#[template(path = "connect/message.html")]
pub(in crate::http::connect) struct Notice<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) texts: Vec<String>,
    pub(in crate::http::connect) bad: bool,
    pub(in crate::http::connect) detail: Option<&'a str>,
    /// The button's address and label.
    pub(in crate::http::connect) onward: Option<(String, String)>,
    /// Whether the window closes itself, if the browser lets it.
    pub(in crate::http::connect) closes: bool,
    pub(in crate::http::connect) message: Option<Message<'a>>,
}

/// An empty page in a frame. It only sends a message to the page that holds the link component.
#[derive(Template)]
#[template(path = "connect/silent.html")]
pub(in crate::http::connect) struct Silent<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) message: Option<Message<'a>>,
}

/// An error code with its texts.
pub(in crate::http::connect) struct ErrorCode {
    pub(in crate::http::connect) code: &'static str,
    pub(in crate::http::connect) title: &'static str,
    pub(in crate::http::connect) patient: &'static str,
    pub(in crate::http::connect) developer: &'static str,
}

#[derive(Template)]
#[template(path = "connect/errors.html")]
pub(in crate::http::connect) struct Errors<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) one: Option<&'a ErrorCode>,
    pub(in crate::http::connect) all: &'a [ErrorCode],
}
