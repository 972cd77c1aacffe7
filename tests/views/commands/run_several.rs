//! `tabularium run` with several views, and with a selection of patients and times.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::run::{path, tabularium, text};

/// A folder with input, a lake of it, and views.
struct Workspace {
    folder: tempfile::TempDir,
}

const VIEWS: [(&str, &str, &str); 3] = [
    ("people.view.json", "Patient", "gender"),
    ("born.json", "Patient", "birthDate"),
    ("seen.view.json", "Observation", "status"),
];

impl Workspace {
    fn new() -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let place = Workspace { folder };
        std::fs::create_dir(place.path("views")).unwrap();
        std::fs::create_dir(place.path("input")).unwrap();
        for (file, resource_type, element) in VIEWS {
            place.view(file, resource_type, element);
        }
        std::fs::write(place.path("views/notes.txt"), "no view").unwrap();
        std::fs::write(place.path("views/.hidden.json"), "no view").unwrap();
        let patient = |id: &str, gender: &str, updated: Option<&str>| {
            let mut patient = json!({"resourceType": "Patient", "id": id, "gender": gender, "birthDate": "1970-01"});
            if let Some(updated) = updated {
                patient["meta"] = json!({"lastUpdated": updated});
            }
            patient
        };
        let observation = |id: &str, of: &str, updated: &str| {
            json!({"resourceType": "Observation", "id": id, "status": "final", "meta": {"lastUpdated": updated},
                "code": {"text": "x"}, "subject": {"reference": format!("Patient/{of}")}, "note": [{"text": "1"}, {"text": "2"}]})
        };
        let resources = [
            patient("a", "female", Some("2024-03-01T00:00:00Z")),
            patient("b", "male", None),
            observation("oa", "a", "2024-02-29T23:30:00-01:00"),
            observation("ob", "b", "2024-02-01T00:00:00Z"),
            json!({"resourceType": "Organization", "id": "o"}),
        ];
        let lines: Vec<String> = resources.iter().map(Value::to_string).collect();
        std::fs::write(place.path("input/all.ndjson"), lines.join("\n")).unwrap();
        let imported = tabularium(&["import", "--data", &place.text("lake"), &place.text("input")]);
        assert_eq!(imported.status.code(), Some(0));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        path(self.folder.path(), name)
    }

    fn view(&self, file: &str, resource_type: &str, element: &str) {
        let view = json!({"resource": resource_type, "select": [{"column": [
            {"name": "key", "path": "getResourceKey()"}, {"name": element.replace('.', "_"), "path": element}]}]});
        std::fs::write(self.path("views").join(file), view.to_string()).unwrap();
    }

    /// The rows of one view, sorted.
    fn rows(&self, view: &str, arguments: &[&str]) -> Vec<String> {
        let found = tabularium(&[&["run", &self.text(view), "--no-header"], arguments].concat());
        assert_eq!((found.status.code(), text(&found.stderr).as_str()), (Some(0), ""));
        let mut rows: Vec<String> = text(&found.stdout).lines().map(str::to_owned).collect();
        rows.sort();
        rows
    }
}

