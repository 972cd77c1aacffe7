//! Each publisher's layout is recognised under any file name, loaded, listed and looked up.

use serde_json::{Value, json};

use super::files::{self, package, zip};
use super::{World, done};

#[test]
fn icd_10_cm_has_dots_and_a_hierarchy_by_its_codes() {
    let world = World::new();
    let file = world.file("some-file.bin", files::diagnoses());
    let said = world.load(&["--version", "2026", &file]);
    assert!(
        said.contains("http://hl7.org/fhir/sid/icd-10-cm 2026: 5 concepts"),
        "{said}"
    );
    let object: Value = serde_json::from_str(&world.load(&["--version", "2026", &file, "--json"])).unwrap();
    let system =
        json!({"system": "http://hl7.org/fhir/sid/icd-10-cm", "version": "2026", "concepts": 5, "source": file});
    assert_eq!(object, json!({"codeSystems": [system], "valueSets": 0}));
    let found = world.lookup("icd-10-cm", "E11.65");
    assert_eq!(found["display"], "Sugar trouble of kind 2 with much sugar");
    assert_eq!(found["parents"], json!(["E11.6"]));
    assert_eq!(world.lookup("icd-10-cm", "E119")["code"], "E11.9");
    assert_eq!(world.lookup("icd-10-cm", "E11.9")["parents"], json!(["E11"]));
    assert_eq!(world.property("icd-10-cm", "E11", "notSelectable"), "true");
    assert_eq!(world.property("icd-10-cm", "I10", "notSelectable"), Value::Null);
}

#[test]
fn icd_10_pcs_is_told_from_icd_10_cm() {
    let world = World::new();
    let file = world.file("icd10cm_order_2026.txt", files::procedures());
    world.load(&[&file]);
    let system = "http://www.cms.gov/Medicare/Coding/ICD10";
    assert_eq!(world.listed(), (system.to_owned(), json!("2026"), 4));
    assert_eq!(world.display("icd-10-pcs", "B2000ZZ"), "Plain Film of the Heart");
    assert_eq!(world.lookup(system, "0016070")["parents"], json!(["001"]));
}

#[test]
fn long_titles_of_hcpcs_go_over_several_records() {
    let world = World::new();
    let file = world.file("HCPC2026_JAN_ANWEB.txt", files::hcpcs());
    world.load(&[&file]);
    let system = "https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets";
    assert_eq!(world.listed(), (system.to_owned(), json!("2026"), 3));
    let title = "Ride to a house of healing outside the state, for each mile of the way";
    assert_eq!(world.display("hcpcs", "A0021"), title);
    assert_eq!(world.display("hcpcs", "QX"), "Service by a helper");
    assert_eq!(world.property("hcpcs", "G0439", "shortDescription"), "Yearly visit");
    // The system's other URL.
    assert_eq!(
        world.display("http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets", "A0021"),
        title
    );
}

#[test]
fn vaccines_come_between_bars_or_tabs_or_as_xml() {
    for (content, version, concepts) in [
        (files::CVX.to_owned(), "2024-09-30", 3),
        (files::CVX.replace('|', "\t"), "2024-09-30", 3),
    ] {
        let world = World::new();
        world.load(&[&world.file("a", content)]);
        assert_eq!(
            world.listed(),
            ("http://hl7.org/fhir/sid/cvx".to_owned(), json!(version), concepts)
        );
        assert_eq!(world.display("cvx", "08"), "Liver B, young");
        assert_eq!(
            world.property("cvx", "143", "fullName"),
            "Adeno of ours, two kinds, by mouth"
        );
        assert_eq!(world.property("cvx", "998", "status"), "Inactive");
    }
    let world = World::new();
    world.load(&[&world.file("a", files::CVX_XML)]);
    assert_eq!(world.display("cvx", "143"), "Adeno & more");
    assert_eq!(world.listed().1, "2011-03-20");
    world.load(&[&world.file("b", files::CVX_PAIRS)]);
    assert_eq!(world.display("cvx", "08"), "Liver B, young");
    assert_eq!(
        world.listed(),
        ("http://hl7.org/fhir/sid/cvx".to_owned(), json!("2010-05-28"), 1)
    );
}

#[test]
fn manufacturers_of_vaccines() {
    let world = World::new();
    world.load(&[&world.file("a", files::MVX)]);
    assert_eq!(
        world.listed(),
        ("http://hl7.org/fhir/sid/mvx".to_owned(), json!("2012-10-18"), 2)
    );
    assert_eq!(world.display("mvx", "ACM"), "A company of makers");
    let xml = "<MVXCodes><MVXInfo><ManufacturerName>A company</ManufacturerName><MVX_CODE>ACM</MVX_CODE></MVXInfo></MVXCodes>";
    world.load(&["--replace", &world.file("b", xml)]);
    assert_eq!(world.display("mvx", "ACM"), "A company");
}

