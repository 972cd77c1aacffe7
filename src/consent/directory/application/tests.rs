use super::*;
use crate::consent::Clock;
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::store::Store;
use crate::lake::Mode;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
    (folder, store)
}

fn named(name: &str) -> NewApplication<'_> {
    NewApplication {
        name,
        ..NewApplication::default()
    }
}

#[test]
fn key_pairs_have_the_prefixes_of_their_mode_and_belong_together() {
    let (_folder, store) = store();
    let (made, keys) = store.applications().create(&named("My App"), Actor::Operator).unwrap();
    assert_eq!((made.id.as_str(), made.keys.len()), ("my-app", 2));
    for new in &keys {
        let secret = new.secret.as_deref().unwrap();
        assert!(new.publishable.starts_with(&format!("pk_{}_", new.mode.schema())));
        assert!(secret.starts_with(&format!("sk_{}_", new.mode.schema())));
        let client = store.clients().with_secret(&new.publishable, secret).unwrap().unwrap();
        assert_eq!((&*client.application, client.mode), ("my-app", new.mode));
    }
    let crossed = store
        .clients()
        .with_secret(&keys[0].publishable, keys[1].secret.as_deref().unwrap());
    assert_eq!(crossed.unwrap(), None, "a test key goes with a test secret only");
}

#[test]
fn secrets_are_told_once_and_kept_as_digests() {
    let (folder, store) = store();
    let (_, keys) = store.applications().create(&named("x"), Actor::Operator).unwrap();
    let token = store.registration_tokens().create(Actor::Operator).unwrap();
    drop(store);
    let secrets = keys.iter().filter_map(|keys| keys.secret.as_deref()).chain([&*token]);
    for secret in secrets {
        assert!(!format!("{keys:?}").contains(secret));
        for entry in std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let Ok(bytes) = std::fs::read(&entry) else { continue };
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{}", entry.display());
        }
    }
}

#[test]
fn replaced_keys_begin_nothing_after_their_grace() {
    let (_folder, store) = store();
    let (_, keys) = store.applications().create(&named("x"), Actor::Operator).unwrap();
    let old = keys.iter().find(|keys| keys.mode == Mode::Live).unwrap();
    let other = keys.iter().find(|keys| keys.mode == Mode::Test).unwrap();
    let new = store.clients().rotate("x", Mode::Live, 60, Actor::Operator).unwrap();
    let works = |keys: &NewKeys| {
        let client = store
            .clients()
            .with_secret(&keys.publishable, keys.secret.as_deref().unwrap())
            .unwrap();
        assert_eq!(client, store.clients().active(&keys.publishable).unwrap());
        client.is_some()
    };
    assert!(works(old) && works(&new) && works(other));
    store.clock().advance(60);
    assert!(!works(old) && works(&new) && works(other));
    assert!(
        store.clients().get(&old.publishable).unwrap().is_some(),
        "its tokens live on"
    );
    assert!(store.clients().rotate("y", Mode::Live, 0, Actor::Operator).is_err());
}

#[test]
fn who_registered_as_a_public_client_stays_one_and_imported_records_get_keys() {
    let (_folder, store) = store();
    let public = NewApplication {
        confidential: false,
        registration: Some("{}"),
        ..named("x")
    };
    let (_, keys) = store.applications().create(&public, Actor::Application).unwrap();
    assert!(keys.iter().all(|keys| keys.secret.is_none()));
    assert_eq!(store.clients().with_secret(&keys[0].publishable, "").unwrap(), None);
    let again = store.clients().rotate("x", Mode::Test, 0, Actor::Operator).unwrap();
    assert_eq!(again.secret, None);
    let local = store.clients().rotate("local", Mode::Live, 0, Actor::Operator).unwrap();
    assert!(
        local.secret.is_some(),
        "the operator's own application has no secret until then"
    );
}

#[test]
fn ids_read_like_names_and_are_unique() {
    let (_folder, store) = store();
    let made = |name: &str| store.applications().create(&named(name), Actor::Operator).unwrap().0.id;
    assert_eq!(made("Größe & Co."), "gr-e-co");
    assert_eq!(made("Größe & Co."), "gr-e-co-2");
    assert_eq!(made("健康"), "app");
    assert_eq!(made("'; DROP TABLE client; --"), "drop-table-client");
    let wished = NewApplication {
        id: Some("app"),
        ..named("x")
    };
    let refused = store.applications().create(&wished, Actor::Operator).unwrap_err();
    assert!(matches!(refused, Error::ApplicationExists(_)), "{refused}");
    for name in ["", "  ", "a\nb", &"x".repeat(201)] {
        assert!(
            store.applications().create(&named(name), Actor::Operator).is_err(),
            "{name}"
        );
    }
}

#[test]
fn addresses_are_checked_and_taken_once() {
    let (_folder, store) = store();
    store.applications().create(&named("x"), Actor::Operator).unwrap();
    let (uri, origin) = ("https://x.example/cb", "https://x.example/");
    assert!(store.redirect_uris().add("x", uri, Actor::Operator).unwrap());
    assert!(!store.redirect_uris().add("x", uri, Actor::Operator).unwrap());
    assert!(store.origins().add("x", origin, Actor::Operator).unwrap());
    let found = store.applications().get("x").unwrap().unwrap();
    assert_eq!(
        (found.redirect_uris, found.origins),
        (vec![uri.to_owned()], vec!["https://x.example".to_owned()])
    );
    let refused = store
        .redirect_uris()
        .add("x", "http://x.example/cb", Actor::Operator)
        .unwrap_err();
    assert!(matches!(refused, Error::RedirectUri { .. }), "{refused}");
    assert!(store.redirect_uris().add("y", uri, Actor::Operator).is_err());
    assert!(store.redirect_uris().remove("x", uri, Actor::Operator).unwrap());
    assert!(store.origins().remove("x", origin, Actor::Operator).unwrap());
    assert_eq!(
        store.applications().get("x").unwrap().unwrap().origins,
        Vec::<String>::new()
    );
}

#[test]
fn a_refused_registration_leaves_nothing_and_the_token_unused() {
    let (_folder, store) = store();
    let token = store.registration_tokens().create(Actor::Operator).unwrap();
    let bad = ["http://x.example/cb".to_owned()];
    let new = NewApplication {
        redirect_uris: &bad,
        initial_access_token: Some(&token),
        ..named("x")
    };
    assert!(store.applications().create(&new, Actor::Application).is_err());
    assert_eq!(store.applications().get("x").unwrap(), None);
    let new = NewApplication {
        redirect_uris: &[],
        ..new
    };
    store.applications().create(&new, Actor::Application).unwrap();
    assert!(!store.registration_tokens().is_valid(&token).unwrap());
    let refused = store.applications().create(&new, Actor::Application).unwrap_err();
    assert!(matches!(refused, Error::InitialAccessToken), "{refused}");
    let late = store.registration_tokens().create(Actor::Operator).unwrap();
    assert!(store.registration_tokens().is_valid(&late).unwrap());
    store.clock().advance(REGISTRATION_SECONDS);
    assert!(!store.registration_tokens().is_valid(&late).unwrap());
}
