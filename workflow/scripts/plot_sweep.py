"""Draw AUC against m."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.tables import read_csv
from muattack.figures.sweep import draw_sweep
from muattack.figures.style import save

save(draw_sweep(read_csv(snakemake.input.metrics), json.loads(snakemake.params.config)), *snakemake.output)
