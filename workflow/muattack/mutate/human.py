"""Human-written perturbations: only the most important word of a text, written as people write it. Kind `human`.

Source: NoisyHate, 3.3 and Algorithm 1. A word's importance is how far the score of a proxy classifier moves when the word is left
out, |B(S) - B(S without w)|; it must exceed the threshold Θ, and only the most important word is perturbed. The forms come from
ANTHRO's look-up or a table of the user's (`muattack.mutate.anthro`). Without a proxy the longest word that has a form stands in
for the most important one: a fallback of ours, not the paper's.

The five types are those of Table 2. `classify` tells them apart; where the table leaves room, its text says what is ours.
"""

import importlib
import math
import pkgutil
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from muattack.errors import InputError
from muattack.mutate.anthro import DISTANCE, LEVEL, Anthro, count_tokens, english_words, read_corpus, read_table, subsequence
from muattack.mutate.operator import EMPTY_TEXT, Edit, Mutation, apply_edits, fold, remove_words
from muattack.mutate.registry import OperatorSet, known
from muattack.progress import progress
from muattack.seeds import generator
from muattack.words import word_spans

TYPES = ("RepeatChar", "Abbr", "SpecialChar", "MixedCase", "MixedCase+")
OTHER = "Other"
SEEDS = 10
# A word that capitals spell must be one that readers know: this many uses in the corpus of the word list, and this many letters.
USAGE, LETTERS = 1000, 3
# Words of a text that are looked at: what a classifier of 512 tokens sees at most. It bounds the work on very long texts too.
WORDS = 512
# Texts handed to the proxy at a time.
CHUNK = 4096

NO_FORM = "no word of the text has a known perturbation"
NOT_IMPORTANT = "no word moves the proxy's score by more than the threshold"
IMPORTANT_WITHOUT_FORM = "the most important word has no known perturbation"

Score = Callable[[Sequence[str]], Sequence[float]]


# --- Types ------------------------------------------------------------------------------------------------------------


def classify(word: str, form: str, english: Collection[str] | None = None) -> str:
    """Return the type of a perturbation (paper, Table 2), or OTHER where none of the five describes it.

    The first that fits counts, for people mix them:
    SpecialChar: the form has a character that is no English letter, and the word has not.
    MixedCase+: capitals of a form that mixes cases spell an English word of LETTERS letters at least, other than the word: side by side
    (repubLIEcans, democRATs), or all of them in order (sPrInG: pig). The table's own example spells no word; that they spell one
    is what it says of the type. `english` are the words that count, by default those with USAGE uses in `english_words`.
    MixedCase: the word's letters with other capitals. A form all in capitals, or with the first one only, is none.
    Abbr: letters of the word are left out and nothing is put in; capitals do not matter. A lost double letter (sily) is one.
    RepeatChar: letters of the word are written again, one after the other or elsewhere, and none is left out; capitals do not matter.
    """
    if any(not (character.isascii() and character.isalpha()) for character in form.replace("'", "")) and re.fullmatch("[A-Za-z']*", word):
        return "SpecialChar"
    word, low = word.lower(), form.lower()
    mixed = not (form.isupper() or form.islower() or (form[:1].isupper() and form[1:].islower()))
    if mixed and _spelt(word, form, english_words(USAGE) if english is None else english):
        return "MixedCase+"
    if low == word:
        return "MixedCase" if mixed else OTHER
    if subsequence(low, word):
        return "Abbr"
    if subsequence(word, low) and set(low) <= set(word):
        return "RepeatChar"
    return OTHER


def _spelt(word: str, form: str, english: Collection[str]) -> bool:
    """Return whether capitals of a form spell an English word other than the word, side by side or all of them in order."""
    found = [*re.findall("[A-Z]+", form), "".join(re.findall("[A-Z]", form))]
    return any(len(one) >= LETTERS and (low := one.lower()) != word and low in english for one in found)


