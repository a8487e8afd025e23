"""Draw what RR-training buys, task by task."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.tables import read_csv
from muattack.figures.differences import draw_differences
from muattack.figures.style import save

save(draw_differences(read_csv(snakemake.input.differences), json.loads(snakemake.params.config)), *snakemake.output)
