-- What each reading was for, and how far it reached: re-reads, samples and the ledger ask for it.

-- Kind of the window that the page is of (head, tail, full, reread, selected, refresh, sample); NULL for a listing.
ALTER TABLE _requests ADD COLUMN kind VARCHAR;
-- First and last second of `ts` that the page covers; NULL: from the beginning of time, or, both of them, no stretch.
ALTER TABLE _requests ADD COLUMN from_at TIMESTAMP;
ALTER TABLE _requests ADD COLUMN to_at TIMESTAMP;

-- Kind of the window that brought the observation; NULL for an event.
ALTER TABLE conversation_observations ADD COLUMN kind VARCHAR;
-- The record's own `lastModified`, where it has one: two observations without it cannot be distinguished.
ALTER TABLE conversation_observations ADD COLUMN modified TIMESTAMP;
