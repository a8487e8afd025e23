"""Read a topic or sentiment set from the user's files into one table."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.datasets import read_dataset
from muattack.job import tell
from muattack.records import write_records

name, params = snakemake.wildcards.dataset, snakemake.params
table, meta = read_dataset(name, json.loads(params.dataset), json.loads(params.files), params.seed)
print(json.dumps(meta, indent=1, ensure_ascii=False))
if meta["test_texts_also_in_train"]:
    tell(f"{name}: {meta['test_texts_also_in_train']} of {meta['rows']['test']} test texts are training texts too. They stay; meta.json counts them.")
write_records(snakemake.output[0], table, meta)
