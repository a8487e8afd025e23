"""Let a Hugging Face image-to-text model caption photographs: beam search, in batches, going on where a killed job was."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps

from muattack.data.coco import read_images, shard_captions
from muattack.detect.encoder import NO_WEIGHTS, load_tokenizer, locate_encoder, quiet_transformers, readable
from muattack.device import device, device_name, enough_memory
from muattack.errors import InputError
from muattack.kept import KeptLines
from muattack.progress import progress
from muattack.records import sha256
from muattack.sources import code_sha256
from muattack.train.optimise import run_facts

# Larger photographs in JPEG are read at a half, a quarter or an eighth of their size, never smaller than this: captioners see 224 to 480 pixels.
LARGE = (1024, 1024)
# Weights of a layer that generating never uses.
UNUSED = (".pooler.",)


class BadImage(Exception):
    """An image that cannot be captioned, with the reason."""


def open_image(path: str | os.PathLike) -> Image.Image:
    """Return a photograph as RGB, 8 bits a channel, upright.

    Grey, CMYK, palettes and 16 bits are converted, what is transparent lies on white, of an animation it is the first picture. Raises BadImage
    for a file that is no image, is cut off, has more than twice Image.MAX_IMAGE_PIXELS, or has numbers that are no brightness (32-bit floats).
    """
    try:
        with Image.open(path) as image:
            image.draft("RGB", LARGE)
            image.load()
            image = ImageOps.exif_transpose(image)
            if image.mode.startswith("I"):
                values = np.asarray(image).astype(np.int64)
                # 16 bits, also where they come in a container of 32; 257 = 65535 / 255.
                image = Image.fromarray((values // 257 if values.max(initial=0) > 255 else values).clip(0, 255).astype(np.uint8))
            elif image.mode == "F":
                raise BadImage("its pixels are floating-point numbers: save it with 8 bits a channel")
            if image.has_transparency_data:
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
            return image.convert("RGB")
    except BadImage:
        raise
    except Image.DecompressionBombError:
        raise BadImage(f"it has more than {2 * Image.MAX_IMAGE_PIXELS / 1e6:.0f} million pixels: save it smaller") from None
    except Exception as error:
        # Decoders raise whatever they like: OSError, SyntaxError, struct.error, ...
        raise BadImage(f"it does not open ({type(error).__name__}: {' '.join(str(error).split())[:120]})") from error


class Captioner:
    """An image-to-text model with its image processor and tokenizer."""

    def __init__(self, folder: str | os.PathLike, settings: Mapping) -> None:
        from transformers import AutoImageProcessor, AutoModelForImageTextToText

        self.settings = settings
        self.tokenizer = load_tokenizer(folder)
        with readable(folder), quiet_transformers():
            # The processor that needs no torchvision, by its name in transformers 5 and 4.
            self.processor = AutoImageProcessor.from_pretrained(str(folder), local_files_only=True, **processor_choice())
            self.model, told = AutoModelForImageTextToText.from_pretrained(
                str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
        missing = [name for name in told["missing_keys"] if not any(part in name for part in UNUSED)]
        unknown = [name for name in told["unexpected_keys"] if not name.endswith(NO_WEIGHTS)]
        wrong = [str(one[0] if isinstance(one, tuple) else one) for one in told["mismatched_keys"]]
        if missing or unknown or wrong:
            kinds = (("missing", missing), ("unknown", unknown), ("of another shape", wrong))
            what = "; ".join(f"{len(names)} {kind}, such as {sorted(names)[0]}" for kind, names in kinds if names)
            raise InputError(f"The weights of the captioner {folder} do not fit its config.json ({what}). Copy both from the same place.")
        self.model.eval().to(device())

    def caption(self, images: Sequence[Image.Image]) -> list[list[str]]:
        """Return `captions_per_image` captions of each image, the most probable first."""
        pixels = self.processor(images=list(images), return_tensors="pt")["pixel_values"].to(device())
        count = self.settings["captions_per_image"]
        with torch.inference_mode(), quiet_transformers(), enough_memory("captions.coco.batch_size"):
            tokens = self.model.generate(
                pixel_values=pixels,
                num_beams=self.settings["beams"],
                num_return_sequences=count,
                max_new_tokens=self.settings["max_tokens"],
                do_sample=False,
            )
        texts = [" ".join(text.split()) for text in self.tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        return [texts[start : start + count] for start in range(0, len(texts), count)]


def processor_choice() -> dict:
    """Return the argument that chooses image processors on Pillow."""
    import transformers

    return {"use_fast": False} if int(transformers.__version__.split(".")[0]) < 5 else {"backend": "pil"}


def caption_images(
    listed: str | os.PathLike,
    captioner: Mapping,
    settings: Mapping,
    out: str | os.PathLike,
    state: str | os.PathLike,
    shard: int = 0,
    shards: int = 1,
    threads: int = 1,
) -> None:
    """Caption every `shards`-th batch of the listed images from batch number `shard` on and write them (`muattack.data.coco.shard_captions`).

    captioner: {model: folder or hub id, revision}; settings: captions_per_image, beams, max_tokens, batch_size. The batches are those of all
    images, so that captions do not depend on how many shards there are. What is done is kept in the file `state`. Images that do not open are told
    together, when all others are captioned. Raises InputError.
    """
    torch.set_num_threads(threads)
    images = read_images(listed)
    size = settings["batch_size"]
    batches = [images[start : start + size] for start in range(0, len(images), size)][shard::shards]
    found = locate_encoder({"source": "huggingface", "path": captioner["model"], "revision": captioner.get("revision")})
    meta = {
        # A folder's place is no property of it.
        "model": found.name if Path(captioner["model"]).is_dir() else captioner["model"],
        "model_sha256": sha256(found / "model.safetensors"),
        **{key: settings[key] for key in ("captions_per_image", "beams", "max_tokens", "batch_size")},
        **run_facts(threads),
    }
    wanted = {image["image_id"]: image.get("sha256") for batch in batches for image in batch}
    log = KeptLines(Path(state), [meta, device_name(), code_sha256(__file__)], lambda record: wanted.get(record["id"]) == record["sha256"])
    if log.done:
        print(f"{log.path}: {len(log.done)} of {len(wanted)} images are captioned already", flush=True)
    waiting = [batch for batch in batches if any(image["image_id"] not in log.done for image in batch)]
    model = Captioner(found, settings) if waiting else None
    bad: list[tuple[str, str]] = []
    for batch, pictures in progress(_pictures(waiting, threads), f"batches of {size} images captioned", total=len(waiting)):
        good = [(image, picture) for image, picture in zip(batch, pictures, strict=True) if not isinstance(picture, BadImage)]
        bad += [(image["path"], str(picture)) for image, picture in zip(batch, pictures, strict=True) if isinstance(picture, BadImage)]
        if good:
            captions = model.caption([picture for _, picture in good])
            log.add(
                *(
                    {"id": image["image_id"], "sha256": image.get("sha256"), "captions": texts}
                    for (image, _), texts in zip(good, captions, strict=True)
                )
            )
    log.close()
    if bad:
        shown = "; ".join(f"{path}: {reason}" for path, reason in bad[:5])
        raise InputError(
            f"{len(bad)} of {len(wanted)} images cannot be captioned. {shown}{' ...' if len(bad) > 5 else ''}. Mend these files, or take their lines out of the list "
            "that captions.coco.images names; the other images are captioned and will not be again."
        )
    shard_captions(out, meta, {image: log.done[image]["captions"] for image in wanted})


def _pictures(batches: list[list[dict]], threads: int) -> Iterator[tuple[list[dict], list[Image.Image | BadImage]]]:
    """Yield each batch with its pictures, or why there are none; the next batch is read while the model works on one."""

    def read(image: dict) -> Image.Image | BadImage:
        try:
            return open_image(image["path"])
        except BadImage as error:
            return error

    with ThreadPoolExecutor(max(1, threads)) as pool:
        ahead: list = []
        for number, batch in enumerate(batches):
            for later in batches[number + len(ahead) : number + 2]:
                ahead.append([pool.submit(read, image) for image in later])
            yield batch, [one.result() for one in ahead.pop(0)]
