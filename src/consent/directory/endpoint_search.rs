//! Searches endpoints by what a patient types: a brand, an organization, a part of a name.

use super::super::error::Error;
use super::super::record::AuthorizationType;
use super::endpoint::{Endpoint, Endpoints};
use crate::lake::Mode;

impl Endpoints<'_> {
    /// Returns at most `limit` endpoints of a mode and of these types (of all types if the list is empty) that match a
    /// text, the best match first. Misspelt words match, too. UNAVAILABLE endpoints never match. An empty text matches
    /// all other endpoints of the mode and types, the most popular first.
    pub fn search(
        &self,
        mode: Mode,
        text: &str,
        types: &[AuthorizationType],
        limit: usize,
    ) -> Result<Vec<Endpoint>, Error> {
        let meant = self.meant(mode, text, types, limit)?;
        self.store.read(|connection| {
            let found = meant.iter().map(|id| super::endpoint::one(connection, id));
            found.filter_map(Result::transpose).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::store::Store;
    use crate::consent::{Actor, Clock, EndpointStatus, NewEndpoint, Organization, OrganizationChange};

    fn save(store: &Store, name: &str, labels: &[&str], organization: &str) -> Result<Endpoint, Error> {
        let organization_type = "PAYER".to_owned();
        let saved = Organization {
            id: organization.to_lowercase(),
            name: organization.to_owned(),
            note: String::new(),
            organization_type,
        };
        store.organizations().save(&saved, Actor::Operator)?;
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let base = format!("https://{}.example/fhir/", name.len());
        store
            .endpoints()
            .save(&new(name, &labels, &saved.id, &base), Actor::Operator)
    }

    fn new<'a>(name: &'a str, label: &'a [String], organization: &'a str, fhir_base: &'a str) -> NewEndpoint<'a> {
        NewEndpoint {
            id: None,
            organization,
            name,
            mode: Mode::Test,
            label,
            authorization_type: AuthorizationType::Oauth,
            refreshable: true,
            refresh_valid_for: Some(0),
            max_auth_period: None,
            status: EndpointStatus::Available,
            resources: &[],
            fhir_base,
            configuration: None,
            client_id: "c",
            client_secret: None,
            scope: "launch/patient",
            identifier_system: "urn:x",
        }
    }

    fn names(found: Vec<Endpoint>) -> Vec<String> {
        found.into_iter().map(|endpoint| endpoint.name).collect()
    }

    #[test]
    fn every_word_is_looked_for_and_the_nearest_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        save(&store, "aa", &["Santé Plus"], "Blue Sky").unwrap();
        save(&store, "bbb", &["Blue"], "Harbor").unwrap();
        let gone = save(&store, "cccc", &["Bluebird"], "Nest").unwrap();
        store
            .endpoints()
            .set_status(&gone.id, EndpointStatus::Unavailable, Actor::Operator)
            .unwrap();
        let find = |text: &str| names(store.endpoints().search(Mode::Test, text, &[], 10).unwrap());
        assert_eq!(find("blue"), ["bbb", "aa"]);
        assert_eq!(find("  SANTE pl"), ["aa"]);
        assert_eq!(find("sky sante"), ["aa"]);
        assert_eq!(find("lue"), Vec::<String>::new());
        assert_eq!(find("blue nest"), Vec::<String>::new());
        assert_eq!(find("' OR 1=1 --"), Vec::<String>::new());
        assert_eq!(find("%").len(), 2, "no words match all");
        assert_eq!(store.endpoints().search(Mode::Live, "", &[], 10).unwrap(), []);
        assert_eq!(
            store
                .endpoints()
                .search(Mode::Test, "", &[AuthorizationType::Ial2], 10)
                .unwrap(),
            []
        );
        assert_eq!(store.endpoints().search(Mode::Test, "", &[], 1).unwrap().len(), 1);
    }

    #[test]
    fn what_changes_is_found_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        // This stands for another process that has the same store open.
        let other = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let find = |text: &str| names(store.endpoints().search(Mode::Test, text, &[], 10).unwrap());
        assert_eq!(find("lakshore"), [] as [&str; 0]);
        let made = save(&other, "aa", &["Lakeshore"], "Blue").unwrap();
        assert_eq!(find("lakshore"), ["aa"]);
        assert_eq!(find("oregon"), [] as [&str; 0]);
        let change = OrganizationChange {
            place: Some("Portland, OR"),
            ..OrganizationChange::default()
        };
        other
            .profiles()
            .set_of_organization("blue", &change, Actor::Operator)
            .unwrap();
        assert_eq!(find("oregon"), ["aa"]);
        save(&store, "aaa", &["Harbor"], "Blue").unwrap();
        assert_eq!(find("harbor"), ["aaa"]);
        other
            .endpoints()
            .set_status(&made.id, EndpointStatus::Unavailable, Actor::Operator)
            .unwrap();
        assert_eq!(find("lakeshore"), [] as [&str; 0]);
    }

    #[test]
    fn the_operators_rank_comes_before_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        for (name, organization) in [("a", "Ash"), ("bb", "Birch"), ("ccc", "Cedar"), ("dddd", "Dogwood")] {
            save(&store, name, &[organization], organization).unwrap();
        }
        let find = || names(store.endpoints().search(Mode::Test, "", &[], 10).unwrap());
        let rank = |organization: &str, rank| {
            let change = OrganizationChange {
                rank: Some(rank),
                ..OrganizationChange::default()
            };
            store
                .profiles()
                .set_of_organization(organization, &change, Actor::Operator)
                .unwrap();
        };
        assert_eq!(find(), ["a", "bb", "ccc", "dddd"]);
        rank("dogwood", Some(2));
        rank("cedar", Some(1));
        assert_eq!(find(), ["ccc", "dddd", "a", "bb"]);
        rank("cedar", None);
        assert_eq!(find(), ["dddd", "a", "bb", "ccc"]);
        assert_eq!(store.profiles().of_organization("dogwood").unwrap().rank, Some(2));
    }

    #[test]
    fn an_endpoint_is_added_changed_and_found_by_its_base() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let made = save(&store, "aa", &[], "Blue").unwrap();
        assert_eq!(
            (made.fhir_base.as_str(), &made.label),
            ("https://2.example/fhir", &vec!["aa".to_owned()])
        );
        assert_eq!(
            store
                .endpoints()
                .by_base(Mode::Test, "https://2.example/fhir/")
                .unwrap()
                .as_ref(),
            Some(&made)
        );
        assert_eq!(
            store.endpoints().by_base(Mode::Live, "https://2.example/fhir").unwrap(),
            None
        );
        let changed = NewEndpoint {
            id: Some(&made.id),
            client_secret: Some("hush"),
            ..new("zz", &[], "blue", "https://z.example/fhir")
        };
        let changed = store.endpoints().save(&changed, Actor::Operator).unwrap();
        assert_eq!(
            (&changed.id, changed.name.as_str(), changed.confidential),
            (&made.id, "zz", true)
        );
        assert_eq!(store.endpoints().secret(&made.id).unwrap().as_deref(), Some("hush"));
        let again = NewEndpoint {
            id: Some(&made.id),
            ..new("zz", &[], "blue", "https://z.example/fhir")
        };
        store.endpoints().save(&again, Actor::Operator).unwrap();
        assert_eq!(
            store.endpoints().secret(&made.id).unwrap().as_deref(),
            Some("hush"),
            "it stays"
        );
        store.endpoints().checked(&made.id, "{}").unwrap();
        assert_eq!(
            store.endpoints().get(&made.id).unwrap().unwrap().checked_at,
            Some(1_000)
        );
    }

    #[test]
    fn what_the_directory_does_not_admit_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        save(&store, "aa", &[], "Blue").unwrap();
        let refused = |new: NewEndpoint<'_>| store.endpoints().save(&new, Actor::Operator).unwrap_err().to_string();
        assert!(refused(new("aa", &[], "blue", "https://x.example/fhir")).contains("called \"aa\""));
        assert!(refused(new("bb", &[], "blue", "https://2.example/fhir")).contains("FHIR base"));
        assert!(refused(new("bb", &[], "nobody", "https://x.example/fhir")).contains("\"nobody\""));
        for base in [
            "",
            "x",
            "ftp://x",
            "https://",
            "https://x/?y",
            "https://x/#y",
            "https://x/ y",
            "https://a@x/",
        ] {
            assert!(refused(new("bb", &[], "blue", base)).contains("address"), "{base}");
        }
        assert!(refused(new("", &[], "blue", "https://x.example/fhir")).contains("name is empty"));
    }

    #[test]
    fn identity_providers_and_locators_are_those_of_their_mode() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let provider = crate::consent::IdentityProvider {
            code: "verify".to_owned(),
            mode: Mode::Test,
            name: "Verify".to_owned(),
            issuer: "https://id.example".to_owned(),
            client_id: "c".to_owned(),
        };
        store
            .identity_providers()
            .save(&provider, Some("hush"), Actor::Operator)
            .unwrap();
        store
            .identity_providers()
            .save(&provider, None, Actor::Operator)
            .unwrap();
        assert_eq!(store.identity_providers().all(Mode::Test).unwrap(), [provider]);
        assert_eq!(store.identity_providers().all(Mode::Live).unwrap(), []);
        let secret = |mode| store.identity_providers().secret(mode, "verify").unwrap();
        assert_eq!(
            (secret(Mode::Test).as_deref(), secret(Mode::Live)),
            (Some("hush"), None)
        );
        store
            .record_locators()
            .set(Mode::Test, "https://l.example/locator/", Actor::Operator)
            .unwrap();
        assert_eq!(
            store.record_locators().get(Mode::Test).unwrap().as_deref(),
            Some("https://l.example/locator")
        );
        assert_eq!(store.record_locators().get(Mode::Live).unwrap(), None);
    }
}
