"""Which library files a script uses: what makes an edited module re-run exactly the rules that run it."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Return the package's files that one file imports anywhere in its text, functions included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
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

    Imports are read from the text; a module named only in a string at run time is not seen.
    """
    seen: set[Path] = set()
    waiting = list(_imports(Path(script).resolve()))
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting.extend(_imports(file))
    return sorted(str(file) for file in seen)
