"""Write the tables of the run as CSV and Markdown."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.evaluate.tables import Inputs, read_csv, write_tables
from muattack.records import read_records

given, config = snakemake.input, json.loads(snakemake.params.config)
inputs = Inputs(
    captions=read_records(given.captions),
    metrics=read_csv(given.metrics),
    differences=read_csv(given.differences),
    operators=given.operators,
    scores=dict(zip(snakemake.params.detectors, given.scores, strict=True)),
    config=config,
)
folder = Path(snakemake.output.csv[0]).parent
write_tables([Path(path).stem for path in snakemake.output.csv], folder, inputs)
