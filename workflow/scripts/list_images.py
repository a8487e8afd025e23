"""List the images that are captioned, and what people say about them."""

from muattack.job import start_log

start_log(snakemake)

from muattack.data.coco import list_images

params = snakemake.params
counts = list_images(
    snakemake.input.images, list(snakemake.input.human), params.images, params.captions, snakemake.output.images, snakemake.output.human
)
print(", ".join(f"{name}: {count}" for name, count in counts.items()))
