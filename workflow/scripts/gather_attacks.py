"""Join the shards of one attack on one victim."""

from muattack.job import start_log

start_log(snakemake)

from muattack.attack.records import gather

gather(list(snakemake.input.shards), snakemake.output[0])
