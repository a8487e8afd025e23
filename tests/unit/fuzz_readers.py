"""The readers under coverage-guided fuzzing: `python tests/unit/fuzz_readers.py SECONDS [NAME ...]`. Needs atheris; `make fuzz` runs it.

A file that makes a reader fail otherwise than with InputError is told, and left in the folder fuzz/.
"""

import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    seconds, *names = sys.argv[1:]
    try:
        import atheris
    except ImportError:
        print("atheris is not installed (pip install atheris; it has wheels for Linux): the readers are not fuzzed by coverage")
        return 0
    if len(names) != 1:
        from hostile import READERS

        # libFuzzer ends its process at the first fault.
        return int(any([subprocess.run([sys.executable, __file__, seconds, name]).returncode for name in names or READERS]))
    with atheris.instrument_imports(include=["muattack"]):
        from hostile import READERS, attempt
    reader = READERS[names[0]]
    with tempfile.TemporaryDirectory() as folder:
        for number, sample in enumerate(reader.samples):
            Path(folder, f"sample{number}").write_bytes(sample)
        path = Path(folder, f"fuzzed{reader.ending}")
        found = Path("fuzz", names[0].replace(" ", "-"))
        found.mkdir(parents=True, exist_ok=True)
        print(f"== {names[0]}, {seconds} s", flush=True)
        settings = [
            f"-max_total_time={seconds}",
            f"-artifact_prefix={found}/",
            "-timeout=30",
            "-rss_limit_mb=4096",
            "-verbosity=0",
            "-print_final_stats=1",
        ]
        atheris.Setup([sys.argv[0], *settings, folder], lambda content: attempt(reader, path, content))
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
