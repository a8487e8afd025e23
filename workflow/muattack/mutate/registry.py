"""Operator sets by configuration: word lists, letter maps, and the registry of kinds.

A family of operators plugs in by one line in `KINDS` (or `register`): the name users write as `kind` and where its
factory is, "module:function", imported when a set of that kind is first made. The factory is called as
`factory(name, settings, folder)` with the set's entry in the configuration without `kind`; it checks the settings
(InputError) and returns an OperatorSet, whose operator keeps the contract of `muattack.mutate.operator`. Everything
else (files, tasks, command line, tables) works with the new kind unchanged.
"""

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from muattack.errors import InputError
from muattack.mutate.operator import JointOperator, LexicalOperator, Operator, fold
from muattack.words import WORD

KINDS: dict[str, str | Callable] = {
    "word": "muattack.mutate.registry:word_set",
    "character": "muattack.mutate.registry:character_set",
    "corrupt": "muattack.mutate.corrupt:corrupt_set",
    "human": "muattack.mutate.human:human_set",
    "chinese": "muattack.mutate.chinese:chinese_set",
}
WORD_LISTS = ("adjectives", "adverbs", "articles")
# By kind the keys whose text is the path of a file (or folder) of the user's, unless it is one of these words.
FILES: dict[str, dict[str, tuple[str, ...]]] = {
    "word": {"words": WORD_LISTS},
    "character": {"words": WORD_LISTS},
    "corrupt": {"base": ("own",), "synonyms": ("own", "wordnet", "auto", "none")},
}
# Names that mean something else where a set's or a task's name may stand.
RESERVED = ("clean", "operators", "H_vs_M", "meta")
APPLY = ("jointly", "individually")


@dataclass(frozen=True)
class OperatorSet:
    """A named set of operators, one for each word of its list; the set's mutation (its whole letter map) is the same for all.

    `operator` applies all of them to a text. `words` and `settings` describe the set; `nominal` counts its operators,
    `effective` those that can ever change a text: a word without a letter to be replaced never can.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    settings: dict
    operator: Operator
    nominal: int
    effective: int


def register(kind: str, factory: str | Callable) -> None:
    """Add a family of operators; `factory` is a function or "module:function", see the module's text."""
    KINDS[kind] = factory


def known(name: object, names: Iterable[str], what: str, where: str) -> None:
    """Raise InputError unless `name` is one of `names`; the message names the nearest one."""
    names = list(names)
    if name in names:
        return
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise InputError(f"{where}: {name!r} is no known {what}. {hint}Known: {', '.join(names) if names else 'none'}.")


def check_name(name: object, where: str) -> None:
    """Raise InputError unless the name of a set or task can be a file's name and means nothing else."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name):
        raise InputError(f"{where}: {name!r} cannot be a name. Use letters, digits, '.', '_' and '-'; quote a name that YAML takes for a number.")
    if name in RESERVED:
        raise InputError(f"{where}: the name {name!r} is taken by muattack itself. Choose another one.")


def load_sets(mutate: Mapping, folder: str | Path | None = None) -> dict[str, OperatorSet]:
    """Return the operator sets of the configuration's `mutate` block, in its order.

    Relative paths of word lists start from `folder`, by default from the working directory. Raises InputError.
    """
    sets = mutate.get("sets")
    if not isinstance(sets, Mapping) or not sets:
        raise InputError("mutate.sets: there is no operator set. Name at least one, for example word_articles: {kind: word, words: articles}.")
    return {name: make_set(name, settings, folder) for name, settings in sets.items()}


def make_set(name: str, settings: Mapping, folder: str | Path | None = None) -> OperatorSet:
    """Return one operator set from its entry in the configuration. Raises InputError."""
    where = f"mutate.sets.{name}"
    check_name(name, "mutate.sets")
    if not isinstance(settings, Mapping) or "kind" not in settings:
        raise InputError(f"{where}: an operator set needs a kind and its settings, for example {{kind: word, words: articles}}; found {settings!r}.")
    known(settings["kind"], KINDS, "kind", f"{where}.kind")
    factory = KINDS[settings["kind"]]
    if isinstance(factory, str):
        module, _, function = factory.partition(":")
        factory = getattr(importlib.import_module(module), function)
    return factory(name, {key: value for key, value in settings.items() if key != "kind"}, Path(folder or "."))


def files_of(settings: Mapping) -> dict[str, str]:
    """Return the files that a set's settings name, {key: path as it is written}."""
    keys = FILES.get(settings["kind"], {})
    found = {key: settings[key] for key, words in keys.items() if isinstance(settings.get(key), str) and settings[key] not in words}
    return found | (form_files(settings) if settings["kind"] == "human" else {})


