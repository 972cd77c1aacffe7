//! Each of CMS's publications, and lookups of plans that one, several or none of them contain.

use serde_json::{Value, json};

use super::files::{self, A_TO_M, N_TO_W, ROWS_2026, landscape_2023, landscape_2026};
use super::{World, done, run, zip};

fn landscape_of_2023(world: &World) -> [String; 2] {
    [
        world.file("2023LandscapeSource file MA_AtoM 10142022.csv", landscape_2023(&A_TO_M)),
        world.file("2023LandscapeSource file MA_NtoW 10142022.csv", landscape_2023(&N_TO_W)),
    ]
}

#[test]
fn the_landscape_of_earlier_years_comes_in_two_files_without_a_year() {
    let world = World::new();
    let [first, second] = landscape_of_2023(&world);
    let said = world.load(&[&first, &second]);
    assert_eq!(said, format!("2023 landscape: 4 plans from {first}, {second}\n"));
    assert_eq!(world.listed(), [(2023, "landscape".to_owned(), 4, 7)]);
    let object: Value = serde_json::from_str(&world.load(&[&first, &second, "--json"])).unwrap();
    let table = json!({"year": 2023, "publication": "landscape", "plans": 4, "areas": 7, "sources": [first, second]});
    assert_eq!(object, json!({"tables": [table]}));
    let expected = json!({
        "plan": "H9001-001-000", "year": 2023, "name": "Café Gold (HMO), the good one", "aliases": [],
        "organization": "Ours Health", "parent": null, "type": "Local HMO",
        "premium": {"total": "25.50", "partC": null, "partD": null},
        "areas": [{"state": "IL", "county": "Cook"}, {"state": "IL", "county": "Will"}], "contact": null,
    });
    assert_eq!(world.lookup("H9001-001-000"), expected);
    // Segments have different premiums and counties.
    let both = world.lookup("H9001-2");
    assert_eq!(
        (&both["name"], &both["premium"]),
        (&json!("Two Segments (PPO)"), &json!(null))
    );
    assert_eq!(world.areas("H9001-2"), ["IL Cook", "IL Will"]);
    for (plan, premium, area) in [
        ("H9001-2-1", "0.00", "IL Cook"),
        ("h9001_002_002", "1010.00", "IL Will"),
    ] {
        assert_eq!(world.lookup(plan)["premium"]["total"], premium, "{plan}");
        assert_eq!(world.areas(plan), [area]);
    }
    // All counties of a state are shown as the state.
    assert_eq!(world.areas("R9002-003"), ["DE -"]);
    let text = done(&world.data(), &["plans", "lookup", "R9002-003"]);
    assert_eq!(
        text,
        "R9002-003 of 2023: Wide (PPO)\norganization: Ours Health\ntype: Regional PPO\nareas: Delaware\n"
    );
}

