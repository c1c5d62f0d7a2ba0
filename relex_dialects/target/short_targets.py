"""This machine as a target in short: the name of its processor, and only the features that LLVM would not expect of
that processor, as those that a virtual machine hides. All features of a machine take a thousand characters.

Both forms mean the same: `Target.host()`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from hashlib import sha256

from relex.dialects.exceptions import MissingPackageError, RelexError
from relex.dialects.target.machine import Target

_UNSEEN = frozenset({"64bit", "cx16", "sahf"})
"""Features that LLVM ignores when it compares two functions. All processors with SSE4.2 have them."""

_SUFFIX = ".features"
"""The suffix of files in the cache."""


def short_target(target: Target) -> Target:
    """Return a target as programs name it: this machine in short, any other target as it is."""
    return _short_host() if target == Target.host() else target


@lru_cache(maxsize=64)
def full_target(target: Target) -> Target:
    """Return the target that a program names: for this machine in short, `Target.host()`."""
    try:
        host = Target.host()
    except MissingPackageError:
        return target
    is_host = (target.triple, target.cpu) == (host.triple, host.cpu) and target == _short_host()
    return host if is_host else target


def differing_features(target: Target) -> str:
    """Return the features of a target, all of which it must name, that differ from its processor's. With the
    processor, they stand for the same features. Returns all of them if LLVM does not confirm this."""
    # Few programs need it.
    from relex.dialects.target.features import features_among, is_same_machine

    flags = target.features.split(",") if target.features else []
    names = [flag[1:] for flag in flags]
    default = replace(target, features="")
    known = features_among(default, names)
    if "sse4.2" not in known:
        known -= _UNSEEN
    short = ",".join(flag for flag, name in zip(flags, names, strict=True) if (flag[0] == "+") != (name in known))
    return short if is_same_machine(target, replace(target, features=short)) else target.features


@cache
def _short_host() -> Target:
    host = Target.host()
    return replace(host, features=kept_features(host))


def kept_features(host: Target) -> str:
    """Return the differing features of a machine. To ask LLVM takes a tenth of a second: the answer is kept in the
    cache."""
    from relex.dialects.target.llvm_binding import llvm
    from relex.runtime.compile_cache import usable_cache
    from relex.runtime.container import pack, unpack

    cache = usable_cache()
    key = sha256(f"{host} {llvm.llvm_version_info}".encode()).hexdigest()
    found = cache.read(key, _SUFFIX, partial(unpack, str)) if cache is not None else None
    if found is None:
        found = differing_features(host)
        # Where it cannot be stored, LLVM is asked again the next time.
        with suppress(RelexError, OSError):
            if cache is not None:
                cache.write({f"{key}{_SUFFIX}": pack(found)})
    return found
