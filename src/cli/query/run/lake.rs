//! Runs views over a lake, or prints their plans. Views of one resource type share one scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::args::{Args, ExplainArgument};
use super::outputs::{Outputs, failure};
use super::targets::Target;
use crate::cli::lake::lake_scope::warn_of_nobody;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::progress::Progress;
use crate::fhir::TypeId;
use crate::lake::scan::Watch;
use crate::lake::{Lake, Scope};
use crate::views::{Event, Format, Resources, SharedRun};

pub(super) fn run(arguments: &Args, lake: &Lake, targets: &[Target], format: Format) -> Result<(), Failure> {
    let scope = Arc::new(Scope {
        mode: arguments.mode.into(),
        application: arguments.application.as_str().into(),
        patient: None,
    });
    let (snapshot, resources) = (lake.snapshot(), resources(arguments, lake));
    let watch = (arguments.explain == Some(ExplainArgument::Analyze)).then(Arc::<Watch>::default);
    let mut plans = Vec::new();
    for (type_id, places) in by_type(targets) {
        let table = lake.table(&snapshot, type_id, &scope);
        let table = match &watch {
            Some(watch) => table.watched(watch),
            None => table,
        };
        let views = places.iter().map(|place| targets[*place].view.clone()).collect();
        let run = SharedRun::new(&table, views, &resources, arguments.limit);
        let run = futures::executor::block_on(run).map_err(|error| failure(&targets[places[0]], error))?;
        plans.push((places, run));
    }
    if let Some(how) = arguments.explain {
        return explain(targets, &plans, how);
    }
    let progress = Progress::new(arguments.shows_progress(), None);
    let mut failures = Vec::new();
    let mut read = 0;
    for (places, run) in plans {
        let mut outputs = Outputs::new(targets, places, arguments.table())?;
        let events = run
            .rows()
            .events(format)
            .inspect(|_| progress.read(|| read + run.report().bytes()));
        failures.extend(outputs.write(events, &progress, || Ok(()), |view, error| run.named(view, error))?);
        read += run.report().bytes();
    }
    progress.finish();
    Failure::all(failures)
}

/// Prints the plans. For `--explain=analyze`, runs each plan before it is printed, because the plan then has the
/// metrics of the run. The rows of this run are dropped.
fn explain(targets: &[Target], plans: &[(Vec<usize>, SharedRun)], how: ExplainArgument) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for (at, (places, run)) in plans.iter().enumerate() {
        if how == ExplainArgument::Analyze {
            for event in run.rows().events(Format::Ndjson) {
                match event.map_err(|error| failure(&targets[places[0]], error))? {
                    Event::Failed { view, error } => failures.push(failure(&targets[places[view]], error)),
                    Event::Piece { .. } | Event::Done { .. } => {}
                }
            }
        }
        let between = if at == 0 { "" } else { "\n" };
        print!("{between}{}", run.explain());
    }
    Failure::all(failures)
}

/// Groups the targets by the resource type of their views, in the order of the type names. Returns the indexes of each
/// type's targets.
fn by_type(targets: &[Target]) -> Vec<(TypeId, Vec<usize>)> {
    let mut by_type: BTreeMap<&str, (TypeId, Vec<usize>)> = BTreeMap::new();
    for (place, target) in targets.iter().enumerate() {
        let type_id = target.view.resource();
        let name = crate::fhir::facts().get(type_id).name;
        by_type.entry(name).or_insert((type_id, Vec::new())).1.push(place);
    }
    by_type.into_values().collect()
}

fn resources(arguments: &Args, lake: &Lake) -> Resources {
    let (since, patients) = (arguments.since, arguments.patients());
    for patient in patients.iter().flatten() {
        warn_of_nobody(lake, arguments.mode.into(), &arguments.application, patient);
    }
    let owners = |patients: &Vec<String>| {
        let of = |patient: &String| lake.owners_of(&arguments.application, patient);
        patients.iter().flat_map(of).collect()
    };
    Resources {
        owners: patients.as_ref().map(owners),
        patients,
        since,
        page: None,
    }
}
