"""Corrupt the test texts of a data set at every severity."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.splits import chosen_texts
from muattack.mutate.corrupt import CorruptOperator, load_base, severity_sweep
from muattack.records import read_records, write_records

given, params = snakemake.input, snakemake.params
severities = json.loads(params.severities)
operator = CorruptOperator("corrupted", load_base(given.base), max(severities), json.loads(params.weights), params.seed)
table, meta = severity_sweep(chosen_texts(read_records(given.texts), params.texts, params.seed), operator, severities)
print(json.dumps(meta, indent=1, ensure_ascii=False))
write_records(snakemake.output[0], table, meta | {"dataset": snakemake.wildcards.dataset})
