//! Patient: names, identifiers, addresses, and the extensions of US Core.

use super::super::clinical::codes::{Code, identifier_type, marital, null_flavor, race};
use super::super::people::calendar::{DAY, PRESENT, Text, YEAR, Zone};
use super::super::people::chart::Chart;
use super::super::people::directory::Organization;
use super::super::people::names::Town;
use super::super::people::profile::Profile;
use super::json::{List, Object};

/// The categories of race. `Profile::race` is an index in this list. The weights in the file `profile` have the same
/// order.
const RACES: &[Code] = &[
    race("2106-3", "White"),
    race("2054-5", "Black or African American"),
    race("2028-9", "Asian"),
    race("1002-5", "American Indian or Alaska Native"),
    race("2076-8", "Native Hawaiian or Other Pacific Islander"),
    null_flavor("UNK", "Unknown"),
];
const LANGUAGES: &[(&str, &str)] = &[
    ("en-US", "English (United States)"),
    ("es", "Spanish"),
    ("zh", "Chinese"),
    ("vi", "Vietnamese"),
    ("ar", "Arabic"),
    ("fr", "French"),
];
const US_CORE: &str = "http://hl7.org/fhir/us/core/StructureDefinition";

/// Writes the person's Patient.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>) {
    let profile = chart.profile;
    let town = chart.care[0].town;
    let payer = &chart.nation.payers[profile.payer];
    let zone = chart.zone;
    let doctor = &chart.care[0].practitioners[chart.primary];
    let precision = chart.dice.below(100);
    let moved = chart.dice.percent(20);
    let married = profile.maiden.is_some() || chart.dice.percent(40);
    let second_phone = chart.dice.percent(25);
    let hospital = &chart.care[0].sites[0].organization;
    chart.records.add("Patient", profile.id, |o| {
        o.object("meta", |o| {
            o.text("lastUpdated", Text::Instant(profile.end().after(2 * DAY).min(PRESENT)));
            o.text("source", format_args!("urn:oid:2.999.{}", profile.payer));
            o.list("profile", |l| {
                l.text(format_args!("{US_CORE}/us-core-patient"));
            });
        });
        o.narrative(format_args!("{}, born {}", profile.name(), Text::Day(profile.birth)));
        o.list("extension", |l| extensions(l, profile));
        o.list("identifier", |l| identifiers(l, profile, hospital, payer));
        o.bare("active", profile.death.is_none());
        o.list("name", |l| names(l, profile));
        o.list("telecom", |l| {
            l.contact("phone", &profile.phone, "home");
            if profile.age(PRESENT) > 15 {
                l.contact("email", format_args!("person{}@example.org", profile.index), "home");
            }
        });
        o.text("gender", if profile.female { "female" } else { "male" });
        birth(o, profile, precision);
        if let Some(death) = profile.death {
            o.text("deceasedDateTime", Text::Second(death, zone));
        } else if precision.is_multiple_of(5) {
            o.bare("deceasedBoolean", false);
        }
        o.list("address", |l| addresses(l, profile, town, moved));
        if profile.age(profile.end()) > 20 {
            let status = if married {
                marital("M", "Married")
            } else {
                marital("S", "Never Married")
            };
            o.concept("maritalStatus", &status);
        }
        if let Some(many) = profile.siblings_at_birth {
            o.bare("multipleBirthInteger", many);
        } else if precision.is_multiple_of(3) {
            o.bare("multipleBirthBoolean", false);
        }
        if let Some(head) = &profile.head {
            o.only("contact", |o| contact(o, profile, head, second_phone));
        }
        o.only("communication", |o| language(o, profile));
        o.links("generalPractitioner", doctor.link())
            .link("managingOrganization", payer.link());
    });
}

fn identifiers(list: &mut List<'_>, profile: &Profile, hospital: &Organization, payer: &Organization) {
    list.object(|o| {
        o.text("use", "usual")
            .concept("type", &identifier_type("MR", "Medical record number"));
        o.text(
            "system",
            format_args!("https://records.example.org/district/{}", profile.district),
        );
        o.text("value", format_args!("MRN-{:07}", profile.record_number))
            .link("assigner", hospital.link());
    });
    list.object(|o| {
        o.text("use", "official")
            .concept("type", &identifier_type("MB", "Member number"));
        o.text("system", "https://members.example.org/id")
            .text("value", format_args!("M{:09}", profile.member_number));
        o.days("period", profile.birth.after(YEAR).day(), None)
            .link("assigner", payer.link());
    });
}

fn contact(o: &mut Object<'_>, profile: &Profile, head: &Profile, second: bool) {
    o.object("name", |o| {
        o.text("text", head.name())
            .text("family", head.family)
            .list("given", |l| {
                l.text(head.given);
            });
    });
    o.list("telecom", |l| {
        l.contact("phone", &head.phone, "mobile");
        if second {
            l.object(|o| {
                o.text("system", "phone").text("value", &profile.phone).bare("rank", 2);
            });
        }
    });
}