/// The names of all files in a folder, including hidden ones.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn each_view_of_a_folder_gets_a_file_of_its_own() {
    let place = Workspace::new();
    let (lake, input, views) = (place.text("lake"), place.text("input"), place.text("views"));
    for (at, source) in [["--data", &lake], ["--input", &input]].iter().enumerate() {
        for (format, extension) in [
            ("csv", "csv"),
            ("json", "json"),
            ("ndjson", "ndjson"),
            ("parquet", "parquet"),
        ] {
            let out = place.text(&format!("out/{at}/{format}"));
            let mut arguments = vec!["run", "--views", &views, "--out", &out, source[0], source[1]];
            if format != "csv" {
                arguments.extend(["--format", format]);
            }
            let found = tabularium(&arguments);
            let said = text(&found.stdout);
            let warned = match format {
                "parquet" => ": column 'birthDate' is text in Parquet: some of its dates have no day\n",
                _ => "",
            };
            let is_said = |line: &str| line.ends_with(&format!(".{extension}")) && line.contains(&out);
            assert_eq!(
                (
                    found.status.code(),
                    text(&found.stderr).ends_with(warned),
                    text(&found.stderr).lines().count(),
                    said.lines().filter(|line| is_said(line)).count()
                ),
                (Some(0), true, warned.lines().count(), 3),
                "{said}"
            );
            let expected = ["born", "people", "seen"].map(|name| format!("{name}.{extension}"));
            assert_eq!(names(Path::new(&out)), expected);
            for (file, ..) in VIEWS {
                let stem = file.split('.').next().unwrap();
                let alone = tabularium(&[
                    "run",
                    &format!("{views}/{file}"),
                    source[0],
                    source[1],
                    "--format",
                    format,
                ]);
                let written = std::fs::read(format!("{out}/{stem}.{extension}")).unwrap();
                assert!(written == alone.stdout && written.len() > 20, "{file} {format}");
            }
        }
    }
}

#[test]
fn views_named_one_by_one_go_to_a_folder_too() {
    let place = Workspace::new();
    let (first, second) = (place.text("views/people.view.json"), place.text("views/seen.view.json"));
    let (lake, out) = (place.text("lake"), place.text("out"));
    let found = tabularium(&[
        "run",
        &first,
        &second,
        "--data",
        &lake,
        "--out",
        &out,
        "--limit",
        "1",
        "--no-header",
    ]);
    assert_eq!(found.status.code(), Some(0));
    assert_eq!(names(Path::new(&out)), ["people.csv", "seen.csv"]);
    assert_eq!(
        std::fs::read_to_string(place.path("out/people.csv"))
            .unwrap()
            .lines()
            .count(),
        1
    );
    let nowhere = tabularium(&["run", &first, &second, "--data", &lake]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("--out"), "{}", text(&nowhere.stderr));
    let explained = tabularium(&["run", "--views", &place.text("views"), "--data", &lake, "--explain"]);
    let plan = text(&explained.stdout);
    assert!(
        plan.contains("2 views share one scan") && plan.matches("LakeScanExec").count() == 2,
        "{plan}"
    );
    let data = [
        "run",
        "--views",
        &place.text("views"),
        "--data",
        &lake,
        "--explain=analyze",
    ];
    let plan = text(&tabularium(&data).stdout);
    assert!(
        plan.contains("rows_of_0=") && plan.matches("scanned for").count() == 2,
        "{plan}"
    );
}

