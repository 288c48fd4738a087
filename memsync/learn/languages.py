"""What the build files of each language say of a project. Each statement is in the file it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memsync.learn.facts import Fact, at, json_of, listed, toml, value_at
from memsync.learn.tree import Tree

# Python


def python(tree: Tree) -> Iterator[Fact]:
    """Read pyproject.toml and what lies beside it."""
    path = "pyproject.toml"
    project = toml(tree, path)
    about = project.get("project") or value_at(project, "tool", "poetry") or {}
    version = about.get("requires-python") or value_at(project, "tool", "poetry", "dependencies", "python")
    if isinstance(version, str):
        where = at(tree, path, "requires-python", "python =")
        yield Fact("python.version", f"This project supports Python {version}.", where, tags=("python",))
    yield from _python_packages(tree, path)
    tools = [
        name
        for name in ("pytest", "ruff", "mypy", "black", "pyright", "tox", "coverage")
        if value_at(project, "tool", name)
    ]
    backend = value_at(project, "build-system", "build-backend")
    if isinstance(backend, str):
        where = at(tree, path, "build-backend")
        yield Fact(
            "python.build",
            f"Python packages are built with `{backend}`.",
            where,
            importance=0.4,
            tags=("python", "build"),
        )
    if tools:
        where = at(tree, path, *(f"[tool.{name}" for name in tools))
        yield Fact(
            "python.tools", f"Configured in pyproject.toml: {', '.join(tools)}.", where, tags=("python", "tooling")
        )
    if isinstance(paths := value_at(project, "tool", "pytest", "ini_options", "testpaths"), list):
        where = at(tree, path, "testpaths")
        yield Fact("python.tests", f"pytest collects tests from {listed(map(str, paths))}.", where, tags=("tests",))
    scripts = about.get("scripts")
    if isinstance(scripts, dict) and scripts:
        where = at(tree, path, "scripts]")
        yield Fact("python.scripts", f"The package installs the commands {listed(scripts)}.", where, tags=("python",))
    for name in ("tox.ini", "noxfile.py"):
        if name in tree.names:
            tool = name.partition(".")[0].removesuffix("file")
            yield Fact(
                f"python.{tool}", f"There is a {tool} set-up in {name}.", f"{name}:1", importance=0.5, tags=("tests",)
            )


def _python_packages(tree: Tree, path: str) -> Iterator[Fact]:
    locks = {"uv.lock": "uv", "poetry.lock": "Poetry", "Pipfile.lock": "Pipenv", "pdm.lock": "PDM", "pixi.lock": "pixi"}
    found = [name for name in locks if name in tree.names]
    if len(found) == 1:
        content = f"Python dependencies are managed with {locks[found[0]]} ({found[0]} is committed)."
        yield Fact("python.packages", content, f"{found[0]}:1", importance=0.7, tags=("python", "dependencies"))
    elif not found and "requirements.txt" in tree.names and path not in tree.names:
        content = "Python dependencies are listed in requirements.txt."
        yield Fact("python.packages", content, "requirements.txt:1", tags=("python", "dependencies"))


# JavaScript and TypeScript


def javascript(tree: Tree) -> Iterator[Fact]:
    """Read package.json and the lock file beside it."""
    path = "package.json"
    package = json_of(tree, path)
    if not package:
        return
    yield from _javascript_packages(tree, package)
    if isinstance(node := value_at(package, "engines", "node"), str):
        yield Fact("js.node", f"This project needs Node.js {node}.", at(tree, path, '"node"'), tags=("node",))
    scripts = {name: text for name, text in (package.get("scripts") or {}).items() if isinstance(text, str)}
    wanted = [name for name in ("test", "lint", "build", "dev", "start", "typecheck", "format") if name in scripts]
    for name in wanted[:5]:
        text = scripts[name]
        if "no test specified" in text:
            continue
        where = at(tree, path, f'"{name}":')
        kind = ("tests",) if name == "test" else (name,)
        content = f"The npm script `{name}` runs `{text}`."
        yield Fact(f"js.script.{name}", content, where, importance=0.7 if name == "test" else 0.6, tags=kind)
    if isinstance(package.get("workspaces"), list):
        content = f"This is a monorepo with the workspaces {listed(map(str, package['workspaces']))}."
        yield Fact("js.workspaces", content, at(tree, path, '"workspaces"'), "context", 0.7, ("layout",))
    if value_at(json_of(tree, "tsconfig.json"), "compilerOptions", "strict") is True:
        yield Fact(
            "js.strict",
            "TypeScript is compiled in strict mode.",
            at(tree, "tsconfig.json", '"strict"'),
            "pattern",
            0.6,
            ("typescript",),
        )


def _javascript_packages(tree: Tree, package: Mapping[str, Any]) -> Iterator[Fact]:
    locks = {
        "package-lock.json": "npm",
        "pnpm-lock.yaml": "pnpm",
        "yarn.lock": "Yarn",
        "bun.lockb": "Bun",
        "bun.lock": "Bun",
    }
    found = [name for name in locks if name in tree.names]
    said = package.get("packageManager")
    if isinstance(said, str):
        content = f"The package manager is {said.partition('+')[0]}, by package.json."
        yield Fact(
            "js.packages",
            content,
            at(tree, "package.json", '"packageManager"'),
            importance=0.7,
            tags=("node", "dependencies"),
        )
    elif len({locks[name] for name in found}) == 1:
        content = f"JavaScript dependencies are managed with {locks[found[0]]} ({found[0]} is committed)."
        yield Fact("js.packages", content, f"{found[0]}:1", importance=0.7, tags=("node", "dependencies"))


# Go, Rust, the JVM, .NET, C and C++, Ruby


def go(tree: Tree) -> Iterator[Fact]:
    """Read go.mod."""
    text = tree.text("go.mod")
    if module := re.search(r"^module\s+(\S+)", text, re.MULTILINE):
        yield Fact("go.module", f"The Go module is `{module[1]}`.", at(tree, "go.mod", "module "), tags=("go",))
    if version := re.search(r"^go\s+(\S+)", text, re.MULTILINE):
        yield Fact(
            "go.version", f"go.mod asks for Go {version[1]}.", at(tree, "go.mod", f"go {version[1]}"), tags=("go",)
        )
    for name in tree.matching(".golangci.yml", ".golangci.yaml", ".golangci.toml"):
        yield Fact("go.lint", f"Go code is linted with golangci-lint ({name}).", f"{name}:1", tags=("go", "lint"))


def rust(tree: Tree) -> Iterator[Fact]:
    """Read Cargo.toml and the toolchain file."""
    path = "Cargo.toml"
    cargo = toml(tree, path)
    if isinstance(members := value_at(cargo, "workspace", "members"), list):
        content = f"This is a Cargo workspace with the members {listed(map(str, members))}."
        yield Fact("rust.workspace", content, at(tree, path, "members"), "context", 0.7, ("rust", "layout"))
    for key, name in (("edition", "edition"), ("rust-version", "minimum supported version")):
        value = value_at(cargo, "package", key) or value_at(cargo, "workspace", "package", key)
        if isinstance(value, str):
            yield Fact(
                f"rust.{key}", f"The Rust {name} is {value}.", at(tree, path, f"{key} =", f"{key}="), tags=("rust",)
            )
    channel = value_at(toml(tree, "rust-toolchain.toml"), "toolchain", "channel")
    if isinstance(channel, str):
        where = at(tree, "rust-toolchain.toml", "channel")
        yield Fact("rust.toolchain", f"The Rust toolchain is pinned to {channel}.", where, tags=("rust",))


def jvm(tree: Tree) -> Iterator[Fact]:
    """Read Maven and Gradle files."""
    pom = tree.text("pom.xml")
    if pom:
        runner = "./mvnw" if "mvnw" in tree.names else "mvn"
        yield Fact(
            "jvm.build",
            f"The project is built with Maven (`{runner}`).",
            "pom.xml:1",
            importance=0.7,
            tags=("java", "build"),
        )
        version = re.search(r"<(maven\.compiler\.release|maven\.compiler\.source|java\.version)>\s*([\d.]+)\s*<", pom)
        if version:
            yield Fact(
                "jvm.version",
                f"The Java version is {version[2]}.",
                at(tree, "pom.xml", f"<{version[1]}>"),
                tags=("java",),
            )
    for path in ("build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"):
        if path in tree.names and not pom:
            runner = "./gradlew" if "gradlew" in tree.names else "gradle"
            yield Fact(
                "jvm.build",
                f"The project is built with Gradle (`{runner}`).",
                f"{path}:1",
                importance=0.7,
                tags=("java", "build"),
            )
            break


def dotnet(tree: Tree) -> Iterator[Fact]:
    """Read global.json and project files."""
    if isinstance(sdk := value_at(json_of(tree, "global.json"), "sdk", "version"), str):
        yield Fact(
            "dotnet.sdk", f"The .NET SDK version is {sdk}.", at(tree, "global.json", '"version"'), tags=("dotnet",)
        )
    for path in tree.matching(".sln", ".slnx")[:1]:
        yield Fact("dotnet.solution", f"The .NET solution is `{path}`.", f"{path}:1", tags=("dotnet",))
    targets: dict[str, str] = {}
    for path in tree.matching(".csproj", ".fsproj", "Directory.Build.props", depth=4)[:50]:
        for target in re.findall(r"<TargetFrameworks?>([^<$]+)<", tree.text(path)):
            targets.setdefault(target.strip(), at(tree, path, "<TargetFramework"))
    if targets:
        yield Fact(
            "dotnet.target", f"Projects target {listed(targets)}.", next(iter(targets.values())), tags=("dotnet",)
        )


def native(tree: Tree) -> Iterator[Fact]:
    """Read CMake and Meson files."""
    path = "CMakeLists.txt"
    text = re.sub(r"#[^\n]*", "", tree.text(path))
    if text:
        yield Fact("cpp.build", "The project is built with CMake.", f"{path}:1", importance=0.7, tags=("cpp", "build"))
        for language, name in (("CXX", "C++"), ("C", "C")):
            if standard := re.search(rf"set\s*\(\s*CMAKE_{language}_STANDARD\s+(\d+)", text, re.IGNORECASE):
                where = at(tree, path, f"CMAKE_{language}_STANDARD")
                yield Fact(f"cpp.{language.lower()}", f"The {name} standard is {standard[1]}.", where, tags=("cpp",))
    if "meson.build" in tree.names:
        yield Fact("cpp.meson", "There is a Meson build (meson.build).", "meson.build:1", tags=("cpp", "build"))


def ruby(tree: Tree) -> Iterator[Fact]:
    """Read the Gemfile and what lies beside it."""
    gems = tree.text("Gemfile")
    if version := re.search(r"^\s*ruby\s+[\"']([^\"']+)[\"']", gems, re.MULTILINE):
        yield Fact(
            "ruby.version", f"The Gemfile asks for Ruby {version[1]}.", at(tree, "Gemfile", "ruby "), tags=("ruby",)
        )
    tests = {"rspec": "RSpec", "rspec-rails": "RSpec", "minitest": "Minitest"}
    for gem in re.findall(r"^\s*gem\s+[\"']([\w-]+)[\"']", gems, re.MULTILINE):
        if gem in tests:
            yield Fact(
                "ruby.tests",
                f"Ruby tests use {tests[gem]}.",
                at(tree, "Gemfile", f'"{gem}"', f"'{gem}'"),
                tags=("ruby", "tests"),
            )
            break
    if ".rubocop.yml" in tree.names:
        yield Fact("ruby.lint", "Ruby code is linted with RuboCop.", ".rubocop.yml:1", tags=("ruby", "lint"))
