-- Identifies its table, and changes when the table is created again with other columns or another key: targets that have rows of an earlier table are written from empty. NULL: the table is older than this column.
ALTER TABLE _models ADD COLUMN table_id VARCHAR;
