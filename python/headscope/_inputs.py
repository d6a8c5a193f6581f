"""What a model is run on: texts, token ids, images and pixels, in whatever form they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._arrays import array_of, float_array
from ._check import kind_of
from ._errors import ArgumentError

_IMAGES = (".png", ".jpg", ".jpeg")
_TEXTS = (".txt", ".text", ".md")
#: What a tokenizer or an image processor adds for others: it says nothing about what the model computes.
_NOTES = ("special_tokens_mask", "offset_mapping", "length", "num_truncated_tokens", "overflow_to_sample_mapping")
_EXPECTED = "text, token ids, an image, pixels, the path of a file, or what a tokenizer or image processor returned"


@dataclass
class Inputs:
    """Inputs by kind, each in the order in which they were given."""

    texts: list[str] = field(default_factory=list)
    text_files: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)
    ids: list[NDArray[np.int64]] = field(default_factory=list)
    image_files: list[str] = field(default_factory=list)
    #: Levels from 0 to 255, [height, width, 1 or 3], and the name of the file.
    images: list[tuple[NDArray[np.uint8], str]] = field(default_factory=list)
    #: [images, channels, height, width]
    pixels: list[NDArray[np.float32]] = field(default_factory=list)

    def kinds(self) -> list[str]:
        """The kinds that there are, in words."""
        words = {"texts": "texts", "text_files": "files of text", "arrays": "npy files", "ids": "token ids",
                 "image_files": "files of images", "images": "images", "pixels": "pixels"}
        return [text for name, text in words.items() if getattr(self, name)]


def inputs_of(name: str, value: Any) -> Inputs:
    """Sorts one input or several; ``name`` is the parameter."""
    found = Inputs()
    _add(found, name, value)
    if len(found.kinds()) > 1:
        raise ArgumentError(f"{name}: mixes {' and '.join(found.kinds())}; give inputs of one kind")
    return found


def _add(found: Inputs, name: str, value: Any, depth: int = 0) -> None:
    if isinstance(value, str):
        _add_text(found, name, value)
    elif isinstance(value, PathLike):
        _add_path(found, name, fspath(value))
    elif _is_image(value):
        found.images.append(_levels_of_image(name, value))
    elif _is_batch(value):
        _add_batch(found, name, value)
    elif _is_encoding(value):
        found.ids.append(_without_padding(name, value.ids, value.attention_mask))
    elif _is_array(value):
        _add_array(found, name, value, depth)
    elif isinstance(value, (list, tuple, range, Iterator)):
        _add_list(found, name, list(value), depth)
    else:
        hint = "; decode it to text" if isinstance(value, bytes) else ""
        raise ArgumentError(f"{name}: expected {_EXPECTED}, found {kind_of(value)}{hint}")


def _add_text(found: Inputs, name: str, text: str) -> None:
    if not text:
        place = f"text {len(found.texts)} " if found.texts else ""
        raise ArgumentError(f"{name}: {place}is empty; there is nothing to run the model on")
    suffix = Path(text).suffix.lower() if len(text) < 4096 and "\n" not in text else ""
    # Nobody wants to know what heads do on the name of a file.
    if suffix in (*_IMAGES, *_TEXTS, ".npy") and Path(text).is_file():
        if suffix not in _IMAGES:
            raise ArgumentError(f"{name}: '{text}' is the name of a file, which would be read as text; for its "
                                "contents give a pathlib.Path")
        found.image_files.append(text)
    else:
        found.texts.append(text)


def _add_path(found: Inputs, name: str, path: Any) -> None:
    if not isinstance(path, str):
        raise ArgumentError(f"{name}: expected a path of text, found bytes")
    suffix = Path(path).suffix.lower()
    if suffix in _IMAGES:
        found.image_files.append(path)
    elif suffix in _TEXTS:
        found.text_files.append(path)
    elif suffix == ".npy":
        found.arrays.append(path)
    else:
        raise ArgumentError(f"{name}: '{path}' is of no known kind ({', '.join((*_TEXTS, *_IMAGES, '.npy'))}); give "
                            "text_file, image, ids or pixels")


def _add_list(found: Inputs, name: str, values: list[Any], depth: int) -> None:
    if not values:
        raise ArgumentError(f"{name}: is empty; give at least one input" if depth == 0 else
                            f"{name}: input {len(found.ids)} is empty")
    if any(isinstance(one, (bool, np.bool_)) for one in values):
        raise ArgumentError(f"{name}: True and False are not token ids")
    integers = [_is_integer(one) for one in values]
    if all(integers):
        found.ids.append(np.array([_id_of(name, one) for one in values], dtype=np.int64))
        return
    if any(integers):
        other = values[integers.index(False)]
        raise ArgumentError(f"{name}: mixes token ids and {kind_of(other)}; give inputs of one kind")
    if depth == 0 and all(isinstance(one, (float, np.floating)) for one in values):
        raise ArgumentError(f"{name}: numbers with a point are not token ids, which are integers")
    if isinstance(values[0], (list, tuple)) and _holds_floats(values):
        found.pixels.append(_pixels_of(name, values))
        return
    if depth > 0:
        raise ArgumentError(f"{name}: input {len(found.ids)} holds {kind_of(values[0])}, expected token ids")
    for one in values:
        if isinstance(one, (list, tuple)) or not isinstance(one, Iterable) or _is_input(one):
            _add(found, name, one, depth + 1)
        else:
            raise ArgumentError(f"{name}: expected {_EXPECTED}, found {kind_of(one)} in the list")


def _holds_floats(values: Any) -> bool:
    """Whether it is a list, of lists, of floats: pixels that were an array."""
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return isinstance(values, (float, np.floating))


def _is_input(value: Any) -> bool:
    return isinstance(value, (str, PathLike, range)) or _is_image(value) or _is_batch(value) or _is_encoding(
        value) or _is_array(value)


def _is_integer(value: Any) -> bool:
    if isinstance(value, (int, np.integer)):
        return True
    return getattr(value, "ndim", None) == 0 and "int" in str(getattr(value, "dtype", ""))


def _id_of(name: str, value: Any) -> int:
    number = int(value)
    if not 0 <= number < 2**32:
        raise ArgumentError(f"{name}: {number} is not a token id")
    return number


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _add_array(found: Inputs, name: str, value: Any, depth: int) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind in "UOS" and value.ndim > 0:
        _add_list(found, name, list(value.tolist()), depth)
        return
    array = array_of(name, value)
    shape = f"{array.dtype} of shape {list(array.shape)}"
    if array.size == 0:
        raise ArgumentError(f"{name}: is empty, {shape}")
    if array.dtype == np.uint8 and array.ndim in (3, 4):
        found.images += [(one, "") for one in _levels(name, array)]
    elif array.dtype == np.uint8:
        raise ArgumentError(f"{name}: {shape} may be token ids or a gray image; give ids=, or image= [height, width, "
                            "1]")
    elif array.dtype.kind in "iu" and array.ndim in (1, 2) and array.ndim + depth <= 2:
        rows = np.atleast_2d(array)
        for number in (rows.min(), rows.max()):
            _id_of(name, number)
        found.ids += [np.ascontiguousarray(row, dtype=np.int64) for row in rows]
    elif array.dtype.kind == "f" and array.ndim in (3, 4) and array.ndim + depth <= 4:
        found.pixels.append(_pixels_of(name, array))
    else:
        raise ArgumentError(f"{name}: {shape}; expected token ids (integers [tokens] or [inputs, tokens]), an image "
                            "(uint8 [height, width, 3]) or normalized pixels (floats [channels, height, width])")


def _pixels_of(name: str, values: Any) -> NDArray[np.float32]:
    if not (_is_array(values) or isinstance(values, (list, tuple))):
        raise ArgumentError(f"{name}: expected normalized pixels, which are floats, found {kind_of(values)}")
    array = array_of(name, values)
    shape = f"{array.dtype} of shape {list(array.shape)}"
    if array.dtype.kind != "f":
        hint = "; give an image of levels from 0 to 255 as image=" if array.dtype == np.uint8 else ""
        raise ArgumentError(f"{name}: expected normalized pixels, which are floats, found {shape}{hint}")
    if array.ndim not in (3, 4):
        raise ArgumentError(f"{name}: expected pixels [channels, height, width] or [images, channels, height, width], "
                            f"found {shape}")
    if array.size == 0:
        raise ArgumentError(f"{name}: is empty, {shape}")
    if array.shape[-1] in (1, 3) and array.shape[-3] not in (1, 3):
        raise ArgumentError(f"{name}: {shape} has its channels last, expected [channels, height, width]; transpose it")
    floats = float_array(name, array)
    return floats[np.newaxis] if floats.ndim == 3 else floats


def _levels(name: str, array: NDArray[Any]) -> list[NDArray[np.uint8]]:
    """Images of an array of uint8."""
    images = array if array.ndim == 4 else array[np.newaxis]
    if array.dtype != np.uint8 or array.ndim not in (3, 4) or images.shape[-1] not in (1, 3) or array.size == 0:
        hint = "; drop the fourth, which is transparency" if array.ndim in (3, 4) and images.shape[-1] == 4 else ""
        raise ArgumentError(f"{name}: expected images of uint8 [height, width, 3], found {array.dtype} of shape "
                            f"{list(array.shape)}{hint}")
    return [np.ascontiguousarray(one) for one in images]


def _is_image(value: Any) -> bool:
    """Whether it is an image of PIL."""
    return any(kind.__module__ == "PIL.Image" and kind.__name__ == "Image" for kind in type(value).__mro__)


def _levels_of_image(name: str, image: Any) -> tuple[NDArray[np.uint8], str]:
    if image.width == 0 or image.height == 0:
        raise ArgumentError(f"{name}: the image has no pixels")
    # What PIL says of a file that it opened; the program reads files of images the same way.
    return np.ascontiguousarray(image.convert("RGB"), dtype=np.uint8), Path(str(getattr(image, "filename", ""))).name


def _is_batch(value: Any) -> bool:
    return isinstance(value, Mapping) or isinstance(getattr(value, "data", None), Mapping)


def _is_encoding(value: Any) -> bool:
    """Whether it is an Encoding of the tokenizers library."""
    return all(hasattr(value, name) for name in ("ids", "attention_mask", "type_ids"))


def _add_batch(found: Inputs, name: str, batch: Any) -> None:
    fields = dict(batch if isinstance(batch, Mapping) else batch.data)
    ids, pixels = fields.pop("input_ids", None), fields.pop("pixel_values", None)
    mask, types = fields.pop("attention_mask", None), fields.pop("token_type_ids", None)
    for note in _NOTES:
        fields.pop(note, None)
    if (ids is None) == (pixels is None):
        which = "neither" if ids is None else "both"
        raise ArgumentError(f"{name}: the mapping has {which} of input_ids and pixel_values, expected one of them")
    if fields:
        raise ArgumentError(f"{name}: the mapping has '{next(iter(fields))}', which headscope does not use; leave it "
                            "out")
    if pixels is not None:
        many = isinstance(pixels, (list, tuple)) and all(map(_is_array, pixels))
        found.pixels += [_pixels_of(f"{name}['pixel_values']", one) for one in (pixels if many else [pixels])]
        return
    rows = _rows(f"{name}['input_ids']", ids)
    masks = _rows(f"{name}['attention_mask']", mask) if mask is not None else [None] * len(rows)
    kinds = _rows(f"{name}['token_type_ids']", types) if types is not None else []
    if len(masks) != len(rows):
        raise ArgumentError(f"{name}: {len(rows)} inputs with {len(masks)} attention masks")
    if any(row.any() for row in kinds):
        raise ArgumentError(f"{name}: token_type_ids mark pairs of texts; headscope takes every token as of the first "
                            "one")
    found.ids += [_without_padding(name, row, one) for row, one in zip(rows, masks, strict=True)]


def _rows(name: str, values: Any) -> list[NDArray[np.int64]]:
    """Integers, one array per input."""
    rows = Inputs()
    if isinstance(values, (str, PathLike)) or _is_batch(values):
        raise ArgumentError(f"{name}: expected integers, found {kind_of(values)}")
    _add(rows, name, values)
    if not rows.ids:
        raise ArgumentError(f"{name}: expected integers, found {' and '.join(rows.kinds())}")
    return rows.ids


def _without_padding(name: str, ids: Any, mask: Any) -> NDArray[np.int64]:
    row = np.asarray(ids, dtype=np.int64)
    if mask is None:
        return row
    kept = np.asarray(mask) != 0
    if kept.shape != row.shape:
        raise ArgumentError(f"{name}: {row.size} token ids with an attention_mask of {kept.size}")
    places = np.flatnonzero(kept)
    if places.size == 0:
        raise ArgumentError(f"{name}: the attention_mask leaves nothing of an input")
    if places[-1] - places[0] + 1 != places.size:
        raise ArgumentError(f"{name}: the attention_mask has gaps; only padding before and after the tokens can be "
                            "removed")
    return row[places[0]:places[-1] + 1]


def ids_of(name: str, value: Any) -> list[NDArray[np.int64]]:
    """Token ids, one array per input."""
    is_list = isinstance(value, (list, tuple, range, Iterator))
    if not (is_list or _is_array(value) or _is_batch(value) or _is_encoding(value)):
        raise ArgumentError(f"{name}: expected integers [tokens] or [inputs, tokens], found {kind_of(value)}")
    array = array_of(name, value) if _is_array(value) else None
    if array is not None and (array.ndim not in (1, 2) or array.dtype.kind not in "iu" or array.size == 0):
        raise ArgumentError(f"{name}: expected integers [tokens] or [inputs, tokens], found {array.dtype} of shape "
                            f"{list(array.shape)}")
    found = inputs_of(name, value if array is None or array.dtype != np.uint8 else array.astype(np.int64))
    if not found.ids:
        raise ArgumentError(f"{name}: expected token ids, found {found.kinds()[0]}")
    return found.ids


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, PathLike))


def _is_paths(value: Any) -> bool:
    """Whether it is a path or paths; the default, an empty tuple, is."""
    if _is_path(value):
        return True
    return isinstance(value, (list, tuple)) and (value == () or (len(value) > 0 and all(map(_is_path, value))))


def _paths(value: Any) -> list[Any]:
    return [value] if _is_path(value) else list(value)


def give_inputs(request: _native.Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Gives a request what is in memory. Returns the other parameters: texts, names of files, and options."""
    left = {name: value for name, value in parameters.items() if value is not None}  # None is the default
    by_name = {name: _paths(left[name]) if _is_paths(left.get(name)) else [] for name in ("ids", "image", "text_file")}
    text, given = left.get("text"), left.get("text_file")
    if given is not None and not _is_paths(given):
        raise ArgumentError(f"text_file: expected paths, found {kind_of(given)}")
    found = inputs_of("text", text) if text is not None and not _is_nothing(text) else Inputs()
    if found.arrays:
        raise ArgumentError(f"text: '{found.arrays[0]}' may hold token ids or pixels; give it as ids= or pixels=")
    if not _is_paths(left.get("ids", ())):
        found.ids += ids_of("ids", left["ids"])
    if not _is_paths(left.get("image", ())):
        images = _images_of(left["image"])
        found.images += images.images
        found.image_files += images.image_files
    if not _is_paths(left.get("pixels", ())):
        found.pixels.append(_pixels_of("pixels", left.pop("pixels")))
    left |= {"text": found.texts, "text_file": [*by_name["text_file"], *found.text_files], "ids": by_name["ids"],
             "image": [*by_name["image"], *found.image_files]}
    for row in found.ids:
        request.give_ids(row[np.newaxis])
    for levels, name in found.images:
        request.give_image(levels, name)
    for pixels in found.pixels:
        request.give_pixels(pixels)
    return left