#[test]
fn drugs_of_the_fda_have_9_digits_and_their_packages_11() {
    let world = World::new();
    let (products, packages) = (world.file("a", files::PRODUCTS), world.file("b", files::PACKAGES));
    let said = world.refused(&[&packages]);
    assert!(said.contains("needs FDA's product.txt"), "{said}");
    world.load(&[&packages, &products]);
    assert_eq!(
        world.listed(),
        ("http://hl7.org/fhir/sid/ndc".to_owned(), Value::Null, 3)
    );
    let display = "Sugarless XR (glucophobe) 500 mg TABLET";
    assert_eq!(world.display("ndc", "099990001"), display);
    // The package code with hyphens, as printed.
    let package = world.lookup("ndc", "9999-0001-30");
    assert_eq!(
        (&package["code"], &package["display"]),
        (&json!("09999000130"), &json!(display))
    );
    assert_eq!(package["parents"], json!(["099990001"]));
    assert_eq!(
        world.display("ndc", "999980012"),
        "Twoinone (one and two) 5 mg; 10 mg/mL CAPSULE"
    );
    // Windows-1252.
    assert_eq!(world.property("ndc", "099990001", "labeler"), "Café Labs");
}

#[test]
fn loinc_is_a_part_of_its_system() {
    let world = World::new();
    world.load(&[&world.file("LoincTableCore.csv", files::LOINC)]);
    // The release of the newest change: 2.76 is later than 2.9.
    assert_eq!(world.listed(), ("http://loinc.org".to_owned(), json!("2.76"), 2));
    assert_eq!(world.display("loinc", "99992-8"), "How heavy somebody is");
    assert_eq!(world.display("loinc", "99991-0"), "How tall\nsomebody is");
    assert_eq!(world.property("loinc", "99991-0", "COMPONENT"), "Height, standing");
}

#[test]
fn snomed_takes_the_inferred_hierarchy_and_full_names() {
    let world = World::new();
    let archive = zip(&[
        ("R/readme.txt", b"Not of use".as_slice()),
        (
            "R/Full/Terminology/sct2_Concept_Full_INT.txt",
            b"id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId\r\n",
        ),
        (
            "R/Snapshot/Terminology/sct2_Concept_Snapshot_INT.txt",
            files::SNOMED_CONCEPTS.as_bytes(),
        ),
        (
            "R/Snapshot/Terminology/sct2_Description_Snapshot-en.txt",
            files::snomed_descriptions().as_bytes(),
        ),
        (
            "R/Snapshot/Terminology/sct2_Relationship_Snapshot.txt",
            files::snomed_relations().as_bytes(),
        ),
    ]);
    world.load(&[&world.file("a.zip", archive)]);
    assert_eq!(
        world.listed(),
        ("http://snomed.info/sct".to_owned(), json!("20240301"), 4)
    );
    assert_eq!(world.display("snomed", "1001000"), "A finding (finding)");
    assert_eq!(world.display("snomed", "1002000"), "A kind of finding");
    assert_eq!(world.lookup("snomed", "1002000")["parents"], json!(["1001000"]));
    assert_eq!(world.lookup("snomed", "1003000")["parents"], json!([]));
    assert_eq!(world.property("snomed", "1003000", "inactive"), "true");
}

#[test]
fn taxonomy_of_providers_and_places_of_service() {
    let world = World::new();
    let (taxonomy, places) = (
        world.file("nucc_taxonomy_251.csv", files::NUCC),
        world.file("pos.csv", files::PLACES),
    );
    world.load(&[&taxonomy, &places]);
    assert_eq!(world.display("nucc", "999Q00000X"), "House Healing Healer");
    assert_eq!(world.display("nucc", "999QA0000X"), "House Healer - Young People");
    assert_eq!(world.lookup("nucc", "999Q00000X")["version"], "25.1");
    assert_eq!(world.display("pos", "01"), "Drug shop");
    assert_eq!(world.lookup("pos", "11")["display"], "Office room");
    let text = files::PLACES
        .replace("\",\"", "\"\t\"")
        .replace(",,", "")
        .replace("11,Office room,Rooms", "11\tOffice room\tRooms");
    let text = text
        .replace("1,Drug shop,", "1\tDrug shop\t")
        .replace("28-30,Unassigned,", "28-30\tUnassigned\t");
    world.load(&[&world.file("pos.txt", text)]);
    assert_eq!(world.display("pos", "11"), "Office room");
}

