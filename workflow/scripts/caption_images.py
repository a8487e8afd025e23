"""Let a captioner describe one shard of the images; a killed job goes on after the last batch that it captioned."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.data.caption_images import caption_images

params, names = snakemake.params, snakemake.wildcards
caption_images(
    snakemake.input.images,
    json.loads(params.captioner),
    json.loads(params.settings),
    snakemake.output[0],
    # No declared output: Snakemake deletes those before a job runs again.
    Path("results", names.run, "state", "captions", f"{names.captioner}-{names.shard}of{params.shards}.jsonl"),
    int(names.shard),
    params.shards,
    params.threads,
)