def type_table(table: Mapping[str, Sequence[str]], types: Sequence[str] = TYPES) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return word -> type -> forms of a table word -> forms, for words that have a form of these types."""
    found: dict[str, dict[str, list[str]]] = {}
    for word, forms in table.items():
        for form in forms:
            kind = classify(word, form)
            if kind in types:
                found.setdefault(word, {}).setdefault(kind, []).append(form)
    # The order of `types`, whatever the order of the forms: draws go by it.
    return {word: {kind: tuple(of_word[kind]) for kind in types if kind in of_word} for word, of_word in found.items()}


def type_weights(table: Mapping[str, Mapping[str, Sequence[str]]], words: Iterable[str] | None = None) -> dict[str, float]:
    """Return what each type weighs in a draw: one over the number of its forms, so that rare types are favoured.

    `table` is a `type_table`; only the given words count, by default all. The paper says that rare types get a higher chance, not
    how much higher; this rule is ours.
    """
    counts = Counter()
    for word in table if words is None else sorted(set(words)):
        counts.update({kind: len(forms) for kind, forms in table.get(word, {}).items()})
    return {kind: 1 / count for kind, count in counts.items()}


def entropy(kinds: Iterable[str]) -> float:
    """Return the entropy in bits of a distribution given by its observations; 0 where there are none."""
    counts = Counter(kinds)
    total = counts.total()
    return -sum(counts[kind] / total * math.log2(counts[kind] / total) for kind in sorted(counts)) if len(counts) > 1 else 0.0


# --- Importance -------------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """The word of a text to perturb: its place, its entry in the table, how far the score moves without it (NaN: no proxy).

    Where there is none, `word` is empty and `reason` says why.
    """

    start: int = 0
    end: int = 0
    word: str = ""
    importance: float = math.nan
    reason: str = ""


def load_proxy(spec: str) -> Score:
    """Return texts -> scores (n) of a proxy classifier: `module:function`, or the folder of a detector, whose last column counts.

    A folder brings torch; a function brings what it imports. Raises InputError.
    """
    if Path(spec).is_dir():
        # By a name put together, so that rules which mutate without a proxy do not depend on everything that detectors are made of.
        detector = importlib.import_module("muattack.detect" + ".detector").load_detector(spec)
        return lambda texts: detector.predict(texts)[:, -1]
    try:
        function = pkgutil.resolve_name(spec)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"The proxy {spec} is no folder, and no Python function either: {error}. Write module:function, with the module on PYTHONPATH."
        ) from error
    if not callable(function):
        raise InputError(f"The proxy {spec} names a {type(function).__name__}, which cannot be called. Name a function texts -> scores.")
    return function


def score_texts(score: Score, texts: Sequence[str]) -> np.ndarray:
    """Return the proxy's scores (n, float64), its last column where it gives several. Raises InputError where one is no finite number."""
    scores = np.asarray(score(list(texts)), dtype=np.float64)
    if scores.ndim == 2:
        scores = scores[:, -1]
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        what = f"an array of shape {scores.shape}" if scores.shape != (len(texts),) else "a score that is not finite"
        raise InputError(
            f"The proxy classifier returned {what} for {len(texts)} texts. It must return one finite number a text; the importance of words rests on it."
        )
    return scores


