//! `tabularium terminology lookup`: shows the facts about a code.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::failure;
use crate::cli::terminal::failure::Failure;
use crate::fhir::nearest::did_you_mean;
use crate::terminology::Terminology;
use crate::terminology::codes::systems;

/// Print a code: display, codes above and below it, properties, and for an NDC its RxNorm concept
///
/// Without --data the command knows only the code systems of R4 and HL7.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// URL of the code system, or icd-10-cm, icd-10-pcs, hcpcs, cvx, mvx, ndc, rxnorm, loinc, snomed, nucc, pos
    #[arg(value_name = "SYSTEM")]
    system: String,
    /// The code
    #[arg(value_name = "CODE")]
    code: String,
}

/// The known facts about a code.
struct Found {
    system: String,
    version: Option<String>,
    code: String,
    display: Option<String>,
    parents: Vec<String>,
    properties: Vec<(String, String)>,
    rxnorm: Option<(String, Option<String>)>,
    ingredients: Vec<String>,
}

/// Looks the code up and prints the known facts.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let terminology = match &arguments.data {
        Some(data) => Terminology::open(data, None).map_err(failure)?,
        None => Terminology::default(),
    };
    let url = systems::by_name(&arguments.system);
    // Reads the table of the code system now, to report a damaged one. `find` would treat the code system as not
    // loaded.
    terminology.read(url).map_err(failure)?;
    if url == systems::NDC {
        terminology.read(systems::RXNORM).map_err(failure)?;
    }
    let found = find(&terminology, url, &arguments.code)?;
    if arguments.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&found.json()).map_err(Failure::other)?
        );
    } else {
        found.print();
    }
    Ok(())
}

fn find(terminology: &Terminology, url: &str, code: &str) -> Result<Found, Failure> {
    let form = systems::form(url, code).into_owned();
    let system = terminology.code_system(url);
    let is_ndc = url == systems::NDC;
    if system.is_none() && !(is_ndc && terminology.knows_ndc(&form)) {
        let meant = did_you_mean(url, systems::names());
        return Err(Failure::input(format!("{url}: no such code system is loaded{meant}")));
    }
    let is_known_ndc = |code: &str| is_ndc && terminology.knows_ndc(code);
    let of_system = |code: &str| {
        system
            .as_ref()
            .is_some_and(|system| system.contains(code) == Some(true))
    };
    let code = [code, &form].into_iter().find(|code| of_system(code)).unwrap_or(&form);
    if !of_system(code) && !is_known_ndc(code) {
        return Err(Failure::input(format!("{url}: has no code {code}")));
    }
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
    let rxnorm = is_ndc.then(|| terminology.rxnorm(code)).flatten();
    Ok(Found {
        system: url.to_owned(),
        version: system.as_ref().and_then(|system| system.version().map(str::to_owned)),
        display: terminology.display(url, code).map(|display| display.into_owned()),
        parents: system
            .as_ref()
            .map_or_else(Vec::new, |system| owned(system.parents(code))),
        properties: system.as_ref().map_or_else(Vec::new, |system| {
            let pairs = system.properties(code).into_iter();
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }),
        ingredients: if is_ndc {
            terminology.ingredients(code)
        } else {
            Vec::new()
        },
        rxnorm,
        code: code.to_owned(),
    })
}

impl Found {
    fn json(&self) -> Value {
        let mut object = Map::new();
        object.insert("system".to_owned(), json!(self.system));
        object.insert("version".to_owned(), json!(self.version));
        object.insert("code".to_owned(), json!(self.code));
        object.insert("display".to_owned(), json!(self.display));
        object.insert("parents".to_owned(), json!(self.parents));
        let properties = self
            .properties
            .iter()
            .map(|(name, value)| json!({"property": name, "value": value}));
        object.insert("properties".to_owned(), properties.collect());
        if let Some((code, display)) = &self.rxnorm {
            let rxnorm = json!({"code": code, "display": display, "ingredients": self.ingredients});
            object.insert("rxnorm".to_owned(), rxnorm);
        }
        Value::Object(object)
    }

    fn print(&self) {
        let version = self
            .version
            .as_ref()
            .map_or_else(String::new, |version| format!("|{version}"));
        println!("{}{version} {}", self.system, self.code);
        println!("display: {}", self.display.as_deref().unwrap_or("-"));
        for parent in &self.parents {
            println!("below: {parent}");
        }
        for (name, value) in &self.properties {
            println!("{name}: {value}");
        }
        if let Some((code, display)) = &self.rxnorm {
            println!("rxnorm: {code} {}", display.as_deref().unwrap_or("-"));
            println!("ingredients: {}", self.ingredients.join(" "));
        }
    }
}
