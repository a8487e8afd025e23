"""The conda environments of the rules: what a rule's script imports at its start is in its environment, at the version of the lock."""

import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def names_in(file: Path) -> list[str]:
    """Return what a file imports when it starts; not what its functions import when they are called."""
    names = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def imported(file: Path, library: Path, seen: set[Path]) -> set[str]:
    """Return the packages that a file imports when it starts, through modules of ours too."""
    found = set()
    seen.add(file)
    for name in names_in(file):
        if name.partition(".")[0] != "muattack":
            found.add(name.partition(".")[0])
            continue
        own = library / f"{name.replace('.', '/')}.py"
        if own.is_file() and own not in seen:
            found |= imported(own, library, seen)
    return found - set(sys.stdlib_module_names)


def rules(root: Path) -> list[tuple[str, str, str]]:
    """Return (rule, environment, script) of every rule that runs a script."""
    found = []
    for file in sorted((root / "workflow" / "rules").glob("*.smk")):
        for rule in re.split(r"^(?:rule|checkpoint) ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            environment, script = re.search(r"envs/(\w+)\.yaml", rule), re.search(r"scripts/(\w+)\.py", rule)
            if script:
                assert environment, f"{file.name}: the rule {rule.partition(':')[0]} names no environment"
                found.append((rule.partition(":")[0], environment[1], script[1]))
    return found


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_a_rule_has_what_its_script_imports(root, environment):
    pinned = yaml.safe_load((root / "envs" / f"{environment}.yaml").read_text(encoding="utf-8"))["dependencies"][-1]["pip"]
    has = {canonical(line.partition("==")[0]) for line in pinned}
    distributions, lacking, library = packages_distributions(), [], root / "workflow"
    for rule, _, script in (one for one in rules(root) if one[1] == environment):
        for package in imported(library / "scripts" / f"{script}.py", library, set()):
            if not {canonical(name) for name in distributions.get(package, ["?"])} & has:
                lacking.append(f"{rule} imports {package}")
    assert lacking == []


def test_light_jobs_start_without_torch(root):
    heavy = {"torch", "transformers", "textattack", "datasets"}
    library = root / "workflow"
    for rule, environment, script in rules(root):
        if environment == "light":
            assert not imported(library / "scripts" / f"{script}.py", library, set()) & heavy, rule


def test_pins_are_those_of_the_lock(root):
    lock = {line.strip() for line in (root / "requirements.lock").read_text().splitlines()}
    for file in sorted((root / "envs").glob("*.yaml")):
        for package in yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"][-1]["pip"]:
            assert package in lock, f"{file.name}: {package}"
