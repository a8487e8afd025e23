"""The command line: `muattack sets`, `muattack mutate`, `muattack score`, `muattack evaluate`, `muattack plan`.

Sets and tasks come from the repository's config/config.yaml, the one place of defaults, found beside the package; a file
given with --config is laid over it as Snakemake lays one given with --configfile. Exit status: 0 done, 1 bad input, 2 bad usage.
A command imports what it needs when it runs, so that mutating starts without torch, pandas or numpy.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from muattack import __version__
from muattack.errors import InputError

FORMATS = ("auto", "lines", "jsonl")
JSONL_SUFFIXES = (".jsonl", ".ndjson")
BOM = b"\xef\xbb\xbf"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        # What we print is UTF-8 whatever the terminal's locale says. Tests put streams of their own in place.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
    try:
        options.run(options)
        sys.stdout.flush()
    except InputError as error:
        print(f"muattack {options.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has seen enough (head, less). What is still buffered must not fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        # A full disk, a closed descriptor.
        print(f"muattack {options.command}: cannot read or write: {error.strerror or error}.", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(prog="muattack", description="Mutate texts with operator sets and score them with a trained detector.")
    top.add_argument("--version", action="version", version=f"muattack {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    sets = commands.add_parser("sets", help="list the operator sets with their sizes, and the tasks")
    _add_config(sets)
    sets.set_defaults(run=list_sets)

    mutate = commands.add_parser("mutate", help="mutate texts with a set or task", description="Write JSON lines: id, text, mutated, changed, edits.")
    mutate.add_argument("set", metavar="SET", help="a set or task, as `muattack sets` lists them")
    _add_input(mutate)
    _add_config(mutate)
    mutate.add_argument("--individually", action="store_true", help="one line for each operator (word) that changes the text, instead of all at once")
    mutate.add_argument("--seed", type=int, default=1, help="seed of operators with chance (default: 1)")
    mutate.set_defaults(run=mutate_lines)

    score = commands.add_parser("score", help="score texts with a trained detector", description="Write JSON lines: id, score = P(machine).")
    score.add_argument(
        "detector", metavar="DETECTOR", help="a detector's folder, such as results/demo/detectors/finetune, or a Python callable module:function"
    )
    _add_input(score)
    score.add_argument("--batch", type=_positive, default=256, metavar="N", help="texts scored together (default: 256)")
    score.set_defaults(run=score_lines)

    evaluate = commands.add_parser(
        "evaluate",
        help="evaluate a detector of yours on texts of yours",
        description="Mutate texts, score them, print a table and write results/RUN/report.html. The workflow does the work: a second run makes only what changed.",
    )
    evaluate.add_argument(
        "--detector",
        metavar="SPEC",
        required=True,
        help="module:function (texts -> P(machine)), a folder in Hugging Face format or of a run, a hub id, or https://... (see docs/detectors.md)",
    )
    evaluate.add_argument(
        "--measure",
        choices=("log-likelihood", "log-rank", "entropy", "fast-detectgpt", "binoculars"),
        help="zero-shot: the detector is this measure of the causal language model given by --detector, calibrated on three in ten of the texts",
    )
    evaluate.add_argument(
        "--defend",
        metavar="NAME",
        nargs="+",
        help="measure the detector behind these normalisers too: zero-width, confusables, look-alikes, lower-case, pyspellchecker, symspellpy, in this order",
    )
    evaluate.add_argument("--key", metavar="VARIABLE", help="the environment variable that holds the key of a detector at https://...")
    evaluate.add_argument("--reference", metavar="MODEL", help="the second model of binoculars or fast-detectgpt, a folder or hub id")
    for option, what in (
        ("human", "texts of people"),
        ("machine", "texts of the machine to detect"),
        ("ood", "texts of a second machine, out of distribution"),
    ):
        evaluate.add_argument(
            f"--{option}",
            metavar="FILE",
            nargs="+",
            required=option != "ood",
            help=f"{what}: lines (.txt), JSON lines (.jsonl), .csv, .tsv, .parquet, or the folder of a saved data set",
        )
    evaluate.add_argument("--text", metavar="COLUMN", help="the column or key of the text (default: text)")
    evaluate.add_argument("--out", metavar="RUN", default="evaluate", help="name of the run and of its folder under results/ (default: evaluate)")
    evaluate.add_argument("--name", metavar="NAME", help="the detector's name in tables and figures (default: its module's or folder's)")
    evaluate.add_argument("--config", metavar="FILE", help="configuration laid over the run's: operator sets, more detectors, attacks")
    evaluate.add_argument("--cores", metavar="N", default="all", help="processor cores to use (default: all)")
    evaluate.set_defaults(run=evaluate_detector)

    plan = commands.add_parser(
        "plan",
        help="print what a run computes, moves, holds and takes",
        description="Reckon the FLOPs, bytes and GPU hours of a configuration before anything runs or is fetched; docs/paper-scale.md shows the arithmetic.",
    )
    _add_config(plan)
    for option, value, what in (
        ("share", 0.3, "share of the peak that is reached"),
        ("float32", 67, "peak in float32, 10^12 FLOP a second; here and below an H200's, as its maker states them"),
        ("bfloat16", 989, "peak in bfloat16, 10^12 FLOP a second"),
        ("bandwidth", 4.8, "bandwidth of the GPU's memory, TB a second"),
    ):
        plan.add_argument(f"--{option}", type=_above_zero, default=value, metavar="X", help=f"{what} (default: {value})")
    plan.set_defaults(run=print_plan)
    return top


def print_plan(options: argparse.Namespace) -> None:
    """Print the plan of a configuration."""
    from muattack.config import read_config
    from muattack.plan import show

    machine = {name: getattr(options, name) * 1e12 for name in ("float32", "bfloat16", "bandwidth")}
    print(show(read_config(*([options.config] if options.config else [])), {**machine, "share": options.share}))


def evaluate_detector(options: argparse.Namespace) -> None:
    """Run the workflow on a detector and texts of the user's."""
    from muattack.evaluate.command import evaluate

    evaluate(options)