#[test]
fn every_faulty_view_is_named_before_anything_is_written() {
    let place = Workspace::new();
    std::fs::write(place.path("views/1.json"), "{").unwrap();
    place.view("2.json", "Patient", "nam");
    std::fs::write(
        place.path("views/3.json"),
        json!({"resource": "Person", "select": []}).to_string(),
    )
    .unwrap();
    let out = place.text("out");
    for source in [["--data", &place.text("lake")], ["--input", &place.text("input")]] {
        let found = tabularium(&[
            "run",
            "--views",
            &place.text("views"),
            "--out",
            &out,
            source[0],
            source[1],
        ]);
        assert_eq!(found.status.code(), Some(2));
        let said = text(&found.stderr);
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("1.json: ViewDefinition: is not JSON"), "{said:?}");
        assert!(
            said[1].contains("2.json: ViewDefinition.select[0].column[1].path: column 'nam'"),
            "{said:?}"
        );
        assert!(said[2].contains("3.json: ViewDefinition.select: must"), "{said:?}");
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn a_view_that_fails_over_the_data_leaves_nothing_and_the_others_are_written() {
    let place = Workspace::new();
    place.view("faulty.json", "Observation", "note.text");
    let expected = ["born.csv", "people.csv", "seen.csv"];
    for source in [["--data", &place.text("lake")], ["--input", &place.text("input")]] {
        let out = place.text(source[0]);
        let found = tabularium(&[
            "run",
            "--views",
            &place.text("views"),
            "--out",
            &out,
            source[0],
            source[1],
        ]);
        assert_eq!(found.status.code(), Some(2));
        let said = text(&found.stderr);
        assert!(
            said.lines().count() == 2
                && said.contains("warning: ")
                && said
                    .contains("faulty.json: ViewDefinition.select[0].column[1].path: column 'note_text' has 2 values")
                && said.contains("(in Observation/"),
            "{said}"
        );
        assert_eq!(names(Path::new(&out)), expected);
    }
}

#[test]
fn files_never_take_each_others_place() {
    let place = Workspace::new();
    let (lake, views) = (place.text("lake"), place.text("views"));
    place.view("People.json", "Patient", "id");
    let found = tabularium(&["run", "--views", &views, "--data", &lake, "--out", &place.text("out")]);
    let said = text(&found.stderr);
    assert_eq!(found.status.code(), Some(2), "{said}");
    assert!(
        said.contains("People.json") && said.contains("people.view.json") && said.lines().count() == 1,
        "{said}"
    );
    std::fs::remove_file(place.path("views/People.json")).unwrap();
    let before = std::fs::read(place.path("views/born.json")).unwrap();
    let found = tabularium(&[
        "run", "--views", &views, "--data", &lake, "--out", &views, "--format", "json",
    ]);
    assert_eq!(found.status.code(), Some(2));
    assert!(
        text(&found.stderr).contains("born.json is a view"),
        "{}",
        text(&found.stderr)
    );
    assert_eq!(std::fs::read(place.path("views/born.json")).unwrap(), before);
    let empty = tabularium(&[
        "run",
        "--views",
        &place.text("input"),
        "--data",
        &lake,
        "--out",
        &place.text("out"),
    ]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(!place.path("out").exists());
}

#[test]
fn patients_and_times_choose_resources_of_files_and_lakes() {
    let place = Workspace::new();
    let (lake, input) = (place.text("lake"), place.text("input"));
    for source in [["--data", &lake], ["--input", &input]] {
        let rows = |view: &str, arguments: &[&str]| place.rows(view, &[&source, arguments].concat());
        assert_eq!(rows("views/people.view.json", &["--patient", "a"]), ["a,female"]);
        assert_eq!(rows("views/seen.view.json", &["--patient", "Patient/b"]), ["ob,final"]);
        assert_eq!(
            rows("views/seen.view.json", &["--patient", "a", "--patient", "b"]),
            ["oa,final", "ob,final"]
        );
    }
    // A mistyped id is reported.
    let nobody = tabularium(&[
        "run",
        &place.text("views/seen.view.json"),
        "--data",
        &lake,
        "--patient",
        "o",
    ]);
    assert_eq!(
        (nobody.status.code(), text(&nobody.stdout).as_str()),
        (Some(0), "key,status\n")
    );
    let warned = "tabularium: warning: there is no Patient \"o\" among the live records of \"local\"\n";
    assert_eq!(text(&nobody.stderr), warned);
    let since = |view: &str, since: &str| place.rows(view, &["--input", &input, "--since", since]);
    assert_eq!(
        since("views/seen.view.json", "2024-02-01T00:00:00Z"),
        ["oa,final", "ob,final"]
    );
    assert_eq!(since("views/seen.view.json", "2024-02-01T00:00:01Z"), ["oa,final"]);
    assert_eq!(since("views/seen.view.json", "2024-03-01T00:30:00Z"), ["oa,final"]);
    assert!(since("views/seen.view.json", "2024-03-01T00:30:01Z").is_empty());
    assert_eq!(since("views/people.view.json", "2024"), ["a,female"]);
    // For a lake, the time of the last change of content counts.
    assert_eq!(
        place
            .rows("views/people.view.json", &["--data", &lake, "--since", "2024"])
            .len(),
        2
    );
    assert!(
        place
            .rows("views/people.view.json", &["--data", &lake, "--since", "9000-01-01"])
            .is_empty()
    );
    let wrong = tabularium(&[
        "run",
        &place.text("views/born.json"),
        "--data",
        &lake,
        "--since",
        "yesterday",
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("--since"));
}
