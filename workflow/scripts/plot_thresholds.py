"""Draw accuracy by threshold, clean and perturbed, a panel a classifier."""

from muattack.job import start_log

start_log(snakemake)

from muattack.evaluate.tables import read_csv
from muattack.figures.style import save
from muattack.figures.thresholds import draw_thresholds

curves, areas = (dict(list(read_csv(path).groupby("classifier", sort=False))) for path in (snakemake.input.curves, snakemake.input.areas))
save(draw_thresholds(curves, areas, snakemake.params.confidence), *snakemake.output)
