"""Let a trained captioner describe the scenes of one part."""

from muattack.job import start_log

start_log(snakemake)

from muattack.data.simulate import caption_scenes

caption_scenes(
    snakemake.input.captioner,
    snakemake.input.scenes,
    snakemake.wildcards.part,
    snakemake.output[0],
    snakemake.params.seed,
    snakemake.params.threads,
)
