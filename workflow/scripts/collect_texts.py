"""Read the user's own texts of people and of machines into one table."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.unpaired import collect_texts
from muattack.job import tell
from muattack.records import write_records

params = snakemake.params
files = json.loads(params.files)
sources = {source: {**entry, "files": files[source]} for source, entry in json.loads(params.texts).items()}
texts, meta = collect_texts(sources, params.normalise, json.loads(params.split), params.seed)
print(json.dumps(meta, indent=1))
if meta["texts_of_both_classes"]:
    tell(f"Texts that stand word for word in both classes: {meta['texts_of_both_classes']}. No detector can tell them apart.")
write_records(snakemake.output[0], texts, meta)