def list_sets(options: argparse.Namespace) -> None:
    """Print a table of the sets, its totals, and the tasks."""
    from muattack.mutate.registry import check_tasks, load_sets

    mutate, folder = read_mutate(options.config)
    sets = load_sets(mutate, folder)
    check_tasks(mutate, sets)
    rows = [("set", "kind", "words", "mutation", "nominal", "effective")]
    for one in sets.values():
        words = one.settings.get("words", "")
        source = words if isinstance(words, str) else "listed"
        rows.append((one.name, one.kind, f"{len(one.words)} {source}", _mutation(one.settings), str(one.nominal), str(one.effective)))
    rows.append(("total", "", "", "", str(sum(one.nominal for one in sets.values())), str(sum(one.effective for one in sets.values()))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) if column >= 4 else cell.ljust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True))]
        print("  ".join(cells).rstrip())
    print("\nnominal: operators, one a word; effective: those whose word holds something to mutate.")
    tasks = mutate.get("tasks") or {}
    if tasks:
        print()
    for name, members in tasks.items():
        print(f"task {name}: {', '.join(members)}")


def mutate_lines(options: argparse.Namespace) -> None:
    """Read texts, write mutants as JSON lines, one text at a time."""
    from muattack.mutate.operator import LexicalOperator
    from muattack.mutate.registry import join, resolve
    from muattack.seeds import generator

    mutate, folder = read_mutate(options.config)
    sets = resolve(mutate, options.set, folder)
    if options.individually:
        for one in sets:
            if not isinstance(one.operator, LexicalOperator):
                raise InputError(f"{one.name} of kind {one.kind} has no operators for single words. Leave --individually out.")
    operator = join(sets)
    lexical = isinstance(operator, LexicalOperator)
    with records(options.file, options.format) as texts:
        for key, text in texts:
            if options.individually:
                for one in sets:
                    for word, mutation in one.operator.individually(text):
                        write({**_mutant(key, text, mutation), "operator": f"{one.name}:{word}"})
            else:
                # Operators that go by words alone draw nothing, and a generator costs as much as mutating.
                rng = None if lexical else generator(options.seed, operator.name, key)
                write(_mutant(key, text, operator.apply(text, rng)))


def score_lines(options: argparse.Namespace) -> None:
    """Read texts, write P(machine) as JSON lines, one batch at a time."""
    from muattack.job import go_offline

    # Said here already, because what opens detectors takes seconds to import.
    if ":" not in options.detector and not Path(options.detector).is_dir():
        raise InputError(f"There is no detector at {options.detector}. Give a trained detector's folder, such as results/demo/detectors/finetune.")
    go_offline()
    with records(options.file, options.format) as texts:
        from muattack.detect.detector import load_detector

        detector = load_detector(options.detector)
        while batch := list(islice(texts, options.batch)):
            for key, text in batch:
                try:
                    text.encode("utf-8")
                except UnicodeEncodeError:
                    raise InputError(
                        f"The text with id {key!r} holds half of a surrogate pair, which no detector can read. Mend or remove it."
                    ) from None
            scores = detector.predict([text for _, text in batch])
            for (key, _), score in zip(batch, scores[:, -1].tolist(), strict=True):
                write({"id": key, "score": score})


