"""Write accuracy by severity of corruption as CSV and Markdown."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.severity_pages import write_severity_tables

given, made, params = snakemake.input, snakemake.output, snakemake.params
write_severity_tables(
    json.loads(params.config),
    dict(zip(json.loads(params.datasets), given.texts, strict=True)),
    dict(zip(map(tuple, json.loads(params.judges)), given.scores, strict=True)),
    made.csv,
    made.md,
)