class HumanOperator:
    """Replace the most important word of a text by one of the ways people write it.

    table: word -> forms. score: the proxy, texts -> scores; without one the longest word that has a form is taken, the first of the
    longest. threshold: Θ. skip_unknown: weigh only words that have a form, so that more texts change; by the paper a text is left alone
    when its most important word has none. types: those that may be drawn. Only the first WORDS words of a text are looked at.
    Chance comes from `rng`, or without one from the seed, the name and the text, so that equal texts are perturbed alike.
    """

    def __init__(
        self,
        name: str,
        table: Mapping[str, Sequence[str]],
        score: Score | None = None,
        threshold: float = 0.0,
        skip_unknown: bool = False,
        types: Sequence[str] = TYPES,
        seed: int = 0,
    ) -> None:
        self.name, self.score, self.threshold, self.skip_unknown, self.seed = name, score, threshold, skip_unknown, seed
        self.types = tuple(types)
        self.table = type_table(table, self.types)
        self.weights = type_weights(self.table)

    def apply(self, text: str, rng: random.Random | None = None) -> Mutation:
        """Perturb the most important word of the text, its type drawn with `type_weights` of the whole table, its form evenly."""
        (target,) = self.targets([text])
        if not target.word:
            return Mutation(text, (), target.reason)
        _, form = self.draw(target, text, rng or generator(self.seed, self.name, text), self.weights)
        edits = (Edit(target.start, target.end, form),)
        return Mutation(apply_edits(text, edits), edits)

    def draw(self, target: Target, text: str, rng: random.Random, weights: Mapping[str, float]) -> tuple[str, str]:
        """Return a type and a form for a text's target word; never the form that the text has."""
        forms = self._forms(target.word, text[target.start : target.end])
        (kind,) = rng.choices(list(forms), [weights[kind] for kind in forms])
        return kind, rng.choice(forms[kind])

    def targets(self, texts: Iterable[str]) -> list[Target]:
        """Return the word of each text to perturb; the proxy sees up to CHUNK texts at a time, each text and its words left out."""
        found: list[Target] = []
        waiting: list[tuple[int, list[tuple[int, int]], list[int]]] = []
        batch: list[str] = []
        for text in texts:
            spans = word_spans(text)[:WORDS]
            known_words = [index for index, (start, end) in enumerate(spans) if self._forms(fold(text[start:end]), text[start:end])]
            if not known_words:
                found.append(Target(reason=EMPTY_TEXT if not text else NO_FORM))
            elif self.score is None:
                longest = max(known_words, key=lambda index: spans[index][1] - spans[index][0])
                found.append(self._target(text, spans[longest]))
            else:
                left_out = known_words if self.skip_unknown else list(range(len(spans)))
                waiting.append((len(found), spans, left_out))
                found.append(Target(reason=text))
                batch += [text, *(remove_words(text, [index], spans) for index in left_out)]
                if len(batch) >= CHUNK:
                    self._weigh(found, waiting, batch)
        self._weigh(found, waiting, batch)
        return found

    def _weigh(self, found: list[Target], waiting: list, batch: list[str]) -> None:
        """Score the batch and put the targets of the texts that wait for it in their places; empty both."""
        if not batch:
            return
        # Equal texts get equal scores, whatever a proxy does with its batches.
        unique = sorted(set(batch))
        values = dict(zip(unique, score_texts(self.score, unique), strict=True))
        at = 0
        for place, spans, left_out in waiting:
            text, without = batch[at], batch[at + 1 : at + 1 + len(left_out)]
            at += 1 + len(left_out)
            moves = [abs(values[text] - values[one]) for one in without]
            best = int(np.argmax(moves))
            start, end = spans[left_out[best]]
            if not moves[best] > self.threshold:
                found[place] = Target(reason=NOT_IMPORTANT)
            elif not self._forms(fold(text[start:end]), text[start:end]):
                found[place] = Target(reason=IMPORTANT_WITHOUT_FORM)
            else:
                found[place] = self._target(text, (start, end), float(moves[best]))
        waiting.clear()
        batch.clear()

    def _target(self, text: str, span: tuple[int, int], importance: float = math.nan) -> Target:
        return Target(*span, fold(text[slice(*span)]), importance)

    def _forms(self, word: str, written: str) -> dict[str, tuple[str, ...]]:
        """Return a word's forms by type, without the one that the text has already."""
        forms = self.table.get(word)
        if not forms or not any(written in of_type for of_type in forms.values()):
            return forms or {}
        return {kind: rest for kind, of_type in forms.items() if (rest := tuple(form for form in of_type if form != written))}


