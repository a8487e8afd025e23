"""Encode one shard of the texts that detectors are tested on with the frozen encoder."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.detect.features import encode_texts, texts_to_score
from muattack.records import read_records, write_records

given, params = snakemake.input, snakemake.params
texts = texts_to_score(read_records(given.captions), given.mutants)
print(f"{len(texts)} distinct texts in {params.shards} shards", flush=True)
folder = given.encoder if isinstance(given.encoder, str) else None
encoder, shard = json.loads(params.encoder), int(snakemake.wildcards.shard)
write_records(snakemake.output[0], *encode_texts(texts, encoder, folder, shard, params.shards, params.threads))
