SELECT measure, unit, sum(booked) AS booked, sum(reported) AS reported FROM marts.credits GROUP BY ALL ORDER BY ALL
