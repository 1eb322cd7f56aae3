-- Each conversation has a number, and no two the same.
SELECT _record, count(*) AS conversations FROM conversations GROUP BY _record HAVING _record IS NULL OR count(*) > 1;
