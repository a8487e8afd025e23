"""Draw one of the figures of attacks."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.tables import read_csv
from muattack.figures.attacks import draw_attack_figure
from muattack.figures.style import save

save(draw_attack_figure(snakemake.wildcards.figure, read_csv(snakemake.input.attacks), json.loads(snakemake.params.config)), *snakemake.output)
