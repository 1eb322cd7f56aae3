-- Teams of handoffs were stored as pairs of an id and a key, although the API document does not say that the two lists correspond. Ids and
-- keys have a table each now, declared in the catalog; `replay` fills them for pages that were loaded before.
DROP TABLE IF EXISTS conversation_handoff_teams;
