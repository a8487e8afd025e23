"""What follows from the schema of the configuration: a misspelt key is told apart wherever it stands, and no key stands there for nothing."""

import re

import pytest

from muattack.config import DEFAULTS, SCHEMA, check_config, overlay, read_yaml
from muattack.config_page import PAGE, page
from muattack.errors import InputError

SPECIFICATION = read_yaml(SCHEMA)


def resolved(node: dict) -> dict:
    """Return the node, or what it refers to."""
    while "$ref" in node:
        target = SPECIFICATION
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def example(node: dict) -> object:
    """Return a small value that the node allows."""
    node = resolved(node)
    if "anyOf" in node:
        return example(node["anyOf"][-1])
    if "enum" in node:
        return node["enum"][0]
    kind = node["type"][0] if isinstance(node["type"], list) else node["type"]
    if kind == "object":
        return {key: example(node["properties"][key]) for key in node.get("required", ())}
    if kind == "array":
        return [example(node["items"])] if node.get("minItems") else []
    return {"string": "mine", "boolean": True, "null": None}.get(kind, node.get("minimum", 0.5))


def blocks(node: dict, trail: tuple = ()):
    """Yield every mapping of known keys, with the way there; entries that users name are called `mine`, those of a list 0."""
    node = resolved(node)
    if "properties" in node:
        yield trail, node
    inside = [((*trail, key), value) for key, value in node.get("properties", {}).items()]
    inside += [((*trail, "mine"), node["additionalProperties"])] if isinstance(node.get("additionalProperties"), dict) else []
    inside += [((*trail, 0), node["items"])] if "items" in node else []
    inside += [(trail, option) for option in node.get("anyOf", ())]
    for where, value in inside:
        yield from blocks(value, where)


def put(value: object, node: dict, trail: tuple, above: dict) -> object:
    """Return the value with the keys of `above` laid over the mapping at the end of the way, made up where it is not there."""
    node = resolved(node)
    if "anyOf" in node:
        node = next(option for option in map(resolved, node["anyOf"]) if option.get("type") == "object")
    if not trail:
        return (value if isinstance(value, dict) else example(node)) | above
    key, *rest = trail
    if key == 0:
        return [put(None, node["items"], tuple(rest), above)]
    value = dict(value) if isinstance(value, dict) else example(node)
    inner = node.get("properties", {}).get(key) or node["additionalProperties"]
    return value | {key: put(value.get(key), inner, tuple(rest), above)}


BLOCKS = list(blocks(SPECIFICATION))
LONGEST = max(len(node["properties"]) for _, node in BLOCKS)


def misspelt(key: str) -> str:
    return key[:2] + key[1] + key[2:]


@pytest.mark.parametrize("number", range(0, LONGEST, 3))
def test_a_misspelt_key_at_every_level_is_told_with_the_nearest_right_one(number):
    # One key of every block at once, since reading takes a while; so in some rounds every key has its turn.
    for turn in range(number, min(number + 3, LONGEST)):
        config, expected = read_yaml(DEFAULTS), []
        for trail, node in BLOCKS:
            key = dict(enumerate(node["properties"])).get(turn)
            if key is not None:
                config = put(config, SPECIFICATION, trail, {misspelt(key): example(node["properties"][key])})
                where = ".".join(map(str, trail)) or "(top level)"
                expected.append(f"Unknown key `{misspelt(key)}` at {where}. Did you mean `{key}`? Known here: ")
        with pytest.raises(InputError) as error:
            check_config(config)
        said = str(error.value)
        assert [line for line in expected if line not in said] == []


def test_a_misspelt_key_is_one_paragraph():
    for trail, key in [((), "seed"), (("captions", "split"), "train"), (("detectors", "rr"), "dropout"), (("noisyhate", "judging"), "rule")]:
        above: dict = {misspelt(key): 1}
        for part in reversed(trail):
            above = {part: above}
        with pytest.raises(InputError) as error:
            check_config(overlay(read_yaml(DEFAULTS), above))
        where = ".".join(trail) or "(top level)"
        assert str(error.value).startswith(f"The configuration has a fault. Unknown key `{misspelt(key)}` at {where}. Did you mean `{key}`?")
        assert "\n" not in str(error.value)


def test_every_key_has_a_turn():
    assert len(BLOCKS) > 40
    assert sum(len(node["properties"]) for _, node in BLOCKS) > 250
    assert sum(len(node["properties"]) for _, node in BLOCKS) == len({(*trail, key) for trail, node in BLOCKS for key in node["properties"]})


def test_the_page_of_keys_is_that_of_the_schema():
    shown = page()
    assert PAGE.read_text(encoding="utf-8") == shown, "run `make config-page`"
    for trail, node in BLOCKS:
        place = "".join("[]" if part == 0 else f".{'NAME' if part == 'mine' else part}" for part in trail)
        for key in node["properties"]:
            # What has keys of its own and nothing to say beside them has no row, but they have.
            assert f"`{place}.{key}".replace("`.", "`") in shown, f"{place}.{key}"


def test_every_key_of_the_schema_is_read_somewhere(root):
    """A key that is checked but read by nothing would be a promise that is not kept."""
    code = "\n".join(
        file.read_text(encoding="utf-8")
        for file in sorted((root / "workflow").rglob("*"))
        if file.suffix in (".py", ".smk") and file.name != "config.py"
    )
    keys = {key for _, node in BLOCKS for key in node["properties"]}
    # Keys of a data set that are read by the name of the part, and keys that are handed on as arguments of a function.
    by_part = {"train_rows": '"{part}_rows"', "test_rows": '"{part}_rows"'}
    quoted = set(re.findall(r"""["'](\w+)["']""", code))
    arguments = set(re.findall(r"(\w+)\s*[:=]", " ".join(re.findall(r"\bdef \w+\((.*?)\)", code, re.DOTALL))))
    assert keys - quoted - arguments - {key for key, how in by_part.items() if how in code} == set()
