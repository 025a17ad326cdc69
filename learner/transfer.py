"""Batches on their way to a GPU: copied beside the steps, on a stream of their own; on a CPU there is nothing to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import torch

from learner.batches import Batch

B = TypeVar("B", bound=Batch)


class Transfer:
    """The way to one device.  `send` may run on another thread than `receive`."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)

    @property
    def pinned(self) -> bool:
        """Whether batches should lie in pinned memory: what a GPU copies by itself while both sides work on."""
        return self._stream is not None

    def send(self, batch: B) -> B:
        """Begin the copy; the result is for `receive`.  Pinned memory is not used again before it has been read."""
        if self._stream is None:
            return batch
        with torch.cuda.stream(self._stream):
            sent = batch.to(self._device)
            return replace(sent, arrived=self._stream.record_event())

    def receive(self, batch: B) -> B:
        """Return the batch as the device can use it now, sent or not; the host does not wait, the device does."""
        if batch.arrived is None:
            return batch.to(self._device)
        current = torch.cuda.current_stream(self._device)
        current.wait_event(batch.arrived)
        for tensor in batch.tensors().values():
            tensor.record_stream(current)
        return batch
