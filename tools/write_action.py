"""Write `action.yml` from the workflow that `memsync git ci` prints: the same steps, and memsync from the action's own checkout.

Whoever writes `uses: OWNER/memsync@COMMIT` has named and pinned the source, so nothing is installed by a bare name.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from memsync import origin
from memsync.cli.git import RECIPE

PATH: Final = Path(__file__).parents[1] / "action.yml"
_HEAD: Final = """\
# Merges the base branch into a pull request with memsync's drivers where the button cannot, and comments which memories
# and skills the pull request changes. In a workflow with `on: pull_request` and `permissions: {contents: write,
# pull-requests: write}`: `- uses: OWNER/memsync@COMMIT`. A pull request from a fork is left alone.
# Written by `make docs` from templates/ci/memsync-merge.yml.
"""
_SAME: Final = "github.event.pull_request.head.repo.full_name == github.repository"


def action() -> str:
    """Return the text of the action."""
    yaml = YAML()
    yaml.width = 10**9
    recipe = yaml.load((origin.templates() / RECIPE).read_text(encoding="utf-8"))
    job = recipe["jobs"]["memories"]
    env = {**job["env"], "GH_TOKEN": "${{ inputs.token }}"}
    about = {
        "name": "memsync: memories in pull requests",
        "description": "Merge memories where the button cannot, and comment what changes in memory",
        "inputs": {"token": {"description": "May push and comment", "default": "${{ github.token }}"}},
        "runs": {"using": "composite", "steps": [_step(step, env) for step in job["steps"]]},
    }
    out = StringIO()
    yaml.dump(about, out)
    return _HEAD + out.getvalue()


def _step(step: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    condition = f"always() && {_SAME}" if step.get("if") == "always()" else _SAME
    rest = {key: value for key, value in step.items() if key != "if"}
    if "run" in rest:
        source = str(rest["run"]).replace("MEMSYNC_SOURCE", "$GITHUB_ACTION_PATH")
        rest = {**rest, "run": type(rest["run"])(source), "shell": "bash", "env": dict(env)}
    return {"if": condition, **rest}


def main() -> None:
    """Write the file."""
    PATH.write_text(action(), encoding="utf-8")


if __name__ == "__main__":
    main()