def _is_nothing(text: Any) -> bool:
    return isinstance(text, tuple) and not text


def _images_of(value: Any) -> Inputs:
    found = Inputs()
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if _is_image(one):
            found.images.append(_levels_of_image("image", one))
        elif _is_path(one):
            found.image_files.append(fspath(one))
        elif _is_array(one):
            found.images += [(levels, "") for levels in _levels("image", array_of("image", one))]
        else:
            raise ArgumentError(f"image: expected paths, images of PIL or arrays of uint8, found {kind_of(one)}")
    if not found.images and not found.image_files:
        raise ArgumentError("image: is empty; give at least one image")
    if found.images and found.image_files:
        raise ArgumentError("image: mixes files of images and images; give inputs of one kind")
    return found


def give_paired(request: _native.Request, inputs: Any) -> bool:
    """Gives a request the inputs that are paired with others; returns False for files."""
    if _is_paths(inputs):
        return False
    found = inputs_of("pairs_with", inputs)
    if not found.ids and not found.pixels:
        raise ArgumentError(f"pairs_with: expected files, token ids or pixels, found {found.kinds()[0]}")
    for row in found.ids:
        request.give_paired_ids(row[np.newaxis])
    for pixels in found.pixels:
        request.give_paired_pixels(pixels)
    return True
