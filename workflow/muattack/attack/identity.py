"""What identifies a victim's weights. Imports neither torch nor TextAttack."""

import json
import os
from pathlib import Path

from muattack.records import sha256
from muattack.seeds import digest


def victim_sha256(folder: str | os.PathLike) -> str:
    """Return what identifies the victim's weights: the SHA-256 of its one file of weights, or a digest of several; of a callable its name."""
    path = Path(folder)
    if not path.is_dir():
        return f"{digest('callable', folder):016x}"
    files = [file for file in ("model.safetensors", "head.safetensors") if (path / file).is_file()]
    sums = [sha256(path / file) for file in files]
    about = path / "muattack.json"
    if about.is_file():
        description = json.loads(about.read_text(encoding="utf-8"))
        frozen = description.get("encoder")
        sums += [frozen["sha256"]] if frozen else []
        # A detector that is opened has no weights of its own: what it depends on is in its description.
        sums += [sha256(about)] if "opened" in description else []
    return sums[0] if len(sums) == 1 else f"{digest(*sums):016x}"
