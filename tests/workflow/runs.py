"""Start the workflow, read what it lists, compare what it made."""

import hashlib
import json
import os
import re
import subprocess
import sys


def snakemake(root, folder, *arguments, hash_seed="0"):
    """Run the workflow in a folder of its own, so that no run of the user's is touched or locked."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--directory", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONHASHSEED": hash_seed})
    return done.returncode, done.stdout + done.stderr


def jobs(output):
    """The table of jobs that Snakemake prints: rule -> count."""
    rows = [line.split() for line in output.splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def fingerprints(run):
    """The bytes of every result that must not depend on how the run was made: all but logs, shards, seconds, and how many shards there were."""
    left_out = {"logs", "benchmarks", "shards", "state"}
    found = {}
    for path in sorted(run.rglob("*")):
        if not path.is_file() or left_out & set(path.relative_to(run).parts) or path.name == ".snakemake_timestamp":
            continue
        content = path.read_bytes()
        if path.suffix == ".jsonl" and "attacks" in path.parts:
            content = "".join(json.dumps(json.loads(line) | {"seconds": 0}) for line in content.decode().splitlines()).encode()
        if path == run / "meta.json":
            meta = json.loads(content)
            meta["config"]["attacks"].pop("shards")
            content = json.dumps(meta).encode()
        if path.name == "report.html":
            # The report prints the configuration, and what the rules cost, which knows the clock.
            content = re.sub(rb'<details id="times">.*?</details>|\bshards: \d+', b"", content, flags=re.DOTALL)
        found[str(path.relative_to(run))] = hashlib.sha256(content).hexdigest()
    return found
