"""Photographs that a test draws, and captioners that describe them: a few layers of random weights in the form that transformers saves."""

from collections.abc import Sequence
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from transformers import (
    BertConfig,
    BertLMHeadModel,
    BertTokenizerFast,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTImageProcessor,
    ViTModel,
)


def draw(path: Path, number: int) -> Path:
    """Draw a photograph: a disc on a ground, places and colours by the number."""
    image = Image.new("RGB", (48, 32), (40 * number % 256, 90, 200))
    ImageDraw.Draw(image).ellipse((number % 20, 4, number % 20 + 20, 24), fill=(250, 20 * number % 256, 10))
    image.save(path)
    return path


def make_captioner(folder: Path, words: Sequence[str], seed: int = 0) -> Path:
    """Save a vision-encoder-decoder with one layer on each side that strings these words together."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "initializer_range": 1.0}
    torch.manual_seed(seed)
    seeing = ViTModel(ViTConfig(image_size=32, patch_size=16, **shape))
    saying = BertLMHeadModel(BertConfig(vocab_size=5 + len(words), is_decoder=True, add_cross_attention=True, **shape))
    marks = {"pad_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 3}
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(seeing.config, saying.config, **marks)
    VisionEncoderDecoderModel(config=config, encoder=seeing, decoder=saying).save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder
