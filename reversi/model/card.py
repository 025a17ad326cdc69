"""The model card: what a model is, how it was made, what is known of its strength, and how to use it, in Markdown.

It begins with metadata in YAML, as model hubs expect of a README.md
(https://huggingface.co/docs/hub/model-cards): licence, library, tags, and results as a `model-index`.
"""

from __future__ import annotations

from collections.abc import Mapping

from reversi import json
from reversi.games.rules import GAMES
from reversi.model import figures
from reversi.model.config import Head
from reversi.model.info import ModelInfo, number

LICENCE, LIBRARY = "MIT", "reversi-zero"

_KNOWS: dict[Head, str] = {
    "dual": "a policy and the value of a position",
    "policy": "a policy alone",
    "q": "the value of every action",
    "margin": "the expected margin of a position",
}


def card(info: ModelInfo, *, picture: str | None = None, registry: str | None = None) -> str:
    """Return the text of card.md; the reader replaces the path MODEL.

    picture   a picture's path from the card's folder
    registry  the URL to pull the model from, if it is meant to be
    """
    parts = [
        _head(info),
        f"# Version {info.version}, {info.game}\n",
        f"![Elo of the champions, and losses, over the run]({picture})\n" if picture else "",
        _what(info),
        _use(info, registry),
        _training(info),
        _gate(info),
        _opponents(info),
        _truth(info),
        margin_section(info),
        _limits(info),
        f"## Licence\n\n{LICENCE}, as the program that trained it.\n",
    ]
    return "\n".join(filter(None, parts))


def _head(info: ModelInfo) -> str:
    """Return the metadata; all values are JSON, which is YAML."""
    game, algorithm = info.game, info.training.algorithm if info.training else None
    tags = ["reversi", "othello", game, "reinforcement-learning", "board-games", *([algorithm] if algorithm else [])]
    lines = [
        f"license: {LICENCE.lower()}",
        f"library_name: {LIBRARY}",
        "pipeline_tag: reinforcement-learning",
        f"tags: {json.dumps(tags)}",
    ]
    if (kept := number(info.match, "truth", "outcome_kept")) is not None:
        positions = number(info.match, "truth", "positions") or 0
        result = {
            "task": {"type": "reinforcement-learning", "name": game},
            "dataset": {"type": game, "name": f"{positions:.0f} positions that an exact solver has scored"},
            "metrics": [{"type": "accuracy", "name": "moves that keep the exact result", "value": round(kept, 4)}],
        }
        index = [{"name": f"{game} version {info.version}", "results": [result]}]
        lines.append(f"model-index: {json.dumps(index)}")
    return "\n".join(["---", *lines, "---", ""])


def _what(info: ModelInfo) -> str:
    board = GAMES[info.game].size
    game = f"Reversi (Othello) on a board of {board}x{board}" if info.game.startswith("reversi") else info.game
    standing = {
        "promoted": "It has passed the gate's match against the champion before it, and so was promoted.",
        "rejected": "It did not win its match against the champion, and was rejected.",
        "first": "It is the baseline of its run, which the first champion had to beat, and no champion.",
    }[info.verdict]
    rows = {
        "game": info.game,
        "network": f"{info.network} ({info.network.kind})",
        "knows": _KNOWS[info.network.head],
        "verdict": "baseline" if info.verdict == "first" else info.verdict,
        "match": _match_cell(info),
        "published": info.created,
        "file": f"model.safetensors, {info.size:,} bytes",
        "SHA-256": f"`{info.sha256}`",
    }
    return f"A model that plays {game}. {standing}\n\n{_table(rows)}"


def _use(info: ModelInfo, registry: str | None) -> str:
    reversi = info.game.startswith("reversi")
    size = f" --size {GAMES[info.game].size}" if reversi else ""
    alone = not reversi or info.network.head == "margin"  # patterns think half a second, whatever the simulations
    player = "MODEL" if alone else "mcts:MODEL:64"
    pull = f"reversi pull --registry {registry} --version {info.version} -o MODEL"
    fetch = f"Fetch it:\n\n    {pull}\n\n" if registry else ""
    return (
        f"## Use\n\n{fetch}Play it, with this folder as `MODEL`:\n\n    reversi play{size} {player}\n\n"
        f"or let it judge positions, one per line:\n\n"
        f"    reversi analyze --model MODEL --simulations 64{size} --json < positions.txt\n\n"
        f"or ask it for a move in Python:\n\n```python\nimport reversi\n"
        f'player = reversi.make_player("{player}", "{info.game}", seed=1)\n'
        f'print(reversi.choose_move(player, reversi.Position.start("{info.game}")))\n```\n'
    )


