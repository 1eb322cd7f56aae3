-- Business hours and targets of service levels, as the configuration has them.
CREATE TABLE _response_rules (
  -- Key: workspace id.
  workspace_id VARCHAR NOT NULL,
  -- The settings and the time zone that the rows of `_business_hours` and `_sla_targets` derive from, as JSON.
  settings VARCHAR NOT NULL,
  -- Business hours are configured.
  has_hours BOOLEAN NOT NULL
);

-- One row for each time in which a workspace is open, from 2010 to 2059. None: it always is.
CREATE TABLE _business_hours (
  -- Workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Begin.
  opens_at TIMESTAMP NOT NULL,
  -- End.
  closes_at TIMESTAMP NOT NULL,
  -- Business time before it, in seconds.
  seconds_before BIGINT NOT NULL
);

-- One row for each target of a service level.
CREATE TABLE _sla_targets (
  -- Workspace id.
  workspace_id VARCHAR NOT NULL,
  -- Number of the rule, from 1: the first one that matches applies.
  rule INTEGER NOT NULL,
  -- Name of the service level.
  name VARCHAR NOT NULL,
  -- What it limits: first_response, next_response, handoff or resolution.
  metric VARCHAR NOT NULL,
  -- The longest wait, in seconds.
  target_seconds BIGINT NOT NULL,
  -- Only business time counts.
  is_business BOOLEAN NOT NULL,
  -- Agents to which it applies; NULL: all.
  agents VARCHAR[],
  -- Channels to which it applies; NULL: all.
  channels VARCHAR[]
);
