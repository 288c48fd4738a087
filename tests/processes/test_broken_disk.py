"""A disk on which any one call fails, or all from that one on: an error is told, and what was acknowledged is there."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crew import Crew
from test_any_moment import DONE, IS_WHOLE, LIFE, OLD, STORED, named
from test_kill import check_the_place

SOURCE = Path(__file__).with_name("broken_disk.c")


@pytest.fixture(scope="session")
def broken_crew(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Return actors below whose memsync the C library's calls may fail."""
    if not shutil.which("cc"):
        pytest.skip("NOT TESTED: a failing disk; install cc, which builds what makes calls fail")
    library = tmp_path_factory.mktemp("disk") / "broken_disk.so"
    done = subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    company = Crew(LD_PRELOAD=str(library))
    yield company
    company.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "stays"),
    [(errno.EIO, False), (errno.ENOSPC, True), *([(errno.EIO, True), (errno.ENOSPC, False)] if IS_WHOLE else [])],
    ids=lambda said: {False: "once", True: "from then on"}.get(said) or errno.errorcode[said],
)
@pytest.mark.parametrize("deed", DONE)
def test_a_deed_is_done_or_refused_whichever_call_of_the_disk_fails(
    broken_crew, quick_root, home, shown, deed, error, stays
):
    path = quick_root / ".gobby" / "memories.jsonl"
    named(home)
    call, happened, refused = 0, True, 0
    while happened:
        call += 1
        path.write_text(OLD)
        words = {"deed": deed, "call": call, "error": error, "stays": stays}
        said = broken_crew.start("broken", root=str(quick_root), **words).to_the_end()
        happened = said[0]["happened"]
        refused += said[0]["error"] is not None
        found = shown(quick_root)
        assert found.pop(said[2]["id"]) == LIFE
        assert said[1]["shown"] == found
        told = {"new" if text == "new" and deed == "remember" else id_: text for id_, text in found.items()}
        assert told == DONE[deed] or (said[0]["error"] and told == STORED), f"call {call}: {said[0]}"
        assert path.read_text().count("{broken\n") == 1
        check_the_place(quick_root)
    assert refused > 5, "calls below memsync did not fail"
    print(f"{deed}: {call - 1} calls failed, {refused} told")
