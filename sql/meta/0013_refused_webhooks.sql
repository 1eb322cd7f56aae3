-- Webhook events that receivers had refused by its end, since their record began: the next run reports those that came since.
ALTER TABLE _runs ADD COLUMN IF NOT EXISTS webhooks_refused BIGINT;
