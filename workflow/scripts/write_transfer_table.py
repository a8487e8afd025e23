"""Write the table of transfer as CSV and Markdown."""

from muattack.job import start_log

start_log(snakemake)

import json
from itertools import product

from muattack.evaluate.transfer_pages import write_transfer_table

given, params = snakemake.input, snakemake.params
config = json.loads(params.config)
write_transfer_table(
    config,
    given.attacks,
    dict(zip(map(tuple, json.loads(params.asked)), given.answers, strict=True)),
    dict(zip(product(config["chinese"]["datasets"], params.judges), given.clean, strict=True)),
    snakemake.output.csv,
    snakemake.output.md,
)
