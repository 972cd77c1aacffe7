//! Requests that once revealed something, and those that erase.

use serde_json::Value;

use super::answers::{links, shown, told, within};
use super::request::Ask;
use super::servers::{Servers, servers};
use crate::harness::server::Server;

/// Canonicals follow URLs, which several people's records may share. Each person is led only to their own.
#[test]
fn canonicals_lead_to_ones_own_records() {
    let servers = servers();
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = &servers;
    let (ann, may_see) = &tokens["ann"];
    for (query, count) in [
        ("RequestGroup?_include=RequestGroup:instantiates-canonical", 2),
        ("Contract?_revinclude=RequestGroup:instantiates-canonical", 2),
        ("Contract?_has:RequestGroup:instantiates-canonical:status=active", 1),
        (
            "PlanDefinition?_has:RequestGroup:instantiates-canonical:status=active",
            0,
        ),
        ("RequestGroup?instantiates-canonical:Contract.patient=ann", 1),
        ("RequestGroup?instantiates-canonical:Contract.patient=ben", 0),
        ("RequestGroup?instantiates-canonical:PlanDefinition.url=urn:plan", 0),
        (
            "RequestGroup?_filter=instantiates-canonical.url%20eq%20%22urn:plan%22",
            0,
        ),
    ] {
        let ask = Ask::Get(format!("/fhir/{query}"));
        let (answer, expected) = (ask.of(whole, ann), ask.of(alone, anns_alone));
        within("Ann", &ask, &answer, may_see);
        assert_eq!(shown(&ask, &answer).len(), count, "{query}: {}", answer.text);
        assert_eq!(told(&ask, &answer), told(&ask, &expected), "{query}");
    }
}

/// System searches skipped types without any records. The `self` link, the order of includes and refusals then revealed
/// which types other people had.
#[test]
fn searches_over_types_do_not_tell_of_what_types_others_have() {
    let servers = servers();
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = &servers;
    let ann = &tokens["ann"].0;
    for query in [
        "_type=Observation,Group,Appointment&_include=Group:member&_include=Appointment:actor",
        "_type=Patient,Group,Schedule&_include=Group:member&_include=Schedule:actor",
        "_type=Observation,Group&_include=Group:member&_summary=text",
        "_revinclude=*&_count=4&_offset=4",
        "_include=*&_revinclude=Observation:performer&_count=50",
        "_type=Practitioner,Patient,Appointment,Organization&_revinclude=*&_include=*",
    ] {
        let ask = Ask::Get(format!("/fhir?{query}"));
        let (answer, expected) = (ask.of(whole, ann), ask.of(alone, anns_alone));
        assert_eq!(told(&ask, &answer), told(&ask, &expected), "{query}");
    }
}

/// The `_tag` of a link named the file and the row at which a page ended, and the numbers of snapshots and erasures.
/// Everybody could decode it, and other people's rows are before one's own.
#[test]
fn tags_of_links_are_read_by_the_server_only() {
    use base64::Engine as _;
    let servers = servers();
    let decoded = |path: &str| {
        let tag = path.split("_tag=%7E%7E").nth(1).unwrap().split('&').next().unwrap();
        base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(tag).unwrap()
    };
    let ann = &servers.tokens["ann"].0;
    for search in [
        "Observation?_count=1",
        "Observation?_count=1&_sort=date&_total=accurate",
    ] {
        let mut tags = Vec::new();
        let mut next = Some(format!("/fhir/{search}"));
        while let Some(path) = next.take() {
            let answer = servers.whole.get(&path, ann);
            let mut links = links(&answer);
            tags.push(decoded(&links["first"]));
            next = links.remove("next");
            tags.extend(next.as_deref().map(decoded));
        }
        tags.sort();
        tags.dedup();
        // One without a position and a total, and one for each further page.
        assert!(tags.len() >= 3, "{search}: {}", tags.len());
        for (at, tag) in tags.iter().enumerate() {
            assert_eq!(tag.len(), tags[0].len());
            for other in &tags[at + 1..] {
                let same = tag.iter().zip(other).filter(|(one, other)| one == other).count();
                assert!(
                    same * 4 < tag.len(),
                    "{search}: {same} of {} bytes are the same",
                    tag.len()
                );
            }
        }
    }
}

/// `$expunge` erases for good, so nobody may send it for another person. The token of a server without that person is
/// refused in the same words.
#[test]
fn nobody_erases_anothers_records() {
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = servers();
    let expunge = |server: &Server, id: &str, token: &str| {
        let headers = [("authorization", &*format!("Bearer {token}"))];
        server.send("POST", &format!("/fhir/Patient/{id}/$expunge"), &headers, "")
    };
    let count = |token: &str| whole.get("/fhir?_summary=count", token).json()["total"].clone();
    let before: Vec<Value> = tokens.values().map(|(token, _)| count(token)).collect();
    for (who, (token, _)) in &tokens {
        for id in ["ann", "ben", "zoe"] {
            let is_patients = who.ends_with("ann") || *who == "ben";
            if is_patients && who.ends_with(id) {
                continue;
            }
            let answer = expunge(&whole, id, token);
            let expected = if is_patients {
                (404, "not-found")
            } else {
                (422, "processing")
            };
            assert_eq!((answer.status, &*answer.issue()), expected, "{who}: {id}");
        }
    }
    let same = |id: &str| {
        let refusals = [expunge(&whole, id, &tokens["ann"].0), expunge(&alone, id, &anns_alone)];
        assert_eq!(refusals[0].text, refusals[1].text, "{id}");
    };
    ["ben", "zoe"].into_iter().for_each(same);
    let after: Vec<Value> = tokens.values().map(|(token, _)| count(token)).collect();
    assert!(
        before == after && before.iter().all(|count| count.as_u64() > Some(10)),
        "{before:?} {after:?}"
    );
}
