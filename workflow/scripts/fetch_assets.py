"""Check the assets of a configuration and write down what they are, where they come from and under which licence."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.fetch.catalogue import Assets
from muattack.fetch.report import describe_assets
from muattack.job import tell
from muattack.records import write_json

assets = Assets(json.loads(snakemake.params.config))
found = describe_assets(assets)
write_json(snakemake.output[0], found)
tell(
    f"The configuration names {len(found)} assets; {sum(len(entry['files']) for entry in found.values())} files are in place. See {snakemake.output[0]}."
)
