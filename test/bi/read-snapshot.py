"""Reads a published DuckDB file, and prints as JSON what it found. Usage: read-snapshot.py FILE"""
import json
import sys

import duckdb

connection = duckdb.connect(sys.argv[1], read_only=True)
rows = connection.sql("SELECT conversation_id, ts, messages_num, is_test FROM conversations ORDER BY 1").fetchall()
tables = connection.sql("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
for (table,) in tables:
    connection.sql(f"SELECT * FROM {table}").fetchall()
comment = connection.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 'conversations'").fetchall()[0][0]
print(json.dumps({
    "rows": [[value.isoformat() if hasattr(value, "isoformat") else value for value in row] for row in rows],
    "comment": comment,
    "tables": len(tables),
}))
