"""Simulate scenes and human captions of them."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.data.simulate import simulate_scenes

simulate_scenes(json.loads(snakemake.params.simulate), snakemake.params.images, snakemake.params.seed, Path(snakemake.output.scenes).parent)
