"""Scenes: the simulated run's images, drawn one by one from the tables of `muattack.data.world`.

A scene says what there is (a main object with count and looks, a second object, a thing around), what it does and in
which manner, where and when. What goes with what, and how often, is in the tables; a scene depends on the seed, its
part and its number alone.
"""

import random
from bisect import bisect
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from muattack.data import world
from muattack.seeds import generator

PARTS = ("test_bed", "captioner", "base")
PEOPLE = {"man", "woman", "boy", "girl", "child", "baby", "people", "students", "players", "family"}
# A count of 9 in the tables stands for "many".
MANY = 9


class Kind(NamedTuple):
    """A kind of object: its category and its nouns (singular, plural), common to rare."""

    category: str
    nouns: list[tuple[str, str]]


class Place(NamedTuple):
    """A place: how common it is, whether outside, its names, phrases with and without motion, adjectives, things around."""

    weight: float
    outside: bool
    heads: list[str]
    at: list[str]
    along: list[str]
    adjectives: list[str]
    things: list[str]


class Action(NamedTuple):
    """An action: phrases starting with the verb, manners, nouns for the one who does it."""

    phrases: list[str]
    manners: list[str]
    doers: list[str]


class Event(NamedTuple):
    """What happens at a place: weight, main kinds, counts, action, second kinds."""

    weight: float
    kinds: list[str]
    counts: list[int]
    action: str
    seconds: list[str]


def rows(table: str) -> list[list[str]]:
    """Return the cells of a table of `world`: one row a line, cells between bars."""
    lines = (line.strip() for line in table.strip().splitlines())
    return [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]


def parts_of(cell: str) -> list[str]:
    """Return the phrases of a cell, which semicolons separate."""
    return [part.strip() for part in cell.split(";") if part.strip()]


def common(rng: random.Random, items: list) -> object:
    """Draw an item; rank r of the list has a weight of 1 / (r + 1), Zipf's law."""
    cumulative = _harmonic(len(items))
    return items[bisect(cumulative, rng.random() * cumulative[-1], 0, len(items) - 1)]


@cache
def _harmonic(count: int) -> list[float]:
    """Return the cumulative weights 1, 1 + 1/2, ..."""
    return list(accumulate(1 / (rank + 1) for rank in range(count)))


def weighted(rng: random.Random, items: list, weights: list[float]) -> object:
    """Draw an item with the given weights."""
    return rng.choices(items, weights)[0]


