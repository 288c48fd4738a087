"""What the doctor sees beside the stores."""

from __future__ import annotations

from memsync.index import static
from memsync.setup.doctor import examine


def test_a_damaged_embedder_is_told(project, tmp_path, monkeypatch):
    assert examine(project) == []
    data = bytearray(static.BUILTIN.read_bytes())
    data[-1000] ^= 1
    damaged = tmp_path / "embedder.bin"
    damaged.write_bytes(data)
    monkeypatch.setattr(static, "BUILTIN", damaged)
    (found,) = examine(project)
    assert (found.level, found.where) == ("error", str(damaged))
    assert "install memsync again" in found.what
