"""Trains an image encoder and a text encoder on captioned photographs, as CLIP does; `README.md` beside this says how.

Runs on as many ranks as torchrun starts, with NCCL where there are GPUs and gloo elsewhere. Started again after a
crash, it goes on from its checkpoint, on as many ranks as there are then.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.nn.functional import all_gather
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.481, 0.458, 0.408)
STD = (0.269, 0.261, 0.276)
PADDING = 0


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a CSV, JSONL or Parquet list with the columns image and caption")
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json of Hugging Face; token 0 is the padding")
    parser.add_argument("--vision", default="resnet50", help="a model of torchvision.models that ends in `fc`")
    parser.add_argument("--width", type=int, default=512, help="numbers that an image or a text becomes")
    parser.add_argument("--layers", type=int, default=6, help="of the text encoder")
    parser.add_argument("--max-tokens", type=int, default=76)
    parser.add_argument("--epochs", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, help="file; written by rank 0, and gone on from if it is there")
    parser.add_argument("--save-every", type=int, default=500, help="steps from one checkpoint to the next")
    return parser.parse_args(arguments)


def find_device() -> torch.device:
    """This rank's GPU, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


class Tokenize:
    """Captions become token ids, padded to the longest of the batch: what `collate=` calls on the workers."""

    def __init__(self, path: str, max_tokens: int) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.tokenizer.enable_truncation(max_tokens)
        self.tokenizer.enable_padding(pad_id=PADDING)

    def __call__(self, captions: list[str]) -> torch.Tensor:
        """Ids of shape (captions, longest), int64."""
        return torch.tensor([encoding.ids for encoding in self.tokenizer.encode_batch(captions)])


def make_train_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Crops in the native kernel, captions through the tokenizer on the same workers."""
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(args.size, scale=(0.9, 1.0)),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.FileDataset(args.train, fields=("image", "caption"), labels="", transform={"image": transform})
    return hr.DataLoader(
        dataset,
        args.batch_size,
        shuffle=True,
        seed=args.seed,
        drop_last=True,
        pin_memory=True,
        collate={"caption": Tokenize(args.tokenizer, args.max_tokens)},
    )


class Encoders(nn.Module):
    """A convolutional network for images, a small transformer for text, and the temperature between them."""

    def __init__(self, args: argparse.Namespace, num_tokens: int) -> None:
        super().__init__()
        self.vision = torchvision.models.get_model(args.vision, num_classes=args.width)
        self.tokens = nn.Embedding(num_tokens, args.width, padding_idx=PADDING)
        self.places = nn.Parameter(0.01 * torch.randn(args.max_tokens, args.width))
        layer = nn.TransformerEncoderLayer(args.width, 8, 4 * args.width, dropout=0.0, batch_first=True)
        self.text = nn.TransformerEncoder(layer, args.layers, enable_nested_tensor=False)
        self.log_scale = nn.Parameter(torch.tensor(2.66))  # 1 / 0.07, as in the paper

    def forward(self, images: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Images and texts as unit vectors of shape (rows, width), and the scale of their products."""
        lacking = ids == PADDING
        found = self.text(self.tokens(ids) + self.places[: ids.shape[1]], src_key_padding_mask=lacking)
        present = (~lacking).unsqueeze(-1)
        texts = (found * present).sum(1) / present.sum(1).clamp(min=1)
        return functional.normalize(self.vision(images)), functional.normalize(texts), self.log_scale.exp()


def contrast(images: torch.Tensor, texts: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Each image with its own caption among those of all ranks, and the other way round (Radford et al. 2021)."""
    others = [torch.cat(list(all_gather(one))) for one in (images, texts)]
    own = torch.arange(len(images), device=images.device) + dist.get_rank() * len(images)
    by_image = functional.cross_entropy(scale * images @ others[1].T, own)
    by_text = functional.cross_entropy(scale * texts @ others[0].T, own)
    return (by_image + by_text) / 2


def load(path: Path | None, parts: Mapping[str, Stateful]) -> None:
    """Goes on from the checkpoint, if there is one."""
    if path is not None and path.exists():
        states = torch.load(path, map_location="cpu", weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(states[name])


def save(path: Path | None, parts: Mapping[str, Stateful]) -> None:
    """Rank 0 replaces the checkpoint as a whole: a crash in the middle leaves the one before."""
    if path is not None and dist.get_rank() == 0:
        unfinished = path.with_name(path.name + ".unfinished")
        torch.save({name: part.state_dict() for name, part in parts.items()}, unfinished)
        unfinished.replace(path)


def train_epoch(
    model: nn.Module,
    loader: hr.DataLoader[Any],
    optimiser: torch.optim.Optimizer,
    args: argparse.Namespace,
    parts: Mapping[str, Stateful],
) -> float:
    """One epoch, or what is left of it; returns this rank's mean loss."""
    device = next(model.parameters()).device
    total, num_steps = torch.zeros((), device=device), 0
    for images, ids in loader:
        loss = contrast(*model(images.to(device, non_blocking=True), ids.to(device, non_blocking=True)))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        total += loss.detach()
        num_steps += 1
        if loader.step % args.save_every == 0:
            save(args.checkpoint, parts)
    return float(total) / max(1, num_steps)


def train(args: argparse.Namespace, device: torch.device) -> None:
    """All epochs that are left."""
    torch.manual_seed(args.seed)
    loader = make_train_loader(args)
    num_tokens = tokenizers.Tokenizer.from_file(args.tokenizer).get_vocab_size()
    model = Encoders(args, num_tokens).to(device)
    parallel = DistributedDataParallel(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    parts: dict[str, Stateful] = {"model": model, "optimiser": optimiser, "loader": loader}
    load(args.checkpoint, parts)
    if dist.get_rank() == 0:
        print(loader.explain(), flush=True)
    for epoch in range(loader.epoch, args.epochs):
        loss = train_epoch(parallel, loader, optimiser, args, parts)
        save(args.checkpoint, parts)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.3f}", flush=True)


def main() -> None:
    """Joins the other ranks and trains."""
    args = parse_arguments()
    device = find_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        train(args, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
