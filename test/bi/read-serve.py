"""Asks a running `convohouse serve` as notebooks do, and opens its snapshot with duckdb beside it. Prints what it read as JSON.

Usage: read-serve.py URL TOKEN SNAPSHOT SQL
"""
import io
import json
import sys
import urllib.error
import urllib.request

import duckdb
import pandas
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

url, token, snapshot, sql = sys.argv[1:]
FACTS = "FROM marts.fct_conversations ORDER BY workspace_id, agent_id, conversation_id"


def ask(sql: str, accept: str, token: str = token) -> bytes:
    headers = {"Authorization": f"Bearer {token}", "Accept": accept, "Content-Type": "application/json"}
    body = json.dumps({"sql": sql, "maxRows": 1_000_000}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/query", body, headers)) as answer:
        return answer.read()


def refused(*args: str) -> list:
    try:
        ask(*args)
    except urllib.error.HTTPError as error:
        return [error.code, json.load(error)["error"]["code"]]
    return []


def both(sql: str) -> tuple[pyarrow.Table, pyarrow.Table]:
    stream = pyarrow.ipc.open_stream(ask(sql, "application/vnd.apache.arrow.stream")).read_all()
    stream.validate(full=True)
    return stream, pyarrow.parquet.read_table(io.BytesIO(ask(sql, "application/vnd.apache.parquet")))


arrow, parquet = both(sql)
facts, facts_in_parquet = both(FACTS)
in_pandas = pandas.read_parquet(io.BytesIO(ask(sql, "application/vnd.apache.parquet")))
with duckdb.connect(snapshot, read_only=True) as database:
    cursor = database.execute(FACTS)
    names = [column[0] for column in cursor.description]
    in_file = [dict(zip(names, row)) for row in cursor.fetchall()]
print(json.dumps({
    "types": [[field.name, str(field.type)] for field in arrow.schema],
    "values": [[repr(value) for value in column.to_pylist()] for column in arrow.columns],
    "dtypes": [str(dtype) for dtype in in_pandas.dtypes],
    "isSame": arrow.schema.equals(parquet.schema) and repr(arrow.to_pylist()) == repr(parquet.to_pylist()),
    "facts": facts.num_rows,
    "isSameInFile": facts.to_pylist() == facts_in_parquet.to_pylist() == in_file,
    "refused": [refused("SELECT nothing", "application/vnd.apache.arrow.stream"), refused(sql, "text/csv", "wrong")],
}))
