"""Write the share of perturbed words that each normaliser restores as CSV and Markdown."""

from muattack.job import start_log

start_log(snakemake)

import json

import pandas as pd

from muattack.evaluate.noisyhate_pages import write_normalisers
from muattack.records import read_records

restored = pd.concat(map(read_records, snakemake.input.restored), ignore_index=True)
write_normalisers(json.loads(snakemake.params.config), restored, snakemake.output.csv, snakemake.output.md)
