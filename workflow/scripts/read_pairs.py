"""Read pairs of a clean and a perturbed text from the user's file."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.noisyhate import read_pairs
from muattack.records import write_records

pairs = read_pairs(snakemake.input.pairs[0], **json.loads(snakemake.params.columns)).assign(label=1)
meta = {"pairs": len(pairs), "words": int(pairs["word"].nunique()), "types": pairs["type"].value_counts().to_dict()}
print(meta)
write_records(snakemake.output[0], pairs, meta)
