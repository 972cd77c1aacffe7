//! Faulty files are refused with a sentence that names them, and change nothing.

use std::fs;

use super::files::{self, A_TO_M, N_TO_W, ROWS_2026, landscape_2023, landscape_2026};
use super::{World, done, run};

#[test]
fn files_that_tell_of_no_plan_are_refused() {
    let world = World::new();
    let other = world.file("other.csv", "State,County,Contract\r\nIL,Cook,H9001\r\n");
    let said = world.refused(&[&other]);
    assert!(
        said.contains("other.csv: not recognised; looked for CMS's Landscape"),
        "{said}"
    );
    let said = world.refused(&[&world.file("CPSC_Enrollment_Info_2026_01.csv", files::ENROLLMENT)]);
    assert!(
        said.contains("tells where members live, not where plans are offered"),
        "{said}"
    );
    let said = world.refused(&[&world.file("pdp.csv", landscape_2026(&ROWS_2026[2..]))]);
    assert!(said.contains("pdp.csv: holds no Medicare Advantage plans"), "{said}");
    let contracts = ["1", "2"].map(|month| world.file(&format!("CPSC_2026_0{month}.csv"), files::contracts()));
    let said = world.refused(&[&contracts[0], &contracts[1]]);
    assert!(said.contains("both hold the contracts of 2026"), "{said}");
    assert_eq!(world.listed(), []);
}

#[test]
fn a_row_that_is_not_as_the_others_is_named() {
    let world = World::new();
    let row = |from: &str, to: &str| A_TO_M[0].replace(from, to);
    for (row, expected) in [
        (A_TO_M[0][..60].to_owned(), "15 columns, as the header has,"),
        (row("H9001", "H900"), "a contract of CMS, such as H1234,"),
        (row("H9001,1,", "H9001,1A,"), "a plan of up to 3 digits"),
        (
            A_TO_M[2].replace("$-   ", "12x"),
            "an amount of dollars in place of \"12x\"",
        ),
    ] {
        let file = world.file("2023.csv", landscape_2023(&[A_TO_M[0], &row]));
        let said = world.refused(&[&file]);
        assert!(said.contains("2023.csv, line 7: ") && said.contains(expected), "{said}");
    }
    let endless = [
        landscape_2023(&[A_TO_M[0], "Illinois,\"Cook"]),
        "and much of nothing\n".repeat(900_000).into_bytes(),
    ];
    let said = world.refused(&[&world.file("2023.csv", endless.concat())]);
    assert!(
        said.contains("2023.csv, line 7: a record of less than 16 MiB expected"),
        "{said}"
    );
    assert_eq!(world.listed(), []);
}

#[test]
fn half_of_a_publication_does_not_replace_the_whole() {
    let world = World::new();
    let first = world.file("2023 MA_AtoM.csv", landscape_2023(&A_TO_M));
    let second = world.file("2023 MA_NtoW.csv", landscape_2023(&N_TO_W));
    world.load(&[&first]);
    // Loaded together they would add to the first half; the second half alone would remove the first.
    let said = world.refused(&[&second]);
    assert!(
        said.contains("landscape of 2023: 3 of the 3 plans that are loaded are not in what is given, which has 1")
            && said.contains("--replace"),
        "{said}"
    );
    world.load(&[&first, &second]);
    let said = world.refused(&[&first]);
    assert!(said.contains("1 of the 4 plans"), "{said}");
    assert_eq!(world.listed(), [(2023, "landscape".to_owned(), 4, 7)]);
    // Another year and another publication remove nothing.
    world.load(&[&world.file("2022 MA.csv", landscape_2023(&N_TO_W))]);
    world.load(&["--replace", &second]);
    let plans: Vec<u64> = world.listed().iter().map(|table| table.2).collect();
    assert_eq!(plans, [1, 1]);
}

#[test]
fn a_damaged_table_is_reported_and_can_be_loaded_again() {
    let world = World::new();
    let file = world.file("CPSC_Contract_Info_2026_01.csv", files::contracts());
    world.load(&[&file]);
    let folder = world.data().join("plans");
    let named = |name: &str| name.ends_with(".parquet");
    let files: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| named(name))
        .collect();
    let [name] = files.as_slice() else { panic!("{files:?}") };
    let mut content = fs::read(folder.join(name)).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(folder.join(name), content).unwrap();
    let patient = world.file("p.ndjson", r#"{"resourceType": "Patient", "id": "p"}"#);
    done(&world.data(), &["import", &patient]);
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["plans", "lookup", "H9001-001"],
    ] {
        let output = run(&world.data(), command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(name) && said.contains("load the plans again"), "{said}");
    }
    fs::write(folder.join("half-00112233.parquet"), "half of something").unwrap();
    world.load(&[&file]);
    assert_eq!(world.lookup("H9001-001")["name"], "Café Gold of Old");
    assert!(
        !folder.join("half-00112233.parquet").exists(),
        "what an interrupted load has left is swept"
    );
    fs::write(folder.join("tables.json"), r#"{"layout": 2, "tables": []}"#).unwrap();
    let output = run(&world.data(), &["plans", "list"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has layout 2, this program reads layout 1"), "{said}");
}
