"""Tables of synonyms, {word: [[neighbour, cosine], ...]} nearest first: from the run's own texts, a file of vectors, or a table that exists.

Attack and defence never share a table: this one is for attacks.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from muattack.attack.tables import read_neighbours
from muattack.errors import InputError
from muattack.records import write_text
from muattack.seeds import digest
from muattack.words import word_spans

SOURCES = ("corpus", "vectors", "neighbours")
# Words on either side that count as context, how often a word must come to have a vector, and the vectors' width.
WINDOW, LEAST, WIDTH = 4, 3, 100
# Contexts are weighted by their count to this power (Levy, Goldberg and Dagan 2015): rare ones would else look informative.
SMOOTHING = 0.75


def build_synonyms(
    settings: dict,
    path: str | os.PathLike | None,
    texts: Sequence[str] | None,
    words: Iterable[str] | None,
    k_max: int,
    antonyms: str | os.PathLike | None,
    seed: int,
    out: str | os.PathLike,
) -> dict:
    """Write a table of neighbours as JSON and return facts about it (source, words, neighbours, mean per word).

    `settings` has `source` (SOURCES) and `min_cosine`. corpus: vectors from `texts`. vectors: from the file `path`. neighbours: from the
    JSON {word: [words]} at `path`, as it is, cosines unknown. Only `words` get an entry where they are given (the words of the texts
    that will be attacked); a word has at most `k_max` neighbours, none of them its antonym by the file `antonyms`.
    Raises InputError for files that are not what they should be.
    """
    source = settings["source"]
    if source not in SOURCES:
        raise InputError(f"attacks.synonyms.source is {source!r}, but must be one of {', '.join(SOURCES)}.")
    if source != "corpus" and path is None:
        raise InputError(f"attacks.synonyms.source is {source}, which needs a file. Name it under attacks.synonyms.path.")
    opposite = read_antonyms(antonyms) if antonyms else {}
    wanted = None if words is None else sorted({word.lower() for word in words})
    if source == "neighbours":
        known = read_neighbours(path)
        table = {word: [(new, None) for new in known[word]] for word in (wanted or known) if word in known}
    else:
        if source == "corpus":
            if not texts:
                raise InputError("The synonyms come from the run's own texts (attacks.synonyms.source is corpus), but it has no training texts.")
            vocabulary, vectors = corpus_vectors(texts, seed)
        else:
            vocabulary, vectors = read_vectors(path)
        # Antonyms are dropped from the list, so some more are looked up.
        table = nearest(vocabulary, vectors, wanted, k_max + (20 if opposite else 0), settings["min_cosine"])
    if opposite:
        from muattack.attack.constraints import lemmas

        def kept(word: str, new: str) -> bool:
            return not any(lemmas(new) & opposite.get(form, frozenset()) for form in lemmas(word))

        table = {word: [one for one in near if kept(word, one[0])] for word, near in table.items()}
    table = {word: near[:k_max] for word, near in sorted(table.items()) if near}
    lines = [f"{json.dumps(word, ensure_ascii=False)}: {json.dumps(near, ensure_ascii=False)}" for word, near in table.items()]
    write_text(out, "{\n" + ",\n".join(lines) + "\n}\n")
    counts = [len(near) for near in table.values()]
    return {"source": source, "words": len(table), "neighbours": sum(counts), "mean": float(np.mean(counts)) if counts else 0.0}


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the distinct words of some texts, lower case, sorted: as an attack sees words."""
    from muattack.attack.slots import words_from_text

    return sorted({word.lower() for text in texts for word in words_from_text(text)})


# --- Reading ----------------------------------------------------------------------------------------------------------


def read_vectors(path: str | os.PathLike) -> tuple[list[str], np.ndarray]:
    """Return the words (lower case, the first of equals) and vectors (n, width; float32, length 1) of a file `word number number ...`.

    A first line of two whole numbers (word2vec's count and width) is passed over. Raises InputError, with the line, for a row
    of another width or one with something that is no finite number.
    """
    vocabulary: dict[str, int] = {}
    rows: list[np.ndarray] = []
    width = None
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                parts = line.rstrip("\r\n").rstrip(" ").split(" ")
                if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                    continue
                if width is None:
                    width = len(parts) - 1
                if len(parts) - 1 != width or width < 1 or not parts[0]:
                    raise InputError(
                        f"Line {number} of the vectors {path} has {len(parts) - 1} numbers behind its word, but the first row has {width}. "
                        "Every line must be a word and as many numbers as all others, parted by single blanks."
                    )
                try:
                    vector = np.array(parts[1:], dtype=np.float32)
                except ValueError:
                    vector = np.array([np.nan])
                if not np.isfinite(vector).all():
                    raise InputError(
                        f"Line {number} of the vectors {path} ({parts[0]!r}) holds something that is no finite number. Mend or drop the line."
                    )
                if parts[0].lower() not in vocabulary:
                    vocabulary[parts[0].lower()] = len(rows)
                    rows.append(vector)
    except FileNotFoundError:
        raise InputError(f"The file of vectors {path} does not exist. Name it under attacks.synonyms.path.") from None
    except OSError as error:
        raise InputError(f"The file of vectors {path} cannot be read ({error.strerror}). Name a file under attacks.synonyms.path.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"The file of vectors {path} is not UTF-8 text ({error}). Binary formats are not read: write it as `word number ...`."
        ) from error
    if not rows:
        raise InputError(f"The file of vectors {path} holds no vector. Every line must be a word and its numbers.")
    return list(vocabulary), unit(np.stack(rows))


