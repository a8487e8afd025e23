"""Memory and CPU time of each kind of job by number of captions: what workflow/muattack/costs.py and docs/cluster.md reckon with.

    python tests/benchmarks/bench_scale.py [10000 100000 ...]

Captions are made up, ten words each, half of them the machine's; the encoder has one layer of 32 units, so that training and scoring show what texts
cost and not what a model does. Each step runs in a process of its own: peak resident memory and CPU seconds, start-up included.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = ("collect", "mutate", "operators", "train", "score", "metrics", "figure", "tables")
SPLIT = {"train": 0.70, "val": 0.15, "test": 0.15}
DETECTORS = ("finetune", "rr")


def make(folder: Path, count: int) -> None:
    """Write caption files of so many captions, five of each source an image."""
    import random

    draw = random.Random(count)
    words = {
        "who": ["a dog", "a young man", "two women", "the small child", "a red bus", "an old horse"],
        "does": ["is quickly crossing", "stands on", "waits quietly at", "runs along", "looks at"],
        "where": ["a street", "the large beach", "a wooden bench", "an empty field", "the kitchen table"],
    }
    for source in ("human", "machine"):
        captions = {}
        for image in range(count // 10):
            texts = [
                f"{draw.choice(words['who'])} {draw.choice(words['does'])} {draw.choice(words['where'])} number {draw.randrange(10**6)}"
                for _ in range(5)
            ]
            captions[str(image)] = [text.upper() if source == "machine" and draw.random() < 0.5 else text for text in texts]
        (folder / f"{source}.json").write_text(json.dumps(captions))


def step(name: str, folder: Path) -> None:
    """Do the work of one kind of job."""
    from muattack.config import read_config
    from muattack.records import read_records, write_records

    config = read_config()
    config["evaluate"]["bootstrap"] = 1000
    mutate, captions = config["mutate"], folder / "captions.parquet"
    mutants = {task: folder / f"{task}.parquet" for task in mutate["tasks"]}
    scores = {detector: folder / f"{detector}.scores.parquet" for detector in DETECTORS}
    if name == "collect":
        from muattack.data.captions import collect_captions

        files = {source: str(folder / f"{source}.json") for source in ("human", "machine")}
        write_records(captions, *collect_captions(files, None, "paper", SPLIT, 1))
    elif name == "mutate":
        from muattack.mutate.apply import mutate_file

        for task, path in mutants.items():
            mutate_file(captions, path, task, mutate, ".", 1)
    elif name == "operators":
        from muattack.mutate.apply import mutate_operators

        write_records(folder / "operators.parquet", *mutate_operators(read_records(captions), {"sets": mutate["sets"]}, "."))
    elif name == "train":
        sys.path.append(str(Path(__file__).parents[1] / "unit"))
        import micro

        from muattack.train.loop import train_detector

        own = micro.settings(epochs=1, token_budget=2048)
        for detector in DETECTORS:
            entry = {"rr": 0.3} if detector == "rr" else {}
            train_detector(read_records(captions), own["encoders"]["tiny"], micro.tiny(), own["training"], entry, folder / detector, 1)
    elif name == "score":
        import torch

        from muattack.detect.score import score_captions

        torch.set_num_threads(1)
        for detector in DETECTORS:
            made, meta = score_captions(folder / detector, read_records(captions), {**mutants, "operators": folder / "operators.parquet"})
            write_records(scores[detector], made, meta)
    elif name == "metrics":
        from muattack.evaluate.metrics import compute_metrics
        from muattack.evaluate.tables import write_csv

        found = compute_metrics(read_records(captions), scores, mutants, config["evaluate"], mutate, 1)
        for file, table in zip(("metrics.csv", "differences.csv"), found, strict=True):
            write_csv(folder / file, table)
    elif name == "figure":
        from muattack.evaluate.tables import read_csv
        from muattack.figures.roc import draw_roc
        from muattack.figures.style import save

        save(draw_roc("fig4", read_records(captions), scores, mutants, read_csv(folder / "metrics.csv"), config), folder / "a.png", folder / "a.svg")
    elif name == "tables":
        from muattack.evaluate.tables import Inputs, read_csv, write_tables

        read = {file: read_csv(folder / f"{file}.csv") for file in ("metrics", "differences")}
        config["detectors"] = {detector: config["detectors"][detector] for detector in DETECTORS}
        inputs = Inputs(captions=read_records(captions), operators=folder / "operators.parquet", scores=scores, config=config, **read)
        write_tables(["articles", "operators", "lengths", "tasks"], folder, inputs)


def main(counts: list[int]) -> None:
    print(f"{'captions':>9} {'step':10} {'MB':>6} {'CPU s':>7} {'s':>6}")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), count)
            for name in STEPS:
                started = time.monotonic()
                done = subprocess.run([sys.executable, __file__, "step", name, folder], capture_output=True, text=True)
                if done.returncode:
                    sys.exit(done.stderr)
                megabytes, seconds = map(float, done.stdout.splitlines()[-1].split())
                print(f"{count:9} {name:10} {megabytes:6.0f} {seconds:7.1f} {time.monotonic() - started:6.1f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["step"]:
        step(sys.argv[2], Path(sys.argv[3]))
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)
    else:
        main([int(one) for one in sys.argv[1:]] or [10_000, 100_000])