def read_mutate(config: str | None) -> tuple[dict, str]:
    """Return the `mutate` block of the defaults with a configuration laid over it, and the folder its paths count from.

    Raises InputError where the package lies outside its repository, so that there are no defaults, and no --config
    brings the sets.
    """
    from muattack.config import DEFAULTS, check_config, data_file, overlay, read_yaml

    above = read_yaml(config) if config else {}
    if not DEFAULTS.is_file():
        if not above.get("mutate"):
            raise InputError(
                f"The default sets are in the repository's configuration, and {DEFAULTS} does not exist: muattack is installed outside of its "
                "repository. Give --config with a copy of config/config.yaml, or install the repository with `pip install -e`."
            )
        return above["mutate"], data_file({"data": ".", **above}, ".")
    checked = check_config(overlay(read_yaml(DEFAULTS), above))
    return checked["mutate"], data_file(checked, ".")


@contextmanager
def records(file: str | None, kind: str) -> Iterator[Iterator[tuple[str | int, str]]]:
    """Open a file or standard input and yield an iterator over (id, text). Raises InputError that names the row."""
    if file in (None, "-"):
        yield read_records(sys.stdin.buffer, "standard input", kind)
        return
    try:
        stream = open(file, "rb")  # noqa: SIM115 closed below; only opening may say that the file is missing
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}). Give a file of lines or JSON lines, or none to read standard input.") from None
    with stream:
        if kind == "auto":
            kind = "jsonl" if Path(file).suffix.lower() in JSONL_SUFFIXES else "lines"
        yield read_records(stream, file, kind)


def read_records(stream: BinaryIO, where: str, kind: str) -> Iterator[tuple[str | int, str]]:
    """Yield (id, text) of each line as it arrives.

    A line's id is its number as text. `auto` takes the first line as the sign: a JSON object with "text" means JSON lines.
    A line ends at a newline (a carriage return before it belongs to the end), at nothing else.
    """
    lines: Iterable[bytes] = stream
    if kind == "auto":
        first = stream.readline()
        lines = chain([first] if first else [], stream)
        kind = "jsonl" if _is_record(first) else "lines"
    for row, line in enumerate(lines, 1):
        if row == 1 and line.startswith(BOM):
            raise InputError(f"{where}, row 1: starts with a byte order mark (BOM). Save it as UTF-8 without one.")
        try:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{where}, row {row}: not UTF-8 (byte {error.start + 1} of the row). Save it as UTF-8.") from None
        yield (str(row), text) if kind == "lines" else _record(text, f"{where}, row {row}")


def _is_record(line: bytes) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _record(line: str, where: str) -> tuple[str | int, str]:
    example = 'Write one object a row, for example {"id": "1", "text": "A dog runs."}.'
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}). {example} Plain lines are read with --format lines.") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: JSON, but not an object. {example}")
    for key, kinds, what in (("id", (str, int), "a string or a whole number"), ("text", (str,), "a string")):
        if key not in value:
            raise InputError(f'{where}: the object has no "{key}". {example} Plain lines are read with --format lines.')
        if not isinstance(value[key], kinds) or isinstance(value[key], bool):
            raise InputError(f'{where}: "{key}" is {value[key]!r:.60}, not {what}. {example}')
    return value["id"], value["text"]


def write(value: dict) -> None:
    """Write one JSON line at once, so that a reader sees it before the next text comes."""
    try:
        line = json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        # Lone surrogates have no UTF-8; JSON's escapes carry them.
        line = json.dumps(value).encode("ascii")
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _mutant(key: str | int, text: str, mutation) -> dict:
    edits = [edit._asdict() for edit in mutation.edits]
    return {"id": key, "text": text, "mutated": mutation.text, "changed": mutation.changed, "edits": edits}


def _mutation(settings: dict) -> str:
    if "letters" in settings:
        return ", ".join(f"{letter}→{target}" for letter, target in settings["letters"].items())
    if "replacement" in settings:
        return f"→{settings['replacement']}" if settings["replacement"] else "removal"
    return ""


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _above_zero(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def _add_input(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", nargs="?", help="lines, or JSON lines with id and text; standard input where none is given")
    command.add_argument(
        "--format",
        choices=FORMATS,
        default="auto",
        help="auto: JSON lines for .jsonl and .ndjson and where standard input starts with a JSON object; else lines",
    )


def _add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config", metavar="FILE", help="configuration laid over config/config.yaml; paths of word lists count from its `data`")


if __name__ == "__main__":
    sys.exit(main())
