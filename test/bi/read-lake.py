# Reads a lake again and again while it is published to, as a notebook would: each transaction must see one version in all tables.
import json
import os
import sys
import time
from pathlib import Path

import duckdb

extensions, address, options, workspace, stop = sys.argv[1:]


def connected():
    connection = duckdb.connect(config={"allow_unsigned_extensions": "false"})
    for name in ("ducklake", "postgres_scanner", "httpfs"):
        connection.execute(f"LOAD '{extensions}/{name}.duckdb_extension'")
    connection.execute("SET TimeZone = 'UTC'")
    if os.environ.get("LAKE_SECRET"):
        connection.execute(os.environ["LAKE_SECRET"])
    connection.execute(f"ATTACH '{address}' AS lake (READ_ONLY{options})")
    return connection


states = set()
reads = 0
connection = connected()
print("ready", flush=True)
while not Path(stop).exists():
    connection.execute("BEGIN")
    names = connection.execute(
        f"SELECT string_agg(user_name, ',' ORDER BY conversation_id) FROM lake.conversations WHERE workspace_id = '{workspace}'"
    ).fetchone()[0]
    time.sleep(0.05)
    publication = connection.execute("SELECT publication_id FROM lake._publication").fetchone()[0]
    connection.execute("COMMIT")
    reads += 1
    states.add((publication, names))
    time.sleep(0.05)
types = connection.execute("SELECT (SELECT as_of::VARCHAR FROM lake._publication), typeof(ts), typeof(extra) FROM lake.conversations LIMIT 1").fetchone()
print(json.dumps({"states": sorted(states), "reads": reads, "types": types}))
