"""Which assets there are, where each comes from, and where its files lie on this machine."""

import difflib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import jsonschema
import yaml

from muattack.errors import InputError

CATALOGUE = Path(__file__).with_name("assets.yaml")
SCHEMA = Path(__file__).parents[2] / "schemas" / "assets.schema.yaml"
# Begins the path of an asset, or of a file of it, in a configuration.
PREFIX = "asset:"
# What a converted checkpoint consists of; the tokenizer is that of the model it was fine-tuned from.
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt")
DETECTOR = ("config.json", "model.safetensors", *TOKENIZER)
WEIGHTS = "model.safetensors"


@cache
def _read(path: Path) -> dict:
    try:
        # Null, as an empty file is, has no entries; whatever else is no mapping is the schema's to refuse.
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {} if found is None else found
    except OSError as error:
        raise InputError(f"The catalogue of assets {path} cannot be read: {error.strerror}. Check fetch.catalogue.") from None
    except (ValueError, RecursionError, yaml.YAMLError, LookupError, AttributeError, TypeError) as error:
        # A date that no calendar has is a ValueError, and so is what is no UTF-8; `!!bool x` is a KeyError, `!!timestamp x` an AttributeError.
        raise InputError(f"The catalogue of assets {path} is not valid YAML in UTF-8: {' '.join(str(error).split())}") from None


def read_catalogue(own: str | os.PathLike | None = None) -> dict[str, dict]:
    """Return the catalogue {name: entry}, with the user's file `own` laid over it entry by entry, checked.

    Raises InputError that names file, entry and key.
    """
    entries = dict(_read(CATALOGUE))
    for path in (CATALOGUE, *([Path(own)] if own else [])):
        found = _read(path)
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(_read(SCHEMA)).iter_errors(found))
        if error:
            where = ".".join(map(str, error.absolute_path)) or "(top level)"
            raise InputError(f"The catalogue of assets {path} has a fault at {where}: {error.message}. {CATALOGUE} shows how entries are written.")
        entries |= found
    for name, entry in entries.items():
        for key, part in (("convert", "like"), ("images_of", "asset")):
            other = entry.get(key, {}).get(part)
            if other is not None and other not in entries:
                raise InputError(f"The asset {name}, {key}.{part}, names the unknown asset `{other}`. {_nearest(other, entries)}")
    return entries


def _nearest(word: str, known: Mapping) -> str:
    near = difflib.get_close_matches(word, sorted(known), n=1)
    return (f"Did you mean `{near[0]}`? " if near else "") + f"Known: {', '.join(known)}."


def named_assets(part: object) -> Iterator[str]:
    """Yield the text behind `asset:` of every value of a configuration that begins so."""
    if isinstance(part, str) and part.startswith(PREFIX):
        yield part.removeprefix(PREFIX)
    for inside in part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ():
        yield from named_assets(inside)


