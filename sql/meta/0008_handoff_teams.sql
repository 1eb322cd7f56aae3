-- Teams of handoffs were kept as pairs of an id and a key, which the vendor does not say that they are. Ids and keys have a table
-- each now, which comes with the catalog; `replay` fills them for what was loaded before.
DROP TABLE IF EXISTS conversation_handoff_teams;
