-- Retention. Traffic at the beginning of a log is cut; what happened to tools and to the policy stays, below `log_begin`
-- too, but only from there on is the log without gaps.

ALTER TABLE namespaces ADD COLUMN log_begin INTEGER NOT NULL DEFAULT 1; -- seq of the first record without a gap behind it
ALTER TABLE namespaces ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0; -- bytes of the bodies from there on

UPDATE namespaces SET log_bytes =
    (SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE namespace = namespaces.id);
