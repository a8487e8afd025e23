"""Mutate the test captions with one operator set or task."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.config import data_file
from muattack.mutate.apply import mutate_file

given, params = snakemake.input, snakemake.params
folder = data_file({"data": params.data}, ".")
meta = mutate_file(given.captions, snakemake.output[0], snakemake.wildcards.set, json.loads(params.mutate), folder, params.seed)
print(json.dumps(meta, indent=1, ensure_ascii=False))