#[test]
fn the_landscape_of_2025_and_later_has_all_plans_and_their_year() {
    let world = World::new();
    let said = world.load(&[&world.file("plans.csv", landscape_2026(&ROWS_2026))]);
    assert!(said.starts_with("2026 landscape: 1 plan from "), "{said}");
    let found = world.lookup("H9001-001-000");
    assert_eq!(
        found["premium"],
        json!({"total": "10.00", "partC": "-2.30", "partD": "12.30"})
    );
    assert_eq!(
        [&found["name"], &found["organization"], &found["parent"], &found["type"]],
        ["Café Gold (HMO)", "Ours", "Ours Inc.", "HMO"]
    );
    assert_eq!(world.areas("H9001-001"), ["IL Cook", "IL Doña"]);
    for (plan, year) in [("S9009-001", "2026"), ("H9001-002", "2026"), ("H9001-001", "2025")] {
        let output = run(&world.data(), &["plans", "lookup", "--year", year, plan]);
        assert_eq!(output.status.code(), Some(2), "{plan}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains(&format!("{plan}: no such plan is loaded of {year}")),
            "{said}"
        );
    }
    let output = run(&world.data(), &["plans", "lookup", "H9001-0001"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn publications_of_a_year_are_put_together() {
    let world = World::new();
    world.load(&[&world.file("CPSC_Contract_Info_2023_01.csv", files::contracts())]);
    assert_eq!(world.lookup("H9001-001")["name"], "Café Gold of Old");
    assert_eq!(world.lookup("H9001-001")["areas"], json!([]));
    let [first, second] = landscape_of_2023(&world);
    world.load(&[&first, &second]);
    world.load(&[
        &world.file("MA_Contract_directory_2023_01.csv", files::DIRECTORY),
        &world.file("MA_Cnty_SA_2023_01.csv", files::SERVICE_AREA),
        &world.file("SNP_2023.csv", files::SPECIAL_NEEDS),
        &world.file("report.csv", files::PART_D),
    ]);
    let listed = world.listed();
    let names: Vec<&str> = listed.iter().map(|table| table.1.as_str()).collect();
    assert_eq!(
        names,
        [
            "landscape",
            "special-needs",
            "part-d",
            "contracts",
            "directory",
            "service-area"
        ]
    );
    let found = world.lookup("H9001-001");
    assert_eq!(found["name"], "Café Gold (HMO), the good one");
    assert_eq!(found["aliases"], json!(["Café Gold (HMO)", "Café Gold of Old"]));
    assert_eq!(found["parent"], "Ours Inc.");
    assert_eq!(
        found["premium"],
        json!({"total": "25.50", "partC": "5.50", "partD": "20.00"})
    );
    let contact = json!({
        "name": "Ann B Example", "title": "Director", "phone": "217-555-0100 ext. 7", "email": "ann@ours.example",
        "street": "2 Second Street, Floor 3", "city": "Springfield", "state": "IL", "postalCode": "62702",
    });
    assert_eq!(found["contact"], contact);
    assert_eq!(world.areas("H9001-001"), ["IL Cook", "IL Will"]);
    assert_eq!(world.areas("H9001-009"), ["IL -"], "all counties");
    // An employer plan has the contract's facts too, but not its areas.
    let works = world.lookup("H9001-801");
    assert_eq!((&works["name"], &works["areas"]), (&json!("Works (HMO)"), &json!([])));
    assert_eq!(works["contact"], contact);
    // For a plan that is not in the Landscape, its part of the contract's area is unknown.
    let works = world.lookup("H9001-802");
    assert_eq!((&works["name"], &works["areas"]), (&json!(null), &json!([])));
    assert_eq!(works["organization"], "Ours");
    // A contract has no plan name. Counties only for employers are not among its areas.
    let contract = world.lookup("H9001");
    assert_eq!(
        (&contract["name"], &contract["organization"]),
        (&json!(null), &json!("Ours"))
    );
    assert_eq!(world.areas("H9001"), ["IL Cook", "IL Will"]);
    assert_eq!(world.lookup("E9003")["organization"], "A Union");
}

#[test]
fn archives_are_taken_as_they_are_published() {
    let world = World::new();
    let contracts = files::contracts();
    let cpsc = zip(&[
        (
            "CPSC_Enrollment_2023_01/Read_Me_CPSC_Enrollment_2023.txt",
            b"Contract ID - [text]",
        ),
        ("CPSC_Enrollment_2023_01/CPSC_Contract_Info_2023_01.csv", &contracts),
        (
            "CPSC_Enrollment_2023_01/CPSC_Enrollment_Info_2023_01.csv",
            files::ENROLLMENT.as_bytes(),
        ),
    ]);
    let said = world.load(&[&world.file("cpsc.zip", cpsc)]);
    assert!(said.starts_with("2023 contracts: 3 plans from "), "{said}");
    let (first, second) = (landscape_2023(&A_TO_M), landscape_2023(&N_TO_W));
    let inner = zip(&[
        ("2023LandscapeSource file MA_AtoM 10142022.csv", &first),
        ("2023LandscapeSource file MA_NtoW 10142022.csv", &second),
        ("2023LandscapeSource file MA.xlsx", b"PK\x03\x04 a spreadsheet"),
    ]);
    let newer = landscape_2026(&ROWS_2026);
    let outer = zip(&[
        ("2023 MA.zip", &inner),
        ("CY2026_Landscape_202603/CY2026_Landscape_202603.csv", &newer),
    ]);
    world.load(&[&world.file("landscapes.zip", outer)]);
    let years: Vec<(u64, u64)> = world.listed().iter().map(|table| (table.0, table.2)).collect();
    assert_eq!(years, [(2023, 4), (2023, 3), (2026, 1)]);
    // Without a year, the newest table with the plan is used.
    assert_eq!(world.lookup("H9001-001")["year"], 2026);
    assert_eq!(world.lookup("H9001-002")["year"], 2023);
}

#[test]
fn the_year_is_told_by_a_column_a_name_a_title_or_the_command() {
    let world = World::new();
    let file = world.file("plans.csv", files::contracts());
    assert!(world.refused(&[&file]).contains("give it by --year"));
    world.load(&["--year", "2021", &file]);
    world.load(&[
        "--year",
        "2022",
        &world.file("CPSC_Contract_Info_2023_01.csv", files::contracts()),
    ]);
    // The title of the Landscape contains its year.
    world.load(&[&world.file("landscape.csv", landscape_2023(&A_TO_M))]);
    let years: Vec<u64> = world.listed().iter().map(|table| table.0).collect();
    assert_eq!(years, [2021, 2022, 2023]);
    let newer = world.file("b.csv", landscape_2026(&ROWS_2026));
    let said = world.refused(&["--year", "2025", &newer]);
    assert!(said.contains("b.csv, line 2: 2025, as --year says, expected"), "{said}");
}
