-- The schema `marts`: its tables are declared in sql/marts, and created and filled by src/warehouse/marts.
CREATE SCHEMA marts;

-- One row, once the marts are built: how far they have followed the change log.
CREATE TABLE _marts (
  -- The epoch of the log.
  epoch VARCHAR NOT NULL,
  -- The entry up to which they have followed it.
  seq BIGINT NOT NULL,
  -- Hash of the declarations and SELECTs that built them.
  definition VARCHAR NOT NULL
);

-- Last message of the conversation, as it was seen: costs are booked on its day.
ALTER TABLE conversation_observations ADD COLUMN last_message_ts TIMESTAMP;
