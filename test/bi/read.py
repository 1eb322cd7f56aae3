"""Reads the files of `convohouse query` with pandas, Polars and pyarrow, and prints as JSON what each of them read.

Usage: read.py FOLDER NAME…: FOLDER/NAME.arrow, FOLDER/NAME.arrows and FOLDER/NAME.parquet contain the same result.
"""
import json
import sys

import pandas
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
    pandas_frames = [pandas.read_feather(f"{path}.arrow"), pandas.read_parquet(f"{path}.parquet")]
    return {
        "rows": file.num_rows,
        "types": [[field.name, str(field.type)] for field in file.schema],
        "sameSchema": file.schema.equals(parquet.schema) and file.schema.equals(stream.schema),
        "sameInPolars": all(frame.schema == frames[0].schema and frame.equals(frames[0]) for frame in frames),
        "inPolars": [[name, str(dtype)] for name, dtype in frames[0].schema.items()],
        "sameInPandas": pandas_frames[0].dtypes.equals(pandas_frames[1].dtypes)
        and all(map(same_cells, *map(columns_of, pandas_frames))),
        "inPandas": [[name, str(dtype)] for name, dtype in pandas_frames[0].dtypes.items()],
    }


def columns_of(frame: pandas.DataFrame) -> list:
    return [frame[name] for name in frame.columns]


def same_cells(one: pandas.Series, other: pandas.Series) -> bool:
    # Cells of nested columns are arrays and dicts, which pandas does not compare.
    return one.astype(str).equals(other.astype(str)) if one.dtype == object else one.equals(other)


folder, *names = sys.argv[1:]
print(json.dumps({name: report(f"{folder}/{name}") for name in names}))
