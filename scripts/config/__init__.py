"""The configuration of a training job: composed by Hydra, checked, and built as frozen dataclasses."""
