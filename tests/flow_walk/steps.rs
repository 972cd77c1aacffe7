//! The patient's steps and the answers of sources.

use tabularium::consent::{Actor, Credential, Ended, Grant, Resync, Returned, SourceGrant, Step, Trouble};

use super::events::{Answer, Event};
use super::table::{CONSENT, Trigger};
use super::{IDLE, Source, Walk};

impl Walk<'_> {
    /// The concrete event for the walk's current page.
    pub(super) fn resolved(&self, event: Event) -> Event {
        let Event::Onward(endpoint) = event else { return event };
        let last = self.attempts.last();
        let away = last.is_some_and(|(_, _, at, back)| !back && self.sources[*at].state == "AUTHORIZING");
        match self.consent {
            "CREATED" if self.at_hub => Event::Finish,
            "CREATED" if away => Event::Return(0, Answer::Grants { lasting: endpoint != 2 }),
            "CREATED" if self.page.is_some() => Event::Depart,
            "CREATED" => Event::Choose(endpoint),
            "AUTHORIZED" => Event::Exchange,
            _ => Event::Refresh(Resync::Never),
        }
    }

    pub(super) fn happens(&mut self, event: Event) {
        let store = self.room.store.clone();
        let now = self.now();
        match self.resolved(event) {
            Event::Onward(_) => {}
            Event::Wait(seconds) => store.clock().advance(seconds),
            Event::Sweep => {
                store.sweep().unwrap();
                self.swept();
            }
            Event::Visit => {
                store.flows().visit(self.key).unwrap();
                if self.is_open() {
                    self.touched = now;
                } else if self.consent == "CREATED" {
                    // After the timeout a step finds the flow ended, and applies all other overdue timeouts.
                    self.swept();
                }
            }
            Event::Choose(endpoint) => {
                let chosen = |source: &Source| source.endpoint == endpoint && source.state == "AUTHORIZED";
                let admitted = !self.sources.iter().any(chosen);
                let outcome = store.flows().choose_source(self.key, &self.room.departure(endpoint));
                if self.stepped(outcome, admitted).is_some() {
                    self.move_sources(Trigger::Left, None);
                    self.add_source(endpoint);
                    (self.page, self.at_hub) = (Some(endpoint), false);
                }
            }
            Event::Depart => self.depart(self.page.unwrap_or(0)),
            Event::DepartTo(endpoint) => self.depart(endpoint),
            Event::DepartFailed => {
                // Only the endpoint of the page can fail.
                let Some(endpoint) = self.page else { return };
                let outcome = store.flows().depart_failed(self.key, &self.room.departure(endpoint));
                if self.stepped(outcome, true).is_some() {
                    let at = self.send(endpoint);
                    assert!(self.move_source(at, Trigger::Failed));
                }
            }
            Event::Return(..) if self.attempts.is_empty() => {}
            Event::Return(ago, answer) => self.come_back(self.attempts.len() - 1 - ago % self.attempts.len(), answer),
            Event::GoElsewhere => {
                let outcome = store.flows().go_to(self.key, Step::Choose);
                if self.stepped(outcome, true).is_some() {
                    self.move_sources(Trigger::Left, None);
                    (self.page, self.at_hub) = (None, false);
                }
            }
            Event::Finish => {
                let outcome = store.flows().finish(self.key);
                if let Some((_, ended)) = self.stepped(outcome, true) {
                    self.move_sources(Trigger::Left, None);
                    match (self.has("AUTHORIZED"), ended) {
                        (false, Ended::NoSource) => self.move_consent(Trigger::Left),
                        (true, Ended::Code(code) | Ended::PublicToken(code)) => {
                            self.move_consent(Trigger::Finished);
                            self.code = Some((code, now + IDLE));
                        }
                        (_, ended) => panic!("ended with {ended:?}"),
                    }
                }
            }
            Event::Cancel => {
                let outcome = store.flows().cancel(self.key);
                if self.stepped(outcome, true).is_some() {
                    self.move_sources(Trigger::Left, None);
                    // The sources' grants are revoked, so nothing stays authorized.
                    for at in 0..self.sources.len() {
                        if self.sources[at].state == "AUTHORIZED" {
                            self.move_source(at, Trigger::Revoked);
                        }
                    }
                    self.move_consent(Trigger::Left);
                }
            }
            Event::Exchange => self.exchange(),
            Event::Refresh(resync) => self.refresh(resync),
            Event::Sync(outcome) => self.sync(outcome),
            Event::Revoke => {
                let count = store.consents().revoke(&self.id, Actor::Application).unwrap();
                let revoked = CONSENT
                    .iter()
                    .any(|row| (row.0, row.1) == (self.consent, Trigger::Revoked));
                let expected = if revoked {
                    self.move_consent(Trigger::Revoked);
                    self.move_sources(Trigger::Revoked, None)
                } else {
                    0
                };
                assert_eq!(count, expected);
            }
        }
    }

    pub(super) fn depart(&mut self, endpoint: usize) {
        let state = uuid::Uuid::new_v4().to_string();
        let store = self.room.store.clone();
        let outcome = store
            .flows()
            .depart(self.key, &self.room.departure(endpoint), &state, b"verifier");
        if self.stepped(outcome, self.page == Some(endpoint)).is_some() {
            let at = self.send(endpoint);
            self.attempts.push((state, endpoint, at, false));
            self.at_hub = false;
        }
    }

    pub(super) fn come_back(&mut self, attempt: usize, answer: Answer) {
        let store = self.room.store.clone();
        let (state, endpoint, at, used) = self.attempts[attempt].clone();
        let from = Returned::Endpoint(&self.room.endpoints[endpoint]);
        let outcome = store.attempts().take(self.key, &state, from);
        let Some((_, taken)) = self.stepped(outcome, !used) else {
            return;
        };
        self.attempts[attempt].3 = true;
        let id = taken.authorization.unwrap();
        assert_eq!(store.authorizations().of_consent(&self.id).unwrap()[at].id, id);
        let admitted = self.sources[at].state == "AUTHORIZING";
        match answer {
            Answer::Grants { lasting } => {
                let outcome = store.flows().source_granted(self.key, &id, &granted(&id, lasting));
                if self.stepped(outcome, admitted).is_some() {
                    assert!(self.move_source(at, Trigger::Granted));
                    self.sources[at].lasting &= lasting;
                    (self.page, self.at_hub) = (None, true);
                }
            }
            Answer::Fails(trouble) => {
                let outcome = store.flows().source_failed(self.key, &id, trouble);
                if self.stepped(outcome, admitted).is_some() {
                    let trigger = match trouble {
                        Trouble::Refused | Trouble::NoPatient => Trigger::Refused,
                        Trouble::Down | Trouble::Rejected | Trouble::Unreadable => Trigger::Failed,
                    };
                    assert!(self.move_source(at, trigger));
                    if !self.at_hub {
                        self.page = Some(endpoint);
                    }
                }
            }
        }
    }
}

/// A source's grant.
fn granted(id: &str, lasting: bool) -> SourceGrant<'_> {
    static CREDENTIAL: std::sync::LazyLock<Credential> = std::sync::LazyLock::new(|| Credential {
        access_token: "access".to_owned(),
        refresh_token: Some("refresh".to_owned()),
        expires_at: None,
        assertion: None,
    });
    SourceGrant {
        grant: Grant {
            patient: id,
            source_patient: "at-the-source",
            scope_requested: "patient/*.read",
            scope_granted: "patient/*.read",
            refreshable: lasting,
            max_auth_until: None,
        },
        credential: &CREDENTIAL,
    }
}
