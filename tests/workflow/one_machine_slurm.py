"""A SLURM cluster on one machine, for tests: three nodes that are processes, the last with two pretended GPUs.

    python tests/workflow/one_machine_slurm.py FOLDER up      # prints the environment to use it in
    python tests/workflow/one_machine_slurm.py FOLDER down

Needs Debian's packages slurm-wlm and munge and no rights beyond those over FOLDER (for jobs that see their GPU, root: device files). All state lies
there; other clusters of the machine are not touched, as ports are free ones and the configuration is found by SLURM_CONF. Memory is
enforced by looking at it every second, so no control groups are needed.
"""

import getpass
import os
import secrets
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")
NODES = ("node1", "node2", "gpu1")
CPUS, MEGABYTES = 2, 6000


def missing() -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in PROGRAMS if program(name) is None]


def program(name: str) -> str | None:
    """Return where a program is; daemons are often not on a user's path."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"]))


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def configure(folder: Path) -> None:
    """Write the configuration, a secret, the pretended GPUs, and an `srun` that knows the configuration."""
    for name in ("run", "log", "state", "bin", "dev", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    (folder / "run").chmod(0o755)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    host, user = socket.gethostname().split(".")[0], getpass.getuser()
    controller, *ports = free_ports(1 + len(NODES))
    nodes = [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} RealMemory={MEGABYTES}{' Gres=gpu:2' if node == 'gpu1' else ''}"
        for node, port in zip(NODES, ports, strict=True)
    ]
    lines = [
        "ClusterName=pretend",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={controller}",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/run/munge",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"SlurmctldPidFile={folder}/run/slurmctld.pid",
        f"SlurmdPidFile={folder}/run/%n.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/%n.log",
        # A laptop is not the machine that its nodes say they are.
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU_Memory",
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherFrequency=1",
        "JobAcctGatherParams=OverMemoryKill",
        "SchedulerParameters=batch_sched_delay=0,bf_interval=5,sched_min_interval=0",
        # How long squeue tells of a job that has ended.
        "MinJobAge=1800",
        "KillWait=3",
        "GresTypes=gpu",
        *nodes,
        "PartitionName=light Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP",
        "PartitionName=gpus Nodes=gpu1 MaxTime=INFINITE State=UP",
    ]
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
    for number in range(2):
        device = folder / "dev" / f"gpu{number}"
        if not device.exists():
            try:
                # Behaves like /dev/null.
                os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            except PermissionError:
                device.touch()
    (folder / "gres.conf").write_text(f"NodeName=gpu1 Name=gpu File={folder}/dev/gpu[0-1]\n")
    # Snakemake's job step takes every SLURM variable away before it calls srun.
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={shlex.quote(f"{folder}/slurm.conf")} exec {shlex.quote(program("srun") or "srun")} "$@"\n')
    srun.chmod(0o755)


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that let programs find this cluster."""
    return {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": f"{folder}/bin:{os.environ['PATH']}"}


def up(folder: Path, seconds: float = 60) -> dict[str, str]:
    """Start the cluster and return the environment to use it in. Raises RuntimeError, with the ends of the logs, where it does not come up."""
    folder = folder.resolve()
    configure(folder)
    env = {**os.environ, **environment(folder)}
    munged = [
        program("munged"), f"--key-file={folder}/munge.key", f"--socket={folder}/run/munge", f"--pid-file={folder}/run/munged.pid",
        f"--log-file={folder}/log/munged.log", f"--seed-file={folder}/run/munge.seed",
    ]  # fmt: skip
    for command in (munged, [program("slurmctld")], *([program("slurmd"), "-N", node] for node in NODES)):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        if done.returncode:
            down(folder)
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done = subprocess.run([program("sinfo"), "--noheader", "--Node", "--format=%N %t"], env=env, capture_output=True, text=True)
        if {line.split()[0] for line in done.stdout.splitlines() if line.split()[-1] in ("idle", "mix", "alloc")} == set(NODES):
            return environment(folder)
        time.sleep(0.2)
    ends = "\n".join(f"{log.name}: {' | '.join(log.read_text(errors='replace').splitlines()[-3:])}" for log in sorted((folder / "log").glob("*.log")))
    down(folder)
    raise RuntimeError(f"the cluster did not come up in {seconds:g} s: {ends}")


def down(folder: Path) -> None:
    """Cancel all jobs of the cluster and end its daemons, those that this folder knows and no others."""
    folder = folder.resolve()
    env = {**os.environ, **environment(folder)}
    if (folder / "run" / "slurmctld.pid").exists():
        subprocess.run([program("scancel"), f"--user={getpass.getuser()}"], env=env, capture_output=True, timeout=60)
        for _ in range(50):
            if not subprocess.run(
                [program("squeue"), "--noheader", "--states=running,completing"], env=env, capture_output=True, text=True
            ).stdout.strip():
                break
            time.sleep(0.2)
    for name in (*NODES, "slurmctld", "munged"):
        path = folder / "run" / f"{name}.pid"
        if not path.exists():
            continue
        pid = int(path.read_text())
        for signal in (15, 9):
            try:
                os.kill(pid, signal)
            except ProcessLookupError:
                break
            for _ in range(50):
                if not _alive(pid):
                    break
                time.sleep(0.1)
        path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        # What ended but was not collected is no process any more.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    if missing() and "MUATTACK_SLURM" not in os.environ:
        sys.exit(f"Not installed: {', '.join(missing())}. On Debian and Ubuntu: apt-get install slurm-wlm munge")
    if sys.argv[1:] == ["check"]:
        sys.exit()
    if len(sys.argv) != 3 or sys.argv[2] not in ("up", "down"):
        sys.exit(__doc__)
    if sys.argv[2] == "down":
        down(Path(sys.argv[1]))
    else:
        print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in up(Path(sys.argv[1])).items()))
