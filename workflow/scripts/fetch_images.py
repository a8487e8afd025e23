"""Fetch the first images that annotations list, and write where each lies."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.fetch.images import fetch_images
from muattack.job import tell

params, count = snakemake.params, int(snakemake.wildcards.number)
fetch_images(
    snakemake.input[0], count, json.loads(params.source), params.folder, params.lock, snakemake.output[0], local=params.local or None, say=tell
)
