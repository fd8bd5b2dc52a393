-- The first schema. A later change is a new file; this one never changes again.

PRAGMA application_id = 0x746f6f6c; -- "tool"

CREATE TABLE namespaces (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The log. Clustered by namespace, so that recovery reads one namespace from one end to the other.
CREATE TABLE events (
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    seq       INTEGER NOT NULL CHECK (seq > 0), -- from 1, without gaps
    at_ms     INTEGER NOT NULL,                 -- when its cause came in, since 1970
    kind      TEXT    NOT NULL,                 -- the event's name
    cause     INTEGER NOT NULL,                 -- seq of the cause it was drawn from; its own for a cause
    body      TEXT    NOT NULL,                 -- the event's fields as JSON
    PRIMARY KEY (namespace, seq)
) STRICT, WITHOUT ROWID;

-- Transitions are read by themselves, newest first, and are few.
CREATE INDEX moves ON events (namespace, seq) WHERE kind = 'tool_moved';

-- What a namespace was after the event `seq`: the newest two of each.
CREATE TABLE snapshots (
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    seq       INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    PRIMARY KEY (namespace, seq)
) STRICT;

-- Queries, as far as policy lets them be kept. No foreign key to events: each may be erased without the other.
CREATE TABLE queries (
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    seq       INTEGER NOT NULL,
    session   TEXT    NOT NULL,
    at_ms     INTEGER NOT NULL,
    body      TEXT    NOT NULL,
    PRIMARY KEY (namespace, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX queries_by_session ON queries (namespace, session);
CREATE INDEX queries_by_time ON queries (namespace, at_ms);
