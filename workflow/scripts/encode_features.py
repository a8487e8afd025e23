"""Encode one shard of the run's distinct texts with the frozen encoder."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.detect.features import collect_texts, encode_texts
from muattack.records import read_records, write_records

given, params = snakemake.input, snakemake.params
encoder, training, detectors = (json.loads(text) for text in (params.encoder, params.training, params.detectors))
base = read_records(given.base) if given.base else None
mutants = dict(zip(params.mutants, given.mutants, strict=True))
texts = collect_texts(read_records(given.captions), base, mutants, detectors, training["classifier"]["draws"], params.seed)
print(f"{len(texts)} distinct texts in {params.shards} shards", flush=True)
table, meta = encode_texts(
    texts,
    encoder,
    given.encoder or None,
    shard=int(snakemake.wildcards.shard),
    shards=params.shards,
    threads=training["threads"],
)
write_records(snakemake.output[0], table, meta)
