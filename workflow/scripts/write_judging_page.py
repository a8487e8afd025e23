"""Write the static page on which people judge pairs."""

from muattack.job import start_log

start_log(snakemake)

from muattack.data.splits import draw
from muattack.judge.page import write_page
from muattack.records import read_records

params = snakemake.params
pairs = draw(read_records(snakemake.input.pairs), params.pairs, params.seed, "judging")
print(len(pairs), "pairs, batch", write_page(snakemake.output[0], pairs, wait=params.wait))
