"""Pretrain the run's own encoder on its training captions."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.records import read_records
from muattack.train.pretrain import pretrain_encoder
from muattack.train.resume import state_folder

params = snakemake.params
pretrain_encoder(
    read_records(snakemake.input.captions),
    json.loads(params.encoder),
    snakemake.output[0],
    params.seed,
    params.threads,
    state_folder=state_folder(snakemake.output[0], snakemake.wildcards.run),
)
