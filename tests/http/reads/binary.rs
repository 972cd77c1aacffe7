//! Imported Binaries with bytes are served like those that a sync has fetched.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::server::Server;

#[test]
fn an_imported_binary_is_served_as_bytes_and_as_a_resource() {
    let bytes = b"<p>hello</p>".repeat(200);
    let binary =
        json!({"resourceType": "Binary", "id": "b", "contentType": "text/html", "data": STANDARD.encode(&bytes)});
    let empty = json!({"resourceType": "Binary", "id": "e", "contentType": "no type"});
    let server = Server::imported(&[binary.clone(), empty]);
    let token = format!("Bearer {}", server.application_token());
    let get = |path: &str, headers: &[(&str, &str)]| {
        let headers = [&[("authorization", token.as_str())], headers].concat();
        server.send_bytes("GET", path, &headers, &[])
    };
    let (status, head, found) = get("/fhir/Binary/b", &[("accept-encoding", "gzip, zstd")]);
    assert_eq!((status, &found), (200, &bytes));
    assert_eq!(head["content-type"], "text/html");
    assert_eq!(head["content-disposition"], "attachment");
    let vary: Vec<_> = head.get_all("vary").iter().collect();
    assert_eq!(vary, ["accept", "accept-encoding", "authorization"]);
    assert!(!head.contains_key("content-encoding"));
    let (status, head, found) = get("/fhir/Binary/b", &[("range", "bytes=3-7")]);
    assert_eq!((status, found.as_slice()), (206, b"hello".as_slice()));
    assert_eq!(head["content-range"], format!("bytes 3-7/{}", bytes.len()));
    for (path, accept) in [
        ("/fhir/Binary/b", "application/fhir+json"),
        ("/fhir/Binary/b?_format=json", "*/*"),
    ] {
        let (status, head, found) = get(path, &[("accept", accept)]);
        assert_eq!(
            (status, head["content-type"].to_str().unwrap()),
            (200, "application/fhir+json; charset=utf-8")
        );
        let resource: Value = serde_json::from_slice(&found).unwrap();
        assert_eq!(
            (&resource["data"], &resource["contentType"]),
            (&binary["data"], &binary["contentType"])
        );
    }
    let (status, head, found) = get("/fhir/Binary/e", &[]);
    assert_eq!(
        (status, found.len(), head["content-type"].to_str().unwrap()),
        (200, 0, "application/octet-stream")
    );
    assert_eq!(get("/fhir/Binary/e", &[("range", "bytes=0-")]).0, 416);
    assert_eq!(get("/fhir/Binary/none", &[]).0, 404);
    assert_eq!(get("/fhir/Binary/$op", &[]).0, 404);
    let found = server.send(
        "POST",
        "/fhir/Binary/_search",
        &[
            ("authorization", &token),
            ("content-type", "application/x-www-form-urlencoded"),
        ],
        "_id=b&_elements=contentType",
    );
    let entry = &found.json()["entry"][0]["resource"];
    assert_eq!(
        (entry["contentType"].as_str(), entry.get("data")),
        (Some("text/html"), None)
    );
}
