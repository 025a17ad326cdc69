"""Transfers of batches to a GPU: asynchronous copies on a separate stream; on a CPU there is nothing to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import torch

from learner.batches import Batch

B = TypeVar("B", bound=Batch)


class Transfer:
    """Copies batches to one device.  `send` may run on another thread than `receive`."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)

    @property
    def pinned(self) -> bool:
        """Whether batches should be in pinned memory, which a GPU can copy asynchronously."""
        return self._stream is not None

    def send(self, batch: B) -> B:
        """Begin the copy and return the batch for `receive`.  torch reuses pinned memory only after the copy."""
        if self._stream is None:
            return batch
        with torch.cuda.stream(self._stream):
            sent = batch.to(self._device)
            return replace(sent, arrived=self._stream.record_event())

    def receive(self, batch: B) -> B:
        """Return a batch, sent or not, on the device; the device waits for the copy, the host does not."""
        if batch.arrived is None:
            return batch.to(self._device)
        current = torch.cuda.current_stream(self._device)
        current.wait_event(batch.arrived)
        for tensor in batch.tensors().values():
            tensor.record_stream(current)
        return batch
