"""Draw accuracy by severity of corruption."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.severity_pages import judge_labels
from muattack.evaluate.tables import read_csv
from muattack.figures.severity import draw_severity
from muattack.figures.style import save

config = json.loads(snakemake.params.config)
save(draw_severity(read_csv(snakemake.input.table), judge_labels(config), config["evaluate"]["confidence"]), *snakemake.output)
