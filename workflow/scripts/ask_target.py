"""Put the texts of one attack to one other model."""

from muattack.job import start_log

start_log(snakemake)

import json

import torch

from muattack.evaluate.transfer import answer_classes, ask_target, open_target
from muattack.records import write_records

given, params = snakemake.input, snakemake.params
torch.set_num_threads(params.threads)
target = json.loads(params.target)
classes = answer_classes(json.loads(params.labels), target.get("labels"))
answers, meta = ask_target(given.attack, open_target(target, given.classifier), snakemake.wildcards.target, classes)
print(json.dumps(meta, indent=1, ensure_ascii=False))
write_records(snakemake.output[0], answers, meta)
