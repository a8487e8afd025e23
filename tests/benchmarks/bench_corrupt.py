"""How much faster a base is fitted and reviews are corrupted than by the PyPI package corrupted-text, both in one process.

    pip install --no-deps --target /tmp/ct corrupted-text polyleven
    python tests/benchmarks/bench_corrupt.py --library /tmp/ct [--texts 2500] [--severity 0.5] [--repeats 3]

Reviews are the real ones of ../shared/data (or MUATTACK_DATA), test.jsonl of sentiment/imdb. The package fetches its table of
synonyms from the network when it is made; here both sides get muattack's own list, by the method that the package's docs say to
override, and reading the list is not timed on either side. Its cache is off. Timed is the processor time of the process, one thread; ours is the median of the
repeats, each on a base made anew, the package's one run (most of a minute). Status 1 where fitting or corrupting is less than 10 times as fast.
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy  # noqa: F401  (imported before the clock runs, as the package imports it)
import rapidfuzz.process  # noqa: F401

from muattack.mutate import corrupt

DATA = Path(os.environ.get("MUATTACK_DATA") or Path(__file__).parents[3] / "shared" / "data")
REQUIRED = 10


def reviews(count: int) -> list[str]:
    """Return the first reviews of the test file; leave with a word of advice where it is not there."""
    path = DATA / "sentiment" / "imdb" / "test.jsonl"
    if not path.is_file():
        sys.exit(f"There are no reviews at {path}. Name the folder of real data in MUATTACK_DATA.")
    with open(path, encoding="utf-8") as file:
        return [json.loads(line)["text"] for line, _ in zip(file, range(count), strict=False)]


def library(folder: Path) -> type:
    """Return the package's corruptor with our synonyms; leave with a word of advice where it is not there."""
    if not (folder / "corrupted_text").is_dir():
        sys.exit(
            f"There is no corrupted_text in {folder}. Put it into a folder of its own, since its requirements clash with ours:\n"
            f"    pip install --no-deps --target {folder} corrupted-text polyleven"
        )
    os.environ["TQDM_DISABLE"] = "1"
    sys.path.append(str(folder))
    from corrupted_text import TextCorruptor

    table, _ = corrupt.read_synonyms("own")

    class Corruptor(TextCorruptor):
        def load_bad_translations(self) -> dict:
            return table

    return Corruptor


def ours(texts: list[str], severity: float, repeats: int) -> tuple[float, float, list[str]]:
    """Return the seconds that fitting and corrupting take, and the corrupted texts."""
    table = corrupt.read_synonyms("own")
    read, corrupt.read_synonyms = corrupt.read_synonyms, lambda *_: table
    fitting, corrupting = [], []
    try:
        for _ in range(repeats):
            start = time.process_time()
            base = corrupt.fit_base(texts)
            fitting.append(time.process_time() - start)
            operator = corrupt.CorruptOperator("corrupt", base, severity)
            start = time.process_time()
            found = [one[0].mutation.text for one in operator.corrupt(texts)]
            corrupting.append(time.process_time() - start)
    finally:
        corrupt.read_synonyms = read
    return statistics.median(fitting), statistics.median(corrupting), found


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True, help="the folder that pip put the package into (--target)")
    parser.add_argument("--texts", type=int, default=2500)
    parser.add_argument("--severity", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    texts, corruptor = reviews(options.texts), library(options.library)
    versions = {
        one.name: one.version for one in importlib.metadata.distributions(path=[str(options.library)]) if one.name in ("corrupted-text", "polyleven")
    }
    words = sum(len(text.split()) for text in texts)
    print(f"{len(texts):,} reviews, {words:,} words, severity {options.severity:g}; {versions}; seconds of processor time\n", flush=True)

    fitting, corrupting, found = ours(texts, options.severity, options.repeats)
    start = time.process_time()
    other = corruptor(texts, cache_dir=None)
    their_fitting = time.process_time() - start
    start = time.process_time()
    theirs = other.corrupt(texts, severity=options.severity, seed=1)
    their_corrupting = time.process_time() - start
    if len(found) != len(theirs) or any(new == old for new, old in zip(found, texts, strict=True)):
        sys.exit("A text is missing or was not corrupted: the figures would mean nothing.")

    print(f"{'':<12}{'corrupted-text':>16}{'muattack':>10}{'times as fast':>15}")
    for what, slow, quick in (("fitting", their_fitting, fitting), ("corrupting", their_corrupting, corrupting)):
        print(f"{what:<12}{slow:>16.2f}{quick:>10.2f}{slow / quick:>15.1f}")
    return 0 if min(their_fitting / fitting, their_corrupting / corrupting) >= REQUIRED else 1


if __name__ == "__main__":
    sys.exit(main())
