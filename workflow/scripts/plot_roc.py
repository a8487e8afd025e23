"""Draw one of the paper's ROC figures."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.tables import read_csv
from muattack.figures.roc import draw_roc
from muattack.figures.style import save
from muattack.records import read_records

given, params = snakemake.input, snakemake.params
figure = draw_roc(
    snakemake.wildcards.figure,
    read_records(given.captions),
    dict(zip(params.detectors, given.scores, strict=True)),
    dict(zip(params.mutants, given.mutants, strict=True)),
    read_csv(given.metrics),
    json.loads(params.config),
)
save(figure, *snakemake.output)
