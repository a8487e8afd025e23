"""What a run has of assets: checked once more, and written down with source and licence."""

from pathlib import Path

from muattack.errors import InputError
from muattack.fetch.catalogue import Assets
from muattack.fetch.lock import expected, read_lock
from muattack.records import sha256


def describe_assets(assets: Assets) -> dict[str, dict]:
    """Return {asset: what, licence, page, place, files {name: size, sha256}} of all assets of a configuration, fetched ones checked.

    A user's copies are described, not checked. Raises InputError for a fetched file that has changed since.
    """
    entries, found = read_lock(assets.lock), {}
    for name, entry in assets.wanted.items():
        files = {}
        for file in dict.fromkeys([*assets.fetched(name), *assets.made(name)]):
            path = Path(assets.path(name, file))
            if not path.is_file():
                continue
            files[file] = {"size": path.stat().st_size, "sha256": sha256(path)}
            if name not in assets.local and file in assets.fetched(name):
                source = assets.source(name, file)
                own = source["file"] | {"url": f"{source['url']}#{source['member']}"} if "member" in source else source
                wanted, by = expected(own, entries)
                if wanted not in (None, files[file]["sha256"]):
                    raise InputError(
                        f"The file {path} of the asset {name} has changed since it was fetched: {by} says SHA-256 {wanted}, found {files[file]['sha256']}. "
                        "Delete it, and it is fetched again."
                    )
        place = "a copy of the user's" if name in assets.local else "fetched"
        found[name] = {key: entry[key] for key in ("what", "licence", "page")} | {"place": place, "files": files}
    return found