class Assets:
    """The assets of one configuration: those it names, those that they need, and where the files of each lie.

    `fetch` is the configuration's block: folder, lock, local {asset: folder}, also [assets], catalogue.
    """

    def __init__(self, config: Mapping):
        fetch = config["fetch"]
        # Absolute, since paths of data files count from elsewhere, and rules must name a file in one way.
        self.folder = os.path.abspath(os.path.expanduser(fetch["folder"]))
        self.lock = os.path.abspath(os.path.expanduser(fetch["lock"]))
        self.downloads = f"{self.folder}/.downloads"
        named = list(named_assets({key: value for key, value in config.items() if key != "fetch"}))
        self.local = {name: os.path.abspath(os.path.expanduser(path)) for name, path in fetch["local"].items()}
        self.catalogue = read_catalogue(fetch["catalogue"]) if named or fetch["also"] or self.local or fetch["catalogue"] else {}
        for name, path in self.local.items():
            self._known(name, f"fetch.local names `{name}`")
            if not os.path.isdir(path):
                raise InputError(f"fetch.local.{name} is {path}, which is no folder. Name the folder that holds your copy of {name}.")
        self.wanted: dict[str, dict] = {}
        self._lists: list[str] = []
        for reference in named:
            self._want(reference.partition("/")[0], f"The configuration names `{PREFIX}{reference}`")
        for name in fetch["also"]:
            self._want(name, f"fetch.also names `{name}`")
        for reference in named:
            place = self.place(reference)
            if "images_of" in self.catalogue[reference.partition("/")[0]]:
                self._lists.append(place)

    def _known(self, name: str, said: str) -> None:
        if name not in self.catalogue:
            raise InputError(f"{said}, but there is no such asset. {_nearest(name, self.catalogue)}")

    def _want(self, name: str, said: str) -> None:
        self._known(name, said)
        entry = self.catalogue[name]
        if name in self.wanted:
            return
        if "like" in entry.get("convert", {}) and not self._complete(name):
            self._want(entry["convert"]["like"], said)
        if "images_of" in entry:
            self._want(entry["images_of"]["asset"], said)
        self.wanted[name] = entry

    def made(self, name: str) -> list[str]:
        """Return the files of an asset that are made here out of others."""
        convert = self.catalogue[name].get("convert", {})
        return list(DETECTOR) if "detector" in convert else [WEIGHTS] if "pickle" in convert else []

    def fetched(self, name: str) -> list[str]:
        """Return the files of an asset that are fetched as they are."""
        return list(self.catalogue[name].get("files", {}))

    def final(self, name: str) -> list[str]:
        """Return the files that an asset is used by: what is fetched or made, less what it is made from."""
        convert = self.catalogue[name].get("convert", {})
        before = {convert.get("detector"), convert.get("pickle")}
        return [file for file in dict.fromkeys([*self.fetched(name), *self.made(name)]) if file not in before]

    def _complete(self, name: str) -> bool:
        """Return whether a copy of the user's is all there is to an asset, what would be made included."""
        return name in self.local and all(Path(self.local[name], file).is_file() for file in self.final(name))

    def path(self, name: str, file: str) -> str:
        """Return where a file of an asset lies or will lie: in the user's copy, where there is one, else in the folder of assets.

        What is made lies in the folder of assets also where it is made out of a user's copy.
        """
        if name in self.local and (self._complete(name) or file not in self.made(name)) and "images_of" not in self.catalogue[name]:
            return f"{self.local[name]}/{file}"
        return f"{self.folder}/{name}/{file}"

    def place(self, reference: str) -> str:
        """Return the absolute path of an asset's folder (`NAME`) or of a file or folder in it (`NAME/FILE`).

        Raises InputError for a file that the asset has not.
        """
        name, _, rest = reference.partition("/")
        self._known(name, f"The configuration names `{PREFIX}{reference}`")
        files = self.final(name)
        if "images_of" in self.catalogue[name]:
            count = rest.removeprefix("first-").removesuffix(".jsonl")
            if not (count.isdecimal() and int(count) > 0 and rest == f"first-{int(count)}.jsonl"):
                raise InputError(
                    f"The configuration names `{PREFIX}{reference}`, but images are named by their number, as {PREFIX}{name}/first-10000.jsonl."
                )
            return f"{self.folder}/{name}/{rest}"
        inside = [file for file in files if not rest or file == rest or file.startswith(f"{rest}/")]
        if not inside:
            raise InputError(f"The configuration names `{PREFIX}{reference}`, but {name} has no file `{rest}`. It has: {', '.join(files)}.")
        folders = {self.path(name, file).removesuffix(file) for file in inside}
        if len(folders) > 1:
            raise InputError(
                f"fetch.local.{name} is {self.local[name]}, which lacks {', '.join(file for file in self.final(name) if not Path(self.local[name], file).is_file())}. "
                "Complete it, or take it out and let the files be fetched."
            )
        return f"{folders.pop()}{rest}".rstrip("/")

    def files_in(self, path: str | os.PathLike) -> list[str]:
        """Return the files of the assets at `path` (a file's or a folder's), there or to be fetched; none where it is no asset's."""
        path = str(path)
        files = [self.path(name, file) for name in self.wanted for file in self.final(name)] + self.image_lists()
        return [file for file in files if path and (file == path or file.startswith(f"{path}/"))]

    def resolve(self, part):
        """Return a part of the configuration with every `asset:` path in its place."""
        if isinstance(part, str) and part.startswith(PREFIX):
            return self.place(part.removeprefix(PREFIX))
        if isinstance(part, Mapping):
            return {key: self.resolve(value) for key, value in part.items()}
        return [self.resolve(value) for value in part] if isinstance(part, list) else part

    def source(self, name: str, file: str) -> dict:
        """Return how to fetch a file: url, key (its name in the lock), size, sha256, and `member` where it is taken out of an archive.

        With `member`, url, key, size and sha256 are the archive's; `file` holds those of the file itself.
        """
        entry = self.catalogue[name]
        said = entry["files"][file]
        path = said.get("path", file)
        own = {"key": f"{name}/{file}", "size": said["size"], "sha256": said["sha256"]}
        about = {"asset": name, "what": entry["what"], "needs": self.final(name)}
        if "archive" in entry:
            archive = entry["archive"]
            return about | {"key": f"{name}/{archive['url'].rpartition('/')[2]}", **archive, "member": path, "file": own}
        return about | own | {"url": _hub_url(entry["hub"], path) if "hub" in entry else f"{entry['url'].rstrip('/')}/{path}"}

    def fetches(self) -> dict[str, tuple[str, str]]:
        """Return the files to fetch, {path below the folder of assets: (asset, file)}, none of a user's copies."""
        return {f"{name}/{file}": (name, file) for name in self.wanted if name not in self.local for file in self.fetched(name)}

    def image_lists(self) -> list[str]:
        """Return the lists of images that the configuration names."""
        return list(dict.fromkeys(self._lists))

    def conversions(self, kind: str) -> list[str]:
        """Return the assets whose files are made here by a conversion of the given kind, `detector` or `pickle`."""
        return [name for name, entry in self.wanted.items() if kind in entry.get("convert", {}) and not self._complete(name)]

    def missing(self) -> list[str]:
        """Return what the users' copies lack, a sentence each."""
        faults = []
        for name in self.wanted:
            if name not in self.local or self._complete(name) or "images_of" in self.catalogue[name]:
                continue
            lacking = [file for file in self.fetched(name) if not Path(self.local[name], file).is_file()]
            if lacking:
                faults.append(
                    f"fetch.local.{name} is {self.local[name]}, which lacks {', '.join(lacking)}. It must hold {', '.join(self.final(name))}"
                    + (f", or {', '.join(self.fetched(name))} to make them from." if self.made(name) else ".")
                )
        return faults


def _hub_url(hub: Mapping, path: str) -> str:
    from huggingface_hub import hf_hub_url

    # Read here and not when huggingface_hub is imported: a mirror may be named later.
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return hf_hub_url(hub["id"], path, repo_type=None if hub["kind"] == "model" else hub["kind"], revision=hub["revision"], endpoint=endpoint)