def plural_of(noun: str) -> str:
    """Return the regular plural of a noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def _noun(item: str) -> tuple[str, str]:
    singular, _, plural = item.replace("-", " ").partition("/")
    return singular, plural or plural_of(singular)


@cache
def kinds() -> dict[str, Kind]:
    """Return the kinds of objects by name."""
    return {name: Kind(category, [_noun(item) for item in nouns.split()]) for name, category, nouns in rows(world.KINDS)}


@cache
def attributes() -> dict[str, list[tuple[str, float, list[str]]]]:
    """Return (slot, share of objects that have it, values) for every category and kind that has own ones."""
    found: dict[str, list[tuple[str, float, list[str]]]] = {}
    for owner, slot, share, values in rows(world.ATTRIBUTES):
        found.setdefault(owner, []).append((slot, float(share), values.split()))
    return found


@cache
def places() -> dict[str, Place]:
    """Return the places by name."""
    found = {}
    for name, group, side, heads, at, along, adjectives, things in rows(world.PLACES):
        nouns = [head.replace("-", " ") for head in heads.split()]
        found[name] = Place(
            1 / int(group), side == "out", nouns, parts_of(at), parts_of(along), adjectives.split(), things.split()
        )  # fmt: skip
    return found


@cache
def actions() -> dict[str, Action]:
    """Return the actions by name."""
    return {
        name: Action(parts_of(phrases), manners.split(), [doer.replace("-", " ") for doer in doers.split() if doer != "-"])
        for name, phrases, manners, doers in rows(world.ACTIONS)
    }


@cache
def events() -> dict[str, list[Event]]:
    """Return what happens at every place."""
    found: dict[str, list[Event]] = {name: [] for name in places()}
    for place, weight, names, counts, action, seconds in rows(world.EVENTS):
        found[place].append(
            Event(float(weight), names.split(), [int(count) for count in counts.split()], action, [item for item in seconds.split() if item != "-"])
        )
    return found


def _looks(rng: random.Random, kind: str) -> dict[str, str]:
    """Draw an object's attributes; a man's come from his own row, others' from their category's."""
    own = attributes().get(kind) or attributes().get(kinds()[kind].category, [])
    return {slot: common(rng, values) for slot, share, values in own if rng.random() < share}


def _clothes(rng: random.Random, action: str, outside: bool) -> dict[str, str]:
    items = world.CLOTHES.get(action) or world.CLOTHES["out" if outside else "in"]
    return {"wear": common(rng, items.split()), "wear_colour": common(rng, world.CLOTHES_COLOURS.split())}


def _by_share(rng: random.Random, table: str) -> str | None:
    """Draw the name of a row by the share in its second cell; None with what is left of 1."""
    left = rng.random()
    for name, share, _ in rows(table):
        left -= float(share)
        if left < 0:
            return name
    return None


def draw_scene(seed: int, part: str, number: int) -> dict:
    """Draw scene `number` of a part.

    Returns a JSON-able dictionary: id, part, number, place, place_adjective, time, weather, main, action, manner,
    striking (whether the manner is hard to overlook), second, third; what the scene lacks is None. An object is a
    dictionary of kind, count and attributes.
    """
    rng = generator(seed, "scene", part, number)
    names = list(places())
    name = weighted(rng, names, [places()[name].weight for name in names])
    place = places()[name]
    event = weighted(rng, events()[name], [event.weight for event in events()[name]])
    kind = common(rng, event.kinds)
    count = rng.choice(event.counts)
    if kinds()[kind].category == "crowd":
        count = max(count, rng.choice((2, 3)))
    main = {"kind": kind, "count": count, **_looks(rng, kind)}
    if kind in PEOPLE and kind != "baby" and rng.random() < 0.55:
        main |= _clothes(rng, event.action, place.outside)
    second = None
    if event.seconds:
        other = common(rng, event.seconds)
        stuff = kinds()[other].category == "stuff"
        crowd = kinds()[other].category in ("crowd", "pair")
        number_of = MANY if stuff or (crowd and rng.random() < 0.5) else 2 if crowd else weighted(rng, [1, 2, 3, MANY], [0.88, 0.04, 0.02, 0.06])
        second = {"kind": other, "count": number_of, **_looks(rng, other)}
    third = None
    around = [thing for thing in place.things if thing != kind and (second is None or thing != second["kind"])]
    if rng.random() < 0.5:
        thing = common(rng, around)
        third = {"kind": thing, "count": weighted(rng, [1, 2, MANY], [0.6, 0.12, 0.28]), **_looks(rng, thing)}
        if kinds()[thing].category in ("crowd", "stuff"):
            third["count"] = MANY
    manners = actions()[event.action].manners
    # Nobody alone does anything together.
    manners = [manner for manner in manners if manner not in (("together", "closely", "alike") if count == 1 else ("alone",))]
    manner = common(rng, manners) if manners and rng.random() < 0.55 else None
    return {
        "id": f"{part}_{number:05d}",
        "part": part,
        "number": number,
        "place": name,
        "place_adjective": common(rng, place.adjectives) if rng.random() < 0.45 else None,
        "time": _by_share(rng, world.TIMES) if place.outside else None,
        "weather": _by_share(rng, world.WEATHER) if place.outside else None,
        "main": main,
        "action": event.action,
        "manner": manner,
        "striking": manner is not None and rng.random() < 0.6,
        "second": second,
        "third": third,
    }


def scene_features(scene: dict) -> list[str]:
    """Return what a captioner sees of a scene: one string a feature, in a fixed order."""
    found = [f"place={scene['place']}", f"action={scene['action']}"]
    for role in ("main", "second", "third"):
        thing = scene[role]
        if thing:
            found += [f"{role}.{slot}={value}" for slot, value in thing.items()]
    found += [f"{slot}={scene[slot]}" for slot in ("place_adjective", "time", "weather") if scene[slot]]
    if scene["manner"]:
        found.append(f"{'striking' if scene['striking'] else 'manner'}={scene['manner']}")
    return found
