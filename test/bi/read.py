"""Reads the files of `convohouse query` with pandas, Polars and pyarrow, and prints as JSON what each of them read.

Usage: read.py FOLDER NAME…: FOLDER/NAME.arrow, FOLDER/NAME.arrows and FOLDER/NAME.parquet contain the same result.
"""
import json
import sys

import polars
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet


def report(path: str) -> dict:
    file = pyarrow.feather.read_table(f"{path}.arrow")
    file.validate(full=True)
    with open(f"{path}.arrows", "rb") as source:
        stream = pyarrow.ipc.open_stream(source).read_all()
    parquet = pyarrow.parquet.read_table(f"{path}.parquet")
    frames = [
        polars.read_ipc(f"{path}.arrow"),
        polars.read_ipc_stream(f"{path}.arrows"),
        polars.read_parquet(f"{path}.parquet"),
    ]
    return {
        "rows": file.num_rows,
        "types": [[field.name, str(field.type)] for field in file.schema],
        "sameSchema": file.schema.equals(parquet.schema) and file.schema.equals(stream.schema),
        "sameInPolars": all(frame.schema == frames[0].schema and frame.equals(frames[0]) for frame in frames),
        "pandas": in_pandas(path),
    }


def in_pandas(path: str) -> int | str:
    try:
        return len(pyarrow.feather.read_feather(f"{path}.arrow"))
    except ValueError as error:
        return str(error)


folder, *names = sys.argv[1:]
print(json.dumps({name: report(f"{folder}/{name}") for name in names}))
