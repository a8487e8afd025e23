"""Copy a detector that was trained with the same settings."""

from muattack.job import start_log

start_log(snakemake)

import shutil

shutil.copytree(snakemake.input.same, snakemake.output[0], ignore=shutil.ignore_patterns(".snakemake_timestamp"))
print(f"copied from {snakemake.input.same}: the same settings, so the same weights")