#[test]
fn rxnorm_in_an_archive_is_the_whole_not_the_prescribable_part() {
    let world = World::new();
    let (concepts, attributes, relations) = (files::rxnconso(), files::rxnsat(), files::rxnrel());
    let part = concepts.lines().next().unwrap();
    let archive = zip(&[
        ("prescribe/rrf/RXNCONSO.RRF", part.as_bytes()),
        ("rrf/RXNCONSO.RRF", concepts.as_bytes()),
        ("rrf/RXNSAT.RRF", attributes.as_bytes()),
        ("rrf/RXNREL.RRF", relations.as_bytes()),
    ]);
    world.load(&[&world.file("RxNorm_full_01052026.zip", archive)]);
    let system = "http://www.nlm.nih.gov/research/umls/rxnorm";
    assert_eq!(world.listed(), (system.to_owned(), json!("01052026"), 8));
    assert_eq!(world.display("rxnorm", "2001"), "onesine 5 MG Oral Tablet");
    assert_eq!(world.property("rxnorm", "2001", "TTY"), "SCD");
    assert_eq!(world.property("rxnorm", "3001", "TTY"), "BN");
}

#[test]
fn fhir_resources_come_alone_in_bundles_in_lines_and_in_packages() {
    let system = |name: &str| {
        json!({"resourceType": "CodeSystem", "url": format!("http://example.org/{name}"), "version": "1", "content": "complete",
            "concept": [{"code": "a", "display": format!("A of {name}")}]})
    };
    let stub = json!({"resourceType": "CodeSystem", "url": "http://example.org/stub", "content": "not-present"});
    let set = json!({"resourceType": "ValueSet", "url": "http://example.org/set", "compose": {"include": [{"system": "http://example.org/one"}]}});
    let bundle = json!({"resourceType": "Bundle", "entry": [{"resource": system("two")}, {"resource": set}]});
    let lines = format!("{}\n{}\n", system("three"), system("four"));
    let archive = package(&[
        ("package/package.json", r#"{"name": "a", "version": "1"}"#),
        ("package/CodeSystem-five.json", &system("five").to_string()),
        ("package/CodeSystem-stub.json", &stub.to_string()),
        (
            "package/StructureDefinition-x.json",
            r#"{"resourceType": "StructureDefinition"}"#,
        ),
    ]);
    let world = World::new();
    let pretty = serde_json::to_string_pretty(&system("one")).unwrap();
    let said = world.load(&[
        &world.file("one", pretty),
        &world.file("two", bundle.to_string()),
        &world.file("three", lines),
        &world.file("five", archive),
    ]);
    assert!(said.ends_with("1 value set\n"), "{said}");
    for name in ["one", "two", "three", "four", "five"] {
        assert_eq!(
            world.display(&format!("http://example.org/{name}"), "a"),
            format!("A of {name}")
        );
    }
    assert_eq!(world.list()["tables"].as_array().unwrap().len(), 5);
    assert_eq!(world.list()["valueSets"]["count"], 1);
}

#[test]
fn an_excerpt_does_not_replace_the_whole() {
    let world = World::new();
    world.load(&[&world.file("a", files::diagnoses())]);
    let excerpt = json!({"resourceType": "CodeSystem", "url": "http://hl7.org/fhir/sid/icd-10-cm", "content": "fragment",
        "concept": [{"code": "Z00", "display": "Of a guide"}]});
    world.load(&[&world.file("b", excerpt.to_string())]);
    assert_eq!(world.display("icd-10-cm", "I10"), "Pressure without a cause");
    assert_eq!(world.listed().2, 5);
}

#[test]
fn hl7s_own_systems_come_with_the_program() {
    let program = crate::harness::process::PROGRAM;
    let ask = |code: &str| {
        let mut command = std::process::Command::new(program);
        command.args([
            "terminology",
            "lookup",
            "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus",
            code,
        ]);
        command.output().unwrap()
    };
    let found = String::from_utf8(ask("M").stdout).unwrap();
    assert!(found.contains("display: Married"), "{found}");
    let missing = ask("not-there");
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        String::from_utf8(missing.stderr)
            .unwrap()
            .contains("has no code not-there")
    );
}

#[test]
fn a_list_in_words() {
    let world = World::new();
    let nothing = done(&world.data(), &["terminology", "list"]);
    assert_eq!(nothing.lines().count(), 1);
    world.load(&[&world.file("a", files::MVX)]);
    let list = done(&world.data(), &["terminology", "list"]);
    let line = list.lines().nth(1).unwrap();
    assert!(
        line.starts_with("http://hl7.org/fhir/sid/mvx  2012-10-18  2 "),
        "{list}"
    );
}
