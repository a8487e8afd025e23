"""Mutate the test captions with one operator set or task."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.mutate.apply import mutate_file

meta = mutate_file(
    snakemake.input.captions, snakemake.output[0], snakemake.wildcards.set, json.loads(snakemake.params.mutate), seed=snakemake.params.seed
)
print(json.dumps(meta, indent=1, ensure_ascii=False))
