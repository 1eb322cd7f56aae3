-- Agents that the run left to a later one, because the vendor refused or failed their requests alone: a list of agentId, code and what. NULL: none.
ALTER TABLE _runs ADD COLUMN agents_left JSON;
