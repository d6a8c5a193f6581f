"""The image tower of Qwen2.5-VL by itself, for the hooks of make_patch.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import torch
import transformers.models.qwen2_5_vl.modeling_qwen2_5_vl as qwen
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from make_hf_checkpoints import fill

OPTIONS = {
    "depth": 3, "num_heads": 2, "hidden_size": 16, "intermediate_size": 12, "out_hidden_size": 8, "patch_size": 2,
    "spatial_merge_size": 2, "in_channels": 3, "window_size": 8, "fullatt_block_indexes": [1],
}  # fmt: skip


class QwenTower(nn.Module):
    """Takes an image; its last hidden state has the patches row by row. Inside, they come a window at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        config = qwen.Qwen2_5_VLVisionConfig.from_pretrained(folder)
        config._attn_implementation = "eager"
        self.tower = qwen.Qwen2_5_VisionTransformerPretrainedModel(config).double().eval()
        tensors = load_file(folder / "model.safetensors")
        self.tower.load_state_dict({name.removeprefix("visual."): value for name, value in tensors.items()})
        self.config = config
        config.num_attention_heads = config.num_heads

    @staticmethod
    def save(folder: Path, seed: int) -> None:
        folder.mkdir(parents=True)
        config = qwen.Qwen2_5_VLVisionConfig(**OPTIONS)
        model = qwen.Qwen2_5_VisionTransformerPretrainedModel(config).float()
        fill(model, seed)
        config.save_pretrained(folder)
        tensors = {f"visual.{name}": value.half() for name, value in model.state_dict().items()}
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    def forward(self, pixel_values: Tensor) -> SimpleNamespace:
        size, merge = self.config.patch_size, self.config.spatial_merge_size
        rows, columns = (side // size for side in pixel_values.shape[2:])
        frames = pixel_values.repeat(2, 1, 1, 1)  # an image is two equal frames
        frames = frames.reshape(1, 2, 3, rows // merge, merge, size, columns // merge, merge, size)
        patches = frames.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(rows * columns, -1)
        places = torch.arange(rows * columns).reshape(rows // merge, merge, columns // merge, merge)
        places = places.permute(0, 2, 1, 3).reshape(-1, merge * merge)
        grid = torch.tensor([[1, rows, columns]])
        order, _ = qwen.get_vision_window_index(
            grid, spatial_merge_size=merge, window_size=self.config.window_size, patch_size=size
        )
        found = self.tower(patches, grid_thw=grid).last_hidden_state
        return SimpleNamespace(last_hidden_state=found[None, places[order].flatten().argsort()])
