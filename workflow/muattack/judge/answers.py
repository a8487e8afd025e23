"""Answers of the judging page, read back and turned into the filter of NoisyHate, 3.4.

A worker who missed a perturbed word is dropped, and a pair is kept when a majority of its five workers, counted without those dropped, finds it
likely that a person wrote it. Files are read and checked as a whole, and never written: a file that was edited by hand, or is of other
pairs, is an error, and everything stays as it is.
"""

import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from muattack.errors import InputError
from muattack.evaluate.intervals import wilson
from muattack.judge.page import FORMAT, VERSION, Task, batch_name
from muattack.mutate.anthro import read_json
from muattack.mutate.human import OTHER, TYPES
from muattack.mutate.registry import known

WORKERS = 5
# Of the answers 1 to 5, those that find a pair likely.
LIKELY = 4
RULES = ("majority", "mean")
# A pair is kept by the rule `mean` above the middle of the scale: the least mean of the published pairs is 3.2.
MIDDLE = 3.0
KEYS = ("format", "version", "batch", "worker", "wait", "answers", "check")
ANSWER = {"pair": str, "word": int, "quality": int, "ms": int}


def read_answers(paths: Sequence[str | Path], batch: Sequence[Task], accept_edited: bool = False) -> pd.DataFrame:
    """Read files that the page gave to its workers; return worker, pair, word, quality, ms, correct (the perturbed word was picked), file.

    batch: the tasks of the page (`page.tasks`). accept_edited: take files whose check sum is wrong, all other rules kept. Raises InputError
    that names every file that cannot be taken and why; then none is taken. A worker may send several files for different pairs.
    """
    if not paths:
        raise InputError("There is no file of answers. Name those that the judging page let its workers download.")
    rows, wrong = [], []
    for path in paths:
        try:
            rows += [(*row, str(path)) for row in _read(path, {task.id: task for task in batch}, batch_name(list(batch)), accept_edited)]
        except InputError as error:
            wrong.append(str(error))
    frame = pd.DataFrame(rows, columns=["worker", "pair", "word", "quality", "ms", "correct", "file"])
    again = frame[frame.duplicated(["worker", "pair"])]
    if len(again) and not wrong:
        first = again.iloc[0]
        files = ", ".join(dict.fromkeys(frame["file"][(frame["worker"] == first["worker"]) & (frame["pair"] == first["pair"])]))
        wrong.append(f"The worker {first['worker']} answered the pair {first['pair']} more than once, in {files}. Keep one of the files.")
    if wrong:
        raise InputError(
            " ".join(wrong) + (f" None of the {len(paths)} files was taken; all are as they were." if len(paths) > 1 else " The file is as it was.")
        )
    return frame


def _read(path: str | Path, batch: dict[str, Task], name: str, accept_edited: bool) -> list[tuple]:
    """Return a file's answers as rows without the file. Raises InputError."""
    told = read_json(path, "file of answers")
    again = "Use the file as it was downloaded, or let the worker download it again"
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise InputError(f"The file of answers {path} is not one that the judging page made. {again}.")
    if set(told) != set(KEYS):
        off = sorted(set(told) ^ set(KEYS))
        raise InputError(
            f"The file of answers {path} was edited by hand: {', '.join(off)} {'is' if len(off) == 1 else 'are'} missing or unknown. {again}."
        )
    if told["version"] != VERSION:
        raise InputError(f"The file of answers {path} is of version {told['version']!r}; this program reads version {VERSION}. Make the page anew.")
    if told["batch"] != name:
        raise InputError(
            f"The file of answers {path} is of other pairs (batch {told['batch']!r}, these are {name}). Name the pairs that its page was made of."
        )
    worker, wait, answers = told["worker"], told["wait"], told["answers"]
    if not isinstance(worker, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,60}", worker):
        raise InputError(f"The file of answers {path} was edited by hand: the worker {worker!r} is no name that the page takes. {again}.")
    if not isinstance(answers, list) or type(wait) is not int:
        raise InputError(f"The file of answers {path} was edited by hand: answers or wait is of another type than the page writes. {again}.")
    lines: list[object] = [FORMAT, VERSION, name, worker, wait]
    rows, seen = [], set()
    for number, answer in enumerate(answers, 1):
        where = f"The file of answers {path} was edited by hand: answer {number}"
        if not isinstance(answer, dict) or set(answer) != set(ANSWER) or any(type(answer[key]) is not kind for key, kind in ANSWER.items()):
            raise InputError(f"{where} is not {{pair, word, quality, ms}} as the page writes it. {again}.")
        task = batch.get(answer["pair"])
        if task is None:
            raise InputError(f"{where} is of the pair {answer['pair']!r}, which was not on the page. {again}.")
        if answer["pair"] in seen:
            raise InputError(f"{where} is a second one for the pair {answer['pair']}. {again}.")
        if not 0 <= answer["word"] < len(task.clean):
            raise InputError(f"{where} picks word {answer['word']}, but the pair {answer['pair']} has words 0 to {len(task.clean) - 1}. {again}.")
        if not 1 <= answer["quality"] <= 5:
            raise InputError(f"{where} has the quality {answer['quality']}; the page writes 1 to 5. {again}.")
        if answer["ms"] < 1000 * wait:
            raise InputError(f"{where} took {answer['ms']} ms, but the page waits {wait} s. {again}.")
        seen.add(answer["pair"])
        lines += (answer[key] for key in ANSWER)
        rows.append((worker, *(answer[key] for key in ANSWER), answer["word"] == task.place))
    if not accept_edited and told["check"] != zlib.crc32("\n".join(map(str, lines)).encode("utf-8", "surrogatepass")):
        raise InputError(
            f"The file of answers {path} was edited by hand: its check sum does not fit its answers. {again}; `accept_edited` takes it as it is."
        )
    return rows


