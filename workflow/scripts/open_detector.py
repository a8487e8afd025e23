"""Open a detector that the run does not train: note how, and what it depends on; calibrate it where it is a zero-shot one."""

from muattack.job import start_log

start_log(snakemake)

import json

import torch

from muattack.detect.opened import write_opened
from muattack.records import read_records

given, params = snakemake.input, snakemake.params
torch.set_num_threads(params.threads)
write_opened(snakemake.output[0], json.loads(params.detector), given.files, read_records(given.captions) if given.captions else None)
