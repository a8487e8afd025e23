"""What the tests of all scripts share."""

import pytest
from driver import run_script


@pytest.fixture
def run(root, tmp_path, monkeypatch):
    """Run a rule's script as Snakemake does, in a folder of the test's own: (name, input, output, params, wildcards) -> exit status, stdout, stderr."""

    # The files of these tests lie in their own folders, wherever the real data are.
    monkeypatch.delenv("MUATTACK_DATA", raising=False)

    def run_rule(name, *, input=(), output=(), params=None, wildcards=None):
        spec = {
            "rule": name, "script": str(root / "workflow" / "scripts" / f"{name}.py"), "log": str(tmp_path / f"{name}.log"),
            "input": input, "output": output, "params": params or {}, "wildcards": wildcards or {},
        }  # fmt: skip
        return run_script(spec, tmp_path)

    return run_rule
