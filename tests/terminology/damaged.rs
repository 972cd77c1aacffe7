//! Faulty files are refused with a sentence that names them, and change nothing.

use std::fs;

use super::files::{self, zip};
use super::{World, done, run};

#[test]
fn a_file_of_no_known_layout_is_refused() {
    let world = World::new();
    for (name, content) in [
        ("icd10cm_order_2026.txt", "a file with a name that promises something"),
        ("product.txt", "A\tB\n1\t2\n"),
        ("empty.txt", ""),
        ("x.json", r#"{"resourceType": "#),
    ] {
        let file = world.file(name, content);
        let said = world.refused(&[&file]);
        assert!(said.contains(&file), "{said}");
        if name != "x.json" {
            assert!(
                said.contains("not recognised; looked for ICD-10-CM and ICD-10-PCS order files"),
                "{said}"
            );
        }
    }
    let patient = world.file("p.json", r#"{"resourceType": "Patient", "id": "p"}"#);
    assert!(
        world
            .refused(&[&patient])
            .contains("holds neither a CodeSystem nor a ValueSet")
    );
    let archive = world.file("a.zip", zip(&[("readme.txt", b"nothing".as_slice())]));
    assert!(world.refused(&[&archive]).contains("not recognised"));
    let said = world.refused(&[&world.folder.path().join("missing").display().to_string()]);
    assert!(said.contains("missing"), "{said}");
}

#[test]
fn a_line_that_is_cut_is_named_and_nothing_is_loaded() {
    let world = World::new();
    let cut = |text: &str| text[..text.len() - 40].to_owned();
    // The first lines determine a file's format, so the damage must come later.
    let long = |line: &dyn Fn(u32) -> String| (0..2000).map(line).collect::<String>();
    let diagnoses = long(&|n| files::order(n, &format!("A{:02}{}", n % 100, n % 10), true, "short", "long"));
    let concepts = long(&|n| files::rxnconso().lines().next().unwrap().replace("161", &n.to_string()) + "\n");
    for (name, content, expected) in [
        ("a", format!("{diagnoses}12345 A\n"), "line 2001: an order number"),
        ("b", cut(&concepts), "line 2000: the 18 fields of RXNCONSO"),
        ("c", cut(files::LOINC), "line 4"),
        ("d", format!("{}x", files::NUCC), "line 4"),
    ] {
        let file = world.file(name, content);
        let said = world.refused(&[&file]);
        assert!(said.contains(&file) && said.contains(expected), "{said}");
    }
    assert!(world.list()["tables"].as_array().unwrap().is_empty());
}

#[test]
fn a_damaged_archive_is_named() {
    let world = World::new();
    let whole = zip(&[("a.txt", files::diagnoses().repeat(50).as_bytes())]);
    let file = world.file("a.zip", &whole[..whole.len() / 2]);
    let said = world.refused(&[&file]);
    assert!(said.contains("a.zip: the archive cannot be read"), "{said}");
    let package = files::package(&[("package/a.json", r#"{"resourceType": "CodeSystem"}"#)]);
    let file = world.file("a.tgz", &package[..package.len() / 2]);
    let said = world.refused(&[&file]);
    assert!(said.contains("a.tgz: the archive cannot be read"), "{said}");
}

#[test]
fn files_that_need_or_exclude_others() {
    let world = World::new();
    let said = world.refused(&[&world.file("a", files::rxnsat())]);
    assert!(
        said.contains("RxNorm's attributes (RXNSAT) needs RXNCONSO.RRF"),
        "{said}"
    );
    let said = world.refused(&[&world.file("a", files::SNOMED_CONCEPTS)]);
    assert!(said.contains("needs the file of descriptions"), "{said}");
    let said = world.refused(&[&world.file("a", files::CVX), &world.file("b", files::CVX_XML)]);
    assert!(said.contains("both hold CVX"), "{said}");
    let said = world.refused(&[
        "--version",
        "1",
        &world.file("a", files::CVX),
        &world.file("b", files::MVX),
    ]);
    assert!(said.contains("code system only; the files hold 2"), "{said}");
    let fhir =
        r#"{"resourceType": "CodeSystem", "url": "http://example.org/a", "version": "2", "concept": [{"code": "a"}]}"#;
    let said = world.refused(&["--version", "1", &world.file("c", fhir)]);
    assert!(said.contains("code system only; the files hold 0"), "{said}");
}

#[test]
fn a_damaged_table_is_reported_and_can_be_loaded_again() {
    let world = World::new();
    let file = world.file("a", files::MVX);
    world.load(&[&file]);
    let folder = world.data().join("terminology");
    let name = world.list()["tables"][0]["file"].as_str().unwrap().to_owned();
    let mut content = fs::read(folder.join(&name)).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(folder.join(&name), content).unwrap();
    let patient = world.file("p.ndjson", r#"{"resourceType": "Patient", "id": "p"}"#);
    done(&world.data(), &["import", &patient]);
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["terminology", "lookup", "mvx", "ACM"],
    ] {
        let output = run(&world.data(), command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&name) && said.contains("load the terminology again"),
            "{said}"
        );
    }
    world.load(&[&file]);
    assert_eq!(world.display("mvx", "ACM"), "A company of makers");
    fs::write(folder.join("tables.json"), "{").unwrap();
    let output = run(&world.data(), &["terminology", "list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("tables.json"));
}

#[test]
fn a_load_that_was_interrupted_is_not_seen_and_is_tidied_up() {
    let world = World::new();
    world.load(&[&world.file("a", files::MVX)]);
    let folder = world.data().join("terminology");
    let left = ["half-00112233.parquet", "other-00112233.parquet.new", "tables.json.new"];
    for name in left {
        fs::write(folder.join(name), "half of something").unwrap();
    }
    assert_eq!(world.display("mvx", "ACM"), "A company of makers");
    assert_eq!(world.listed().2, 2);
    world.load(&[&world.file("b", files::CVX)]);
    assert!(left.iter().all(|name| !folder.join(name).exists()));
    assert_eq!(world.list()["tables"].as_array().unwrap().len(), 2);
}

/// A file cut off at the end of a line looks complete. It used to replace the whole table.
#[test]
fn a_file_that_was_cut_off_at_a_lines_end_does_not_replace_a_whole_table() {
    let world = World::new();
    let lines = |count: u32| -> String {
        let line = |n: u32| files::order(n, &format!("A{:02}{}", n % 100, n / 100), true, "short", "long");
        (0..count).map(line).collect()
    };
    let (whole, cut) = (
        world.file("icd10cm_2026.txt", lines(500)),
        world.file("icd10cm_2026_cut.txt", lines(400)),
    );
    world.load(&[&whole]);
    let said = world.refused(&[&cut]);
    assert!(
        said.contains(
            "icd-10-cm|2026: 100 of the 500 concepts that are loaded are not in what is given, which has 400"
        ) && said.contains("--replace"),
        "{said}"
    );
    assert_eq!(world.listed().2, 500);
    // A new version may lack up to a tenth of the codes.
    world.load(&[&world.file("icd10cm_2027.txt", lines(450))]);
    world.load(&["--replace", &cut]);
    assert_eq!(world.listed().2, 400);

    // Properties of codes may be cut off too.
    let world = World::new();
    let concepts = world.file("RXNCONSO.RRF", files::rxnconso());
    let attributes = files::rxnsat();
    world.load(&[&concepts, &world.file("RXNSAT.RRF", &attributes)]);
    let half: String = attributes.lines().take(1).map(|line| format!("{line}\n")).collect();
    let said = world.refused(&[&concepts, &world.file("half", half)]);
    assert!(said.contains("2 of the 3 National Drug Codes"), "{said}");
    let said = world.refused(&[&concepts]);
    assert!(said.contains("3 of the 3 National Drug Codes"), "{said}");
}

/// After an unclosed quotation mark the rest was read into memory as one record. So was a table in XML.
#[test]
fn records_and_tables_without_an_end_are_refused_with_their_line() {
    let world = World::new();
    let open = format!("{}\"99993-6\",\"An open field,\n", files::LOINC);
    let endless = [open, "and much of nothing\n".repeat(900_000)].concat();
    let said = world.refused(&[&world.file("Loinc.csv", endless)]);
    assert!(
        said.contains("Loinc.csv, line 5: a record of less than 16 MiB expected"),
        "{said}"
    );
    let rows = "<CVXInfo><CVXCode>8</CVXCode></CVXInfo>\n".repeat(1_700_000);
    let said = world.refused(&[&world.file("cvx.xml", format!("<CVXCodes>\n{rows}"))]);
    assert!(
        said.contains("cvx.xml, line 16") && said.contains("the end of a table of less than 64 MiB expected"),
        "{said}"
    );
}

/// A full disk used to count as a fault of the given file (exit code 2). The system refuses to let a file grow, as on a
/// full disk.
#[test]
fn a_load_onto_a_full_disk_is_no_fault_of_the_file() {
    let world = World::new();
    let file = world.file("nucc.csv", files::NUCC);
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let load = ["terminology", "load", "--data", world.data().to_str().unwrap(), &file].map(str::to_owned);
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", limited, "sh", crate::harness::process::PROGRAM])
        .args(load);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(world.data().join("terminology").to_str().unwrap()),
        "{said}"
    );
    world.load(&[&file]);
}

/// A load used to remove every `.parquet` file that is not in its list, and wrote through links.
#[test]
fn a_load_leaves_files_of_others() {
    let world = World::new();
    let file = world.file("nucc.csv", files::NUCC);
    let folder = world.data().join("terminology");
    let theirs = world.file("theirs", "theirs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("export.parquet"), "theirs").unwrap();
    fs::write(folder.join("notes.new"), "theirs").unwrap();
    std::os::unix::fs::symlink(&theirs, folder.join("tables.json.new")).unwrap();
    std::os::unix::fs::symlink(&theirs, folder.join("x-00112233.parquet")).unwrap();
    fs::write(folder.join("x-00112234.parquet"), "of an interrupted load").unwrap();
    world.load(&[&file]);
    for path in [
        folder.join("export.parquet"),
        folder.join("notes.new"),
        theirs.clone().into(),
    ] {
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs", "{}", path.display());
    }
    assert!(!folder.join("x-00112234.parquet").exists());
    // The folder itself may not be a link.
    let other = World::new();
    fs::create_dir_all(other.data()).unwrap();
    std::os::unix::fs::symlink(&folder, other.data().join("terminology")).unwrap();
    let output = run(&other.data(), &["terminology", "load", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("is a link"));
}
