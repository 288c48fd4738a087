"""The walk of who runs a hub: made, served, backed up, restored and killed at random, on the embedded PostgreSQL and on the system's."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from urllib.parse import quote

import pytest
from filling import commit, require_server
from helpers import GitRepo, memory_line, memsync, until
from test_signin import free_port

from memsync.hub import database
from memsync.hub.embedded import Embedded, _find_programs
from memsync.hub.ingest import recount
from memsync.store.yamltext import load

KILLS = int(os.environ.get("MEMSYNC_HUB_KILLS", "3"))  # of a sync and a server; the database is killed a fifth as often
DEPLOY = Path(__file__).parents[2] / "deploy" / "hub" / "compose.yaml"
PASSWORD = "p@ss:w/rd 1"
PLACES = [os.environ.get("MEMSYNC_POSTGRES", ""), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))]


class OnThisMachine:
    """The hub that `memsync hub init` makes without an address."""

    def __init__(self, home: Path) -> None:
        require_server()
        self.server = Embedded(home / ".gobby" / "hub")
        self.env: dict[str, str] = {}
        self.programs = _find_programs()
        self.serve = ["serve"]
        self.sync = ["sync", "--watch"]
        self.probe: list[str] = []

    @property
    def dsn(self) -> str:
        return self.server.ensure()

    def kill(self) -> None:
        leader = int((self.server.data / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(leader, signal.SIGKILL)

    def start(self) -> bool:
        """Have somebody ask, who starts it."""
        return memsync("hub", "status", cwd=self.server.directory).code == 0

    def remove(self) -> None:
        self.server.remove()


class OfTheSystem:
    """A server of the system's packages, reached as the compose file says, but for its host and port."""

    def __init__(self) -> None:
        found = [
            Path(place) for place in filter(None, PLACES)
            if (Path(place) / "postgres").exists() and _has_vector(Path(place))
        ]  # fmt: skip
        if not found:
            pytest.skip("no PostgreSQL with pgvector: apt install postgresql-17-pgvector, or MEMSYNC_POSTGRES=its bin")
        self.programs = found[0]
        self.port = free_port()
        self.home = Path(mkdtemp(prefix="hub-pg-"))
        self.account = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        if self.account:
            self.home.chmod(0o711)
            (self.home / "data").mkdir()
            (self.home / "password").write_text(PASSWORD)
            for path in (self.home / "data", self.home / "password", self.home):
                os.chown(path, 65534, 65534)
        else:
            (self.home / "password").write_text(PASSWORD)
        self.run(
            "initdb", "-U", "hub", "-A", "scram-sha-256", f"--pwfile={self.home / 'password'}", "-N", "-D", self.data
        )
        with (Path(self.data) / "postgresql.conf").open("a") as file:
            file.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\nfsync = off\n"
            )
        assert self.start()
        services = load(DEPLOY.read_bytes(), DEPLOY)["services"]
        told = services["server"]["environment"]
        self.serve = json.loads(DEPLOY.with_name("Containerfile").read_text().rpartition("\nCMD ")[2])
        self.sync, self.probe = services["sync"]["command"], services["server"]["healthcheck"]["test"]
        self.env = {
            name: str(value).replace("${HUB_PASSWORD}", PASSWORD)
            for name, value in told.items()
            if "HUB_PASS" in str(value) or name.endswith("DSN")
        }
        self.env["MEMSYNC_HUB_DSN"] = self.env["MEMSYNC_HUB_DSN"].replace("@database/", f"@127.0.0.1:{self.port}/")
        self.dsn = self.env["MEMSYNC_HUB_DSN"].replace("hub@", f"hub:{quote(PASSWORD, safe='')}@")
        self.run(
            "createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "hub", "memsync", env={"PGPASSWORD": PASSWORD}
        )

    @property
    def data(self) -> str:
        return str(self.home / "data")

    def run(self, name: str, *words: str, env: dict[str, str] | None = None) -> None:
        subprocess.run([str(self.programs / name), *words], check=True, cwd="/", stdout=subprocess.DEVNULL,
                       env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **(env or {})}, **self.account)  # fmt: skip

    def start(self) -> bool:
        """Start it, unless what is left of one that was killed has not ended yet."""
        try:
            self.run("pg_ctl", "start", "-w", "-D", self.data, "-l", str(self.home / "data" / "log"))
        except subprocess.CalledProcessError:
            return False
        return True

    def kill(self) -> None:
        os.kill(int((Path(self.data) / "postmaster.pid").read_text().split("\n", 1)[0]), signal.SIGKILL)

    def remove(self) -> None:
        self.run("pg_ctl", "stop", "-m", "immediate", "-D", self.data)
        rmtree(self.home)


def _has_vector(programs: Path) -> bool:
    done = subprocess.run([str(programs / "pg_config"), "--sharedir"], capture_output=True, text=True, check=False)
    return (Path(done.stdout.strip()) / "extension" / "vector.control").exists()


@pytest.fixture(params=[OnThisMachine, OfTheSystem])
def place(request, home) -> Iterator[OnThisMachine | OfTheSystem]:
    """Return a PostgreSQL, and nothing is left of it."""
    made = request.param(home) if request.param is OnThisMachine else request.param()
    yield made
    made.remove()


