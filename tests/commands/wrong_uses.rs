//! The program's answers to wrong uses, compared with a file. `UPDATE_EXPECT=1` rewrites the file.

use std::fmt::Write;
use std::net::TcpListener;

use super::{folder, run, text};

/// Wrong command lines that a user may try. Words in single quotes are one argument.
const LINES: &str = r#"
improt people.ndjson
inof --data lake
help rnu
info
info --data nowhere
info --data lake --jsno
info --data people.ndjson
import --data new
import --data new nowhere.ndjson
import --data new empty.ndjson
import --data new refused.ndjson
import --data foreign people.ndjson
import --data lake --mode life people.ndjson
import --data lake --application '' people.ndjson
import --data sealed --sealed people.ndjson
run view.json
run --data lake
run Patient --data lake
run missing.json --data lake
run foreign --data lake
run faulty.json --data lake
run several.json --data lake
run people.ndjson --data lake
run view.json other.json --data lake
run view.json other.json --data lake --out single.csv
run view.json --data lake --input people.ndjson
run view.json --data lake --format xlsx
run view.json --data lake --patient nobody
run view.json --data lake --since yesterday
run view.json --data lake --out lake/rows.csv
run view.json --data lake --out view.json
run view.json --data lake --out cov.xlsx
run Pateint --data lake --column id
run Patient --data lake --column born=birthDat
run Patient --data lake --column a=id --column a=gender
run Patient --data lake --column id --where activ
run Patient Observation --data lake --column id
run Condition --data lake --column onset=onsetDateTime --strict
validate-view faulty.json
validate-view nowhere.json
search Observatoin?code=x --data lake
search Observation?cod=x --data lake
search Observation?patient.nme=x --data lake
search Patient?_has:Observation:patint:code=x --data lake
search Condition?onset=2020 --data lake
search Condition?onsetDateTime=2020 --data lake
search Observation?_sort=dat --data lake
search Observation?_include=Observation:subjct --data lake
search Observation?_elements=cod --data lake
search Observation?code:exat=x --data lake
search Observation?date=yesterday --data lake
search Patient/ann/Observation/x --data lake
explain Observation?_conut=5 --data lake
sql 'SELECT nam FROM Patient' --data lake
sql 'SELECT id FROM Pateint' --data lake
sql 'DELETE FROM Patient' --data lake
sql --data lake
fhirpath name.famly --type Patient --data lake
fhirpath name.frist() --type Patient --data lake
fhirpath name. --input people.ndjson
fhirpath Patinet.name --input people.ndjson
fhirpath birthDate.ofType(datetime) --input people.ndjson
fhirpath name --data lake --type Pateint
show Pateint --data lake
show Patient --data lake --format csv
show Device --data lake
show Patient --data lake --columns birthDat
show Observation --data lake --columns component
describe Observatoin --data lake
describe blood_pressure --data lake
everything --data lake --patient nobody
everything --data lake --patient Patient/nobody
everything --data lake
summary --data lake --patient ann --section alergies
serve --data lake --listen 18300
serve --data lake --listen :18300
serve --data lake --listen localhost
serve --data lake --listen 192.0.2.1:18300
serve --data lake --listen TAKEN
serve --data lake --base-url records
serve --data lake --listen 127.0.0.1:0 --branding nowhere
serve --data nowhere
token --data lake --patient nobody
erase --data lake --patient nobody --dry-run
erase --data lake --patient ann
consents --data lake --state REVOKD
consents revoke nobody --data lake --yes
receipt show nobody --data lake
receipt verify nowhere --data lake
terminology lookup lonc 8867-4 --data lake
terminology load - --data lake
plans load - --data lake
backup --data lake
restore --from nowhere --data new
demo --data fresh --listen 127.0.0.1:0 --branding nowhere
info --data fresh
generate --patients 0 --out made
completions tcsh
config chekc
"#;

#[test]
fn wrong_uses_are_answered_as_they_were() {
    let folder = folder();
    let path = folder.path();
    std::fs::copy(path.join("view.json"), path.join("other.json")).unwrap();
    std::fs::write(path.join("empty.ndjson"), "").unwrap();
    std::fs::write(path.join("refused.ndjson"), "{\"id\":\"x\"}\n").unwrap();
    std::fs::create_dir(path.join("foreign")).unwrap();
    std::fs::write(path.join("foreign/letter.txt"), "Dear").unwrap();
    let faulty = r#"{"resourceType":"ViewDefinition","status":"active","resource":"Patient","selct":[],"select":[{"column":[
        {"name":"a-b","path":"id","type":"id"},{"name":"x","path":"nam","type":"string"}]}]}"#;
    std::fs::write(path.join("faulty.json"), faulty).unwrap();
    let several = r#"{"resourceType":"ViewDefinition","status":"active","resource":"Patient","select":[{"column":[
        {"name":"x","path":"id | name.given","type":"string"}]}]}"#;
    std::fs::write(path.join("several.json"), several).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let mut answers = String::new();
    let mut count = 0;
    for line in LINES.lines().filter(|line| !line.is_empty()) {
        let words: Vec<String> = words(line)
            .into_iter()
            .map(|word| word.replace("TAKEN", &taken))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run(path, &words);
        let said = (text(&output.stdout) + &text(&output.stderr)).replace(&taken, "TAKEN");
        // Paths differ from run to run and do not matter here.
        let said = said.replace(path.to_str().unwrap(), "DIR");
        assert!(!said.contains("panicked"), "{line}: {said}");
        writeln!(
            answers,
            "$ tabularium {line}\n{}\n[exit {}]\n",
            said.trim_end(),
            output.status.code().unwrap()
        )
        .unwrap();
        count += 1;
    }
    assert!(count >= 60, "{count}");
    expect_test::expect_file!["wrong_uses.txt"].assert_eq(&answers);
}

/// The words of a line.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}
