-- The schema `models`: a table for each file of the user's folder of models, which src/warehouse/models creates and fills.
CREATE SCHEMA models;

-- One row for each model.
CREATE TABLE _models (
  -- Name of the model: its table is `models.NAME`.
  name VARCHAR NOT NULL,
  -- What it is, as its file says.
  about VARCHAR NOT NULL,
  -- Hash of the file that the last attempt read.
  definition VARCHAR NOT NULL,
  -- Key columns.
  key VARCHAR[] NOT NULL,
  -- Columns of its table, as JSON: name, type, class of personal data, description. Empty: it has not been built yet.
  columns VARCHAR NOT NULL,
  -- Columns that targets with a row filter do not receive.
  shared VARCHAR[] NOT NULL,
  -- Epoch of the change log when its rows were read.
  epoch VARCHAR,
  -- Entry of the change log up to which its rows have followed it.
  seq BIGINT,
  -- The last attempt: built, invalid, failed, timeout or blocked. Unless it is built, the rows are those of the attempt that last succeeded.
  outcome VARCHAR NOT NULL,
  -- Why it is not built; never a value.
  error VARCHAR,
  -- What to do about it.
  hint VARCHAR,
  -- Rows of its table.
  row_count BIGINT,
  -- Time that the last attempt took, ms.
  duration_ms BIGINT,
  -- When that was.
  tried_at TIMESTAMP NOT NULL
);
