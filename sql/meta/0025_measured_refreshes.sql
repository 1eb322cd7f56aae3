-- One row for each refresh that no new message caused, under `refreshOn: auto`: what it found decides whether such refreshes are skipped.
CREATE TABLE _measured_refreshes (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: agent id.
  agent_id VARCHAR NOT NULL,
  -- Key: conversation id.
  conversation_id VARCHAR NOT NULL,
  -- Key: when it was requested, server's clock.
  requested_at TIMESTAMP NOT NULL,
  -- Keys of the API's record whose values differ from those of the export before, apart from keys that nobody analyzes. They include keys that events carry.
  changed VARCHAR[] NOT NULL
);
