-- Agents that the run left to a later one, because their requests failed while those of others succeeded: a list of agentId, code and what. NULL: none.
ALTER TABLE _runs ADD COLUMN agents_left JSON;
