//! The data that the page templates show.

use askama::Template;

use super::super::super::service::Service;
use super::super::brand::Branding;
use super::super::flow::birth_date::{self, Part};
use super::super::language::Texts;
use super::tile::Tile;
use crate::consent::{ApplicationProfile, Details, Display, FlowRequest, Organization, OrganizationProfile, Way};

/// The minimum number of organizations from which on the page links to the help below them. A shorter list leaves this
/// help in view.
const LONG_LIST: usize = 6;
/// The maximum number of characters of a purpose that the page always shows whole. A longer one is cut to two lines
/// until the patient opens it.
const SHORT_PURPOSE: usize = 80;
/// The placeholder that a script replaces by a time of day.
const TIME: &str = "{time}";

/// The data that all pages share.
pub(in crate::http::connect) struct Shell<'a> {
    pub(in crate::http::connect) t: &'static Texts,
    /// The path with which the service's URLs begin. Empty at the root of a host.
    pub(in crate::http::connect) base: &'a str,
    pub(in crate::http::connect) title: String,
    /// The operator's brand.
    pub(in crate::http::connect) brand: &'a Branding,
    /// The application's name, if known.
    pub(in crate::http::connect) app: Option<&'a str>,
    /// The application's profile.
    pub(in crate::http::connect) asks: Option<&'a ApplicationProfile>,
    /// The application's id, for the URL of its logo.
    pub(in crate::http::connect) app_id: &'a str,
    pub(in crate::http::connect) test: bool,
    /// The CSRF token for forms. `None` outside a session.
    pub(in crate::http::connect) csrf: Option<String>,
    pub(in crate::http::connect) steps: Vec<StepMark>,
    /// Whether cancelling leads back to the sources that are already connected.
    pub(in crate::http::connect) to_hub: bool,
    /// Whether a source is connected.
    pub(in crate::http::connect) has_connected: bool,
    /// When the session times out. `None` outside a session.
    pub(in crate::http::connect) ends: Option<Ends>,
    /// The languages to which the page can be switched. `None` if it cannot.
    pub(in crate::http::connect) languages: Option<Switch<'a>>,
    /// The page with the link component, to which this page sends its name. `None` if there is no link component.
    pub(in crate::http::connect) told: Option<Told<'a>>,
}

/// The message that tells the link component the name of the current page, and where the component is. The message
/// contains neither a source nor a person, because nothing is shared yet.
pub(in crate::http::connect) struct Told<'a> {
    pub(in crate::http::connect) origin: &'a str,
    pub(in crate::http::connect) channel: &'a str,
    pub(in crate::http::connect) view: &'static str,
}

impl<'a> Shell<'a> {
    /// Returns the data of a page outside a session.
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
            has_connected: false,
            ends: None,
            languages: None,
            told: None,
        }
    }

    /// Returns the operator's name, or else the service's own.
    fn service(&self) -> &str {
        self.brand.name_or(self.t.service)
    }

    /// Returns a digest of the application's logo, for its URL. `None` if there is no logo.
    fn logo(&self) -> Option<&str> {
        self.asks?.logo.as_deref()
    }

    /// Returns the tile that stands in for the application's logo.
    fn tile(&self) -> Tile {
        Tile::of(self.app.unwrap_or_default())
    }

    /// Whether the page cuts the application's purpose until the patient opens it.
    fn folds(&self, purpose: &str) -> bool {
        purpose.chars().count() > SHORT_PURPOSE
    }

    /// Returns until when the page stays open, with a gap for the time of day.
    fn open_until(&self) -> String {
        self.t.fill(self.t.ends_until, TIME)
    }

    /// Returns the warning before the page closes, with a gap for the time of day.
    fn closes_at(&self) -> String {
        self.t.fill(self.t.ends_text, TIME)
    }

    /// Returns the text about the use of the records: one for before and one for after a source is connected.
    fn promise(&self) -> String {
        let text = if self.has_connected {
            self.t.promise_shared
        } else {
            self.t.promise
        };
        self.t.fill(text, self.app.unwrap_or_default())
    }
}

/// When a session ends if the patient does nothing. A script shows the time of day in the patient's time zone.
pub(in crate::http::connect) struct Ends {
    /// The number of seconds from now.
    pub(in crate::http::connect) seconds: i64,
    /// The number of whole minutes from now.
    pub(in crate::http::connect) minutes: usize,
}

impl Ends {
    /// Returns when a session ends that times out after this number of seconds.
    pub(in crate::http::connect) fn after(seconds: i64) -> Ends {
        Ends {
            seconds,
            minutes: usize::try_from(seconds / 60).unwrap_or_default(),
        }
    }
}

