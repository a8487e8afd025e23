"""`muattack evaluate`: one detector of the user's on the user's texts, by the workflow, from one command.

Everything that is measured is measured by the workflow: this writes its configuration, runs it, and shows what came out.
"""

import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import yaml

from muattack.config import DEFAULTS, check_config, overlay, read_yaml
from muattack.data.unpaired import FEWEST, read_texts
from muattack.errors import InputError
from muattack.evaluate.labels import DOMAINS, detector_label, reported_tasks, task_label
from muattack.evaluate.tables import interval, number, read_csv
from muattack.records import write_text
from muattack.report.headline import findings
from muattack.results import OWN_PREFIX, detector_kind
from muattack.words import word_spans

ROOT = DEFAULTS.parents[1]
# Snakemake's own line on how far it is, and what it and jobs say when something goes wrong.
STEPS = re.compile(r"(\d+) of (\d+) steps")
FAILED = re.compile(r"^(?:WorkflowError|\w+ failed:|[a-z_]+: )")


def evaluate(options: Namespace) -> None:
    """Run the workflow on a detector and texts, and print tables and where the report lies. Raises InputError."""
    for need, what in ((ROOT / "Snakefile", "the workflow"), (DEFAULTS, "the default configuration")):
        if not need.is_file():
            raise InputError(
                f"{need}, {what}, does not exist: muattack is installed outside of its repository. Install it there with `pip install -e .`."
            )
    config = write_config(options)
    folder = Path("results", config["run"])
    path = folder / "evaluate.yaml"
    write_text(path, HEADER.format(path=path) + yaml.safe_dump(config, allow_unicode=True, sort_keys=False))
    run_workflow(path, options.cores, folder / "logs" / "evaluate.log")
    print(summary(check_config(overlay(read_yaml(DEFAULTS), config)), folder))


HEADER = """# Written by muattack evaluate. The same run again, after a change here: snakemake --cores all --configfile {path}
# (with --snakefile PATH_OF_THE_REPOSITORY/Snakefile from another folder, and PYTHONPATH=. where a detector is module:function).
"""


# --- From arguments to a configuration --------------------------------------------------------------------------------


