"""Mutate the machine's test captions with every operator on its own."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.config import data_file
from muattack.mutate.apply import mutate_operators
from muattack.records import read_records, write_records

folder = data_file({"data": snakemake.params.data}, ".")
mutants, meta = mutate_operators(read_records(snakemake.input.captions), {"sets": json.loads(snakemake.params.sets)}, folder)
print(json.dumps(meta, indent=1, ensure_ascii=False))
write_records(snakemake.output[0], mutants, meta)
