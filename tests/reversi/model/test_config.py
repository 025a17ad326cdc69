"""The network's configuration: ranges, and its JSON form in every model's header."""

import pytest

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.model.config import ResNetConfig, network_from_json, network_to_json


def test_json_round_trip():
    config = ResNetConfig(blocks=4, channels=32, policy_channels=2, value_channels=1, value_hidden=256)
    assert network_from_json(network_to_json(config), "here") == config
    assert str(config) == "4 blocks x 32 channels"


@pytest.mark.parametrize("key", ["blocks", "channels", "policy_channels", "value_channels", "value_hidden"])
@pytest.mark.parametrize("value", [0, -1, 100_000, 2.5, "4", True, None])
def test_a_size_out_of_range_is_refused_by_its_full_name(key, value):
    with pytest.raises(ConfigError, match=rf"network\.{key} must be an integer from 1 to \d+, got "):
        ResNetConfig(**{"blocks": 1, "channels": 1, key: value})


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="dual_resnet here, got 'transformer'"):
        ResNetConfig(kind="transformer", blocks=1, channels=1)


@pytest.mark.parametrize("change", [{"kind": "later"}, {"blocks": 0}, {"extra": 1}, {"channels": None}])
def test_a_header_of_another_program_is_incompatible_and_not_a_config_error(change):
    values = network_to_json(ResNetConfig(blocks=1, channels=8)) | change
    with pytest.raises(IncompatibleModelError, match=r"^model\.safetensors: "):
        network_from_json(values, "model.safetensors")


def test_a_header_that_lacks_a_key_names_it():
    values = network_to_json(ResNetConfig(blocks=1, channels=8))
    del values["value_hidden"]
    with pytest.raises(IncompatibleModelError, match="value_hidden"):
        network_from_json(values, "here")
