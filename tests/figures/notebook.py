"""Run the cells of docs/notebook.ipynb and write what they say into it:  python -m tests.figures.notebook

Jupyter does the same ("Restart and run all"), without being needed here.  No cell may depend on the clock: its output
is compared with that of the next run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def executed(text: str) -> str:
    """Return the text of a notebook with the outputs of its cells, which run in their order; raises what they raise."""
    notebook = json.loads(text)
    names: dict[str, Any] = {"__name__": "__main__"}
    code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    for number, cell in enumerate(code, 1):
        cell |= {"execution_count": number, "outputs": _outputs("".join(cell["source"]), number, names)}
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _outputs(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a cell prints, and the value of its last line if that is an expression."""
    tree, where, value = ast.parse(source), f"cell {number}", None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = _lines(value._repr_svg_())
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    NOTEBOOK.write_text(executed(NOTEBOOK.read_text(encoding="utf-8")), encoding="utf-8")
