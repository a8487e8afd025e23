"""Foreign checkpoints into folders that transformers opens: safetensors and JSON, converted once."""

import os
import pickle
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import RobertaConfig, RobertaForSequenceClassification

from muattack.detect.detector import DESCRIPTION
from muattack.errors import InputError
from muattack.fetch.catalogue import TOKENIZER, WEIGHTS
from muattack.records import complete_or_absent, write_json

# Output 0 of the GPT-2 output detector is fake, 1 is real: its server reads them so.
OUTPUTS = {0: "fake", 1: "real"}
# What classifiers of that time saved and today's do not have: a pooling layer that the head never used, and the row numbers of the positions.
UNUSED = {"roberta.pooler.dense.weight", "roberta.pooler.dense.bias", "roberta.embeddings.position_ids"}


def load_weights(path: str | os.PathLike) -> dict[str, torch.Tensor]:
    """Return the tensors of a pickled checkpoint, {name: tensor}, on the CPU; those under `model_state_dict` where it has that key.

    Only tensors and plain values are read (`weights_only`), so that no code in the file runs. Raises InputError for any other file.
    """
    try:
        # Mapped, not read: an optimiser's state may be as large again.
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, OSError):
        try:
            # The format before torch 1.6, which cannot be mapped.
            content = torch.load(path, map_location="cpu", weights_only=True)
        except FileNotFoundError:
            raise InputError(f"The checkpoint {path} does not exist. Run `make fetch` with this configuration.") from None
        except Exception as error:
            raise InputError(
                f"The checkpoint {path} is no pickle of weights that can be read safely ({type(error).__name__}: {' '.join(str(error).split())[:200]}). "
                "It may be half a download: delete it and fetch it again."
            ) from error
    weights = content.get("model_state_dict", content) if isinstance(content, Mapping) else None
    if not isinstance(weights, Mapping) or not weights or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        found = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
        raise InputError(
            f"The checkpoint {path} holds no weights: `model_state_dict`, a mapping of names to tensors, is expected, but it has {found[:200]}."
        )
    return dict(weights)


def convert_detector(checkpoint: str | os.PathLike, like: str | os.PathLike, out: str | os.PathLike) -> dict:
    """Write a checkpoint of the GPT-2 output detector as a model folder, and return what was done: tensors, parameters, dropped names.

    checkpoint: a pickle with `model_state_dict` of a RoBERTa classifier with two outputs (or that mapping alone). like: a folder with
    config.json and tokenizer of the RoBERTa that it was fine-tuned from. Raises InputError for a tensor that is missing, unknown, of
    another shape or not finite: nothing is filled in or left out but what UNUSED names.
    """
    weights = load_weights(checkpoint)
    config = RobertaConfig.from_pretrained(str(like), local_files_only=True)
    config.id2label, config.label2id = dict(OUTPUTS), {name: index for index, name in OUTPUTS.items()}
    config.architectures = ["RobertaForSequenceClassification"]
    # Names and shapes alone: nothing is allocated.
    with torch.device("meta"):
        shapes = {name: tuple(value.shape) for name, value in RobertaForSequenceClassification(config).state_dict().items()}
    dropped = sorted(UNUSED & weights.keys() - shapes.keys())
    kept = {name: value for name, value in weights.items() if name not in dropped}
    faults = []
    if missing := sorted(shapes.keys() - kept.keys()):
        faults.append(f"lacks {_some(missing)}")
    if extra := sorted(kept.keys() - shapes.keys()):
        faults.append(f"has {_some(extra)} besides")
    faults += [
        f"has {name} of shape {tuple(kept[name].shape)} and not {shape}"
        for name, shape in shapes.items()
        if name in kept and tuple(kept[name].shape) != shape
    ][:3]
    if not faults:
        faults = [f"has {name} with a value that is no finite number" for name, value in kept.items() if not torch.isfinite(value).all()][:3]
    if faults:
        raise InputError(
            f"The checkpoint {checkpoint} is no detector in the shape of {like}: it {'; it '.join(faults)}. Convert a checkpoint of the same RoBERTa, "
            "as detector-large.pt is of roberta-large."
        )
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    config.dtype = next(iter(kept.values())).dtype
    config.save_pretrained(out)
    # What says which output is the machine's where the folder is opened as it is.
    write_json(out / DESCRIPTION, {"labels": ["machine", "human"]})
    for name in TOKENIZER:
        shutil.copyfile(Path(like, name), out / name)
    _save(kept, out / WEIGHTS)
    return {"tensors": len(kept), "parameters": sum(value.numel() for value in kept.values()), "dropped": dropped, "outputs": list(OUTPUTS.values())}


def convert_pickle(weights: str | os.PathLike, out: str | os.PathLike) -> dict:
    """Write pickled weights as the safetensors file `out`, and return how many tensors it has.

    Whether they fit the model shows when it is opened, as with weights that come as safetensors.
    """
    tensors = load_weights(weights)
    _save(tensors, Path(out))
    return {"tensors": len(tensors)}


def _save(tensors: Mapping[str, torch.Tensor], out: Path) -> None:
    """Write tensors as safetensors; one that is tied to another is written under both names.

    Of the two, transformers reads the one that the architecture says, which a file cannot know: huggingface_hub's function for this keeps
    the first by the alphabet, and a GPT-2 then opens with empty embeddings.
    """
    seen, apart = set(), {}
    for name, value in tensors.items():
        place = value.untyped_storage().data_ptr()
        apart[name] = value.clone() if place in seen else value.contiguous()
        seen.add(place)
    with complete_or_absent(out) as temporary:
        save_file(apart, temporary, metadata={"format": "pt"})


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
