-- Whom conversations name, from which dim_people is brought up to date: two rows for each person. It lets a refresh look at changed conversations
-- alone, as long as the newest name and address of a person are in one of these, or in one that has not changed.
CREATE TABLE _people (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Key: person (PII: staff).
  user_id VARCHAR NOT NULL,
  -- Key: name or email.
  kind VARCHAR NOT NULL,
  -- The newest name or address that a conversation has; NULL if none has one (PII: staff).
  text VARCHAR,
  -- Version of that conversation.
  seen_at TIMESTAMP NOT NULL,
  -- Agent of that conversation.
  agent_id VARCHAR NOT NULL,
  -- That conversation.
  conversation_id VARCHAR NOT NULL
);
