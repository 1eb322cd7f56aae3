-- Identifies the billing of an answer at the vendor (section 2.11); NULL where the vendor reported none.
ALTER TABLE _requests ADD COLUMN IF NOT EXISTS log_id VARCHAR;
ALTER TABLE _requests ADD COLUMN IF NOT EXISTS usage_summary VARCHAR;
ALTER TABLE _requests ADD COLUMN IF NOT EXISTS export_request_count BIGINT;
