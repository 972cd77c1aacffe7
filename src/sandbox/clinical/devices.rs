//! Device: blood pressure monitors at home, and pacemakers.

use uuid::Uuid;

use super::super::people::calendar::{DAY, Text, YEAR};
use super::super::people::chart::Chart;
use super::codes::{Code, snomed};

const MONITOR: Code = snomed("43770009", "Sphygmomanometer");
const PACEMAKER: Code = snomed("14106009", "Cardiac pacemaker");

/// Writes a home blood pressure monitor and returns its id.
pub(in crate::sandbox) fn monitor(chart: &mut Chart<'_>) -> Uuid {
    write(chart, &MONITOR, "Home Pressure Monitor 2", false)
}

/// Writes a pacemaker.
pub(in crate::sandbox) fn pacemaker(chart: &mut Chart<'_>) {
    write(chart, &PACEMAKER, "Steady Beat DR", true);
}

fn write(chart: &mut Chart<'_>, code: &Code, name: &str, implanted: bool) -> Uuid {
    let id = chart.dice.id();
    let patient = chart.patient();
    let made = chart.profile.end().after(-chart.dice.between(1000, 3000) * DAY);
    let serial = chart.dice.below(100_000_000);
    chart.records.add("Device", id, |o| {
        if implanted {
            o.us_core("implantable-device");
        }
        o.only("udiCarrier", |o| {
            o.text("deviceIdentifier", format_args!("0999999{serial:07}"));
            o.text(
                "carrierHRF",
                format_args!("(01)0999999{:07}(21){serial}", serial % 10_000_000),
            );
        });
        o.text("status", "active");
        o.text("distinctIdentifier", format_args!("D{serial}"))
            .text("manufacturer", "Fictive Instruments");
        o.text("manufactureDate", Text::Day(made))
            .text("expirationDate", Text::Day(made.after(12 * YEAR)));
        o.text("lotNumber", serial % 10_000).text("serialNumber", serial);
        o.only("deviceName", |o| {
            o.text("name", name).text("type", "user-friendly-name");
        });
        o.concept_of("type", &[code], Some(code.display))
            .link("patient", patient);
    });
    id
}