def read_antonyms(path: str | os.PathLike) -> dict[str, frozenset[str]]:
    """Return {word: its opposites}, both ways round, of a file with two words a line. Raises InputError, with the line, for any other."""
    found: dict[str, set[str]] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"The file of antonyms {path} does not exist. Name one with two words a line under attacks.synonyms.antonyms.") from None
    except OSError as error:
        raise InputError(f"The file of antonyms {path} cannot be read ({error.strerror}). Name a file with two words a line.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"The file of antonyms {path} is not UTF-8 text ({error}). Write two words a line.") from error
    for number, line in enumerate(lines, start=1):
        pair = line.lower().split()
        if pair and len(pair) != 2:
            raise InputError(f"Line {number} of the antonyms {path} has {len(pair)} words, but must have two, as in `good bad`.")
        if pair:
            found.setdefault(pair[0], set()).add(pair[1])
            found.setdefault(pair[1], set()).add(pair[0])
    return {word: frozenset(others) for word, others in found.items()}


# --- Vectors and neighbours -------------------------------------------------------------------------------------------


def corpus_vectors(texts: Sequence[str], seed: int) -> tuple[list[str], np.ndarray]:
    """Return words (by falling count) and vectors (n, width; float32, length 1) computed from texts.

    Positive pointwise mutual information of words and contexts within WINDOW, contexts smoothed, and its leading singular vectors
    weighted by the roots of their values (Levy, Goldberg and Dagan 2015). SciPy's solver starts from a seeded vector, and every
    singular vector is turned so that its largest entry is positive. gensim's word2vec would need many passes and one thread to be repeatable.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    split = [[text[start:end].lower() for start, end in word_spans(text)] for text in texts]
    counts: dict[str, int] = {}
    for words in split:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    vocabulary = sorted((word for word, count in counts.items() if count >= LEAST), key=lambda word: (-counts[word], word))
    if len(vocabulary) < 2:
        raise InputError(
            f"The run's own texts have {len(vocabulary)} words that come {LEAST} times, too few for synonyms. Use more texts or a file of vectors."
        )
    ids = {word: i for i, word in enumerate(vocabulary)}
    # One stream of numbers, texts parted by more gaps than a window is wide.
    stream = np.fromiter((i for words in split for i in (*(ids.get(word, -1) for word in words), *[-1] * WINDOW)), dtype=np.int64)
    size = len(vocabulary)
    pairs = []
    for distance in range(1, WINDOW + 1):
        left, right = stream[:-distance], stream[distance:]
        both = (left >= 0) & (right >= 0)
        pairs.append((left[both], right[both]))
    rows, columns = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    matrix = coo_matrix((np.ones(2 * len(rows)), (np.concatenate([rows, columns]), np.concatenate([columns, rows]))), shape=(size, size)).tocsr()
    matrix.sum_duplicates()
    seen = np.asarray(matrix.sum(axis=1)).ravel()
    context = seen**SMOOTHING / (seen**SMOOTHING).sum()
    matrix = matrix.tocoo()
    information = np.log(matrix.data / np.maximum(seen[matrix.row], 1) / np.maximum(context[matrix.col], 1e-300))
    positive = coo_matrix((np.maximum(information, 0), (matrix.row, matrix.col)), shape=(size, size)).tocsr()
    positive.eliminate_zeros()
    width = min(WIDTH, size - 1)
    start = np.random.default_rng(digest(seed, "synonyms")).uniform(-1, 1, size)
    # Sums in another order, as more threads would make them, have other last digits.
    with threadpool_limits(1):
        left, values, _ = svds(positive, k=width, v0=start, solver="arpack")
    order = np.argsort(-values, kind="stable")
    left, values = left[:, order], np.maximum(values[order], 0)
    left = left * np.where(left[np.abs(left).argmax(axis=0), np.arange(width)] < 0, -1, 1)
    return vocabulary, unit((left * np.sqrt(values)).astype(np.float32))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors with length 1; zero stays zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def nearest(
    vocabulary: Sequence[str], vectors: np.ndarray, words: Sequence[str] | None, most: int, min_cosine: float
) -> dict[str, list[tuple[str, float]]]:
    """Return for each word its nearest others, (word, cosine to four digits), nearest first, none farther than `min_cosine`.

    Ties are in the order of the vocabulary. Words without a vector get no entry.
    """
    places = {word: i for i, word in enumerate(vocabulary)}
    wanted = [places[word] for word in (vocabulary if words is None else words) if word in places]
    found = {}
    for start in range(0, len(wanted), 512):
        part = wanted[start : start + 512]
        with threadpool_limits(1):
            cosines = np.round(vectors[part] @ vectors.T, 4)
        for place, row in zip(part, cosines, strict=True):
            row[place] = -2
            few = min(most, len(row) - 1)
            bound = max(np.partition(row, -few)[-few], min_cosine) if few else 2
            near = np.flatnonzero(row >= bound)
            near = near[np.argsort(-row[near], kind="stable")][:few]
            found[vocabulary[place]] = [(vocabulary[i], float(row[i])) for i in near]
    return found
