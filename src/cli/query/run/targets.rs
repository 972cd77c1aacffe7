//! Loads the views to run, and chooses where their rows go. Reports every fault that can be found before a row is
//! read.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::Args;
use crate::cli::query::{definition, inline};
use crate::cli::terminal::failure::{Failure, warn};
use crate::ingest;
use crate::terminology::Terminology;
use crate::views::{Format, View};

/// A view and the destination of its rows.
pub(super) struct Target {
    /// The file that defines the view. For a view of `--column`, the resource type from the command line. Messages
    /// begin with it.
    pub(super) file: PathBuf,
    pub(super) view: Arc<View>,
    /// The file for the rows. `None` for standard output.
    pub(super) out: Option<PathBuf>,
}

/// Loads the requested views and creates the output folder. The error lists every faulty view.
pub(super) fn load(arguments: &Args) -> Result<Vec<Target>, Failure> {
    let several = "several views need a folder to go to";
    if !arguments.column.is_empty() {
        return typed(arguments);
    }
    let mut files = arguments.view.clone();
    if let Some(folder) = &arguments.views {
        files.extend(definitions(folder)?);
    }
    let (mut views, mut faulty) = (Vec::new(), Vec::new());
    let terminology = arguments.terminology.load(arguments.data.as_deref())?;
    for file in &files {
        match read(file, terminology.clone(), arguments.strict) {
            Ok(view) => views.push(Arc::new(view)),
            Err(failure) => faulty.push(failure),
        }
    }
    Failure::all(faulty)?;
    let outs = if arguments.is_several() {
        match &arguments.out {
            Some(file) if is_table_file(file) => {
                let name = file.display();
                return Err(Failure::input(format!(
                    "{several}, and {name} is the name of a file; name a folder with --out"
                )));
            }
            Some(folder) => outs(folder, &files, arguments.extension())?,
            None if arguments.explain.is_some() => vec![None; files.len()],
            None => {
                return Err(Failure::input(format!("{several}; name it with --out")));
            }
        }
    } else {
        vec![arguments.out.clone()]
    };
    keep_apart(arguments.data.as_deref(), &arguments.input, &files, &outs)?;
    if let Some(folder) = arguments
        .out
        .as_ref()
        .filter(|_| arguments.is_several() && arguments.explain.is_none())
    {
        std::fs::create_dir_all(folder).map_err(|error| Failure::input(format!("{}: {error}", folder.display())))?;
    }
    let targets = files.into_iter().zip(views).zip(outs);
    Ok(targets.map(|((file, view), out)| Target { file, view, out }).collect())
}

/// Builds the single view from the columns on the command line.
fn typed(arguments: &Args) -> Result<Vec<Target>, Failure> {
    let [resource_type] = arguments.view.as_slice() else {
        return Err(Failure::input(
            "--column goes with one resource type, as in: run Patient --column id",
        ));
    };
    inline::refuse_repeated(&arguments.column, "--column")?;
    let terminology = arguments.terminology.load(arguments.data.as_deref())?;
    let filter = arguments.filter.as_deref();
    let view = inline::view(
        &resource_type.to_string_lossy(),
        &arguments.column,
        "--column",
        filter,
        terminology,
        arguments.strict,
    )?;
    let outs = [arguments.out.clone()];
    keep_apart(arguments.data.as_deref(), &arguments.input, &[], &outs)?;
    let [out] = outs;
    Ok(vec![Target {
        file: resource_type.clone(),
        view: Arc::new(view),
        out,
    }])
}

/// Whether the path has an extension of an output format and is not a folder.
fn is_table_file(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy());
    extension.is_some_and(|extension| Format::parse(&extension).is_some()) && !path.is_dir()
}

/// Returns the `.json` files in a folder, without hidden ones, sorted by path. Fails if there are none.
pub(in crate::cli) fn definitions(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::input(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let named = name.is_some_and(|name| name.to_ascii_lowercase().ends_with(".json") && !name.starts_with('.'));
        if named && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        Err(Failure::input(format!("{}: no .json file in it", folder.display())))
    } else {
        Ok(found)
    }
}

