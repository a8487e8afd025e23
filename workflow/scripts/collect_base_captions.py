"""Collect the texts of the base detector's domain: simulated captions or passages from files."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.captions import collect_base_captions
from muattack.data.passages import collect_passages
from muattack.records import write_records

base, normalise, seed = json.loads(snakemake.params.base), snakemake.params.normalise, snakemake.params.seed
split = json.loads(snakemake.params.split)
if base["source"] == "passages":
    captions, meta = collect_passages(snakemake.input.passages, base, normalise, split, seed)
else:
    captions, meta = collect_base_captions({name: snakemake.input[name] for name in ("human", "machine")}, normalise, split, seed)
print(json.dumps(meta, indent=1))
write_records(snakemake.output[0], captions, meta)
