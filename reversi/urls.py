"""Secrets in URLs: their detection and masking.

Command lines and run folders are readable by others, so passwords do not belong in the configuration; one that is given
nevertheless must not reach a message or a log.
"""

from __future__ import annotations

import re

_USER = re.compile(r"(?<!github)(?<!git)(://[^/:@\s]*):(?:(?!\d+/)\S*|[^/\s]*)@")
"""`://USER:PASSWORD@`; in github:// and git:// URLs a repository has this place, and `:9000/a@b` is a port and a path.
Only the text after the last `@` is kept, since a password may contain a slash or another `@`."""

_OPTION = re.compile(
    r"([?&][^=&\s]*(?:password|passwd|token|secret|signature|credential|key)[^=&\s]*(?<!file)(?<!path)=)[^&\s]+", re.I
)
"""`?password=...` and similar options; `ssl_keyfile` is excluded: it is the path of a secret, not the secret."""


def masked(text: str) -> str:
    """Return `text`, a URL or a message that contains URLs, with `***` for each password."""
    return _OPTION.sub(r"\1***", _USER.sub(r"\1:***@", text))


def has_password(url: str) -> bool:
    """Return whether a URL contains a password."""
    return masked(url) != url