def form_files(settings: Mapping) -> dict[str, str]:
    """Return the files that the forms of words and the proxy of a set of kind `human` come from, {key: path as it is written}."""
    entry, proxy = settings.get("perturbations"), settings.get("proxy")
    found = {}
    if isinstance(entry, Mapping):
        if isinstance(entry.get("table"), str):
            found["perturbations.table"] = entry["table"]
        corpus = entry.get("corpus")
        if isinstance(corpus, list):
            found |= {f"perturbations.corpus.{number}": path for number, path in enumerate(corpus, 1) if isinstance(path, str)}
    # With a colon it is module:function.
    if isinstance(proxy, str) and ":" not in proxy:
        found["proxy"] = proxy
    return found


def check_tasks(mutate: Mapping, sets: Mapping[str, OperatorSet]) -> None:
    """Raise InputError unless every task names sets that exist and can be applied together, under a name of its own."""
    tasks = mutate.get("tasks") or {}
    if not isinstance(tasks, Mapping):
        raise InputError(f"mutate.tasks: expected names with lists of sets, for example mwr: [word_articles]; found {tasks!r}.")
    known(mutate.get("apply", "jointly"), APPLY, "way to apply sets", "mutate.apply")
    for name, members in tasks.items():
        where = f"mutate.tasks.{name}"
        check_name(name, "mutate.tasks")
        if name in sets:
            raise InputError(f"{where}: there is a set of that name, and both would be written to {name}.parquet. Rename the task.")
        if not isinstance(members, Sequence) or isinstance(members, str) or not members:
            raise InputError(f"{where}: expected a list of sets, for example [word_articles]; found {members!r}.")
        for member in members:
            known(member, sets, "set", where)
        if len(set(members)) < len(members):
            raise InputError(f"{where}: a set is named twice in {list(members)}. Name each once.")
        join([sets[member] for member in members])


def resolve(mutate: Mapping, name: str, folder: str | Path | None = None) -> list[OperatorSet]:
    """Return the sets that the name of a set or a task stands for; only these are read. Raises InputError."""
    sets, tasks = mutate.get("sets") or {}, mutate.get("tasks") or {}
    known(name, [*sets, *tasks], "set or task", "mutate")
    members = [name] if name in sets else tasks[name]
    if name not in sets:
        check_tasks({"tasks": {name: members}}, loaded := load_sets({"sets": {key: sets[key] for key in members if key in sets}}, folder))
        return [loaded[member] for member in members]
    return [make_set(name, sets[name], folder)]


def join(sets: Sequence[OperatorSet]) -> Operator:
    """Return one operator that applies all the sets to a text at once. Raises InputError where they do not go together."""
    if len(sets) == 1:
        return sets[0].operator
    for one in sets:
        if not isinstance(one.operator, LexicalOperator):
            raise InputError(f"mutate.tasks: {one.name} of kind {one.kind} does not work word by word, so it cannot share a task with other sets.")
    return JointOperator("+".join(one.name for one in sets), [one.operator for one in sets])


def describe(sets: Sequence[OperatorSet]) -> list[dict]:
    """Return name, kind, settings and sizes of sets for a result's meta data (JSON-able)."""
    return [
        {"name": one.name, "kind": one.kind, "settings": one.settings, "words": len(one.words), "nominal": one.nominal, "effective": one.effective}
        for one in sets
    ]


def word_set(name: str, settings: Mapping, folder: Path) -> OperatorSet:
    """Make a set of kind `word`: words removed, or replaced by one text."""
    from muattack.mutate.word import CASES, WordOperator

    where = f"mutate.sets.{name}"
    _known_keys(settings, ("words", "replacement", "case", "case_sensitive"), where)
    replacement = settings.get("replacement", "")
    if not isinstance(replacement, str) or replacement != replacement.strip():
        raise InputError(f"{where}.replacement: expected text without outer blanks, or '' to remove the word; found {replacement!r}.")
    known(settings.get("case", "keep"), CASES, "way to write a replacement", f"{where}.case")
    sensitive = _flag(settings, "case_sensitive", where)
    words, origin = read_words(settings.get("words"), folder, f"{where}.words", sensitive)
    operator = WordOperator(name, words, sensitive, replacement, settings.get("case", "keep"))
    resolved = {"words": origin, "replacement": replacement, "case": operator.case, "case_sensitive": sensitive}
    return OperatorSet(name, "word", words, resolved, operator, len(words), operator.effective)


def character_set(name: str, settings: Mapping, folder: Path) -> OperatorSet:
    """Make a set of kind `character`: letters replaced inside the words."""
    from muattack.mutate.character import OCCURRENCES, CharacterOperator

    where = f"mutate.sets.{name}"
    _known_keys(settings, ("words", "letters", "case_sensitive", "occurrences"), where)
    letters = _letters(settings.get("letters"), f"{where}.letters")
    known(settings.get("occurrences", "all"), OCCURRENCES, "choice of occurrences", f"{where}.occurrences")
    sensitive = _flag(settings, "case_sensitive", where)
    words, origin = read_words(settings.get("words"), folder, f"{where}.words", sensitive)
    operator = CharacterOperator(name, words, letters, sensitive, settings.get("occurrences", "all"))
    resolved = {"words": origin, "letters": letters, "case_sensitive": sensitive, "occurrences": operator.occurrences}
    return OperatorSet(name, "character", words, resolved, operator, len(words), operator.effective)


