-- One row for each publication to a target.
CREATE TABLE _publications (
  -- Key: id of the publication, which its target stores too. A target with an id that is not listed here was written by another warehouse.
  id VARCHAR NOT NULL,
  -- Name of the target.
  target VARCHAR NOT NULL,
  -- delta (changed rows) or refill (all rows).
  kind VARCHAR NOT NULL,
  -- Why the target was written from empty; NULL for a delta.
  reason VARCHAR,
  -- Epoch of the change log that the target has reached, once the publication has ended without an error.
  epoch VARCHAR NOT NULL,
  -- Entry of the change log that the target has reached then.
  seq BIGINT NOT NULL,
  -- Rows in the package.
  row_count BIGINT,
  -- When its rows were read.
  started_at TIMESTAMP NOT NULL,
  -- When it ended; NULL: it runs, or was killed.
  ended_at TIMESTAMP,
  -- Code of the error that it failed with.
  error_code VARCHAR,
  -- What went wrong.
  error VARCHAR,
  -- What to do about it.
  hint VARCHAR
);
