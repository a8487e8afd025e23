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
    {"mutants": given.mutants, "scores": given.scores, "tables": given.tables, "figures": given.figures},
    given.captions,
    given.metrics,
    given.data,
    data_file(config, "."),
)
