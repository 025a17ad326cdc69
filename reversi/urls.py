"""Secrets in URLs: whether there is one, and the URL as it may be shown.

A command line and a run's folder are read by others, so a password has no place in what is configured; one that is
given all the same must not reach a message or a log.
"""

from __future__ import annotations

import re

_USER = re.compile(r"(?<!github)(?<!git)(://[^/:@\s]*):(?:(?!\d+/)\S*|[^/\s]*)@")
"""`://USER:PASSWORD@`; of github:// and git:// the same place holds a repository, and `:9000/a@b` is a port and a
path.  What follows the last `@` is shown: a password may hold a slash or another `@`."""

_OPTION = re.compile(
    r"([?&][^=&\s]*(?:password|passwd|token|secret|signature|credential|key)[^=&\s]*(?<!file)(?<!path)=)[^&\s]+", re.I
)
"""`?password=...` and its like; `ssl_keyfile` says where a secret is, and none."""


def masked(text: str) -> str:
    """Return `text`, a URL or a message with URLs in it, with `***` for each password."""
    return _OPTION.sub(r"\1***", _USER.sub(r"\1:***@", text))


def has_password(url: str) -> bool:
    """Return whether a URL says a password."""
    return masked(url) != url
