"""Pretrain an encoder on the training texts of a data set."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.records import read_records
from muattack.train.pretrain import pretrain_encoder
from muattack.train.resume import state_folder

given, params = snakemake.input, snakemake.params
pretrain_encoder(
    read_records(given.texts),
    json.loads(params.encoder),
    snakemake.output[0],
    params.seed,
    params.threads,
    labels=json.loads(params.labels),
    state_folder=state_folder(snakemake.output[0], snakemake.wildcards.run),
)
