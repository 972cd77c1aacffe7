//! The time after a finished flow: its exchange, refreshes, syncs, and timeouts.

use tabularium::consent::{Door, GrantError, Granted, REFRESH_SECONDS, Resync};

use super::events::Outcome;
use super::table::Trigger;
use super::{DAY, IDLE, Source, VERIFIER, Walk};
use crate::harness::consented::REDIRECT_URI;

impl Walk<'_> {
    pub(super) fn exchange(&mut self) {
        let now = self.now();
        let Some((code, until)) = self.code.clone() else { return };
        let (tokens, caller) = (&self.room.tokens, &self.room.caller);
        let outcome = match self.entry.door {
            Door::Link => tokens.exchange_public_token(&caller.client, &code),
            Door::Oauth | Door::Smart => tokens.exchange_code(caller, &code, REDIRECT_URI, VERIFIER),
        };
        let good = self.code_used.is_none() && self.consent == "AUTHORIZED" && now < until;
        assert_eq!(outcome.is_ok(), good, "{outcome:?}");
        let Some(granted) = given(outcome) else {
            self.family_ended |= self.code_used.is_some_and(|used| now - used > 10);
            return;
        };
        self.code_used = Some(now);
        self.move_consent(Trigger::Exchanged);
        self.move_sources(Trigger::Exchanged, None);
        for source in self.sources.iter_mut().filter(|source| source.state == "EXCHANGED") {
            source.data_until = (!source.lasting).then_some(now + DAY);
            (source.jobs, source.open) = (1, true);
        }
        let lasting = |source: &Source| source.state == "EXCHANGED" && source.lasting;
        let refreshes = self.entry.door != Door::Link || self.sources.iter().any(lasting);
        assert_eq!(granted.refresh.is_some(), refreshes);
        self.refreshable(&granted);
    }

    pub(super) fn refresh(&mut self, resync: Resync) {
        let now = self.now();
        let Some((token, until)) = self.refresh.clone() else {
            return;
        };
        let outcome = self.room.tokens.refresh(Some(&self.room.caller), &token, resync);
        let stands = self.consent == "EXCHANGED" && (self.has("EXCHANGED") || self.has("ERRORED"));
        let may_retry = |source: &Source| {
            let given = source.state == "ERRORED" && source.been.contains(&"EXCHANGED");
            given && source.data_until.is_none_or(|until| now < until)
        };
        let syncs = resync == Resync::Multiple;
        let in_vain = syncs && !self.has("EXCHANGED") && !self.sources.iter().any(may_retry);
        assert_eq!(
            outcome.is_ok(),
            stands && now < until && !self.family_ended && !in_vain,
            "{outcome:?}"
        );
        let Some(granted) = given(outcome) else { return };
        self.refreshable(&granted);
        for at in (0..self.sources.len()).filter(|_| syncs) {
            let again = if may_retry(&self.sources[at]) {
                self.move_source(at, Trigger::Retried)
            } else {
                self.sources[at].state == "EXCHANGED" && self.sources[at].lasting && !self.sources[at].open
            };
            if again {
                self.sources[at].jobs += 1;
                self.sources[at].open = true;
            }
        }
    }

    pub(super) fn refreshable(&mut self, granted: &Granted) {
        if let Some((token, seconds)) = &granted.refresh {
            assert_eq!(*seconds, REFRESH_SECONDS);
            let until = self.now() + seconds;
            self.refresh = Some((token.clone(), until));
            self.refresh_until = Some(until);
        }
    }

    /// Runs the due jobs of this walk.
    pub(super) fn sync(&mut self, outcome: Outcome) {
        let store = &self.room.store;
        let authorizations = store.authorizations().of_consent(&self.id).unwrap();
        let due: Vec<String> = store
            .jobs()
            .due(100_000, 100_000)
            .unwrap()
            .into_iter()
            .map(|due| due.job)
            .collect();
        let mut failed = Vec::new();
        for (at, authorization) in authorizations.iter().enumerate() {
            let jobs = store.jobs().of_authorization(&authorization.id).unwrap();
            for job in jobs.iter().filter(|job| due.contains(&job.id)) {
                assert_eq!(
                    self.sources[at].state, "EXCHANGED",
                    "an ended authorization has an open job"
                );
                assert!(store.jobs().begin(&job.id).unwrap().is_some());
                match outcome {
                    Outcome::Completed => {
                        assert!(store.jobs().complete(&job.id, "{}").unwrap());
                        self.sources[at].synced = true;
                        self.sources[at].open = false;
                    }
                    Outcome::Failed => {
                        assert!(store.jobs().fail(&job.id, "nothing came").unwrap());
                        failed.push(at);
                        self.sources[at].open = false;
                    }
                    Outcome::PutOff => assert!(store.jobs().put_back(&job.id, self.now() + 60, "later").unwrap()),
                    Outcome::Killed => assert_eq!(store.jobs().take_up().unwrap(), 1),
                }
            }
        }
        for at in failed {
            if !self.sources[at].synced {
                assert!(self.move_source(at, Trigger::Failed));
            }
        }
    }

    /// Applies the timeouts.
    pub(super) fn swept(&mut self) {
        let now = self.now();
        if self.consent == "CREATED" && self.touched + IDLE <= now {
            self.move_sources(Trigger::Left, None);
            // The code has expired, so the grants are unused.
            self.move_sources(Trigger::Unused, None);
            self.move_consent(Trigger::Left);
        }
        if self.consent == "AUTHORIZED" && self.code.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.move_sources(Trigger::Unused, None);
            self.move_consent(Trigger::Unused);
        }
        for at in 0..self.sources.len() {
            let over = self.sources[at].data_until.is_some_and(|until| until <= now);
            if over && self.sources[at].state == "EXCHANGED" {
                self.sources[at].data_until = None;
                self.sources[at].open = false;
                if self.entry.door != Door::Oauth {
                    assert!(self.move_source(at, Trigger::WindowElapsed));
                }
            }
        }
        if self.consent == "EXCHANGED" && self.refresh_until.is_some_and(|until| until <= now) {
            self.move_sources(Trigger::WindowElapsed, None);
        }
    }
}

/// The granted tokens. A refusal must have a reason and must not be a failure of the store.
fn given(outcome: Result<Granted, GrantError>) -> Option<Granted> {
    match outcome {
        Ok(granted) => Some(granted),
        Err(GrantError::Store(error)) => panic!("{error}"),
        Err(_) => None,
    }
}
