-- Contacts by the number of their channels.
SELECT channels, count(*) AS contacts, sum(conversations) AS conversations FROM marts.dim_contacts GROUP BY ALL ORDER BY ALL