def read_words(words: object, folder: Path, where: str, case_sensitive: bool = False) -> tuple[tuple[str, ...], str | list[str]]:
    """Return a set's words and where they are from: the name of a list of ours, a file, or the list in the configuration.

    A file holds one word a line in UTF-8. Raises InputError that names the file and the row of the first bad word.
    """
    if isinstance(words, list):
        if not words:
            raise InputError(f"{where}: the list is empty. Name at least one word.")
        for row, word in enumerate(words, 1):
            if not isinstance(word, str):
                raise InputError(
                    f"{where}: entry {row} is {word!r}, not text. Put it in quotes: YAML takes yes, no, on, off and numbers for other things."
                )
        return _checked(words, where, "entry", case_sensitive), list(words)
    if not isinstance(words, str) or not words:
        raise InputError(f"{where}: expected one of {', '.join(WORD_LISTS)}, the path of a word list or a list of words; found {words!r}.")
    if words in WORD_LISTS:
        return own_list(words), words
    path = folder / words
    try:
        content = path.read_bytes()
    except OSError as error:
        near = difflib.get_close_matches(words, WORD_LISTS, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise InputError(
            f"{where}: the word list {path} {reason}. {hint}Write one of {', '.join(WORD_LISTS)} or the path of a text file with one word a line."
        ) from None
    if content.startswith(b"\xef\xbb\xbf"):
        raise InputError(f"{path}: the word list starts with a byte order mark. Save it as UTF-8 without one (BOM).")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, row {row}: the word list is not UTF-8. Save it as UTF-8, one word a line.") from None
    rows = [row.removesuffix("\r") for row in text.split("\n")]
    if rows[-1] == "":
        rows.pop()
    if not rows:
        raise InputError(f"{path}: the word list is empty. Write one word a line.")
    return _checked(rows, str(path), "row", case_sensitive), words


@cache
def own_list(name: str) -> tuple[str, ...]:
    """Return one of the package's own word lists: articles (3), adjectives (527) or adverbs (255), sorted."""
    return tuple((resources.files("muattack.mutate") / "words" / f"{name}.txt").read_text(encoding="utf-8").split())


def _checked(words: Sequence[str], where: str, unit: str, case_sensitive: bool) -> tuple[str, ...]:
    """Return the words; InputError at the first that is blank, not one word, or there before."""
    rows: dict[str, int] = {}
    for row, word in enumerate(words, 1):
        if not word.strip():
            raise InputError(f"{where}, {unit} {row}: there is no word. Write one word in each {unit} and leave none blank.")
        if word != word.strip():
            raise InputError(f"{where}, {unit} {row}: blanks around {word!r}. Write the word alone.")
        if not WORD.fullmatch(word):
            parts = " and ".join(WORD.findall(word))
            hint = f"Write {parts} each in {'an entry' if unit == 'entry' else 'a ' + unit} of its own." if parts else "Write letters or digits."
            raise InputError(f"{where}, {unit} {row}: {word!r} is not one word: blanks, hyphens and other signs separate words. {hint}")
        first = rows.setdefault(fold(word, case_sensitive), row)
        if first != row:
            raise InputError(f"{where}, {unit} {row}: {word!r} is there already, in {unit} {first}. Write each word once.")
    return tuple(words)


def _letters(letters: object, where: str) -> dict[str, str]:
    """Return a letter map; InputError unless it maps single characters of words to other text without blanks."""
    if not isinstance(letters, Mapping) or not letters:
        raise InputError(f"{where}: expected letters and what each becomes, for example {{a: α}}; found {letters!r}.")
    for letter, target in letters.items():
        if not isinstance(letter, str) or not isinstance(target, str):
            raise InputError(f"{where}: {letter!r}: {target!r} is not text on both sides. Put digits and words such as no in quotes: '1': 'l'.")
        if len(letter) != 1 or not WORD.fullmatch(letter):
            raise InputError(f"{where}: {letter!r} is not one letter, digit or mark. Write a line for each letter.")
        if not target or any(character.isspace() for character in target):
            raise InputError(
                f"{where}: {letter} cannot become {target!r}. Write at least one character and no blanks; kind: word removes whole words."
            )
        if letter == target:
            raise InputError(f"{where}: {letter} becomes itself. Write another character, or leave it out.")
    return dict(letters)


def _known_keys(settings: Mapping, keys: Sequence[str], where: str) -> None:
    for key in settings:
        known(key, keys, "key", where)


def _flag(settings: Mapping, key: str, where: str) -> bool:
    value = settings.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{where}.{key}: expected true or false; found {value!r}.")
    return value
