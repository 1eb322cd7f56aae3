-- The observed columns that an event carried, null values included; NULL: an export, which carries all.
ALTER TABLE conversation_observations ADD COLUMN IF NOT EXISTS told VARCHAR[];
UPDATE conversation_observations SET told = list_filter([
    CASE WHEN state IS NOT NULL THEN 'state' END, CASE WHEN stage IS NOT NULL THEN 'stage' END,
    CASE WHEN chat_assigned_to IS NOT NULL THEN 'chat_assigned_to' END, CASE WHEN is_resolved IS NOT NULL THEN 'is_resolved' END
  ], lambda name: name IS NOT NULL)
WHERE source = 'webhook';
