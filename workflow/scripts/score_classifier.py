"""Judge every test text of a data set with one classifier."""

from muattack.job import start_log

start_log(snakemake)

import torch

from muattack.detect.score import score_classes
from muattack.records import read_records, write_records

torch.set_num_threads(snakemake.params.threads)
scores, meta = score_classes(snakemake.input.classifier, read_records(snakemake.input.texts))
print(meta)
write_records(snakemake.output[0], scores, meta)
