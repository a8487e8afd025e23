"""Convert a checkpoint of the GPT-2 output detector to safetensors and JSON."""

from muattack.job import start_log

start_log(snakemake)

from pathlib import Path

from muattack.fetch.convert import convert_detector

given = snakemake.input
print(convert_detector(given.checkpoint, Path(given.config).parent, Path(snakemake.output[0]).parent))
