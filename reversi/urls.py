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
    r"([?&;][^=&;\s]*(?:password|passwd|token|secret|signature|credential|key)[^=&;\s]*(?<!file)(?<!path)=)[^&;\s]+",
    re.I,
)
"""`?password=...` and similar options; `ssl_keyfile` is excluded: it is the path of a secret, not the secret."""


_NAMED = "ssh|sftp|ftp|rediss?|hdfs|webhdfs|smb|abfss?|git|github"
"""Schemes in which the place before `@` is a name, if it has no password."""

_TOKEN = re.compile(rf"\b(?!(?:{_NAMED})://)([a-z][a-z0-9+.-]*://)[^/@\s?#:]+(?::\*\*\*)?@", re.I)
"""`https://TOKEN@`, or what `_USER` left of it: there the user may be the secret."""

_QUERY = re.compile(r"([?&;]([^=&;\s]*)=)[^&;\s]+")

_BARE = re.compile(r"\?[^=&;\s]+(?=[&;]|$)")
"""A query that is no option, such as `?TOKEN`."""

_PAIR = re.compile(r"(?<![\w/:.*-])[\w+.-]+:[^\s/@:]+@(?=[\w-])")
"""`KEY:SECRET@bucket` without a scheme, as a driver repeats it."""

_OPEN = {
    *("axis", "db", "endpoint", "format", "op", "page", "protocol", "region", "run", "version", "versionid"),
    *("ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile", "keyfile"),
}
"""Options of a query that are known to be no secret."""


def masked(text: str) -> str:
    """Return `text`, a URL or a message that contains URLs, with `***` for each password, and for all that may be one:
    what stands before `@`, and every value of a query, unless it is known to be no secret."""
    shown = _OPTION.sub(r"\1***", _TOKEN.sub(r"\1***@", _USER.sub(r"\1:***@", text)))
    shown = _PAIR.sub("***@", shown)
    return re.sub(r"://\S*", lambda url: _BARE.sub("?***", _QUERY.sub(_masked_option, url[0])), shown)


def _masked_option(option: re.Match[str]) -> str:
    return option[0] if option[2].lower() in _OPEN else f"{option[1]}***"


def has_password(url: str) -> bool:
    """Return whether a URL contains a password."""
    return masked(url) != url
