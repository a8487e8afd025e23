"""Compute every metric with its interval, and paired differences between detectors."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.metrics import compute_metrics
from muattack.evaluate.tables import write_csv
from muattack.records import read_records

mutate = json.loads(snakemake.params.mutate)
metrics, differences = compute_metrics(
    read_records(snakemake.input.captions),
    dict(zip(snakemake.params.detectors, snakemake.input.scores, strict=True)),
    dict(zip(snakemake.params.mutants, snakemake.input.mutants, strict=True)),
    json.loads(snakemake.params.evaluate),
    mutate,
    snakemake.params.seed,
    json.loads(snakemake.params.defended),
)
print(metrics.to_string(max_rows=20))
write_csv(snakemake.output.metrics, metrics)
write_csv(snakemake.output.differences, differences)
