"""Write the tables of attacks as CSV and Markdown."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.evaluate.attacks import write_attack_tables

given, made, params = snakemake.input, snakemake.output, snakemake.params
victims = [tuple(victim) for victim in json.loads(params.victims)]
write_attack_tables(
    json.loads(params.config),
    dict(zip([(*victim, attack) for victim in victims for attack in params.attacks], given.attacks, strict=True)),
    dict(zip(victims, given.clean, strict=True)),
    given.captions or None,
    params.tables,
    {table: files for table, *files in zip(params.tables, made.csv, made.md, strict=True)},
)