/// Reads the view in a file. Prints only those warnings that can concern the rows. With `strict`, JSON's names such as
/// `valueCoding` are errors.
pub(in crate::cli) fn read(file: &Path, terminology: Option<Arc<Terminology>>, strict: bool) -> Result<View, Failure> {
    let text = definition::read(file)?;
    let checked = if strict {
        View::check_strictly(&text, terminology)
    } else {
        View::check_with(&text, terminology)
    };
    let doubts = checked.warnings().filter(|doubt| doubt.is_about_rows());
    doubts.for_each(|doubt| warn(&format!("{}: {doubt}", file.display())));
    let wrong = checked.errors();
    Failure::all(
        wrong
            .map(|error| Failure::input(format!("{}: {error}", file.display())))
            .collect(),
    )?;
    checked
        .into_view()
        .map_err(|_| Failure::input(format!("{}: it cannot be run", file.display())))
}

/// Returns a path in the folder for each view, named after the view's file. Fails if two views get the same path.
fn outs(folder: &Path, files: &[PathBuf], extension: &str) -> Result<Vec<Option<PathBuf>>, Failure> {
    let mut taken: HashMap<String, &Path> = HashMap::new();
    let mut outs = Vec::new();
    for file in files {
        let name = format!("{}.{extension}", stem(file));
        // Some file systems ignore case, so names are compared in lower case.
        if let Some(before) = taken.insert(name.to_lowercase(), file) {
            return Err(Failure::input(format!(
                "{} and {} would both be written to {}; rename one of them",
                before.display(),
                file.display(),
                folder.join(name).display()
            )));
        }
        outs.push(Some(folder.join(name)));
    }
    Ok(outs)
}

/// Returns the name of a view: its file name without `.json` and `.view`.
pub(in crate::cli) fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let cut = |name: &str, end: &str| {
        let at = name.len().checked_sub(end.len()).filter(|at| *at > 0)?;
        let ends = name.get(at..).is_some_and(|tail| tail.eq_ignore_ascii_case(end));
        ends.then(|| name[..at].to_owned())
    };
    let name = cut(&name, ".json").unwrap_or(name);
    cut(&name, ".view").unwrap_or(name)
}

/// Fails if an output is a folder, if it is one of the view files or input files, or if it lies in the data folder.
pub(in crate::cli) fn keep_apart(
    data: Option<&Path>,
    input: &[PathBuf],
    files: &[PathBuf],
    outs: &[Option<PathBuf>],
) -> Result<(), Failure> {
    let outs: Vec<&PathBuf> = outs.iter().flatten().collect();
    for out in &outs {
        if out.is_dir() || out.to_string_lossy().ends_with(std::path::is_separator) {
            return Err(Failure::input(format!("{} is a folder; name a file", out.display())));
        }
    }
    let there: Vec<(&PathBuf, PathBuf)> = outs
        .iter()
        .filter_map(|out| Some((*out, out.canonicalize().ok()?)))
        .collect();
    let refuse = |taken: &HashSet<PathBuf>, what: &str| match there.iter().find(|(_, path)| taken.contains(path)) {
        Some((out, _)) => Err(Failure::input(format!("{} is {what}; write elsewhere", out.display()))),
        None => Ok(()),
    };
    let known = |files: &[PathBuf]| files.iter().filter_map(|file| file.canonicalize().ok()).collect();
    refuse(&known(files), "a view")?;
    if !there.is_empty() && !input.is_empty() {
        // If the input cannot be listed, this check is skipped. The error is reported when the input is read.
        refuse(&known(&ingest::find(input).unwrap_or_default()), "an input")?;
    }
    let Some(lake) = data.and_then(|data| data.canonicalize().ok()) else {
        return Ok(());
    };
    let inside = |out: &&&PathBuf| {
        let absolute = std::path::absolute(out).unwrap_or_else(|_| out.to_path_buf());
        let above = absolute.ancestors().find_map(|above| above.canonicalize().ok());
        above.is_some_and(|above| above.starts_with(&lake))
    };
    match outs.iter().find(inside) {
        Some(out) => Err(Failure::input(format!(
            "{} lies in the lake; write elsewhere",
            out.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_named_after_its_file() {
        for (file, expected) in [
            ("views/blood-pressure.view.json", "blood-pressure"),
            ("a.JSON", "a"),
            ("a.b.json", "a.b"),
            ("views/.view.json", ".view"),
            ("a", "a"),
            ("é.View.json", "é"),
        ] {
            assert_eq!(stem(Path::new(file)), expected, "{file}");
        }
    }
}
