"""config/README.md: every key of the configuration, from the schema and the defaults. `python -m muattack.config_page` writes it (`make config-page`)."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from muattack.config import DEFAULTS, SCHEMA, read_yaml
from muattack.records import write_text

PAGE = DEFAULTS.with_name("README.md")
TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "mapping",
    "array": "list",
}
BEGIN = """<!-- Written by `make config-page` from workflow/schemas/config.schema.yaml and config/config.yaml: change those. -->

# Configuration

A configuration of yours names only what differs from [`config.yaml`](config.yaml), which holds every default and explains each key at length:

```bash
snakemake --cores all --configfile mine.yaml                                  # one file, or several: later ones are laid over earlier ones
snakemake --cores all --configfile mine.yaml --config run=second seed=2       # single keys at the top level
```

Mappings merge key by key, everything else is replaced. An entry that has a name of its own (a detector, an operator set, an encoder, ...) is added by naming it
and dropped by `name: null`. A misspelt key, a value of the wrong kind and a reference to nothing are refused before anything runs.

| file | what it is |
|---|---|
"""


def page() -> str:
    """Return the page as Markdown."""
    schema, defaults = read_yaml(SCHEMA), read_yaml(DEFAULTS)
    files = [f"| [`{file.name}`]({file.name}) | {_first_sentence(file)} |" for file in sorted(DEFAULTS.parent.glob("*.yaml"))]
    parts = [BEGIN + "\n".join(files)]
    single = [key for key, node in schema["properties"].items() if "properties" not in node and "additionalProperties" not in node]
    parts.append("## Keys at the top level\n\n" + _table(_row(schema, (key,), schema["properties"][key], defaults) for key in single))
    for key, node in schema["properties"].items():
        if key not in single:
            said = _shown(node["description"])
            parts.append(f"## `{key}`\n\n{said[0].upper()}{said[1:]}.\n\n" + _table(_rows(schema, (key,), node, defaults)))
    return "\n\n".join(parts) + "\n"


def _table(rows: Iterator[str]) -> str:
    return "\n".join(["| key | value | default | what it is |", "|---|---|---|---|", *rows])


def _rows(schema: Mapping, path: tuple, node: Mapping, defaults: Mapping) -> Iterator[str]:
    """Yield a row for each key below a mapping, those of entries with names of their own under NAME."""
    named = node.get("additionalProperties")
    for key, inside in node.get("properties", {}).items():
        yield from _whole(schema, (*path, key), inside, defaults)
    if isinstance(named, dict):
        yield from _whole(schema, (*path, "NAME"), named, defaults)


def _whole(schema: Mapping, path: tuple, node: Mapping, defaults: Mapping) -> Iterator[str]:
    """Yield the row of a key, and those of all keys below it."""
    found = _resolved(schema, node)
    # What has no description is explained by the one above.
    if "description" in found:
        yield _row(schema, path, found, defaults)
    yield from _rows(schema, path, next((option for option in found.get("anyOf", ()) if "properties" in option), found), defaults)
    for option in found.get("items", {}).get("anyOf", ()):
        yield from _rows(schema, (*path[:-1], f"{path[-1]}[]"), option, defaults)


def _row(schema: Mapping, path: tuple, node: Mapping, defaults: Mapping) -> str:
    cells = (f"`{'.'.join(path)}`", _value(schema, node), _default(path, node, defaults), _shown(node["description"]))
    return " | ".join(["", *(cell.replace("|", r"\|") for cell in cells), ""]).strip()


def _resolved(schema: Mapping, node: Mapping) -> Mapping:
    """Return what the node refers to, with what stands beside the reference laid over it."""
    while "$ref" in node:
        target = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def _value(schema: Mapping, node: Mapping) -> str:
    """Return in words what a key may hold."""
    node = _resolved(schema, node)
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_value(schema, option) for option in node["anyOf"]))
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    types = [node["type"]] if isinstance(node["type"], str) else node["type"]
    if "array" in types:
        return f"list of {_value(schema, node['items'])}"
    limits = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = ", ".join(f"{sign} {node[key]}" for key, sign in limits.items() if key in node)
    named = [f"{TYPES[kind]}{f' {bounds}' if bounds and kind in ('integer', 'number') else ''}" for kind in types]
    return " or ".join(named)


def _default(path: tuple, node: Mapping, defaults: Mapping) -> str:
    """Return the default as YAML in one line; of entries with names of their own none, and of mappings none, whose keys have theirs."""
    value: object = defaults
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return ""
        value = value[key]
    if isinstance(value, dict):
        return "" if "properties" in node else ", ".join(f"`{name}`" for name in value) or "none"
    return f"`{json.dumps(value, ensure_ascii=False)}`" if not isinstance(value, str) else f"`{value}`"


def _shown(text: str) -> str:
    """Return a description without its full stop, so that Markdown shows it as it is."""
    text = re.sub(r"(`[^`]*`)|([<>*_])", lambda match: match[1] or f"\\{match[2]}", text.strip())
    return text.removesuffix(".")


def _first_sentence(file: Path) -> str:
    """Return the first sentence of the comment at the head of a file."""
    head = re.match(r"(?:#.*\n)+", file.read_text(encoding="utf-8"))
    text = "\n".join(line.removeprefix("#").strip() for line in head[0].splitlines()) if head else ""
    return _shown(re.split(r"\.\s|:\n", text)[0].replace("\n", " ").rstrip(":."))


if __name__ == "__main__":
    write_text(PAGE, page())