def write_config(options: Namespace) -> dict:
    """Return the configuration of the run: what the arguments say, with the file given by --config laid over it.

    Arguments are checked at once, and all texts read. Raises InputError.
    """
    use = detector_of(options.detector)
    texts, words = {}, {}
    for source, paths in (("human", options.human), ("machine", options.machine), ("machine_ood", options.ood)):
        if paths:
            texts[source], words[source] = texts_entry(paths, options.text)
    name = options.name or detector_name(options.detector) + (f"-{options.measure}" if options.measure else "")
    entry = {"use": use} | {key: value for key in ("measure", "reference") if (value := getattr(options, key))}
    if options.key:
        entry["endpoint"] = {"key": options.key}
    behind = {f"{name}-defended": {"use": f"{OWN_PREFIX}{name}", "defend": options.defend}} if options.defend else {}
    usual = read_yaml(DEFAULTS)
    own = {
        "run": options.out,
        "captions": {"source": "texts", "normalise": "none", "images": None, "texts": texts},
        "detectors": {**dict.fromkeys(usual["detectors"]), name: entry, **behind},
        "attacks": {"victims": []},
        # A few dozen texts have few mutants an operator, and are not as short as captions.
        "evaluate": {"min_mutants": max(3, min(10, len(words["machine"]) // 10)), "lengths": thirds(list(chain(*words.values())))},
    }
    if options.measure:
        # What a curve is fitted on is not tested.
        own["captions"]["split"] = {"train": 0.0, "val": 0.3, "test": 0.7}
    config = overlay(own, read_yaml(options.config) if options.config else {})
    check_config(overlay(usual, config))
    return config


def detector_of(spec: str) -> str:
    """Return `use` of a detector given on the command line; raise InputError where it cannot be there."""
    if detector_kind(spec) == "function":
        sys.path.insert(0, os.getcwd())
        module = spec.partition(":")[0]
        try:
            found = find_spec(module)
        except (ImportError, ValueError):
            found = None
        if found is None:
            raise InputError(
                f"--detector {spec}: there is no module {module} in this folder or on PYTHONPATH. Write it into {module.replace('.', '/')}.py, with a function "
                f"{spec.partition(':')[2]} that takes a list of texts and returns P(machine) for each."
            )
    elif detector_kind(spec) == "endpoint":
        return spec
    elif Path(spec).exists() and not (Path(spec, "config.json").is_file() or Path(spec, "muattack.json").is_file()):
        raise InputError(
            f"--detector {spec} holds no config.json, so it is no detector. Give the folder of a sequence classifier in Hugging Face format or one that a run "
            "made, a hub id, or module:function."
        )
    elif not Path(spec).exists() and (spec.count("/") > 1 or spec.startswith((".", "/", "~"))):
        raise InputError(f"--detector {spec}: there is no such folder. Give one that is there, a hub id in the local cache, or module:function.")
    return spec


def detector_name(spec: str) -> str:
    """Return a name for the detector in tables: the module's or the folder's."""
    kind = detector_kind(spec)
    base = (
        spec.partition(":")[0] if kind == "function" else urlsplit(spec).hostname or "" if kind == "endpoint" else os.path.basename(spec.rstrip("/"))
    )
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", base).lstrip("._-") or "mine"
    # The names of the paper's detectors bring its tables and labels with them.
    return f"my_{name}" if name in read_yaml(DEFAULTS)["detectors"] else name


def texts_entry(paths: Sequence[str], column: str | None) -> tuple[dict, list[int]]:
    """Return an entry of captions.texts, and the number of words of each text. Raises InputError for files that cannot be read."""
    entry = {"files": [os.path.abspath(path) for path in paths], **({"text": [column]} if column else {})}
    words = []
    for path in paths:
        if not Path(path).exists():
            raise InputError(
                f"The file {path} does not exist. Give a file of lines (.txt), JSON lines, CSV, TSV or Parquet, or the folder of a saved data set."
            )
        try:
            words += [len(word_spans(text)) for _, text, _ in read_texts(path, {"text": ["text"], **entry})]
        except InputError as error:
            hint = " The column of the text is named by --text." if "column" in str(error) or "lacks" in str(error) else ""
            raise InputError(f"{error}{hint}") from None
    if len(words) < FEWEST:
        raise InputError(f"There are only {len(words)} texts in {', '.join(paths)}. Give at least {FEWEST} of each class.")
    return entry, words


def thirds(words: Sequence[int]) -> list[int]:
    """Return the numbers of words that cut the texts into three parts of about the same size, rising, each once."""
    ordered = sorted(words)
    return sorted({max(2, ordered[len(ordered) * part // 3]) for part in (1, 2)})


# --- The run ----------------------------------------------------------------------------------------------------------


def run_workflow(config: Path, cores: str, log: Path) -> None:
    """Run snakemake on a configuration, saying how far it is; raise InputError with what it said where it fails.

    The current folder is on the path of the jobs, so that a user's module in it is found.
    """
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", cores, "--nocolor", "--rerun-incomplete",
        "--configfile", str(config),
    ]  # fmt: skip
    path = os.pathsep.join([os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    log.parent.mkdir(parents=True, exist_ok=True)
    said, terminal = [], sys.stderr.isatty()
    with (
        open(log, "w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONPATH": path},
        ) as process,
    ):
        for line in process.stdout:
            file.write(line)
            said.append(line)
            if terminal and (at := STEPS.search(line)):
                print(f"\r{at[1]} of {at[2]} steps", end="", file=sys.stderr, flush=True)
    if terminal:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    if process.returncode:
        raise InputError(f"The run failed. {reason(said)}\nAll that was said is in {log}.")


def reason(said: Iterable[str]) -> str:
    """Return the first paragraph that a failed run has for people; its last lines where it has none."""
    lines = [line.rstrip() for line in said]
    for at, line in enumerate(lines):
        if FAILED.match(line) and not line.startswith(("localrule", "rule ", "host: ", "reason: ")):
            end = next((place for place in range(at + 1, len(lines)) if not lines[place]), len(lines))
            return " ".join(lines[at:end])
    return "\n".join(lines[-15:])


# --- What came out ----------------------------------------------------------------------------------------------------


def summary(config: Mapping, folder: Path) -> str:
    """Return what the terminal shows of a run: a table of tasks for each domain, the findings, where everything lies."""
    frames = {name: read_csv(folder / f"{name}.csv") for name in ("metrics", "differences")}
    frames |= {name: read_csv(folder / "tables" / f"{name}.csv") for name in ("operators", "articles")}
    parts = [
        aligned(*tasks_table(config, frames["metrics"], domain), title)
        for domain, title in DOMAINS.items()
        if (frames["metrics"].domain == domain).any()
    ]
    parts.append(
        f"Square brackets: {100 * config['evaluate']['confidence']:g} % intervals. AUC: 1 all told apart, 0.5 chance, below 0.5 machine texts look more human than people's."
    )
    parts += [sentence.replace("**", "") for sentence in findings(config, frames)]
    parts.append(f"report  {folder / 'report.html'}\ntables  {folder / 'tables'}\nlogs    {folder / 'logs'}")
    return "\n" + "\n\n".join(parts)


def tasks_table(config: Mapping, metrics: pd.DataFrame, domain: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table: a task a row, AUC with its interval a detector, then n."""
    table = metrics[metrics.domain == domain].set_index(["task", "detector"])
    names = [name for name in config["detectors"] if name in table.index.unique("detector")]
    rows = []
    for task in reported_tasks(config):
        cells = [table.loc[(task, name)] for name in names]
        rows.append(
            [
                task_label(task),
                *(f"{number(cell.auc)} {interval(cell.auc_low, cell.auc_high, 2)}" for cell in cells),
                f"{cells[0].n_human:,} / {cells[0].n_machine:,}",
            ]
        )
    return ["AUC", *(detector_label(name, config["detectors"]) for name in names), "n human / machine"], rows


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> str:
    """Return a table in columns, the first set to the left and the others to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) if not place else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in [header, *rows]
    ]
    return "\n".join([title, lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
