"""Fetch one file of an asset, or take it out of the archive that it comes in."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.fetch.download import fetch_file
from muattack.job import tell

params = snakemake.params
fetch_file(json.loads(params.source), snakemake.output[0], params.downloads, params.lock, say=tell)
