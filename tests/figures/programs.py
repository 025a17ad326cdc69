"""External programs for comparison with ours: pgx + mctx (JAX) and OpenSpiel; only this file imports them.

pgx + mctx play as pgx's own AlphaZero example does (`examples/alphazero/train.py`): one jitted step searches a batch of
games with mctx's Gumbel policy and plays a ply in each.  The network is ours, weight for weight, written in plain JAX,
channels last: XLA's CPU convolutions are twice as fast as with channels first, and its matrix products are not faster.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripts.bench.process_group import Work
    from scripts.bench.setup import Settings

MODULES = {"pgx": "pgx", "mctx": "mctx", "jax": "jax", "OpenSpiel": "pyspiel"}
"""The packages measured, with the modules they are imported from."""

ROLLOUTS = 200
"""Random games of one call of OpenSpiel."""

Array = Any
"""A JAX array; the package is optional, so its types may be unavailable."""


DTYPES = ("float32", "bfloat16")
"""Types in which the network can be computed."""


SIZE = 8
"""Squares per side of their board."""


def missing() -> list[str]:
    """Return the packages that are not installed."""
    return [name for name, module in MODULES.items() if find_spec(module) is None]


def network(arrays: dict[str, Array], planes: Array) -> tuple[Array, Array]:
    """Return (logits [B, A], value [B]) of planes [B, N, N, C], channels last, as `reversi.model` computes them.

    arrays  the weights as arranged by `layout`; their type is that of the computation
    """
    import jax
    import jax.numpy as jnp
    from jax import lax

    def convolution(layer: str, features: Array) -> Array:
        axes = ("NHWC", "HWIO", "NHWC")
        weight, bias = arrays[f"{layer}.weight"], arrays[f"{layer}.bias"]
        return lax.conv_general_dilated(features, weight, (1, 1), "SAME", dimension_numbers=axes) + bias

    def dense(layer: str, features: Array) -> Array:
        return features @ arrays[f"{layer}.weight"] + arrays[f"{layer}.bias"]

    relu = jax.nn.relu
    tower = relu(convolution("stem", planes.astype(arrays["stem.weight"].dtype)))
    for block in range(sum(name.endswith(".first.weight") for name in arrays)):
        inner = relu(convolution(f"blocks.{block}.first", tower))
        tower = relu(tower + convolution(f"blocks.{block}.second", inner))
    features = relu(convolution("policy.features", tower))
    squares = convolution("policy.square_logit", features).reshape(len(planes), -1)
    logits = jnp.concatenate([squares, dense("policy.pass_logit", features.mean((1, 2)))], 1)
    judged = relu(convolution("value.features", tower)).transpose(0, 3, 1, 2).reshape(len(planes), -1)
    output = dense("value.output", relu(dense("value.hidden", judged))).astype(jnp.float32)
    chances = jax.nn.softmax(output[:, :3])
    return logits.astype(jnp.float32), chances[:, 0] - chances[:, 2]


def layout(arrays: dict[str, Any], dtype: str) -> dict[str, Array]:
    """Return weights in the layout of `network`: [height, width, in, out], [in, out], [out], all of `dtype`."""
    import jax.numpy as jnp

    axes = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
    return {name: jnp.asarray(array.transpose(axes[array.ndim]), dtype) for name, array in arrays.items()}


def mctx_network(settings: Settings, dtype: str) -> Work:
    """Return work that evaluates a batch of positions with the bare network in JAX, in one of `DTYPES`."""
    import jax
    import jax.numpy as jnp

    arrays = _weights(settings, dtype)
    judge = jax.jit(network)
    planes = jnp.zeros((settings.batch, settings.size, settings.size, 4), jnp.float32)

    def work() -> dict[str, int]:
        jax.block_until_ready(judge(arrays, planes))
        return {"positions": settings.batch}

    return work


def mctx_selfplay(settings: Settings, dtype: str) -> Work:
    """Return work that plays a ply in each of a batch of games, every one searched by mctx's Gumbel policy."""
    import jax

    arrays = _weights(settings, dtype)
    begin, ply = _selfplay(settings)
    state, key = begin(jax.random.split(jax.random.PRNGKey(0), settings.batch)), jax.random.PRNGKey(1)

    def work() -> dict[str, int]:
        nonlocal state, key
        key, used = jax.random.split(key)
        state = jax.block_until_ready(ply(arrays, used, state))
        return {"simulations": settings.batch * settings.simulations, "positions": settings.batch}

    work()  # compiles; from the next call on all arrays have their final types
    return work


def _selfplay(settings: Settings) -> tuple[Callable[[Array], Array], Callable[[Any, Array, Array], Array]]:
    """Return two jitted functions: keys -> games at their start, and (weights, key, games) -> games one ply later."""
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("othello")
    step, restarting = jax.vmap(env.step), jax.vmap(auto_reset(env.step, env.init))

    def judge(arrays: Any, state: Any) -> tuple[Array, Array]:
        board = state._x.board.reshape(-1, 8, 8)
        legal = state.legal_action_mask[:, :64].reshape(-1, 8, 8)
        logits, value = network(arrays, jnp.stack([board > 0, board < 0, legal, board == 0], -1))
        logits = logits - logits.max(-1, keepdims=True)
        return jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min), value

    def recur(arrays: Any, key: Array, action: Array, state: Any) -> tuple[Any, Any]:
        mover = state.current_player
        state = step(state, action)
        logits, value = judge(arrays, state)
        return mctx.RecurrentFnOutput(
            reward=state.rewards[jnp.arange(len(mover)), mover],
            discount=jnp.where(state.terminated, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(state.terminated, 0.0, value),
        ), state

    def ply(arrays: Any, key: Array, state: Any) -> Any:
        search_key, reset_key = jax.random.split(key)
        logits, value = judge(arrays, state)
        searched = mctx.gumbel_muzero_policy(
            params=arrays,
            rng_key=search_key,
            root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            recurrent_fn=recur,
            num_simulations=settings.simulations,
            invalid_actions=~state.legal_action_mask,
            qtransform=mctx.qtransform_completed_by_mix_value,
        )
        return restarting(state, searched.action, jax.random.split(reset_key, settings.batch))

    return jax.jit(jax.vmap(env.init)), jax.jit(ply)


def openspiel_games(settings: Settings) -> Work:
    """Return work that plays random games from the start with OpenSpiel's own C++ loop: no Python between the plies.

    A search of one simulation evaluates the start by `ROLLOUTS` random games; everything else in it is negligible.
    """
    import pyspiel

    game = pyspiel.load_game("othello")
    evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, 0)
    bot = pyspiel.MCTSBot(game, evaluator, 1.0, 1, 100, False, 0, False)
    start = game.new_initial_state()

    def work() -> dict[str, int]:
        bot.mcts_search(start)
        return {"games": ROLLOUTS}

    return work


def _weights(settings: Settings, dtype: str) -> dict[str, Array]:
    """Return the settings' random weights for JAX, on the settings' device."""
    os.environ["JAX_PLATFORMS"] = settings.device  # read when JAX makes its first array
    from scripts.bench.setup import random_weights

    return layout(random_weights(settings).arrays, dtype)
