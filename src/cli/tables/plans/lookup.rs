//! `tabularium plans lookup`: shows the facts about a plan.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::open::{failure, open};
use crate::cli::terminal::failure::Failure;
use crate::plans::Plan;

/// Print a plan: name, organization, premiums, areas and contact
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The calendar year [default: the newest in which the plan is known]
    #[arg(long, value_name = "YEAR")]
    year: Option<i32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// CMS's id: contract, plan and segment, such as H1234-001 or H1234-001-000
    #[arg(value_name = "PLAN")]
    plan: String,
}

/// Prints the known facts about a plan.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let tables = open(&arguments.data)?;
    // Reads all tables now, to report a damaged one. `find` would treat a damaged table as not loaded.
    tables.warm().map_err(failure)?;
    let id = arguments.plan.to_ascii_uppercase();
    let parts: Vec<&str> = id.split(['-', '_']).collect();
    let is_number = |part: &&str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if parts[0].len() != 5 || parts.len() > 3 || !parts[1..].iter().all(is_number) {
        let expected = "a contract, or with plan and segment as H1234-001-000";
        return Err(Failure::input(format!(
            "{}: is no id of a plan; it is {expected}",
            arguments.plan
        )));
    }
    let number = |at: usize| parts.get(at).map(|part| format!("{part:0>3}"));
    let (plan, segment) = (number(1), number(2));
    let years = arguments.year.map_or_else(|| tables.years(), |year| vec![year]);
    let found = years.into_iter().filter_map(|year| {
        let plan = tables.find(parts[0], plan.as_deref(), segment.as_deref(), year)?;
        Some((year, plan))
    });
    let found: Vec<(i32, Plan)> = found.collect();
    // Prefers a year in which the plan's name is known. For other years only facts about the whole contract are known.
    let named = found.iter().position(|(_, plan)| plan.name.is_some());
    let found = found.into_iter().nth(named.unwrap_or_default());
    let (year, plan) = found.ok_or_else(|| {
        let year = arguments
            .year
            .map_or_else(|| "any year".to_owned(), |year| year.to_string());
        Failure::input(format!("{}: no such plan is loaded of {year}", arguments.plan))
    })?;
    if arguments.json {
        println!("{:#}", object(&id, year, &plan));
    } else {
        show(&id, year, &plan);
    }
    Ok(())
}

fn object(id: &str, year: i32, plan: &Plan) -> Value {
    let areas = plan
        .areas
        .iter()
        .map(|area| json!({"state": area.state, "county": area.county}));
    let premium = plan
        .premium
        .as_ref()
        .map(|premium| json!({"total": premium.total, "partC": premium.part_c, "partD": premium.part_d}));
    let contact = plan.contact.as_ref().map(|contact| {
        json!({"name": contact.name, "title": contact.title, "phone": contact.phone, "email": contact.email,
               "street": contact.street, "city": contact.city, "state": contact.state, "postalCode": contact.postal_code})
    });
    json!({
        "plan": id, "year": year, "name": plan.name, "aliases": plan.aliases, "organization": plan.organization,
        "parent": plan.parent, "type": plan.kind, "premium": premium, "areas": areas.collect::<Vec<_>>(), "contact": contact,
    })
}

fn show(id: &str, year: i32, plan: &Plan) {
    println!("{id} of {year}: {}", plan.name.as_deref().unwrap_or("-"));
    let line = |what: &str, text: &Option<String>| {
        if let Some(text) = text {
            println!("{what}: {text}");
        }
    };
    for alias in &plan.aliases {
        println!("also: {alias}");
    }
    line("organization", &plan.organization);
    line("parent", &plan.parent);
    line("type", &plan.kind);
    if let Some(premium) = &plan.premium {
        line("monthly premium", &premium.total);
        line("monthly premium, Part C", &premium.part_c);
        line("monthly premium, Part D", &premium.part_d);
    }
    if !plan.areas.is_empty() {
        let areas: Vec<String> = plan.areas.iter().map(|area| area.name()).collect();
        println!("areas: {}", areas.join("; "));
    }
    if let Some(contact) = &plan.contact {
        line("contact", &contact.name);
        line("phone", &contact.phone);
        line("email", &contact.email);
    }
}
