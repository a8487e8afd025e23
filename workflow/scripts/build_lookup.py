"""Write the forms of words as people write them: from a corpus, a table, or the demo's."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.config import data_file
from muattack.mutate.human import read_perturbations
from muattack.records import write_json

folder = Path(data_file({"data": snakemake.params.data}, "."))
table, origin = read_perturbations(json.loads(snakemake.params.perturbations), folder, "noisyhate.perturbations")
print(f"{len(table)} words with {sum(map(len, table.values()))} forms, from {origin}")
write_json(snakemake.output[0], table)
