"""Write a model as an ONNX file, which other programs can run without this one.

The file's input is the planes of a position, its outputs are those of the network; docs/export.md describes them.  An
existing file is replaced.  Exit code 3 if the registry cannot be reached, 4 if it holds no gated model yet.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from reversi import json
from reversi.errors import printable
from scripts.arguments.common import add_json, add_model, add_registry, add_size, file_path, game_of_size

EXAMPLES = """
reversi export -o champion.onnx
reversi export --registry runs/long/registry --model 12 -o twelve.onnx --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the model, the file and the form of the answer."""
    parser.add_argument(
        "-o", "--output", type=file_path, metavar="FILE", help="file to write (default: GAME-VERSION.onnx, here)"
    )
    add_model(parser)
    add_size(parser, "the model's")
    add_registry(parser)
    add_json(parser, "one JSON object")


def run(args: argparse.Namespace) -> int:
    """Write the file; print its name, size, input and outputs."""
    import hashlib

    from reversi.errors import RunError
    from reversi.files import write_output
    from reversi.games.rules import game_named
    from reversi.model.export import input_port, output_ports, to_onnx, weights_sha256
    from reversi.model.lookup import load_model

    weights = load_model("gated" if args.model is None else args.model, args.registry, game_of_size(args))
    path = args.output or Path(f"{weights.game}-{weights.version}.onnx")
    data = to_onnx(weights)
    try:
        write_output(path, data)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error
    game = game_named(weights.game)
    takes, gives = input_port(game), output_ports(weights.network.head, game)
    if args.json:
        about = {"version": weights.version, "path": str(path), "sha256": hashlib.sha256(data).hexdigest()}
        about |= {"size": len(data), "game": game.name, "weights_sha256": weights_sha256(weights)}
        print(json.dumps(about | {"inputs": [takes._asdict()], "outputs": [port._asdict() for port in gives]}))
        return 0
    print(printable(f"{path}: version {weights.version} of {game.name}, {weights.network}; {len(data)} bytes"))
    for what, port in (("input", takes), *(("output", port) for port in gives)):
        print(f"  {what:<6}  {port.name:<6}  float32[{', '.join(map(str, port.shape))}]")
    return 0
