"""What the report's viewer shows: texts before and after, where they differ, and what each detector said of both."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from muattack.attack.records import read_lines
from muattack.evaluate.metrics import read_scores
from muattack.records import read_records

# Most rows of the viewer: a browser filters these in the blink of an eye, and they keep the page small.
LIMIT = 20_000
# What became of the right answer, one letter a detector: right before and wrong after, right both times, wrong before, not asked.
FOOLED, WITHSTOOD, WRONG, UNASKED = "fwx-"
OUTCOMES = {"succeeded": FOOLED, "failed": WITHSTOOD, "skipped": WRONG}


class Viewer:
    """Rows of the viewer, gathered from mutants and attacks; `data` is what the page carries, `told` how many there were in all."""

    def __init__(self, detectors: Sequence[str], limit: int = LIMIT) -> None:
        self.detectors, self.limit = list(detectors), limit
        self.groups: list[str] = []
        self.texts: dict[str, int] = {}
        self.rows: list[list] = []
        self.found = 0

    def data(self) -> dict:
        """Return detectors, groups, texts and rows.

        A row is [group, text, label, edits as start, end, replacement, outcomes a detector, P(right class) before and after a detector in thousandths].
        """
        return {"detectors": self.detectors, "groups": self.groups, "texts": list(self.texts), "rows": self.rows}

    def add_mutants(
        self,
        captions: pd.DataFrame,
        mutants: Mapping[str, str | os.PathLike],
        scores: Mapping[str, str | os.PathLike],
        threshold: float,
        share: int | None = None,
    ) -> None:
        """Add mutants that differ from their text: as many of each set or task, evenly from the first to the last, as fit `share` rows.

        `mutants` and `scores` map sets and detectors to their files of the run.
        """
        share = self.limit - len(self.rows) if share is None else share
        texts, labels, sources = (captions.set_index("id")[column] for column in ("text", "label", "source"))
        frames = {}
        for name, path in mutants.items():
            frame = read_records(path)
            frames[name] = frame[frame["changed"]].assign(operator=frame.get("operator", ""))
            self.found += len(frames[name])
        chosen = []
        for name, frame in sorted(frames.items(), key=lambda item: len(item[1])):
            # What a short one leaves goes to the longer ones.
            each = share // (len(frames) - len(chosen))
            part = frame.iloc[np.unique(np.linspace(0, len(frame) - 1, min(each, len(frame))).round().astype(int))] if len(frame) else frame
            share -= len(part)
            chosen.append((name, part))
        order = {name: place for place, name in enumerate(mutants)}
        chosen.sort(key=lambda item: order[item[0]])
        table = pd.concat([part.assign(task=name) for name, part in chosen], ignore_index=True)
        if not len(table):
            return
        is_machine = table["id"].map(labels).to_numpy() == 1
        before, after = (np.full((len(table), len(self.detectors)), np.nan) for _ in range(2))
        for name, path in scores.items():
            column, series = self.detectors.index(name), read_scores(name, path)
            for values, keys in ((before, ("clean", None)), (after, (None, "operator"))):
                tasks = [keys[0]] * len(table) if keys[0] else table["task"]
                operators = table[keys[1]] if keys[1] else [""] * len(table)
                values[:, column] = series.reindex(pd.MultiIndex.from_arrays([tasks, table["id"], operators])).to_numpy()
        right_before, right_after = ((values >= threshold) == is_machine[:, None] for values in (before, after))
        outcome = np.where(right_before, np.where(right_after, WITHSTOOD, FOOLED), WRONG)
        outcome[np.isnan(before) | np.isnan(after)] = UNASKED
        before, after = (np.where(is_machine[:, None], values, 1 - values) for values in (before, after))
        places = {name: self._group(name) for name, part in chosen if len(part)}
        for row, one in enumerate(table.itertuples()):
            edits = [part for edit in one.edits for part in (edit["start"], edit["end"], edit["replacement"])]
            label = f"{sources[one.id]}{f', {one.operator}' if one.operator else ''}"
            self._add(places[one.task], texts[one.id], label, edits, "".join(outcome[row]), before[row], after[row])

    def add_attacks(self, files: Sequence[str | os.PathLike], labels: Mapping[str, Sequence[str]]) -> None:
        """Add the texts of attacks that ended, of each file as it comes; `labels` are the classes of each data set."""
        for path in files:
            header, records = read_lines(path)
            group = None
            column = self.detectors.index(header["victim"])
            for record in records:
                if record["status"] not in OUTCOMES or record["score_before"] is None:
                    continue
                self.found += 1
                if len(self.rows) >= self.limit:
                    continue
                group = self._group(f"{Path(path).stem} (attack)") if group is None else group
                edits = [part for edit in record["edits"] for part in (edit["start"], edit["end"], edit["replacement"])]
                outcome = [UNASKED] * len(self.detectors)
                outcome[column] = OUTCOMES[record["status"]]
                before, after = (np.full(len(self.detectors), np.nan) for _ in range(2))
                before[column] = record["score_before"]
                after[column] = record["score_before" if record["score_after"] is None else "score_after"]
                label = str(labels[header["dataset"]][record["label"]])
                self._add(group, record["original"], label, edits, "".join(outcome), before, after)

    def _group(self, name: str) -> int:
        if name not in self.groups:
            self.groups.append(name)
        return self.groups.index(name)

    def _add(self, group: int, text: str, label: str, edits: list, outcome: str, before: np.ndarray, after: np.ndarray) -> None:
        place = self.texts.setdefault(text, len(self.texts))
        shown = [[None if np.isnan(value) else round(1000 * float(value)) for value in values] for values in (before, after)]
        self.rows.append([group, place, label, edits, outcome, *shown])


def as_json(value: object) -> str:
    """Return compact JSON of the same bytes every time; lone surrogates are written as escapes."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
