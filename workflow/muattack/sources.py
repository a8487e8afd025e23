"""Which library files a script uses: what makes an edited module re-run exactly the rules that run it."""

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
MODULE_NAME = re.compile(rf"{PACKAGE.name}(\.\w+)+")


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Return the package's files that one file imports anywhere in its text, functions included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE_NAME.fullmatch(node.value.partition(":")[0]):
            # A lazy registry names its modules in strings, "package.module" or "package.module:attribute".
            names = [node.value.partition(":")[0]]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] != PACKAGE.name:
                continue
            for depth in range(len(parts) + 1):
                base = PACKAGE.joinpath(*parts[1:depth])
                found.update(path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file())
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
    return sorted(str(file) for file in seen)
