"""Fit what corruptions are made of: common words, their neighbours, synonyms."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.config import data_file
from muattack.data.splits import training_texts
from muattack.mutate.corrupt import make_base, save_base
from muattack.records import read_records

given, params = snakemake.input, snakemake.params
texts = training_texts(read_records(given.texts)) if given.texts else []
base = make_base(json.loads(params.base), texts, data_file({"data": params.data}, "."))
print(json.dumps(base.facts, indent=1, ensure_ascii=False))
save_base(snakemake.output[0], base)
