"""Encode one shard of the texts that detectors are trained on with the frozen encoder."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.detect.features import encode_texts, texts_to_train_on
from muattack.records import read_records, write_records

given, params = snakemake.input, snakemake.params
base = read_records(given.base) if given.base else None
texts = texts_to_train_on(read_records(given.captions), base, json.loads(params.wanted), params.draws, params.seed)
print(f"{len(texts)} distinct texts in {params.shards} shards", flush=True)
folder = given.encoder if isinstance(given.encoder, str) else None
encoder, shard = json.loads(params.encoder), int(snakemake.wildcards.shard)
write_records(snakemake.output[0], *encode_texts(texts, encoder, folder, shard, params.shards, params.threads))
