"""Keep the pairs that people find likely, by the answers of the judging page."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.splits import draw
from muattack.evaluate.noisyhate_pages import write_judging
from muattack.judge.answers import judge, keep, read_answers, retention
from muattack.judge.page import tasks
from muattack.records import read_records, write_records

given, made = snakemake.input, snakemake.output
config = json.loads(snakemake.params.config)
asked = config["noisyhate"]["judging"]
# Those on the page.
pairs = draw(read_records(given.pairs), asked["pairs"], config["seed"], "judging")
answers = read_answers(given.answers, batch := tasks(pairs), asked["accept_edited"])
verdicts, workers = judge(answers, batch, asked["workers"], asked["rule"], asked["misses"])
kept = keep(pairs, verdicts)
print(verdicts, workers, sep="\n")
write_judging(config, verdicts, workers, retention(pairs, verdicts, config["evaluate"]["confidence"]), made.csv, made.md)
write_records(made.pairs, kept, {"judged": len(pairs), "kept": len(kept), "answers": len(answers)})
