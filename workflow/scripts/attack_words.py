"""Attack the important words of a data set's texts in every way; a killed job goes on after the last text that it recorded."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.attack.importance import attack_methods
from muattack.attack.texts import choose_texts
from muattack.records import read_records

given, params, names = snakemake.input, snakemake.params, snakemake.wildcards
# In the order of the outputs.
sets = json.loads(params.sets)
attack_methods(
    choose_texts(read_records(given.texts), params.texts, None, params.seed),
    given.classifier,
    sets,
    dict(zip(sets, snakemake.output, strict=True)),
    victim=params.victim,
    dataset=names.dataset,
    labels=json.loads(params.labels),
    # No declared output: Snakemake deletes those before a job runs again.
    state=Path("results", names.run, "state", "chinese", names.dataset),
    seed=params.seed,
    seconds=params.seconds,
)
