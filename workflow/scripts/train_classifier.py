"""Train the classifier of one defence on one data set."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.records import read_records
from muattack.train.loop import train_detector
from muattack.train.resume import state_folder

given, params = snakemake.input, snakemake.params
train_detector(
    read_records(given.texts),
    json.loads(params.encoder),
    given.encoder if isinstance(given.encoder, str) else None,
    json.loads(params.training),
    json.loads(params.defence),
    snakemake.output[0],
    params.seed,
    start=given.start or None,
    labels=json.loads(params.labels),
    state_folder=state_folder(snakemake.output[0], snakemake.wildcards.run),
)
