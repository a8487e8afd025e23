"""Draw the success of attacks on their source and on other models."""

from muattack.job import start_log

start_log(snakemake)

from muattack.evaluate.tables import read_csv
from muattack.figures.style import save
from muattack.figures.transfer import draw_transfer

save(draw_transfer(read_csv(snakemake.input.table), snakemake.params.confidence), *snakemake.output)
