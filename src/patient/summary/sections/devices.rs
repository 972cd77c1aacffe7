//! Devices that a person uses or carries: DeviceUseStatements, and Devices to which no DeviceUseStatement refers.

use rustc_hash::FxHashSet;

use super::super::record::{Chart, Entry};
use super::super::shared::common::{cell, newest, status, who};
use super::super::shared::{Row, Section};
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "devices",
    code: "46264-8",
    display: "History of medical device use",
    title: "Device Use",
    columns: &["Device", "Body site", "Status", "Since", "Identifier"],
    nothing: "No information about devices is available.",
    rows,
};

const USED: &[&str] = &["timingPeriod", "timingDateTime", "recordedOn"];
const MADE: &[&str] = &["manufactureDate"];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let device_of = |at: usize| chart.find(&chart.entries[at].get("device")?.get_str("reference")?);
    // Do not list a Device on its own if a statement refers to it, even if the statement says that its use has ended.
    let mut told: FxHashSet<usize> = chart.own("DeviceUseStatement").filter_map(device_of).collect();
    let mut known = FxHashSet::default();
    let mut is_new = |at: Option<usize>| match at.and_then(|at| identifier(&chart.entries[at])) {
        Some(identifier) => known.insert(identifier),
        None => true,
    };
    let statements = chart
        .own("DeviceUseStatement")
        .filter(|at| chart.entries[*at].is_one("status", &["active"]));
    let mut statements = newest(chart, statements, USED);
    statements.retain(|at| is_new(device_of(*at)));
    let devices = chart
        .own("Device")
        .filter(|at| !chart.entries[*at].is_one("status", &["inactive", "entered-in-error"]));
    let mut devices = newest(chart, devices.filter(|at| told.insert(*at)), MADE);
    devices.retain(|at| is_new(Some(*at)));
    let statements = statements.into_iter().map(|at| statement(chart, at, device_of(at)));
    statements
        .chain(devices.into_iter().map(|at| device(chart, at)))
        .collect()
}

/// Returns the unique device identifier (UDI) of a device in its human-readable form.
fn identifier(entry: &Entry<'_>) -> Option<String> {
    let carriers = entry.get("udiCarrier").into_iter().flat_map(|list| list.items());
    let mut codes = carriers.filter_map(|carrier| words::text(carrier.get("carrierHRF")));
    codes.next()
}

fn statement(chart: &Chart<'_>, at: usize, device: Option<usize>) -> Row {
    let entry = &chart.entries[at];
    let named = who(chart, entry, entry.get("device"));
    let known = device.and_then(|device| words::name(chart.entries[device].json));
    let since = words::chosen(entry.json, "timing");
    let cells = vec![
        known.or(named).unwrap_or_else(|| "Unknown".to_owned()),
        cell(words::concepts(entry.get("bodySite"))),
        status(entry, "status"),
        cell(since),
        cell(device.and_then(|device| identity(&chart.entries[device]))),
    ];
    Row { entry: at, cells }
}

fn device(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        words::name(entry.json).unwrap_or_else(|| "Unknown".to_owned()),
        String::new(),
        status(entry, "status"),
        String::new(),
        cell(identity(entry)),
    ];
    Row { entry: at, cells }
}

fn identity(entry: &Entry<'_>) -> Option<String> {
    let parts = ["serialNumber", "lotNumber", "modelNumber", "distinctIdentifier"];
    identifier(entry).or_else(|| parts.iter().find_map(|name| words::text(entry.get(name))))
}
