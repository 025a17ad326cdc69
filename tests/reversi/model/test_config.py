"""The network's configuration: ranges, and its JSON form in every model's header."""

import dataclasses
import json

import pytest

from reversi.errors import ConfigError, IncompatibleModelError
from reversi.model.config import ResNetConfig, TableConfig, network_from_json, network_to_json
from tests.configs import resnet
from tests.reversi.model.samples import LINES, STACKS


def test_json_round_trip():
    config = ResNetConfig(blocks=4, channels=32, policy_channels=2, value_channels=1, value_hidden=256)
    assert network_from_json(network_to_json(config), "here") == config
    assert str(config) == "4 blocks x 32 channels"


@pytest.mark.parametrize("config", [*STACKS.values(), TableConfig(), LINES], ids=str)
def test_every_kind_comes_back_from_its_header(config):
    values = json.loads(json.dumps(network_to_json(config)))
    assert network_from_json(values, "here") == config


def test_headers_of_dual_networks_are_what_they_always_were():
    header = {
        "kind": "dual_resnet",
        "blocks": 4,
        "channels": 32,
        "policy_channels": 16,
        "value_channels": 4,
        "value_hidden": 64,
    }
    assert network_to_json(resnet(blocks=4, channels=32)) == header
    assert network_from_json(header, "here") == resnet(blocks=4, channels=32)


def test_lines_are_said_in_a_header_and_in_the_name_only_where_there_are_some():
    assert network_to_json(LINES) == network_to_json(dataclasses.replace(LINES, lines=False)) | {"lines": True}
    assert str(LINES) == "2 blocks x 16 channels, lines"
    said = network_to_json(LINES) | {"lines": False}
    assert network_from_json(said, "here") == dataclasses.replace(LINES, lines=False)


def test_a_program_from_before_a_field_refuses_it_by_name():
    header = network_to_json(LINES) | {"later": True}
    with pytest.raises(IncompatibleModelError, match=r"^here: unknown key 'network\.later'; valid here: kind, blocks"):
        network_from_json(header, "here")


@pytest.mark.parametrize("value", [0, 1, None, "true"])
def test_lines_are_true_or_false(value):
    with pytest.raises(ConfigError, match=r"network\.lines must be true or false, got "):
        resnet(blocks=1, channels=1, lines=value)
    values = network_to_json(LINES) | {"lines": value}
    with pytest.raises(IncompatibleModelError, match=r"^here: network\.lines"):
        network_from_json(values, "here")


def test_kinds_say_their_layers_and_their_heads():
    small = STACKS["2x2, dense"]
    assert (str(small), small.head) == ("convolutions 4-8-16, dense 32-32", "q")
    assert str(dataclasses.replace(small, agents=2)) == "2 x (convolutions 4-8-16, dense 32-32)"
    linear = dataclasses.replace(small, pointwise=(256, 256), hidden=())
    assert str(linear) == "convolutions 4-8-16, linear at every square 256-256"
    long = dataclasses.replace(small, head="policy", filters=(128,) * 12, hidden=())
    assert (str(long), long.head) == ("12 convolutions of 128", "policy")
    assert (str(TableConfig()), TableConfig().head) == ("table", "q")
    assert resnet(blocks=1, channels=8).head == "dual"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": "dual"}, r"network\.head must be one of policy, q, got 'dual'"),
        ({"planes": 3}, r"network\.planes must be one of 1, 2, 4, got 3"),
        ({"padding": "full"}, r"network\.padding must be one of same, valid, got 'full'"),
        ({"padding": "valid", "hidden": ()}, r"network\.padding must be same where network\.hidden is empty"),
        ({"agents": 3}, r"network\.agents must be one of 1, 2, got 3"),
        ({"width": 6}, r"network\.width must be an integer from 1 to 5, got 6"),
        ({"filters": [8, 8]}, r"network\.filters must be a list of at most 64 integers"),
        ({"filters": (8, 0)}, r"network\.filters must be an integer from 1 to 1024, got 0"),
        ({"hidden": (5000,)}, r"network\.hidden must be an integer from 1 to 4096, got 5000"),
        ({"filters": (), "hidden": ()}, r"network\.filters and network\.hidden must not both be empty"),
        ({"square_bias": True}, r"network\.square_bias must be false where network\.hidden has dense layers"),
        ({"pointwise": (8, 0)}, r"network\.pointwise must be an integer from 1 to 4096, got 0"),
        ({"discs": (2, 1)}, r"network\.discs must be empty unless planes is 1, got \(2, 1\)"),
        ({"planes": 1}, r"network\.discs must be two different integers from -16 to 16 without 0, got \(\)"),
        ({"planes": 1, "discs": (1, 1)}, r"network\.discs must be two different integers .*, got \(1, 1\)"),
        ({"planes": 1, "discs": (1, 0)}, r"network\.discs must be two different integers .*, got \(1, 0\)"),
        ({"dropout": 1}, r"network\.dropout must be from 0 to below 1, got 1"),
        ({"kind": "table"}, r"network\.kind must be stack here, got 'table'"),
    ],
)
def test_a_stack_that_cannot_be_made_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(STACKS["2x2, dense"], **change)


def test_a_header_of_a_stack_that_cannot_be_made_is_incompatible():
    values = network_to_json(STACKS["2x2, dense"]) | {"width": 9}
    with pytest.raises(IncompatibleModelError, match=r"^here: network\.width"):
        network_from_json(values, "here")
    with pytest.raises(IncompatibleModelError, match="agents"):
        network_from_json({key: value for key, value in values.items() if key != "agents"}, "here")


@pytest.mark.parametrize("key", ["blocks", "channels", "policy_channels", "value_channels", "value_hidden"])
@pytest.mark.parametrize("value", [0, -1, 100_000, 2.5, "4", True, None])
def test_a_size_out_of_range_is_refused_by_its_full_name(key, value):
    with pytest.raises(ConfigError, match=rf"network\.{key} must be an integer from 1 to \d+, got "):
        resnet(**{"blocks": 1, "channels": 1, key: value})


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="dual_resnet here, got 'transformer'"):
        resnet(kind="transformer", blocks=1, channels=1)


@pytest.mark.parametrize("change", [{"kind": "later"}, {"blocks": 0}, {"extra": 1}, {"channels": None}])
def test_a_header_of_another_program_is_incompatible_and_not_a_config_error(change):
    values = network_to_json(resnet(blocks=1, channels=8)) | change
    with pytest.raises(IncompatibleModelError, match=r"^model\.safetensors: "):
        network_from_json(values, "model.safetensors")


def test_a_header_that_lacks_a_key_names_it():
    values = network_to_json(resnet(blocks=1, channels=8))
    del values["value_hidden"]
    with pytest.raises(IncompatibleModelError, match="value_hidden"):
        network_from_json(values, "here")
