//! Validates resources against R4 and profiles with the crate `helios-fhir-validator`: elements, cardinalities, types,
//! forms of primitives, slices, invariants (with `helios-fhirpath`), and required bindings to R4's own value sets.
//!
//!     validator [--package FOLDER]... < lines
//!
//! Each line is a JSON object: a `resource`, and the URLs of the `profiles` that it must meet in addition to R4. R4's
//! definitions are in the crate. A guide's definitions come from the folder of its unpacked package. Findings are
//! printed as one JSON object per line: `severity`, `at` (the place in the input, from 0), `path`, `message`. The exit
//! code is 1 if there was an error and 2 if the program could not do its work.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use helios_fhir::FhirVersion;
use helios_fhir_validator::converter::convert;
use helios_fhir_validator::fhirpath_effects::FhirPathConstraintEvaluator;
use helios_fhir_validator::packs::core_registry;
use helios_fhir_validator::{
    EffectHandlers, ErrorKind, FhirSchema, SchemaRegistry, SchemaResolver, Severity, UnknownProfilePolicy,
    ValidationError, ValidationOptions, Validator, core_terminology,
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("validator: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let mut packages = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument != "--package" {
            return Err(format!("{argument} is no option").into());
        }
        packages.push(arguments.next().ok_or("--package needs a folder")?);
    }
    let validator = Validator::new(Arc::new(Definitions::read(&packages)?));
    let evaluator = FhirPathConstraintEvaluator::new();
    let terminology = core_terminology(FhirVersion::R4);
    let effects = EffectHandlers {
        terminology: Some(terminology.as_ref()),
        constraints: Some(&evaluator),
        terminology_fail_closed: true,
        ..EffectHandlers::default()
    };
    let mut is_valid = true;
    let mut out = stdout().lock();
    for (at, line) in stdin().lock().lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Value = serde_json::from_str(&line).map_err(|error| format!("line {}: {error}", at + 1))?;
        let resource = &line["resource"];
        let profiles = line["profiles"].as_array().into_iter().flatten();
        let options = ValidationOptions {
            profiles: profiles.filter_map(|url| Some(url.as_str()?.to_owned())).collect(),
            use_meta_profiles: false,
            unknown_profile: UnknownProfilePolicy::Error,
            ..ValidationOptions::default()
        };
        let found = validator.validate(resource, FhirVersion::R4, &options, &effects);
        // A profile repeats R4's findings.
        let mut told = BTreeSet::new();
        for finding in futures_executor::block_on(found) {
            if has_only_extensions(resource, &finding) {
                continue;
            }
            let is_error = finding.severity == Severity::Error;
            is_valid &= !is_error;
            let finding = json!({
                "severity": if is_error { "error" } else { "warning" },
                "at": at,
                "path": finding.path,
                "message": finding.message,
            });
            if told.insert(finding.to_string()) {
                writeln!(out, "{finding}")?;
            }
        }
    }
    Ok(is_valid)
}

/// Whether the validator wrongly reports an element as missing. A primitive may have extensions but no value, such as
/// `_status` without `status`. The validator only looks for `status`.
fn has_only_extensions(resource: &Value, finding: &ValidationError) -> bool {
    if finding.kind != ErrorKind::Required {
        return false;
    }
    let mut steps: Vec<&str> = finding.path.split('.').skip(1).collect();
    let Some(last) = steps.pop() else { return false };
    let parent = steps.into_iter().try_fold(resource, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    });
    let Some(parent) = parent.and_then(Value::as_object) else {
        return false;
    };
    parent.iter().any(|(name, element)| {
        // It is the element itself or a choice of it: `timing` is required, and `_timingDateTime` is present.
        let rest = name.strip_prefix('_').and_then(|name| name.strip_prefix(last));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_uppercase))
            && element["extension"].as_array().is_some_and(|list| !list.is_empty())
    })
}

/// The definitions of R4 and of guides. A canonical may name a version, but there is only one of each.
struct Definitions {
    guides: SchemaRegistry,
    core: Arc<SchemaRegistry>,
}

impl Definitions {
    fn read(folders: &[String]) -> Result<Definitions, Box<dyn Error>> {
        let mut guides = SchemaRegistry::new();
        for folder in folders {
            let entries = fs::read_dir(folder).map_err(|error| format!("{folder}: {error}"))?;
            let mut files: Vec<_> = entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<_, _>>()?;
            files.sort();
            for file in files {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                if !name.starts_with("StructureDefinition-") || !name.ends_with(".json") {
                    continue;
                }
                let definition: Value = serde_json::from_slice(&fs::read(&file)?)?;
                let conversion = convert(&definition).map_err(|error| format!("{}: {error}", file.display()))?;
                // Profiles may share a name, but not a URL.
                let url = conversion
                    .schema
                    .url
                    .clone()
                    .ok_or_else(|| format!("{} has no url", file.display()))?;
                let schema = FhirSchema {
                    name: None,
                    ..conversion.schema
                };
                guides.insert_named(url, schema);
            }
        }
        Ok(Definitions {
            guides,
            core: core_registry(FhirVersion::R4),
        })
    }
}

impl SchemaResolver for Definitions {
    fn resolve(&self, reference: &str) -> Option<Arc<FhirSchema>> {
        let url = reference.split('|').next().unwrap_or(reference);
        self.guides.resolve(url).or_else(|| self.core.resolve(url))
    }
}
