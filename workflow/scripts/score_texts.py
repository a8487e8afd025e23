"""Score every test text and every mutant with one detector."""

from muattack.job import start_log

start_log(snakemake)

import torch

from muattack.detect.score import score_captions
from muattack.records import read_records, write_records

given, params = snakemake.input, snakemake.params
torch.set_num_threads(params.threads)
mutants = dict(zip(params.sets, given.mutants, strict=True))
scores, meta = score_captions(given.detector, read_records(given.captions), mutants, list(given.features) or None)
write_records(snakemake.output[0], scores, meta)
