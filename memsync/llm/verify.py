"""Asking the model about a text that is about to be stored and may say what is stored already (seed 001's gray zone)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memsync.errors import LlmError
from memsync.llm.judge import judge
from memsync.llm.llm import open_llm

if TYPE_CHECKING:
    from memsync.memories.project import Project, Verify

log = logging.getLogger(__name__)


def verifier(project: Project) -> Verify | None:
    """Return what says whether a new text may be left out for a stored one, and why; None: nobody is to be asked.

    It answers None where the model has no word. Only a text that adds nothing may be left out: one
    that says more is stored, whatever it is like.
    """
    if not project.settings.llm_verify:
        return None
    try:
        llm = open_llm(project)
    except LlmError as error:
        log.warning("likely duplicates are stored unverified: %s", error)
        return None

    def verify(new: str, old: str) -> tuple[bool, str] | None:
        judged = judge(llm, [(new, old)])
        if judged.failed:
            log.warning("a likely duplicate is not verified: %s", judged.failed)
        (said,) = judged.judgements
        return None if said is None else (said.word in ("duplicate", "contained"), said.reason)

    return verify