def judge(
    answers: pd.DataFrame, batch: Sequence[Task], workers: int = WORKERS, rule: str = "majority", misses: int | None = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what the answers say of each pair, and of each worker.

    answers: see `read_answers`. workers: how many were to judge a pair. misses: a worker with more missed words is dropped with all
    answers; None drops the missed answers alone, as the paper counts its pairs. rule: `majority` keeps a pair that more than half of the
    workers (those asked for, or those left where they are more) rate LIKELY or higher; `mean` one with a mean above MIDDLE from such a majority.

    The pairs: id, n (answers that count), dropped, likely, mean (NaN without an answer), kept, reason (why not). The workers: worker, answers,
    missed, dropped. Raises InputError for an unknown rule.
    """
    known(rule, RULES, "rule", "judge.rule")
    by_worker = (
        answers.groupby("worker", sort=True)["correct"].agg(answers="size", missed=lambda correct: int((~correct.astype(bool)).sum())).reset_index()
    )
    by_worker["dropped"] = False if misses is None else by_worker["missed"] > misses
    lost = set(by_worker["worker"][by_worker["dropped"]])
    counts = answers["correct"].astype(bool) & ~answers["worker"].isin(lost)
    rows = []
    for task in batch:
        here = (answers["pair"] == task.id).to_numpy(bool)
        quality = answers["quality"][here & counts.to_numpy(bool)].to_numpy(np.int64)
        n, likely = len(quality), int((quality >= LIKELY).sum())
        mean = float(quality.mean()) if n else np.nan
        needed = max(workers, n) // 2 + 1
        kept = likely >= needed if rule == "majority" else n >= needed and mean > MIDDLE
        short = f"only {n} of {workers} answers count" if n < needed else ""
        said = f"{likely} of {n} find it likely, {needed} are needed" if rule == "majority" else f"the mean of {n} answers is {mean:.2f}"
        rows.append((task.id, n, int(here.sum()) - n, likely, mean, kept, "" if kept else short or said))
    return pd.DataFrame(rows, columns=["id", "n", "dropped", "likely", "mean", "kept", "reason"]), by_worker


def keep(pairs: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the pairs that the verdicts keep, in their order, with n and mean as quality_n and quality_mean.

    Raises InputError, with the reasons, where none is kept: no table can be made of no pairs.
    """
    found = verdicts.set_index("id")
    ids = pairs["id"].astype(str)
    mask = ids.map(found["kept"]).fillna(False).astype(bool)
    if not mask.any():
        reasons = "; ".join(f"{reason} ({count})" for reason, count in verdicts["reason"].value_counts().sort_index().items())
        raise InputError(
            f"Of the {len(pairs)} pairs that were judged none is kept: {reasons}. Name more files of answers, or ask for less under noisyhate.judging: workers, misses, rule."
        )
    return pairs[mask].assign(quality_n=ids[mask].map(found["n"]), quality_mean=ids[mask].map(found["mean"])).reset_index(drop=True)


def retention(pairs: pd.DataFrame, verdicts: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Return the share of pairs kept by type of perturbation and overall: type, n, kept, value, low, high. Source: NoisyHate, Figure 3a."""
    kept = pairs["id"].astype(str).map(verdicts.set_index("id")["kept"]).fillna(False).astype(bool)
    rows = []
    for kind in [*(one for one in (*TYPES, OTHER) if (pairs["type"] == one).any()), "overall"]:
        of_kind = kept if kind == "overall" else kept[pairs["type"] == kind]
        n, value = len(of_kind), float(of_kind.mean()) if len(of_kind) else np.nan
        low, high = wilson(np.array(value), np.array(n), confidence)
        rows.append((kind, n, int(of_kind.sum()), value, float(low), float(high)))
    return pd.DataFrame(rows, columns=["type", "n", "kept", "value", "low", "high"])
