//! Webhooks: receivers of events, the events, and their deliveries.

/// The tables of webhooks. An event is written in the transaction that makes the move it is about, with one delivery
/// for each receiver of the application.
pub(super) const WEBHOOKS: &str = "
    CREATE TABLE webhook_receiver (
        id TEXT PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application (id) ON DELETE CASCADE,
        url TEXT NOT NULL,
        -- Sealed.
        secret BLOB NOT NULL,
        -- The secret before the last rotation, sealed, and until when it signs, too.
        former_secret BLOB,
        former_until INTEGER,
        created_at INTEGER NOT NULL,
        -- When it answered 410. It gets no events from then on.
        disabled_at INTEGER,
        -- For a receiver of `tabularium listen`: the end of its lease. NULL for registered receivers.
        listens_until INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX webhook_receiver_by_application ON webhook_receiver (application);
    CREATE UNIQUE INDEX webhook_receiver_by_url ON webhook_receiver (application, url) WHERE listens_until IS NULL;

    CREATE TABLE webhook_event (
        id TEXT PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application (id) ON DELETE CASCADE,
        type TEXT NOT NULL,
        -- It may be gone.
        consent TEXT NOT NULL,
        at INTEGER NOT NULL,
        -- JSON, without the application's identifier for the user: that one is read from the consent.
        data TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX webhook_event_by_time ON webhook_event (at);

    CREATE TABLE webhook_delivery (
        -- Later events have higher numbers.
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        event TEXT NOT NULL REFERENCES webhook_event (id) ON DELETE CASCADE,
        receiver TEXT NOT NULL REFERENCES webhook_receiver (id) ON DELETE CASCADE,
        -- That of the event.
        consent TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('WAITING', 'DELIVERED', 'GIVEN_UP')),
        -- When it is tried next. NULL if it waits for an earlier one of the same consent, and if it is over.
        due_at INTEGER CHECK (due_at IS NULL OR state = 'WAITING'),
        -- From when on a failure is the last one.
        until_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        tried_at INTEGER,
        status INTEGER,
        failure TEXT,
        UNIQUE (event, receiver)
    ) STRICT;
    -- At most one delivery of a consent is due at a receiver. So the order is that of the events.
    CREATE UNIQUE INDEX webhook_delivery_first ON webhook_delivery (receiver, consent) WHERE due_at IS NOT NULL;
    CREATE INDEX webhook_delivery_due ON webhook_delivery (receiver, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX webhook_delivery_waiting ON webhook_delivery (receiver, consent, id) WHERE state = 'WAITING';
";
