"""Reads a target of Parquet files in S3 with one tool, as docs/publishing.md shows, and prints as JSON what it found.

Usage: read-s3.py READER s3://BUCKET/PREFIX ENDPOINT KEY SECRET
"""
import json
import os
import sys

reader, lake, endpoint, key, secret = sys.argv[1:]
os.environ.update(AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret, AWS_REGION="us-east-1", AWS_ENDPOINT_URL=endpoint)
ROUNDS = 12


def of_pyarrow():
    import pyarrow.compute
    import pyarrow.dataset
    import pyarrow.fs

    s3 = pyarrow.fs.S3FileSystem(endpoint_override=endpoint, access_key=key, secret_key=secret)
    root = lake.removeprefix("s3://")

    def one_state():
        with s3.open_input_stream(f"{root}/_manifest.json") as stream:
            files = [f"{root}/{file['path']}" for file in json.load(stream)["files"] if file["table"] == "conversations"]
        partitioning = pyarrow.dataset.partitioning(flavor="hive")
        table = pyarrow.dataset.dataset(files, filesystem=s3, partitioning=partitioning).to_table(columns=["month"])
        return table.num_rows, pyarrow.compute.max(table["month"]).as_py()

    def copies():
        return pyarrow.dataset.dataset(f"{root}/conversations", filesystem=s3, partitioning="hive").count_rows()

    return one_state, copies


def of_polars():
    import polars
    import pyarrow.fs

    options = {"aws_endpoint_url": endpoint, "aws_access_key_id": key, "aws_secret_access_key": secret,
               "aws_region": "us-east-1", "aws_allow_http": "true"}
    s3 = pyarrow.fs.S3FileSystem(endpoint_override=endpoint, access_key=key, secret_key=secret)

    def one_state():
        with s3.open_input_stream(f"{lake.removeprefix('s3://')}/_manifest.json") as stream:
            files = [f"{lake}/{file['path']}" for file in json.load(stream)["files"] if file["table"] == "conversations"]
        found = polars.scan_parquet(files, hive_partitioning=True, storage_options=options).select("month").collect()
        return found.height, found["month"].max()

    def copies():
        scanned = polars.scan_parquet(f"{lake}/conversations/**/*.parquet", hive_partitioning=True, storage_options=options)
        return scanned.select(polars.len()).collect().item()

    return one_state, copies


one_state, copies = globals()[f"of_{reader}"]()
states = [one_state() for _ in range(ROUNDS)]
print(json.dumps({"counts": [count for count, _ in states], "month": states[-1][1], "copies": copies()}))
