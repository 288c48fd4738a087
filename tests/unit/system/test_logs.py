"""Loggers that load `logging` when there is something to say."""

import logging
import subprocess
import sys

from memsync.system import logs


def test_a_message_is_that_of_the_modules_logger_and_names_the_line_that_gave_it(caplog):
    caplog.set_level(logging.INFO)
    log = logs.Log("memsync.somewhere")
    log.info("took in %d", 3)
    log.warning("cannot be read")
    told = [(one.name, one.levelname, one.getMessage(), one.funcName) for one in caplog.records]
    here = "test_a_message_is_that_of_the_modules_logger_and_names_the_line_that_gave_it"
    assert told == [
        ("memsync.somewhere", "INFO", "took in 3", here),
        ("memsync.somewhere", "WARNING", "cannot be read", here),
    ]


def test_only_a_message_for_everybody_loads_logging_and_sets_it_up_first():
    code = (
        "import sys; from memsync.system import logs\n"
        "def set_up(): import logging; logging.basicConfig(format='memsync: %(message)s')\n"
        "logs.prepare(set_up); log = logs.Log('x')\n"
        "log.info('nobody asked'); print('logging' in sys.modules)\n"
        "log.warning('hear'); print('logging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["False", "True"], "memsync: hear\n")
