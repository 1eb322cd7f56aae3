-- Purpose and range of each page: re-reads, samples and the ledger need them.

-- Kind of the window that the page is of (head, tail, full, reread, selected, refresh, sample); NULL for a listing.
ALTER TABLE _requests ADD COLUMN kind VARCHAR;
-- First and last second of `ts` that the page covers. A NULL `from_at`: from the beginning of time. Both NULL: the page covers no range.
ALTER TABLE _requests ADD COLUMN from_at TIMESTAMP;
ALTER TABLE _requests ADD COLUMN to_at TIMESTAMP;

-- Kind of the window that brought the observation; NULL for an event.
ALTER TABLE conversation_observations ADD COLUMN kind VARCHAR;
-- The record's own `lastModified`, where it has one: two observations without it cannot be distinguished.
ALTER TABLE conversation_observations ADD COLUMN modified TIMESTAMP;
