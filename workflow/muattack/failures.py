"""What to say when a run has failed: which rules, where their logs are and how they end, and how to go on. Imports nothing heavy."""

import re
from collections.abc import Iterable
from pathlib import Path

# Lines of a failed rule's log that are shown.
LINES = 12
# How a traceback names what is wrong with the user's input.
MISTAKE = "muattack.errors.InputError: "
OVER_MEMORY = re.compile(r"exceeded (job )?memory limit|oom[-_ ]?kill|out of memory", re.IGNORECASE)
# How SLURM ends a job, and what to do about it; more words than these are in the rule's log.
STATES = {
    "OUT_OF_MEMORY": "it needed more memory than it had asked for: --set-resources {rule}:mem_mb=MEGABYTES gives it more",
    "TIMEOUT": "it needed more time than it had asked for: --set-resources {rule}:runtime=MINUTES gives it more, or MUATTACK_TIME=2 all of them",
    "CANCELLED": "it was cancelled with scancel, or by an administrator",
    "NODE_FAIL": "its node went down",
}


def failed_jobs(text: str) -> list[dict]:
    """Return the jobs that Snakemake's own log tells failed: rule, logs, output, and SLURM's state; of several attempts the last.

    text: Snakemake's log. A job of several rules gives one entry a rule.
    """
    found: dict[tuple, dict] = {}
    job = None
    state = None
    for line in text.splitlines():
        begins = re.match(r"\s*(?:Error in rule (\w+):|Error in group |rule (\w+):\s*$)", line)
        said = re.search(r"SLURM status is: '([A-Z_ ]+)", line)
        if begins and (begins[1] or begins[2]):
            job = {"rule": begins[1] or begins[2], "logs": [], "output": "", "state": None if begins[1] else state}
        elif re.match(r"\[\w{3} \w{3}", line) or (begins and not begins[1]):
            job = state = None
        if said:
            state = said[1].strip()
            if job:
                job["state"] = state
        if job and (listed := re.match(r"\s+(log|output): (.*?)(?: \(check log file\(s\) for error details\))?$", line)):
            if listed[1] == "log":
                job["logs"] = listed[2].split(", ")
            else:
                job["output"] = listed[2]
            key = (job["rule"], job["output"] or tuple(job["logs"]))
            found.pop(key, None)
            found[key] = job
    return list(found.values())


def last_lines(path: Path, lines: int = LINES) -> str:
    """Return the end of a log, indented; what is said instead where there is none.

    Of the user's own mistake only what it says: where in the code it was found stays in the log.
    """
    try:
        end = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except OSError:
        return "    (no such file: the job ended before its script began)"
    if mistakes := [number for number, line in enumerate(end) if line.startswith(MISTAKE)]:
        end[: mistakes[-1] + 1] = [end[mistakes[-1]].removeprefix(MISTAKE)]
    end = end[-lines:]
    return "\n".join(f"    {line}" for line in end) or "    (empty: the job ended before its script said anything)"


def how_to_go_on(log: str | Path | Iterable[str | Path], folder: str | Path = ".") -> str:
    """Return what `onerror` prints: each failed rule with the path and the last lines of its log, then how to go on.

    log: the file or files that Snakemake writes of a run. folder: the one that paths of rules' logs count from. One that cannot be read tells nothing.
    """
    files = [log] if isinstance(log, str | Path) else log
    text = "\n".join(Path(file).read_text(encoding="utf-8", errors="replace") for file in files if Path(file).is_file())
    parts = []
    for job in failed_jobs(text):
        name = f"{job['rule']}{' (' + job['output'].split(', ')[0] + ')' if job['output'] else ''}"
        ends = {path: last_lines(Path(folder, path)) for path in job["logs"]}
        # SLURM itself says no more than FAILED where its own accounting and not a control group ended the job.
        state = "OUT_OF_MEMORY" if any(OVER_MEMORY.search(end) for end in ends.values()) else (job["state"] or "").split(" ")[0]
        why = STATES.get(state, "")
        parts.append(f"{name} failed{': ' + why.format(rule=job['rule']) if why else '.'}")
        parts.extend(f"  The end of {path}:\n{end}" for path, end in ends.items())
    runs = re.findall(r"SLURM run ID: (\S+)", text)
    return "\n".join([*parts, "", *_go_on(runs[-1:])])


def _go_on(runs: Iterable[str]) -> list[str]:
    lines = [
        "To go on: mend what the logs tell and start the same command again. What is finished is not made again; training goes on after its last epoch, "
        "attacks after their last text.",
    ]
    for run in runs:
        lines.append(
            f"On the cluster, when snakemake itself was killed, its jobs run on and would write the same files as new ones: `scancel --name {run}` first, "
            "then the same command."
        )
    return lines
