-- Folders of the landing of months that are over, all of whose pages are loaded: as long as the folder has not changed since, its
-- names need not be read to find what is not loaded yet.
CREATE TABLE _folders (
  workspace_id VARCHAR NOT NULL,
  folder VARCHAR NOT NULL,
  -- When the folder last changed, in nanoseconds, by the file system.
  stamp VARCHAR NOT NULL
);
