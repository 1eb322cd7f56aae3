SELECT max(newest_observation_at) AS newest, max(newest_conversation_at) AS conversation, sum(stale) AS stale, sum(conversations) AS conversations FROM marts.freshness
