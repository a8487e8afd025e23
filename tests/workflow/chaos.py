"""Kill a small run at random moments, start the same command again each time, compare every result with those of an undisturbed run.

    python tests/workflow/chaos.py --kills 5 --seed 1 --folder /tmp/chaos

`--kills` is the number of kills in each of five stages. Three ways to die, drawn at random: the whole process group (a machine that is
switched off), Snakemake alone (its jobs must not go on), one job alone (out of memory). The moment is drawn uniformly over the time that
the rule took in the undisturbed run. Exits with 1 where a result differs, a lock or a half-written file is left, or kills are missing.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import psutil
from runs import fingerprints

from muattack.config import read_config
from muattack.data.simulate import simulate_scenes
from muattack.records import write_json

HERE = Path(__file__).parent
STAGES = {
    "mutate": ("mutate_captions", "mutate_operators"),
    "train": ("pretrain_encoder", "train_detector"),
    "evaluate": ("score_texts", "compute_metrics", "write_tables", "write_report"),
    "attack": ("build_synonyms", "attack_texts", "gather_attacks", "write_attack_tables"),
    "plot": ("plot_accuracy", "plot_roc", "plot_differences", "plot_attacks"),
}
STAGE_OF = {rule: stage for stage, rules in STAGES.items() for rule in rules}
WAYS = ("all", "snakemake", "job")
# A run that stands still for so long, in seconds, is a failure.
PATIENCE = 3600


def make_captions(folder: Path) -> None:
    """Write three sources' captions of the same images: those that people give under three seeds."""
    settings = read_config()["captions"]["simulate"] | {"captioner_scenes": 20, "base_scenes": 20, "captions_per_scene": 3}
    folder.mkdir(parents=True)
    for seed, source in enumerate(("human", "machine", "machine_ood"), start=1):
        simulate_scenes(settings, 40, seed, folder / source)
        shutil.copy(folder / source / "human.json", folder / f"{source}.json")