fn language(o: &mut Object<'_>, profile: &Profile) {
    let (code, display) = LANGUAGES[profile.language];
    o.object("language", |o| {
        o.only("coding", |o| {
            o.text("system", "urn:ietf:bcp:47")
                .text("code", code)
                .text("display", display);
        });
        o.text("text", display);
    });
    o.bare("preferred", true);
}

fn extensions(list: &mut List<'_>, profile: &Profile) {
    let race = &RACES[profile.race];
    list.object(|o| {
        o.text("url", format_args!("{US_CORE}/us-core-race"))
            .list("extension", |l| category(l, race));
    });
    let ethnicity = if profile.hispanic {
        super::super::clinical::codes::race("2135-2", "Hispanic or Latino")
    } else {
        super::super::clinical::codes::race("2186-5", "Non Hispanic or Latino")
    };
    list.object(|o| {
        o.text("url", format_args!("{US_CORE}/us-core-ethnicity"))
            .list("extension", |l| category(l, &ethnicity));
    });
    list.object(|o| {
        o.text("url", format_args!("{US_CORE}/us-core-birthsex"))
            .text("valueCode", if profile.female { "F" } else { "M" });
    });
}

fn category(list: &mut List<'_>, code: &Code) {
    list.object(|o| {
        o.text("url", "ombCategory").object("valueCoding", |o| {
            o.coding(code);
        });
    });
    list.object(|o| {
        o.text("url", "text").text("valueString", code.display);
    });
}

fn names(list: &mut List<'_>, profile: &Profile) {
    list.object(|o| {
        o.text("use", "official")
            .text("text", profile.name())
            .text("family", profile.family);
        o.list("given", |l| {
            l.text(profile.given);
            if let Some(middle) = profile.middle {
                l.text(middle);
            }
        });
        // For some people, an extension says that the second given name is a middle name. `_given` has it, because
        // `given` is a list of primitives. `null` stands for the first given name.
        if profile.middle.is_some() && profile.record_number.is_multiple_of(4) {
            o.list("_given", |l| {
                l.bare("null").object(|o| {
                    o.only("extension", |o| {
                        o.text("url", "http://hl7.org/fhir/StructureDefinition/iso21090-EN-qualifier")
                            .text("valueCode", "MID");
                    });
                });
            });
        }
    });
    if let Some(maiden) = profile.maiden {
        list.object(|o| {
            o.text("use", "maiden").text("family", maiden).list("given", |l| {
                l.text(profile.given);
            });
            o.object("period", |o| {
                o.text("end", Text::Year(profile.birth.after(26 * YEAR)));
            });
        });
    }
}

/// Writes the birth date. For most people it is a day. For some it is only a month or a year, or a day with a time. For
/// a few it is unknown.
fn birth(o: &mut Object<'_>, profile: &Profile, precision: u64) {
    match precision {
        0..=2 => o.text("birthDate", Text::Year(profile.birth)),
        3..=5 => o.text("birthDate", Text::Month(profile.birth)),
        6 => o.object("_birthDate", |o| {
            o.only("extension", |o| {
                o.text("url", "http://hl7.org/fhir/StructureDefinition/data-absent-reason")
                    .text("valueCode", "unknown");
            });
        }),
        7..=14 => {
            let time = profile.birth.after(profile.record_number as i64 % DAY);
            o.text("birthDate", Text::Day(profile.birth)).object("_birthDate", |o| {
                o.only("extension", |o| {
                    o.text("url", "http://hl7.org/fhir/StructureDefinition/patient-birthTime");
                    o.text("valueDateTime", Text::Second(time, Zone(0)));
                });
            })
        }
        _ => o.text("birthDate", Text::Day(profile.birth)),
    };
}

fn addresses(list: &mut List<'_>, profile: &Profile, town: &Town, moved: bool) {
    let since = profile.birth.after(YEAR * 2).day();
    list.object(|o| {
        o.text("use", "home").text("type", "both");
        o.text(
            "text",
            format_args!("{}, {}, {} {}", profile.line, town.0, town.1, profile.postal_code),
        );
        o.list("line", |l| {
            l.text(&profile.line);
            if profile.record_number.is_multiple_of(6) {
                l.text(format_args!("Apt {}", profile.record_number % 90 + 1));
            }
        });
        o.text("city", town.0)
            .text("state", town.1)
            .text("postalCode", &profile.postal_code)
            .text("country", "US");
        if moved {
            o.days("period", since, None);
        }
    });
    if moved {
        list.object(|o| {
            o.text("use", "old").list("line", |l| {
                l.text(format_args!("{} Old Post Road", profile.record_number % 400 + 1));
            });
            o.text("city", town.0).text("state", town.1).text("country", "US").days(
                "period",
                profile.birth,
                Some(since),
            );
        });
    }
}
