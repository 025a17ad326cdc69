"""The figures of docs/performance.md that take more than `reversi bench`: `python -m tests.figures`."""
