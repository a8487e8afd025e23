"""Draw."""

from muattack.job import start_log

start_log(snakemake)
