//! Documents at signed addresses, which need no token. They are fetched for the pages only from addresses that the
//! operator has declared.

use std::io::Read;

use serde_json::json;

use crate::harness::command::{done, imported};
use crate::harness::process::Process;
use crate::harness::rogue::{Rogue, Said};
use crate::pdf::reading::{squeezed, text};

#[test]
fn signed_documents_are_fetched_from_where_they_are_said_to_be() {
    let signed = Rogue::start(|asked, _| match asked.path.as_str() {
        "/signed/note?sig=abc" => Said::text("text/plain", "The signed note"),
        "/signed/away" => Said::redirect("/signed/note?sig=abc"),
        _ => Said::status(403),
    });
    let elsewhere = Rogue::start(|_, _| Said::text("text/plain", "Not to be asked for"));
    let base = &signed.base;
    let urls = [
        format!("{base}/signed/note?sig=abc"),
        format!("{base}/signed/away"),
        format!("{base}/signed/other"),
        format!("{base}/beside/note"),
        format!("{}/signed/note", elsewhere.base),
        "file:///etc/hostname".to_owned(),
    ];
    let content: Vec<_> = urls
        .iter()
        .map(|url| json!({"attachment": {"contentType": "text/plain", "url": url}}))
        .collect();
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    let patient = json!({"resourceType": "Patient", "id": "ann"});
    let document = json!({"resourceType": "DocumentReference", "id": "d", "status": "current",
        "subject": {"reference": "Patient/ann"}, "content": content});
    imported(&folder, &format!("{patient}\n{document}\n"));
    let (data, host) = (folder.to_str().unwrap(), format!("{base}/signed/"));
    let serve = [
        "serve",
        "--data",
        data,
        "--listen",
        "127.0.0.1:0",
        "--allow-private-sources",
    ];
    let service = Process::start(&[&serve[..], &["--binary-host", &host]].concat());
    let token = String::from_utf8(done(&["token", "--data", data, "--patient", "ann"])).unwrap();
    let mut answer = ureq::get(format!("{}/fhir/Patient/ann/$pdf", service.base_url()))
        .header("authorization", format!("Bearer {}", token.trim()))
        .call()
        .unwrap();
    assert_eq!(answer.headers()["x-pdf-sources-failed"], "1");
    let mut file = Vec::new();
    answer.body_mut().as_reader().read_to_end(&mut file).unwrap();
    let text = text(&file);
    assert_eq!(text.matches(&squeezed("The signed note")).count(), 2);
    assert_eq!(
        text.matches(&squeezed(
            "Not shown: the source did not give the document: it answered with status 403."
        ))
        .count(),
        1
    );
    assert_eq!(
        text.matches(&squeezed("Not shown: the document is not held here"))
            .count(),
        3
    );
    assert!(elsewhere.asked().is_empty());
    assert!(
        signed
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_empty())
    );
    assert_eq!(signed.count("/beside"), 0);
}
