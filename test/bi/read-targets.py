"""Reads a target of Parquet files with one tool, and prints as JSON what it found.

Usage: read-targets.py READER FOLDER COLUMN,… TABLE,…: `leads` is a table without rows.
"""
import json
import os
import sys

reader, folder, columns, tables = sys.argv[1:]
columns, tables = columns.split(","), tables.split(",")


def plain(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    return value.isoformat() if hasattr(value, "isoformat") else value.item() if hasattr(value, "item") else value


def report(rows, types, empty, empty_rows, counts):
    ordered = sorted(([plain(value) for value in row] for row in rows), key=lambda row: row[0])
    found = {"rows": ordered, "types": types, "empty": empty, "emptyRows": empty_rows, "counts": counts}
    print(json.dumps(found))


def of_pyarrow():
    import pyarrow.dataset

    def table(name):
        return pyarrow.dataset.dataset(f"{folder}/{name}", partitioning="hive").to_table()

    found = table("conversations").select(columns)
    types = {field.name: str(field.type) for field in found.schema}
    leads = table("leads")
    report(list(zip(*found.to_pydict().values())), types, leads.column_names, leads.num_rows,
           {name: table(name).num_rows for name in tables})


def of_pandas():
    import pandas
    import pyarrow.dataset

    # By default pandas makes months a dictionary, which it cannot do if one is missing.
    partitioning = pyarrow.dataset.partitioning(flavor="hive")

    def table(name):
        return pandas.read_parquet(f"{folder}/{name}", partitioning=partitioning)

    found = table("conversations")[columns]
    types = {name: str(dtype) for name, dtype in found.dtypes.items()}
    leads = table("leads")
    # Cell by cell: rows of a frame would have one type.
    rows = list(zip(*([value for value in found[name]] for name in columns)))
    report(rows, types, list(leads.columns), len(leads), {name: len(table(name)) for name in tables})


def of_polars():
    import polars

    def table(name):
        return polars.read_parquet(f"{folder}/{name}/**/*.parquet", hive_partitioning=True)

    found = table("conversations").select(columns)
    types = {name: str(dtype) for name, dtype in found.schema.items()}
    leads = table("leads")
    report(found.rows(), types, leads.columns, leads.height, {name: table(name).height for name in tables})


def of_duckdb():
    import duckdb

    duckdb.sql("SET TimeZone = 'UTC'")

    def table(name):
        return duckdb.sql(f"FROM read_parquet('{folder}/{name}/**/*.parquet', hive_partitioning = true)")

    # Times with a zone need a Python package to become objects.
    found = table("conversations").select(
        ", ".join(f"strftime({name}, '%Y-%m-%dT%H:%M:%S.%f+00:00')" if name == "ts" else name for name in columns)
    )
    rows = [[str(value).replace(".000000", "") if str(value).endswith("+00:00") else value for value in row]
            for row in found.fetchall()]
    selected = table("conversations").select(", ".join(columns))
    types = {name: str(dtype) for name, dtype in zip(selected.columns, selected.types)}
    leads = table("leads")
    report(rows, types, leads.columns, len(leads.fetchall()),
           {name: table(name).aggregate("count(*)").fetchall()[0][0] for name in tables})


def of_spark():
    os.environ["TZ"] = "UTC"
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false") \
        .config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "512m").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def table(name):
        return session.read.parquet(f"{folder}/{name}")

    found = table("conversations").select(columns)
    types = {field.name: field.dataType.simpleString() for field in found.schema.fields}
    leads = table("leads")
    rows = [[f"{value.isoformat()}+00:00" if name == "ts" and value is not None else value
             for name, value in zip(columns, row)] for row in found.collect()]
    report(rows, types, leads.columns, leads.count(), {name: table(name).count() for name in tables})
    session.stop()


globals()[f"of_{reader}"]()