/// The language switch of a page.
pub(in crate::http::connect) struct Switch<'a> {
    /// The URL that shows this page.
    pub(in crate::http::connect) address: String,
    pub(in crate::http::connect) all: &'a [&'static Texts],
}

impl Switch<'_> {
    /// Returns the URL that shows this page in another language.
    fn to(&self, texts: &Texts) -> String {
        let before = match self.address.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{}{before}language={}", self.address, texts.lang)
    }
}

/// A step of the flow, as the page shows it at the top.
pub(in crate::http::connect) struct StepMark {
    pub(in crate::http::connect) name: &'static str,
    place: std::cmp::Ordering,
}

impl StepMark {
    /// Returns the steps of a flow. `current` is the number of the current step. If the application chose the endpoint,
    /// there is no step for choosing. If the patient connects only one source, its grant ends the flow, so there is no
    /// step for sharing. A frame is the exception: there the patient shares after the grant.
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

/// The organization of a source, as patients see it.
pub(in crate::http::connect) struct OrganizationView {
    pub(in crate::http::connect) id: String,
    /// A digest of the logo, for its URL. `None` if there is no logo.
    pub(in crate::http::connect) logo: Option<String>,
    /// The organization's type and place.
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

/// An organization that the patient can choose.
pub(in crate::http::connect) struct Choice {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    /// Other names of the endpoint and its organization.
    pub(in crate::http::connect) by: Option<String>,
    pub(in crate::http::connect) organization: OrganizationView,
    pub(in crate::http::connect) connected: bool,
}

impl Choice {
    /// Returns the tile that stands in for the organization's logo.
    fn tile(&self) -> Tile {
        Tile::of(&self.name)
    }
}

/// The organizations that match a name.
pub(in crate::http::connect) struct Found {
    pub(in crate::http::connect) query: String,
    pub(in crate::http::connect) organizations: Vec<Choice>,
    /// The maximum number of organizations on the page.
    pub(in crate::http::connect) limit: usize,
    pub(in crate::http::connect) more: bool,
}

impl Found {
    /// Returns a sentence about the number of organizations.
    fn said(&self, t: &'static Texts) -> String {
        match (self.organizations.len(), self.query.is_empty()) {
            (0, true) => t.choose_empty.to_owned(),
            (0, false) => t.fill(t.choose_none, &self.query),
            (_, _) if self.more => t.count(t.choose_many, self.limit),
            (number, _) => t.count(t.choose_found, number),
        }
    }

    /// Returns the minimum number of organizations of a long list, for the page's script.
    fn long(&self) -> usize {
        LONG_LIST
    }

    fn is_long(&self) -> bool {
        self.organizations.len() >= LONG_LIST
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

/// The list of organizations without a page around it. A script inserts it while the patient types.
#[derive(Template)]
#[template(path = "connect/fragment.html")]
pub(in crate::http::connect) struct Fragment<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) found: Found,
}

/// The records that are shared, as kinds under headings.
pub(in crate::http::connect) struct What {
    pub(in crate::http::connect) categories: Vec<Category>,
    /// Whether the source has no list of resource types, so that the kinds are uncertain.
    pub(in crate::http::connect) unsure: bool,
}

impl What {
    /// Joins the headings in one line.
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
    /// A few words about how long records are shared, if the source grants what is requested.
    pub(in crate::http::connect) lasting: &'static str,
    /// A sentence about how long records are shared.
    pub(in crate::http::connect) duration: String,
    pub(in crate::http::connect) ongoing: bool,
    /// Whether the application requested ongoing access, but the endpoint permits only one-time access.
    pub(in crate::http::connect) forced: bool,
    /// The number of days until the source requires another sign-in. `None` if it is not known.
    pub(in crate::http::connect) longest: Option<usize>,
    /// Whether the patient may choose another organization instead.
    pub(in crate::http::connect) other: bool,
}

impl Share<'_> {
    /// Returns the tile that stands in for the organization's logo.
    fn tile(&self) -> Tile {
        Tile::of(self.source)
    }
}

/// A button that leads to another page of the flow.
pub(in crate::http::connect) struct Onward {
    pub(in crate::http::connect) action: &'static str,
    pub(in crate::http::connect) label: String,
}

#[derive(Template)]
#[template(path = "connect/problem.html")]
pub(in crate::http::connect) struct Problem<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    /// Whether an error caused this page. `false` if the patient or the source refused, or has no records.
    pub(in crate::http::connect) bad: bool,
    pub(in crate::http::connect) text: &'static str,
    pub(in crate::http::connect) again: Option<Onward>,
    pub(in crate::http::connect) other: Option<Onward>,
    /// The label of the button that leaves the flow with the result that there are no records. `None` to show the
    /// button for cancelling instead.
    pub(in crate::http::connect) leave: Option<String>,
}

