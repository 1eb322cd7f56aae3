SELECT * FROM marts.freshness WHERE conversations > 0 ORDER BY newest_observation_at LIMIT 1000