# --- Whole data sets --------------------------------------------------------------------------------------------------


def perturb(frame: pd.DataFrame, operator: HumanOperator, seed: int = 0, seeds: int = SEEDS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Perturb a data set as the paper does: several seeds, of which the one with the highest entropy of types is kept.

    frame: id, text and whatever else. Types are weighed by their forms among the target words of this data set. Returns the table (id,
    original, text, edits, reason, word, form, type, importance; rows as in the frame, unchanged ones with a reason) and one row for
    each seed (seed, n, entropy in bits, kept, and a count for each type); of equal entropies the first is kept. Rows may come in any
    order, and equal texts are perturbed alike. Raises InputError for a text that is none.
    """
    for row, text in enumerate(frame["text"]):
        if not isinstance(text, str):
            raise InputError(
                f"Row {row} of the texts to perturb (id {frame['id'].iloc[row]}) is a {type(text).__name__}, not a text. Take it out, or write it as text."
            )
    distinct = sorted(set(frame["text"]))
    targets = dict(zip(distinct, operator.targets(progress(distinct, "texts weighed")), strict=True))
    weights = type_weights(operator.table, (target.word for target in targets.values() if target.word))
    drawn, rows = [], []
    for number in range(seeds):
        choice = {
            text: operator.draw(target, text, generator(seed, operator.name, number, text), weights)
            for text, target in targets.items()
            if target.word
        }
        counts = Counter(choice[text][0] for text in frame["text"] if text in choice)
        rows.append(
            {
                "seed": number,
                "n": counts.total(),
                "entropy": entropy(counts.elements()),
                "kept": False,
                **{kind: counts[kind] for kind in operator.types},
            }
        )
        drawn.append(choice)
    kept = max(range(seeds), key=lambda number: rows[number]["entropy"])
    rows[kept]["kept"] = True
    out = []
    for name, text in zip(frame["id"], frame["text"], strict=True):
        target = targets[text]
        kind, form = drawn[kept].get(text, ("", ""))
        edits = [{"start": target.start, "end": target.end, "replacement": form}] if form else []
        mutated = text[: target.start] + form + text[target.end :] if form else text
        out.append((name, text, mutated, edits, target.reason, target.word, form, kind, target.importance))
    columns = ["id", "original", "text", "edits", "reason", "word", "form", "type", "importance"]
    return pd.DataFrame(out, columns=columns), pd.DataFrame(rows)


# --- The kind `human` -------------------------------------------------------------------------------------------------


def demo_table() -> dict[str, tuple[str, ...]]:
    """Return the package's own small table of mild words, made up by us in the manner of the five types: for demonstrations and tests only."""
    lines = (resources.files("muattack.mutate") / "words" / "human.txt").read_text(encoding="utf-8").splitlines()
    return {word: tuple(forms) for word, *forms in map(str.split, lines)}


def read_perturbations(entry: object, folder: Path, where: str) -> tuple[dict[str, tuple[str, ...]], object]:
    """Return the table that `perturbations` of a set's entry stands for, and the entry with every default. Raises InputError.

    `demo` is the package's own table; {table: path} a file of the user's; {corpus: [paths], level, distance, strict, minimum} ANTHRO's
    look-up built from text files, for all English words that they hold.
    """
    hint = "Write demo, {table: forms.json}, or {corpus: [texts.txt], level: 1, distance: 5, strict: true, minimum: 1}"
    if entry == "demo":
        return demo_table(), "demo"
    if not isinstance(entry, Mapping) or ("table" in entry) == ("corpus" in entry):
        raise InputError(f"{where}: expected where the forms of words come from; found {entry!r}. {hint}.")
    if "table" in entry:
        for key in entry:
            known(key, ["table"], "key", where)
        if not isinstance(entry["table"], str):
            raise InputError(f"{where}.table: expected the path of a file; found {entry['table']!r}. {hint}.")
        return read_table(folder / entry["table"]), dict(entry)
    defaults = {"level": LEVEL, "distance": DISTANCE, "strict": True, "minimum": 1}
    for key in entry:
        known(key, ["corpus", *defaults], "key", where)
    resolved = {"corpus": entry["corpus"], **defaults, **entry}
    paths = resolved["corpus"]
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) for path in paths):
        raise InputError(f"{where}.corpus: expected a list of text files; found {paths!r}. {hint}.")
    for key, least in (("level", 0), ("distance", 1), ("minimum", 1)):
        if type(resolved[key]) is not int or resolved[key] < least:
            raise InputError(f"{where}.{key}: expected a whole number from {least} on; found {resolved[key]!r}.")
    if not isinstance(resolved["strict"], bool):
        raise InputError(f"{where}.strict: expected true or false; found {resolved['strict']!r}.")
    counts = count_tokens(read_corpus(folder / path for path in paths), resolved["minimum"])
    table = Anthro(counts, resolved["level"], resolved["distance"], resolved["strict"]).table()
    if not table:
        raise InputError(
            f"{where}: among the {len(counts)} tokens of {', '.join(paths)} no English word is written in more than its ordinary ways. "
            "Name a larger corpus, of texts that people wrote freely, or lower `minimum`."
        )
    return table, resolved


