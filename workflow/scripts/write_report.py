"""Write the report: one HTML page that holds the run."""

from muattack.job import start_log

start_log(snakemake)

import json
from pathlib import Path

from muattack.evaluate.attack_families import CAPTIONS, labels_of
from muattack.evaluate.tables import read_csv
from muattack.records import read_records
from muattack.report.mutants import Viewer
from muattack.report.page import times_of, write_report

given, params = snakemake.input, snakemake.params
config = json.loads(params.config)
viewer = Viewer([*params.detectors, *(victim for victim in params.victims if victim not in params.detectors)])
datasets = [*([CAPTIONS] if params.detectors else []), *config["classification"]["datasets"]]
viewer.add_attacks(given.attacks, {dataset: labels_of(config, dataset) for dataset in datasets})
if params.mutants:
    mutants = dict(zip(params.mutants, given.mutants, strict=True))
    scores = dict(zip(params.detectors, given.scores, strict=True))
    viewer.add_mutants(read_records(given.captions), mutants, scores, config["evaluate"]["threshold"])
tables = [Path(path) for path in given.tables]
write_report(
    snakemake.output[0],
    config,
    json.loads(Path(given.meta).read_text(encoding="utf-8")),
    {path.stem: read_csv(path) for path in [*map(Path, given.measured), *tables] if path.suffix == ".csv"},
    {path.stem: path.read_text(encoding="utf-8") for path in tables if path.suffix == ".md"},
    [path for path in given.figures if path.endswith(".png")],
    viewer,
    times_of(params.benchmarks),
)
