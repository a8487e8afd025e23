"""What a failed run says: which rules, how their logs end, how to go on."""

import traceback

from muattack.errors import InputError
from muattack.failures import failed_jobs, how_to_go_on

# As Snakemake 9.27 and its plugin for SLURM write it, cut short.
LOCAL = """
[Mon Nov 30 12:00:00 2026]
Error in rule split_file:
    message: None
    jobid: 3
    input: a.csv
    output: results/x/data/a.jsonl, results/x/data/a.json
    log: results/x/logs/split_file/a.log (check log file(s) for error details)
[Mon Nov 30 12:00:01 2026]
Finished jobid: 4 (Rule: other)
"""
CLUSTER = """
SLURM run ID: 0123-abcd
[Mon Nov 30 12:00:00 2026]
Error in rule train_detector:
    message: SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'. Detailed failure reason unavailable (status command is not 'sacct').
    jobid: 7
    output: results/x/detectors/rr
    log: results/x/logs/train_detector/rr.log, /elsewhere/7.log (check log file(s) for error details)
    external_jobid: 7
[Mon Nov 30 12:05:00 2026]
Error in rule train_detector:
    message: SLURM-job '9' failed, SLURM status is: 'TIMEOUT'. Detailed failure reason unavailable (status command is not 'sacct').
    jobid: 7
    output: results/x/detectors/rr
    log: results/x/logs/train_detector/rr.log, /elsewhere/9.log (check log file(s) for error details)
    external_jobid: 9
"""


def test_a_failed_rule_is_told_with_the_end_of_its_log(tmp_path):
    (tmp_path / "run.log").write_text(LOCAL)
    log = tmp_path / "results" / "x" / "logs" / "split_file" / "a.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {number}\n\n" for number in range(40)))
    said = how_to_go_on(tmp_path / "run.log", tmp_path)
    assert "split_file (results/x/data/a.jsonl) failed." in said
    assert "The end of results/x/logs/split_file/a.log:" in said
    assert "    line 39" in said
    assert "line 27\n" not in said
    assert "start the same command again" in said
    assert "scancel" not in said


def test_of_the_users_own_mistake_the_log_is_told_without_its_traceback(tmp_path):
    (tmp_path / "run.log").write_text(LOCAL)
    log = tmp_path / "results" / "x" / "logs" / "split_file" / "a.log"
    log.parent.mkdir(parents=True)
    try:
        raise InputError("a.csv: row 3 has no text.")
    except InputError:
        log.write_text(f"reading\n{traceback.format_exc()}last words\n")
    said = how_to_go_on(tmp_path / "run.log", tmp_path)
    assert "a.log:\n    a.csv: row 3 has no text.\n    last words\n" in said


def test_of_several_attempts_on_a_cluster_the_last_counts_and_what_slurm_said_is_told(tmp_path):
    (tmp_path / "run.log").write_text(CLUSTER)
    jobs = failed_jobs(CLUSTER)
    assert [(job["rule"], job["state"], job["logs"][-1]) for job in jobs] == [("train_detector", "TIMEOUT", "/elsewhere/9.log")]
    said = how_to_go_on(tmp_path / "run.log", tmp_path)
    assert "--set-resources train_detector:runtime=MINUTES" in said
    assert "no such file: the job ended before its script began" in said
    assert "`scancel --name 0123-abcd` first, then the same command." in said


def test_a_run_without_a_log_still_says_how_to_go_on(tmp_path):
    assert how_to_go_on(tmp_path / "none.log").strip().startswith("To go on:")
    # Snakemake passes a list.
    (tmp_path / "run.log").write_text(LOCAL)
    assert "split_file" in how_to_go_on([str(tmp_path / "run.log")], tmp_path)


def test_a_job_past_its_memory_is_told_so_even_where_slurm_only_says_failed(tmp_path):
    killed = tmp_path / "9.log"
    killed.write_text("slurmstepd: error: StepId=9.0 exceeded memory limit (281391104 > 104857600), being killed\n")
    (tmp_path / "run.log").write_text(CLUSTER.replace("TIMEOUT", "FAILED").replace("/elsewhere/9.log", str(killed)))
    assert "--set-resources train_detector:mem_mb=MEGABYTES" in how_to_go_on(tmp_path / "run.log", tmp_path)