def _proxy_score(spec: str, folder: Path) -> Score:
    """Return the scores of a proxy; a detector, whose folder counts from `folder` as files do, is opened when it is first asked."""
    if ":" in spec or not (folder / spec).is_dir():
        return load_proxy(spec)
    opened: list[Score] = []

    def score(texts: Sequence[str]) -> Sequence[float]:
        if not opened:
            opened.append(load_proxy(str(folder / spec)))
        return opened[0](texts)

    return score


def human_set(name: str, settings: Mapping, folder: Path) -> OperatorSet:
    """Make a set of kind `human`; its operators are the pairs of a word and a form. Raises InputError."""
    where = f"mutate.sets.{name}"
    defaults = {"perturbations": "demo", "proxy": None, "threshold": 0.0, "skip_unknown": False, "types": list(TYPES), "seed": 0}
    for key in settings:
        known(key, defaults, "key", where)
    resolved = {**defaults, **settings}
    if not isinstance(resolved["types"], list) or not resolved["types"]:
        raise InputError(f"{where}.types: expected a list of types, such as {list(TYPES)}; found {resolved['types']!r}.")
    for kind in resolved["types"]:
        known(kind, TYPES, "type", f"{where}.types")
    threshold = resolved["threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold < 1:
        raise InputError(f"{where}.threshold: expected a number from 0 up to, not including, 1; found {threshold!r}.")
    if not isinstance(resolved["skip_unknown"], bool):
        raise InputError(f"{where}.skip_unknown: expected true or false; found {resolved['skip_unknown']!r}.")
    if type(resolved["seed"]) is not int:
        raise InputError(f"{where}.seed: expected a whole number; found {resolved['seed']!r}.")
    proxy = resolved["proxy"]
    if proxy is not None and not isinstance(proxy, str):
        raise InputError(f"{where}.proxy: expected module:function, the folder of a detector, or null; found {proxy!r}.")
    table, resolved["perturbations"] = read_perturbations(resolved["perturbations"], folder, f"{where}.perturbations")
    operator = HumanOperator(
        name, table, _proxy_score(proxy, folder) if proxy else None, threshold, resolved["skip_unknown"],
        [kind for kind in TYPES if kind in resolved["types"]], resolved["seed"],
    )  # fmt: skip
    if not operator.table:
        raise InputError(
            f"{where}: no form of {len(table)} words is of the types {', '.join(resolved['types'])}. Name more types, or another source of forms."
        )
    pairs = sum(len(forms) for of_word in operator.table.values() for forms in of_word.values())
    return OperatorSet(name, "human", tuple(operator.table), resolved, operator, sum(map(len, table.values())), pairs)
