"""Open a detector that the run does not train: note how, and what it depends on."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.detect.opened import write_opened

write_opened(snakemake.output[0], json.loads(snakemake.params.detector), snakemake.input.files)