def _training(info: ModelInfo) -> str:
    training, spent, rows = info.training, info.spent, dict[str, str]()
    if training:
        rows |= {"run": training.run, "algorithm": training.algorithm}
    if info.begun_from:
        rows |= {"begun from": str(info.begun_from)}
    if training:
        rows |= {"program": training.program, "hardware": training.machine}
    if spent:
        rows |= {"cost": f"{figures.cost(spent)}, {spent.positions:,} positions, when it was judged"}
    if training and spent and training.cores:
        hours = spent.seconds / 3600 * training.cores
        rows |= {"CPU hours": f"{hours:.2f}, had all of its {training.cores} cores been busy"}
    if not rows:
        return ""
    text = f"## How it was trained\n\n{_table(rows)}"
    if training is None:
        return text
    configuration = training.configuration.strip().replace("```", "'''")
    return f"{text}\n<details><summary>Configuration</summary>\n\n```yaml\n{configuration}\n```\n\n</details>\n"


def _gate(info: ModelInfo) -> str:
    """Return the promotions that led to the model, the colours of its match, and what its Elo does not say."""
    if not info.promotions and info.match is None:
        return ""
    lines = ["## Gate", ""]
    if info.promotions:
        lines += ["| version | against | won-drawn-lost | Elo |", "|---|---|---|---|"]
        lines += [
            f"| {each.version} | {each.opponent_version} | {each.wins}-{each.draws}-{each.losses} | {each.elo:+.0f} |"
            for each in info.promotions
        ]
        lines += [""]
    if elo := figures.elo(info):
        lines += [f"Elo of its own match, with the 95 % interval: {elo}."]
    if (black := figures.colour(info, "black")) and (white := figures.colour(info, "white")):
        lines += [f"Won-drawn-lost as Black {black}, as White {white}."]
    lines += ["A network beats its own ancestors by more than it gains on other players.", ""]
    return "\n".join(lines)


def _opponents(info: ModelInfo) -> str:
    rows = figures.opponents(info)
    if not rows:
        return ""
    table = "\n".join(f"| {name} | {counts} | {points} |" for name, counts, points in rows)
    return (
        f"## Against fixed opponents\n\n| opponent | won-drawn-lost | points a game, 95 % interval |\n|---|---|---|\n"
        f"{table}\n"
    )


def _truth(info: ModelInfo) -> str:
    kept, lost = figures.truth(info), figures.regret(info)
    if not kept:
        return ""
    positions = number(info.match, "truth", "positions") or 0
    text = f"On {positions:,.0f} positions with few empty squares, solved exactly; its own search had no solver:"
    return f"## Truth\n\n{text}\n\n{_table({'moves that keep the exact result': kept, 'discs lost a move': lost})}"


def margin_section(info: ModelInfo) -> str:
    """Return the section on the errors of expected margins, "" if nobody measured them."""
    if (errors := info.margin_errors) is None or not errors.bands:
        return ""
    rows = "".join(f"| {band.squares} | {band.discs:.1f} | {band.positions} |\n" for band in errors.bands)
    return (
        "## Expected margins\n\nStandard error of the margin that a search of "
        f"{errors.simulations:,} simulations expects, without the solver, in games that it was not trained on. Up to "
        f"{errors.solved} empty squares the truth is that of perfect play; before, it is what the game was worth when "
        "so few were empty, so that the error holds what both sides lost until then.\n\n"
        f"| empty squares | discs | positions |\n|---|---|---|\n{rows}"
    )


def _limits(info: ModelInfo) -> str:
    return (
        f"## Limits\n\nIt plays {info.game} only. It has learned from the games of its run: positions unlike those "
        "are judged less well. Its values are estimates. Much of a move's quality far from the end comes from search: "
        "give it simulations or time. How strong it is against other programs only matches against them can say.\n"
    )


def _table(rows: Mapping[str, str]) -> str:
    lines = [f"| {key} | {value.replace('|', '/')} |\n" for key, value in rows.items() if value]
    return "| | |\n|---|---|\n" + "".join(lines)


def _match_cell(info: ModelInfo) -> str:
    if info.score is None:
        return "none: it is the baseline"
    text = f"won {info.wins}, drawn {info.draws}, lost {info.losses} against version {info.opponent_version}"
    return f"{text}; score {info.score:.3f}"
