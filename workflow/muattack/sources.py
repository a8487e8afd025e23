"""Which library files a script uses: what makes an edited module re-run exactly the rules that run it."""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
MODULE_NAME = re.compile(rf"""["']({PACKAGE.name}(?:\.\w+)+)(?::\w+)?["']""")
IMPORT = re.compile(rf"^[ \t]*(?:import ({PACKAGE.name}[\w.]*)|from ({PACKAGE.name}[\w.]*) import (\([^)]*\)|[^\n(]*))", re.MULTILINE)


@cache
def _modules() -> dict[str, Path]:
    """Return the file of each of the package's modules, by name."""
    files = (file.relative_to(PACKAGE.parent) for file in PACKAGE.rglob("*.py"))
    return {".".join(file.with_suffix("").parts).removesuffix(".__init__"): PACKAGE.parent / file for file in files}


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Return the package's files that one file imports anywhere in its text, functions included."""
    found = set()
    text = file.read_text(encoding="utf-8")
    # By pattern and not by parsing: every start of the workflow waits for this. An import in a docstring only adds a file.
    statements = [(first or second, names) for first, second, names in IMPORT.findall(text)]
    # A lazy registry names its modules in strings, "package.module" or "package.module:attribute".
    for module, imported in [*statements, *((name, "") for name in MODULE_NAME.findall(text))]:
        for name in [module, *(f"{module}.{name}" for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", imported)))]:
            parts = name.split(".")
            found.update(path for depth in range(len(parts)) if (path := _modules().get(".".join(parts[: depth + 1]))))
    return tuple(sorted(found))


def library_sources(script: str | Path) -> list[str]:
    """Return the paths of all package files the script imports, directly or through other package files, sorted.

    Imports are read from the text, module names in strings included; a name put together at run time is not seen.
    """
    seen: set[Path] = set()
    waiting = list(_imports(Path(script).resolve()))
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting.extend(_imports(file))
    # Word lists are read by these modules as data.
    if {PACKAGE / "mutate" / "registry.py", PACKAGE / "data" / "simulate.py"} & seen:
        seen.update(PACKAGE.glob("mutate/words/*.txt"))
    # So are the report's template, style and script.
    if PACKAGE / "report" / "page.py" in seen:
        seen.update(PACKAGE.glob("report/page.*"))
    return sorted(str(file) for file in seen)


def code_sha256(module: str | Path) -> str:
    """Return a digest of a package module and all it imports: what was kept by other code is not gone on with."""
    joined = hashlib.sha256()
    for file in map(Path, sorted({str(module), *library_sources(module)})):
        joined.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return joined.hexdigest()
