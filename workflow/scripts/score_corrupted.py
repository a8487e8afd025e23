"""Judge the texts of every severity with one detector or classifier."""

from muattack.job import start_log

start_log(snakemake)

import torch

from muattack.detect.severities import score_severities
from muattack.records import read_records, write_records

given, params = snakemake.input, snakemake.params
torch.set_num_threads(params.threads)
corrupted = read_records(given.texts, ["severity", "id", "image_id", "label", "text"])
scores, meta = score_severities(given.classifier, snakemake.wildcards.judge, corrupted)
print(meta)
write_records(snakemake.output[0], scores, meta)
