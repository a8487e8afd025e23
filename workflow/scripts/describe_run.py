"""Describe the run: settings, versions, inputs, rows in and out, for each result folder."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.config import data_file
from muattack.describe import describe_run

given, config = snakemake.input, json.loads(snakemake.params.config)
describe_run(
    Path(snakemake.output.run).parent,
    config,
    {name: given[name] for name in snakemake.params.folders},
    given.captions or None,
    given.metrics or None,
    given.data,
    data_file(config, "."),
)
