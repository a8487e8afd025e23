"""Ask one normaliser for every perturbed word."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.normalisers import restore
from muattack.mutate.normalise_text import make_normaliser
from muattack.records import read_records, write_records

restored = restore(read_records(snakemake.input.pairs), [make_normaliser(json.loads(snakemake.params.normaliser), "noisyhate.normalisers")])
meta = {"pairs": len(restored), "restored": int(restored["hit"].sum())}
print(meta)
write_records(snakemake.output[0], restored, meta)
