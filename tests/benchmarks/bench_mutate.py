"""How many captions a second each set and task mutates on one core, and how much memory a file of 10^5 and 10^6 takes.

    python tests/benchmarks/bench_mutate.py [--texts 100000] [--repeats 5] [--sizes 100000 1000000]

Captions are the real ones of ../shared/data (or MUATTACK_DATA) where they are, else drawn from our own word lists.
Timed: a column of texts in, columns of mutants and edits out (`mutate_texts`), median of the repeats. Memory: the peak of
a process of its own that mutates a Parquet file to another one.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from muattack.config import DEFAULTS, read_yaml
from muattack.mutate.apply import mutate_file, mutate_texts
from muattack.mutate.operator import remove_words
from muattack.mutate.registry import join, own_list, resolve

DATA = Path(os.environ.get("MUATTACK_DATA") or Path(__file__).parents[3] / "shared" / "data")
MUTATE = read_yaml(DEFAULTS)["mutate"]
REQUIRED = 150_000


def captions() -> tuple[list[str], str]:
    """Return captions and where they are from."""
    folder = DATA / "captions" / "same_images"
    if folder.is_dir():
        files = [json.loads((folder / name).read_text(encoding="utf-8")) for name in ("human.json", "captioner1.json", "captioner2.json")]
        return [text for file in files for texts in file.values() for text in texts], "real captions"
    rng = random.Random(1)
    nouns = ["dog", "man", "street", "table", "train", "bench", "kite", "plate of food", "surfboard", "group of people"]
    verbs = ["standing near", "sitting on", "riding", "holding", "parked beside", "looking at"]

    def phrase() -> str:
        return f"{rng.choice(['a', 'the', 'A'])} {rng.choice(own_list('adjectives')) + ' ' if rng.random() < 0.5 else ''}{rng.choice(nouns)}"

    return [
        f"{phrase()} {rng.choice(verbs)} {phrase()}{rng.choice(['', '', ' ' + rng.choice(own_list('adverbs'))])}." for _ in range(30_000)
    ], "made captions"


def speed(texts: list[str], repeats: int) -> bool:
    """Print captions a second for each set and task; return whether all reach what is required."""
    column = pa.array(texts)
    fast = True
    print(f"{'set or task':<20}{'captions/s':>12}{'changed':>9}   one by one")
    for name in [*MUTATE["sets"], *MUTATE["tasks"]]:
        sets = resolve(MUTATE, name)
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            table = mutate_texts(column, sets)
            seconds.append(time.perf_counter() - start)
        rate = len(texts) / statistics.median(seconds)
        operator, some = join(sets), texts[:5000]
        start = time.perf_counter()
        for text in some:
            operator.apply(text)
        slow = len(some) / (time.perf_counter() - start)
        print(f"{name:<20}{rate:>12,.0f}{sum(table['changed'].to_pylist()) / len(texts):>9.1%}{slow:>13,.0f}")
        fast &= rate >= REQUIRED
    some = texts[:20_000]
    start = time.perf_counter()
    for text in some:
        remove_words(text, (1, 3))
    print(f"{'remove_words':<20}{len(some) / (time.perf_counter() - start):>12,.0f}")
    return fast


def memory(texts: list[str], sizes: list[int]) -> None:
    """Print time and peak memory of mutating whole files, each in a process of its own."""
    print(f"\n{'captions in a file':<20}{'seconds':>9}{'captions/s':>12}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            source = Path(folder) / f"{size}.parquet"
            schema = pa.schema([("id", pa.string()), ("source", pa.string()), ("text", pa.string()), ("label", pa.int8()), ("split", pa.string())])
            with pq.ParquetWriter(source, schema, compression="zstd") as writer:
                for first in range(0, size, 50_000):
                    rows = range(first, min(first + 50_000, size))
                    columns = {
                        "id": [f"machine-{row}" for row in rows], "source": ["machine"] * len(rows), "text": [texts[row % len(texts)] for row in rows],
                        "label": [1] * len(rows), "split": ["test"] * len(rows),
                    }  # fmt: skip
                    writer.write_table(pa.table(columns, schema=schema))
            run = subprocess.run(
                [sys.executable, __file__, "--file", source, Path(folder) / "out.parquet"], capture_output=True, text=True, check=True
            )
            seconds, peak, rows_out = json.loads(run.stdout)
            if rows_out != size:
                raise SystemExit(f"{size} captions in, {rows_out} out")
            print(f"{size:<20,}{seconds:>9.1f}{size / seconds:>12,.0f}{peak / 1024:>9,.0f}")


def main() -> int:
    """Run what the command line asks for; status 1 where a set is slower than required."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--file", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if options.file:
        start = time.perf_counter()
        meta = mutate_file(*options.file, "mcr", MUTATE)
        print(json.dumps([time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, meta["rows_out"]]))
        return 0
    texts, origin = captions()
    texts = [texts[row % len(texts)] for row in range(options.texts)]
    print(f"{len(texts):,} {origin}, {sum(map(len, texts)) / len(texts):.0f} characters each, one core; required: {REQUIRED:,}/s\n")
    fast = speed(texts, options.repeats)
    memory(texts, options.sizes)
    return 0 if fast else 1


if __name__ == "__main__":
    sys.exit(main())
