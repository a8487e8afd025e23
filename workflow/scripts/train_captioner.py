"""Train a captioner on human captions of scenes outside the test bed."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.simulate import train_captioner
from muattack.train.resume import state_folder

train_captioner(
    snakemake.wildcards.captioner,
    json.loads(snakemake.params.simulate),
    snakemake.input.scenes,
    snakemake.input.captions,
    snakemake.output[0],
    snakemake.params.seed,
    snakemake.params.threads,
    state_folder(snakemake.output[0], snakemake.wildcards.run),
)