def command(root: Path, folder: Path) -> list[str]:
    """The one command that is started again and again."""
    snakefile, small = str(root / "Snakefile"), str(HERE / "chaos.yaml")
    return [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--directory", str(folder), "--cores", "2", "--configfile", small]


def start(root: Path, folder: Path, data: Path, *targets: str, **environment: str) -> subprocess.Popen:
    """Start the workflow as the leader of a process group of its own; what it says is added to snakemake.txt."""
    environment = {**os.environ, "MUATTACK_DATA": str(data), **environment}
    with open(folder / "snakemake.txt", "a") as said:
        return subprocess.Popen(
            [*command(root, folder), "--", *targets], stdout=said, stderr=said, env=environment, cwd=folder, start_new_session=True
        )


def running_jobs(folder: Path) -> dict[int, str]:
    """The processes of the run's jobs: {number: rule}."""
    found = {}
    script = re.compile(rf"{re.escape(str(folder))}/\.snakemake/scripts/\w+\.(\w+)\.py")
    for process in psutil.process_iter(["cmdline", "name", "status"]):
        words = process.info["cmdline"] or []
        # Not the shell that started it, whose one long argument holds the same path.
        if len(words) > 1 and process.info["status"] != psutil.STATUS_ZOMBIE and (match := script.fullmatch(words[-1])):
            found[process.pid] = match[1]
    return found


def durations(run: Path) -> dict[str, float]:
    """How long the jobs of each rule took, in seconds, from the benchmarks of a run."""
    return {folder.name: pd.concat(map(pd.read_table, folder.glob("*.tsv"))).s.mean() for folder in (run / "benchmarks").iterdir()}


def went_on(run: Path, seen: set) -> list[str]:
    """The lines in which jobs say that they go on where they were killed, each once."""
    found = []
    for log in run.glob("logs/*/*.log"):
        key = (log, log.stat().st_mtime_ns)
        for line in log.read_text(errors="replace").splitlines():
            if re.search(r"goes on after epoch|texts are done already", line) and (key, line) not in seen:
                seen.add((key, line))
                found.append(f"{log.parent.name}: {line.rpartition('/')[2]}")
    return found


def ended_from_outside(folder: Path) -> None:
    """Return where somebody else on this machine told the run to end (SIGTERM), and it is to go on; any other failure ends the harness."""
    said = (folder / "snakemake.txt").read_text(errors="replace").rpartition("Building DAG of jobs")[2]
    if "Will exit after finishing currently running jobs" not in said or "Error in rule" in said:
        raise SystemExit(f"The run failed without having been killed, see {folder}/snakemake.txt")
    print("somebody else ended the run (SIGTERM); it goes on", flush=True)


def chaos(root: Path, folder: Path, data: Path, kills: int, seed: int, takes: dict[str, float]) -> tuple[list[dict], list[str]]:
    """Run until everything is made, killing on the way; return one row a kill, and what jobs said when they went on."""
    draw = random.Random(seed)
    left = Counter(dict.fromkeys(STAGES, kills))
    rows, resumed, seen = [], [], set()
    begun = time.monotonic()
    while True:
        # A state after every epoch: with the default of one in ten seconds a run as small as this one would write none.
        process = start(root, folder, data, MUATTACK_STATE_SECONDS="0")
        started, planned, before = time.monotonic(), None, len(rows)
        known: set[int] = set()
        while process.poll() is None:
            assert time.monotonic() - started < PATIENCE, f"The run stands still, see {folder}/snakemake.txt"
            jobs = running_jobs(folder)
            # The moment is counted from when a job is seen first.
            new = sorted((rule, number) for number, rule in jobs.items() if number not in known and left[STAGE_OF.get(rule)])
            known |= jobs.keys()
            if planned is None and new:
                rule, victim = draw.choice(new)
                planned = (time.monotonic() + draw.uniform(0, takes[rule]), rule, victim, draw.choice(WAYS))
            if planned is not None and time.monotonic() >= planned[0]:
                _, rule, victim, way = planned
                jobs = running_jobs(folder)
                if not jobs and way == "job":
                    way = "snakemake"
                if way == "job":
                    victim = victim if victim in jobs else draw.choice(sorted(jobs))
                    rule = jobs[victim]
                killed = victim if way == "job" else process.pid
                try:
                    os.killpg(process.pid, signal.SIGKILL) if way == "all" else os.kill(killed, signal.SIGKILL)
                except ProcessLookupError:
                    # It ended in this moment.
                    planned = None
                    continue
                process.wait()
                hit = [rule] if way == "job" else sorted(jobs.values())
                stage = next((STAGE_OF[name] for name in hit if left[STAGE_OF.get(name)]), STAGE_OF.get(rule))
                left[stage] -= 1
                row = {
                    "kill": len(rows) + 1, "second": round(time.monotonic() - begun), "killed": way, "running": " ".join(hit) or "(between jobs)",
                    "stage": stage if hit else "", "exit": process.returncode,
                }  # fmt: skip
                rows.append(row)
                print(row, flush=True)
                # Jobs whose Snakemake is gone end by themselves.
                waited = time.monotonic()
                while orphans := running_jobs(folder):
                    assert time.monotonic() - waited < 120, f"Jobs go on without their Snakemake: {orphans}"
                    time.sleep(0.1)
                break
            time.sleep(0.2)
        resumed += went_on(folder / "results" / "chaos", seen)
        if process.returncode == 0:
            return rows, resumed
        if len(rows) == before:
            ended_from_outside(folder)


def report(folder: Path, rows: list[dict], resumed: list[str], kills: int, seed: int) -> bool:
    """Compare both runs, print and write what was found; return whether something is wrong."""
    whole, run = (folder / name / "results" / "chaos" for name in ("undisturbed", "killed"))
    one, other = fingerprints(whole), fingerprints(run)
    wrong = [f"differs: {name}" for name in one if name in other and one[name] != other[name]]
    wrong += [f"only in one run: {name}" for name in sorted(one.keys() ^ other.keys())]
    wrong += [f"left behind: {path}" for path in (folder / "killed" / ".snakemake").glob("locks/*")]
    wrong += [f"left behind: {path}" for path in (run / "state" / "training").rglob("*") if path.is_file()]
    hit = Counter(row["stage"] for row in rows)
    wrong += [f"no kill in stage {stage}" for stage in STAGES if not hit[stage]]
    if len(rows) < 4 * kills:
        wrong.append(f"only {len(rows)} kills")

    table = pd.DataFrame(rows)
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in table.itertuples(index=False)]
    lines += ["", f"{len(rows)} kills in {rows[-1]['second'] if rows else 0} s: " + ", ".join(f"{stage} {hit[stage]}" for stage in STAGES)]
    lines += [f"{len(resumed)} jobs went on where they had been killed:", *(f"- {line}" for line in resumed)]
    lines += [f"{len(one)} results compared byte for byte, {sum(name in other and one[name] == other[name] for name in one)} equal.", *wrong]
    (folder / "report.md").write_text("\n".join(lines) + "\n")
    write_json(folder / "report.json", {"seed": seed, "kills": rows, "resumed": resumed, "compared": len(one), "wrong": wrong})
    print("\n".join(lines))
    return bool(wrong)


def main() -> None:
    """Make both runs, print the report, exit with 1 where something is wrong."""
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, required=True)
    chosen = options.parse_args()
    root, folder = HERE.parents[1], chosen.folder.resolve()
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty. Name a folder that does not exist yet.")
    make_captions(folder / "data")
    for name in ("undisturbed", "killed"):
        (folder / name).mkdir()

    begun = time.monotonic()
    while start(root, folder / "undisturbed", folder / "data").wait():
        ended_from_outside(folder / "undisturbed")
    whole = folder / "undisturbed" / "results" / "chaos"
    print(f"the undisturbed run took {time.monotonic() - begun:.0f} s", flush=True)
    rows, resumed = chaos(root, folder / "killed", folder / "data", chosen.kills, chosen.seed, durations(whole))

    sys.exit(report(folder, rows, resumed, chosen.kills, chosen.seed))


if __name__ == "__main__":
    main()
