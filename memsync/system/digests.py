"""SHA-256 and SHA-1 without OpenSSL, which takes longer to load than a hook has for all its hashes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha1, sha256
elif sys.version_info >= (3, 12):
    from _sha1 import sha1

    from _sha2 import sha256
else:
    from _sha1 import sha1
    from _sha256 import sha256

__all__ = ["sha1", "sha256"]
