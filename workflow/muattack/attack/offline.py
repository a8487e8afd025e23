"""Import TextAttack without network, without flair and without leaving a trace in the environment.

`import textattack` as it comes asks the network six times, needs NLTK's stop words, loads flair (half of the time it takes, and a
cap on the version of transformers) for taggers that nothing here uses, and may turn the caches of other libraries.
"""

import ast
import functools
import importlib.machinery
import inspect
import logging
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What TextAttack sets when it is imported, or when it is told where its cache lies.
TOUCHED = ("TA_CACHE_DIR", "HF_HOME", "XDG_CACHE_HOME", "TFHUB_CACHE_DIR", "PYTORCH_TRANSFORMERS_CACHE", "TOKENIZERS_PARALLELISM")


@functools.cache
def load_textattack() -> types.ModuleType:
    """Return the module textattack, imported offline."""
    if "textattack" in sys.modules:
        return sys.modules["textattack"]
    # These read the environment when they are imported; TextAttack imports them while the environment is not the user's.
    import datasets  # noqa: F401
    import huggingface_hub  # noqa: F401
    import transformers  # noqa: F401

    # NLTK takes one function from it where it is there; nothing here uses that, and its import takes two seconds of every job.
    with _absent("scipy.stats"):
        import nltk

    before = {name: os.environ.get(name) for name in TOUCHED}
    stopwords = nltk.corpus.stopwords
    with tempfile.TemporaryDirectory() as folder, _stub_flair():
        # The marker says that the six downloads have been made.
        Path(folder, "post_install_check_3").touch()
        os.environ["TA_CACHE_DIR"] = folder
        # An augmenter, made while TextAttack is imported and never used, asks NLTK for its stop words.
        nltk.corpus.stopwords = types.SimpleNamespace(words=lambda language: [])
        try:
            import textattack
        finally:
            nltk.corpus.stopwords = stopwords
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
    # It warns of every class that is not its own.
    textattack.shared.utils.install.logger.setLevel(logging.ERROR)
    textattack.shared.utils.install.TEXTATTACK_CACHE_DIR = before["TA_CACHE_DIR"] or os.path.expanduser("~/.cache/textattack")
    return textattack


@contextmanager
def _absent(name: str) -> Iterator[None]:
    """Let imports of a module fail inside the block as if it were not installed, unless it is loaded."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None
    try:
        yield
    finally:
        del sys.modules[name]


@contextmanager
def _stub_flair() -> Iterator[None]:
    """Put in flair's place, unless it is loaded, the three names that TextAttack takes from it; take them away again.

    Likewise bert_score, for a constraint that nothing here uses: it would load matplotlib.
    """
    if "flair" in sys.modules:
        yield
        return
    stubs = {name: types.ModuleType(name) for name in ("flair", "flair.data", "flair.models")}
    for name, module in stubs.items():
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=name == "flair")
    stubs["flair"].device, stubs["flair"].__path__ = None, []
    stubs["flair"].data, stubs["flair"].models = stubs["flair.data"], stubs["flair.models"]
    stubs["flair.data"].Tokenizer = type("Tokenizer", (), {})
    stubs["flair.data"].Sentence = type("Sentence", (), {})
    stubs["flair.models"].SequenceTagger = type("SequenceTagger", (), {})
    if "bert_score" not in sys.modules:
        stubs["bert_score"] = types.ModuleType("bert_score")
    sys.modules.update(stubs)
    try:
        yield
    finally:
        for name in stubs:
            sys.modules.pop(name, None)


@functools.cache
def stop_words() -> tuple[str, ...]:
    """Return the words that no attack touches, sorted: the list of TextFooler's authors, read from TextAttack's recipe.

    NLTK's list, which the other stock recipes take, is a download. The recipe keeps its list inside a function, so it is read from
    the source: the longest list of strings there.
    """
    load_textattack()
    from textattack.attack_recipes import textfooler_jin_2019

    lists = [
        [item.value for item in node.elts]
        for node in ast.walk(ast.parse(inspect.getsource(textfooler_jin_2019)))
        if isinstance(node, ast.List) and all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts)
    ]
    return tuple(sorted(max(lists, key=len)))
