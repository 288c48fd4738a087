"""What is late is made when it is used, and is then what it would have been at once."""

from __future__ import annotations

import subprocess
import sys

from memsync.system.late import late


def test_a_late_module_is_imported_when_something_of_it_is_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    module = late("colorsys")
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


LIGHT = """
import sys
from memsync.system.late import import_light
import_light("click", inspect={"cleandoc": str.strip})
import click
@click.command(help="A\\n  b")
@click.option("--one", help="  one ")
def run(one):
    pass
print("inspect" in sys.modules, click.core.inspect.cleandoc("  x "))
print(click.core.inspect.isfunction(print), "inspect" in sys.modules)
import inspect
print(type(inspect).__name__, inspect.isfunction(run.callback))
"""


def test_a_module_that_is_imported_light_gets_the_rest_when_it_needs_it():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False x", "False True", "module True"]


def test_a_list_loads_no_inspect(repo):
    repo.write_memories('{"content":"we deploy on Mondays","id":"mm-aaaaaa"}\n')
    code = "import atexit, sys; from memsync.cli import main\n"
    code += "atexit.register(lambda: print({'inspect', 'logging'} & sys.modules.keys()))\nmain()"
    words = [sys.executable, "-c", code, "list"]
    done = subprocess.run(words, cwd=repo.root, capture_output=True, text=True, check=True)
    assert "mm-aaaaaa" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"
