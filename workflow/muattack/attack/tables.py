"""Tables of substitutes as files: those that a run makes, and neighbour tables of the user. Imports nothing heavy: mutation reads them too."""

import json
import os
from pathlib import Path

from muattack.errors import InputError


def read_neighbours(path: str | os.PathLike) -> dict[str, list[str]]:
    """Return {word: [neighbours]} of JSON {word: [words]} or {word: [[word, cosine], ...]}; words in lower case.

    Raises InputError, with the entry, for any other shape.
    """
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"The table of neighbours {path} does not exist. Name a file {{word: [words]}} under attacks.synonyms.path.") from None
    except OSError as error:
        raise InputError(f"The table of neighbours {path} cannot be read ({error.strerror}). Name a file {{word: [words]}}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"The table of neighbours {path} is not JSON ({error}). It must be {{word: [words, nearest first]}}.") from error
    if not isinstance(table, dict):
        raise InputError(f"The table of neighbours {path} is a {type(table).__name__}, but must be an object {{word: [words, nearest first]}}.")
    found: dict[str, list[str]] = {}
    for word, near in table.items():
        plain = isinstance(near, list) and all(isinstance(one, str) for one in near)
        paired = isinstance(near, list) and all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in near)
        if not plain and not paired:
            raise InputError(
                f"In the table of neighbours {path} the entry {word!r} is {json.dumps(near, ensure_ascii=False)[:100]}, but must be a list of words "
                'or of [word, cosine] pairs, nearest first, as in {"dog": ["hound", "puppy"]}.'
            )
        names = near if plain else [one[0] for one in near]
        try:
            " ".join([word, *names]).encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(
                f"In the table of neighbours {path} the entry {word!r} holds half of a surrogate pair, which is no character. Mend it."
            ) from None
        merged = [*found.get(word.lower(), []), *names]
        found[word.lower()] = [name for name in dict.fromkeys(merged) if name and name.lower() != word.lower()]
    return found
