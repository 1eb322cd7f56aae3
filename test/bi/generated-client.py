"""Calls `convohouse serve` with the client that openapi-python-client generated. Prints the answers as JSON.

Usage: generated-client.py FOLDER URL TOKEN: FOLDER contains the package `generated`.
"""
import json
import sys

sys.path.insert(0, sys.argv[1])
from generated import AuthenticatedClient
from generated.api.default import get_v1_tables, post_v1_metrics_query, post_v1_query
from generated.models import PostV1MetricsQueryBody, Query

_, _, url, token = sys.argv


def query(metric: str, token: str = token):
    body = PostV1MetricsQueryBody.from_dict(
        {"queries": [{"metrics": [metric], "period": {"from": "0001-01-01", "to": "9999-12-31"}}]}
    )
    client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
    return post_v1_metrics_query.sync_detailed(client=client, body=body)


def problem(answer) -> list:
    return [answer.status_code, type(answer.parsed).__name__, answer.parsed.error.code, bool(answer.parsed.error.hint)]


client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
counted = query("conversations").parsed.answers[0].metrics[0].series[-1].total.value
rows = post_v1_query.sync(client=client, body=Query(sql="SELECT 42 AS n WHERE $1", params=[True]))
tables = get_v1_tables.sync(client=client)
print(json.dumps({
    "counted": counted,
    "rows": [[row.to_dict() for row in rows.rows], rows.truncated],
    "tables": [table.name for table in tables.tables],
    "problems": [problem(query("revenue")), problem(query("conversations", "wrong"))],
}))
