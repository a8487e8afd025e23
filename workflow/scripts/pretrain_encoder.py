"""Pretrain the run's own encoder on its training captions."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.records import read_records
from muattack.train.pretrain import pretrain_encoder

pretrain_encoder(
    read_records(snakemake.input.captions), json.loads(snakemake.params.encoder), snakemake.output[0], snakemake.params.seed, snakemake.params.threads
)
