"""Join the shards of every attack on one victim."""

from muattack.job import start_log

start_log(snakemake)

from muattack.attack.records import gather

# All shards of the first attack, all of the second, and so on.
shards, count = list(snakemake.input.shards), snakemake.params.shards
for number, out in enumerate(snakemake.output):
    gather(shards[number * count : (number + 1) * count], out)
