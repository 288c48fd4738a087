"""The memories in the ZIP files that services hand out to their users."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final
from zipfile import BadZipFile, ZipFile

from memsync.errors import ImportFailed
from memsync.system import limits

MAGIC: Final = b"PK\x03\x04"
_MEMBER: Final = re.compile(r"(?:^|/)(?:memory|memories|conversations(?:-\d+)?)\.json$")


def unpack(data: bytes, name: str) -> Iterator[tuple[bytes, str]]:
    """Yield each file of the archive that may hold memories, and its name.

    Raises:
        ImportFailed: it is damaged, encrypted or too large, or holds none.
    """
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            found = [one for one in archive.infolist() if _MEMBER.search(one.filename)]
            if sum(one.file_size for one in found) > limits.LARGEST_IMPORT:
                raise ImportFailed(
                    f"{name}: unpacks to more than {limits.LARGEST_IMPORT:,} bytes; unpack it, and name a file"
                )
            files = [(archive.read(one), f"{name}/{one.filename}") for one in found]
    except (BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise ImportFailed(f"{name}: is damaged ({error}); download it again") from None
    except RuntimeError:
        raise ImportFailed(f"{name}: is encrypted; unpack it, and name a file of it") from None
    if not files:
        raise ImportFailed(f"{name}: has neither memory.json, memories.json nor conversations.json")
    yield from files
