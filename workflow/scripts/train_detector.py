"""Train one detector."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.records import read_records
from muattack.train.loop import train_detector
from muattack.train.resume import state_folder

given, params = snakemake.input, snakemake.params
train_detector(
    read_records(given.captions),
    json.loads(params.encoder),
    given.encoder if isinstance(given.encoder, str) else None,
    json.loads(params.training),
    json.loads(params.detector),
    snakemake.output[0],
    params.seed,
    features=list(given.features) or None,
    start=given.start or None,
    mode=params.normalise,
    state_folder=state_folder(snakemake.output[0], snakemake.wildcards.run),
)
