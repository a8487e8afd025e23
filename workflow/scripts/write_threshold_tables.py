"""Write accuracy by threshold, its areas and recall by type as CSV and Markdown."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.noisyhate_pages import write_thresholds
from muattack.records import read_records

given, made, params = snakemake.input, snakemake.output, snakemake.params
scores = {name: read_records(path) for name, path in zip(json.loads(params.scorers), given.scores, strict=True)}
files = {name: made[name] for name in ("thresholds", "areas", "recall", "thresholds_md", "recall_md")}
write_thresholds(json.loads(params.config), scores, files)
