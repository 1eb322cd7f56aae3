-- Evidence of absence, so that `_missing_since` follows from the landed answers in any load order: one row for each requested id that
-- the answer lacks, each record that the vendor answered with 404, and each complete listing.
CREATE TABLE IF NOT EXISTS _absences (
  workspace_id VARCHAR NOT NULL,
  -- Table of what is not there: conversations, agents, organizations or teams.
  record VARCHAR NOT NULL,
  -- The agent of a conversation, the organization of a team, '' of all others.
  owner VARCHAR NOT NULL,
  -- NULL: all of that owner that were seen last before `before_at`: a complete listing did not contain them.
  id VARCHAR,
  -- gone; not exportable; unknown, where an answer does not say which of the two.
  verdict VARCHAR NOT NULL,
  -- The landed file that says so.
  file VARCHAR NOT NULL,
  -- What was seen last before this is gone, and since when.
  before_at TIMESTAMP NOT NULL,
  since TIMESTAMP NOT NULL,
  -- Changes before this are settled by it.
  as_of TIMESTAMP NOT NULL
);
