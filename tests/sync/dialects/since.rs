//! Refreshes that request only changes.

use chrono::{DateTime, SecondsFormat};
use serde_json::json;
use tabularium::lake::Mode;

use super::super::world::{World, system};
use super::{again, missing};

#[test]
fn a_refresh_asks_for_what_is_new_where_the_source_tells_it() {
    for (supported, old_comes) in [(true, 0), (false, 1)] {
        let world = World::new(1, Mode::Live);
        world.payer.turn("lakeshore", &json!({"last_updated": supported}));
        world.work();
        let connected = world.synced("lakeshore", 0);
        let before = world.rows(&connected).len();
        let person = world.payer.person(0);
        let put = |id: &str, updated: &str| {
            let coverage = json!({"resourceType": "Coverage", "id": id, "status": "active", "meta": {"lastUpdated": updated},
                "beneficiary": {"reference": format!("Patient/{}", person.patient)}, "payor": [{"display": "x"}]});
            world.payer.put("lakeshore", &person.user, &coverage);
        };
        let now = DateTime::from_timestamp(world.store().clock().now(), 0).unwrap();
        put("fresh", &now.to_rfc3339_opts(SecondsFormat::Secs, true));
        // A record with an old date is not fetched again. A source without such dates is asked for everything.
        put("old", "2001-01-01T00:00:00Z");
        again(&world, &connected);
        assert_eq!(missing(&world, &connected), []);
        let found = |id: &str| {
            let path = format!("/fhir/Coverage?identifier={}|{id}&_summary=count", system("lakeshore"));
            world.get(&path, &connected.token).json()["total"].as_u64().unwrap()
        };
        assert_eq!((found("fresh"), found("old")), (1, old_comes), "{supported}");
        // Records that are not sent again are kept.
        assert_eq!(world.rows(&connected).len() as u64, before as u64 + 1 + old_comes);
        // A sync without changes succeeds.
        again(&world, &connected);
        assert_eq!(world.rows(&connected).len() as u64, before as u64 + 1 + old_comes);
    }
}
