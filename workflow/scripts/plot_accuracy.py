"""Draw the accuracy of the main detectors by task."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.tables import read_csv
from muattack.figures.accuracy import draw_accuracy
from muattack.figures.style import save

save(draw_accuracy(read_csv(snakemake.input.metrics), json.loads(snakemake.params.config)), *snakemake.output)