class Served:
    """`memsync hub serve` as a process of its own."""

    def __init__(self, place, home: Path, port: int) -> None:
        self.port = port
        self._log = (home / "served").open("ab")
        words = [sys.executable, "-m", "memsync", "hub", *place.serve, "--port", str(port)]
        self.process = subprocess.Popen(
            words, cwd=home, env={**os.environ, **place.env}, stdout=subprocess.DEVNULL, stderr=self._log
        )
        until(lambda: self.ask("/livez") == 200)

    def ask(self, path: str, token: str = "") -> int:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def is_ready(self) -> bool:
        return self.ask("/readyz") == 200

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait()
        self._log.close()


def check_whole(dsn: str, sizes: dict[str, set[int]]) -> None:
    """Check that each repository is there as it was at one of its commits, and that all that is counted is what is there."""
    hub = database.Database(dsn)
    try:
        with hub.writing_alone() as connection:
            rows = connection.execute(
                "select p.url, p.memories, (select count(*) from record r where r.repo = p.id),"
                " (select count(distinct o.record) from posting o where o.repo = p.id) from repo p"
            ).fetchall()
            for url, counted, there, posted in rows:
                assert counted == there == posted, url
                assert there in sizes[url]
            kept = connection.execute("select term, n from df where n <> 0 order by term").fetchall()
            stats = connection.execute("select kind, live from stats where live > 0").fetchall()
            recount(connection)
            assert connection.execute("select term, n from df where n <> 0 order by term").fetchall() == kept
            assert connection.execute("select kind, live from stats where live > 0").fetchall() == stats
    finally:
        hub.close()


@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * KILLS)
def test_a_hub_is_made_served_backed_up_restored_and_whole_whatever_is_killed(place, make, home, tmp_path):
    def hub(*words: str):
        done = memsync("hub", *words, cwd=home, env=place.env, timeout=300)
        assert done.code == 0, (words, done.err)
        return done.out.strip()

    repos = [make(f"r{n}", f"service {n} needs docker", f"its port is {8000 + n}") for n in range(4)]
    assert "is ready" in hub("init")
    assert "is ready" in hub("init")
    hub("add", *(str(repo.root) for repo in repos))
    watch_until_synced(place, home)
    hub("grant", "alice", *(str(repo.root) for repo in repos[:2]))
    token = hub("token", "make", "alice", "--scope", "search", "--scope", "metrics")
    served = Served(place, home, free_port())
    try:
        assert [served.ask("/readyz"), served.ask("/metrics", token), served.ask("/metrics")] == [200, 200, 401]
        assert served.ask("/v1/repositories", token) == 200
        if place.probe:
            probe = [word.replace(":8765/", f":{served.port}/") for word in place.probe[2:]]
            assert place.probe[:2] == ["CMD", "python"]
            subprocess.run([sys.executable, *probe], check=True)

        before = hub("search", "docker", "--as", "alice", "--json")
        dump = tmp_path / "hub.dump"
        subprocess.run(
            [str(place.programs / "pg_dump"), "-Fc", "-f", str(dump), "-n", "memsync_hub", "-d", place.dsn], check=True
        )
        database.drop(place.dsn)
        assert memsync("hub", "status", cwd=home, env=place.env).code == 1
        subprocess.run([str(place.programs / "pg_restore"), "-d", place.dsn, str(dump)], check=True)
        assert hub("search", "docker", "--as", "alice", "--json") == before
        assert "4 repositories unchanged" in hub("sync")
        assert served.ask("/v1/repositories", token) == 200

        served = kill_at_random(place, home, repos, served)
        assert [served.ask("/readyz"), served.ask("/v1/repositories", token)] == [200, 200]
        served.kill(signal.SIGTERM)
        logged = (home / "served").read_text()
        assert '"path": "/v1/repositories"' in logged
        assert "docker" not in logged
    finally:
        if served.process.poll() is None:
            served.kill()


def watch_until_synced(place, home: Path) -> None:
    """Sync as the service of the compose file does, which goes on until it is ended."""
    words = [sys.executable, "-m", "memsync", "hub", *place.sync]
    with subprocess.Popen(words, cwd=home, env={**os.environ, **place.env}, stdout=subprocess.DEVNULL) as sync:
        try:
            until(lambda: "last sync 2" in memsync("hub", "status", cwd=home, env=place.env).out)
            assert sync.poll() is None
        finally:
            sync.terminate()


def kill_at_random(place, home: Path, repos: list[GitRepo], served: Served) -> Served:
    """Kill a sync, the server and the database at moments that nobody chose, and return a server that runs."""
    draw = random.Random(11)
    sizes = {str(repo.root): {2} for repo in repos}
    words = [sys.executable, "-m", "memsync", "hub", "sync"]
    for number in range(KILLS):
        for repo in repos:
            many = draw.randrange(1, 200)
            sizes[str(repo.root)].add(many)
            commit(
                repo,
                *(
                    memory_line(f"mm-{n:06d}", f"service {n} listens on port {draw.randrange(9999)}")
                    for n in range(many)
                ),
            )
        sync = subprocess.Popen(
            words, cwd=home, env={**os.environ, **place.env}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with sync:
            try:
                sync.wait(draw.uniform(0.2, 3.0))
            except subprocess.TimeoutExpired:
                if number % 5 == KILLS % 5:
                    place.kill()
                    assert b"Traceback" not in sync.communicate(timeout=120)[1], "it ends when its database does"
                    until(place.start)
                    until(served.is_ready)
                else:
                    sync.kill()
        served.kill()
        served = Served(place, home, served.port)
        until(served.is_ready)
        check_whole(place.dsn, sizes)
    done = memsync("hub", "sync", cwd=home, env=place.env, timeout=300)
    assert done.code == 0, done.err
    check_whole(place.dsn, sizes)
    return served