/// A source that is connected.
pub(in crate::http::connect) struct Connected {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    /// The headings of the records that the source shares.
    pub(in crate::http::connect) what: String,
    /// A few words about how long the source shares records.
    pub(in crate::http::connect) lasting: &'static str,
    /// A sentence about how long the source shares records.
    pub(in crate::http::connect) duration: String,
}

/// A source that failed to connect.
pub(in crate::http::connect) struct Failed {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    /// Whether the patient can try the source again.
    pub(in crate::http::connect) again: bool,
}

#[derive(Template)]
#[template(path = "connect/hub.html")]
pub(in crate::http::connect) struct Hub<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) app: &'a str,
    pub(in crate::http::connect) connected: Vec<Connected>,
    pub(in crate::http::connect) failed: Vec<Failed>,
    /// Whether the patient can remove connected sources.
    pub(in crate::http::connect) remove: bool,
    /// Whether there is another organization that the patient can connect.
    pub(in crate::http::connect) add: bool,
    pub(in crate::http::connect) facilities: bool,
}

/// A field with a wrong or missing value.
pub(in crate::http::connect) struct Wrong {
    pub(in crate::http::connect) field: &'static str,
    pub(in crate::http::connect) text: &'static str,
}

/// A field for a part of the date of birth.
pub(in crate::http::connect) struct BirthField {
    id: &'static str,
    name: &'static str,
    label: &'static str,
    autocomplete: &'static str,
    value: String,
}

impl BirthField {
    /// Returns the fields in the order of the language. They contain what the patient typed, or else the parts of
    /// `date`.
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
            // The list of errors links to the first field by this id.
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
    /// The code and the name of each identity provider.
    pub(in crate::http::connect) providers: Vec<(String, String)>,
    /// The heading and the text about a failed attempt.
    pub(in crate::http::connect) problem: Option<(String, String)>,
}

/// A place that a record locator found.
pub(in crate::http::connect) struct PlaceView {
    pub(in crate::http::connect) endpoint: String,
    pub(in crate::http::connect) name: String,
    pub(in crate::http::connect) connected: bool,
    pub(in crate::http::connect) chosen: bool,
}

/// How long some of the found places share records.
pub(in crate::http::connect) struct Lasting {
    /// The names of the places. `None` if all found places share for the same time.
    pub(in crate::http::connect) places: Option<String>,
    /// A sentence about how long these places share records.
    pub(in crate::http::connect) duration: String,
}

#[derive(Template)]
#[template(path = "connect/facilities.html")]
pub(in crate::http::connect) struct Facilities<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) app: &'a str,
    pub(in crate::http::connect) places: Vec<PlaceView>,
    pub(in crate::http::connect) what: What,
    /// A sentence for a patient who chose an organization before the search: it was not found. `None` if it was found,
    /// or if the patient chose none.
    pub(in crate::http::connect) missing: Option<String>,
    /// How long the places share records.
    pub(in crate::http::connect) durations: Vec<Lasting>,
    /// Whether the patient submitted the form without choosing a place.
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
    /// The session's turn when this page was rendered. A script compares it with the session's current turn.
    pub(in crate::http::connect) mark: u64,
    /// Whether a window was opened from this page.
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
    /// The session's turn when this page was rendered. A script compares it with the session's current turn.
    pub(in crate::http::connect) mark: u64,
}

/// A message to the page with the link component.
pub(in crate::http::connect) struct Message<'a> {
    pub(in crate::http::connect) origin: &'a str,
    pub(in crate::http::connect) channel: &'a str,
    pub(in crate::http::connect) event: &'static str,
    pub(in crate::http::connect) token: &'a str,
    pub(in crate::http::connect) error: &'a str,
    pub(in crate::http::connect) description: &'a str,
}

impl<'a> Message<'a> {
    /// Returns the message that nothing was shared, for the page with this origin and channel.
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
    /// Whether records were shared.
    pub(in crate::http::connect) good: bool,
    pub(in crate::http::connect) bad: bool,
    pub(in crate::http::connect) detail: Option<&'a str>,
    /// The URL and the label of the button.
    pub(in crate::http::connect) onward: Option<(String, String)>,
    /// Whether a script closes the window, if the browser permits it.
    pub(in crate::http::connect) closes: bool,
    pub(in crate::http::connect) message: Option<Message<'a>>,
}

/// A blank page in a frame. It only sends a message to the page with the link component.
#[derive(Template)]
#[template(path = "connect/silent.html")]
pub(in crate::http::connect) struct Silent<'a> {
    pub(in crate::http::connect) s: Shell<'a>,
    pub(in crate::http::connect) message: Option<Message<'a>>,
}

/// An error code of `error_uri`, and the texts about it.
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
