"""Attack the texts of one shard in every way; a killed job goes on after the last text that it recorded."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.attack.run import attack_texts
from muattack.attack.texts import choose_texts
from muattack.records import read_records

given, params, names = snakemake.input, snakemake.params, snakemake.wildcards
# In the order of the outputs.
attacks = json.loads(params.attacks)
attack_texts(
    choose_texts(read_records(given.texts), *json.loads(params.chosen), params.seed),
    given.victim,
    names.victim,
    params.dataset,
    json.loads(params.labels),
    attacks,
    given.synonyms or None,
    json.loads(params.similarity),
    json.loads(params.encoder),
    params.language_model or given.language_model or None,
    dict(zip(attacks, snakemake.output, strict=True)),
    # No declared output: Snakemake deletes those before a job runs again.
    Path("results", names.run, "state", "attacks", names.victim),
    params.seed,
    int(names.shard),
    params.shards,
    params.seconds,
    antonyms=given.antonyms[0] if given.antonyms else None,
)
