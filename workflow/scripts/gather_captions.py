"""Join the shards of one captioner's captions."""

from muattack.job import start_log

start_log(snakemake)

from muattack.data.coco import gather_captions
from muattack.job import tell

said = gather_captions(snakemake.input.images, list(snakemake.input.shards), snakemake.output.captions, snakemake.output.meta)
if said:
    tell(said)
