"""Batches on their way to a device."""

from __future__ import annotations

import pytest
import torch

from learner.training.transfer import Transfer
from tests.learner.jobs import batch


def test_a_cpu_gets_the_very_batch() -> None:
    transfer, made = Transfer(torch.device("cpu")), batch(4)
    assert not transfer.pinned
    for got in (transfer.receive(transfer.send(made)), transfer.receive(made)):
        for name, tensor in made.tensors().items():
            assert got.tensors()[name].data_ptr() == tensor.data_ptr()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gets_the_same_numbers_sent_or_not() -> None:
    transfer = Transfer(torch.device("cuda"))
    for seed in range(20):
        made = batch(64, seed, pinned=transfer.pinned)
        sent = transfer.send(made)
        assert sent.arrived is not None
        for got in (transfer.receive(sent), transfer.receive(made)):
            for name, tensor in made.tensors().items():
                torch.testing.assert_close(got.tensors()[name].cpu(), tensor, rtol=0, atol=0)
