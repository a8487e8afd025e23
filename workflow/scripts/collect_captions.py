"""Join the caption files of all sources into one table, split by image."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.captions import collect_captions
from muattack.job import tell
from muattack.records import write_records

captions, meta = collect_captions(
    {source: snakemake.input[source] for source in snakemake.params.sources},
    snakemake.params.images,
    snakemake.params.normalise,
    json.loads(snakemake.params.split),
    snakemake.params.seed,
)
print(json.dumps(meta, indent=1))
if any(meta["images_in_some_files_only"].values()):
    left = ", ".join(f"{count} of {source}" for source, count in meta["images_in_some_files_only"].items())
    tell(f"Images that are not in every caption file are left out: {left}. {meta['images']} images remain.")
write_records(snakemake.output[0], captions, meta)
