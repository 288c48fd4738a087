"""Which embedder a value of the setting `memory.embedder` names. Loads none of their packages."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Final

from memsync.errors import closest
from memsync.index.embed import Embedder, Meaning
from memsync.index.scale import MEANING, MEANING_DEEP

FORMS: Final = ("builtin", "none", "model2vec:PATH", "sentence-transformers:PATH", "openai:MODEL@URL")


def choose(spec: str) -> Meaning | None:
    """Return the embedder that *spec* names, as `settings.parse_value` spells it; None for `none`. Opens and asks no model.

    Raises:
        ValueError: it names none that there is; the message lists the forms.
    """
    if spec == "none":
        return None
    if spec == "builtin":
        from memsync.index.static import open_builtin

        return Meaning(open_builtin())
    return Meaning(open_named(spec), MEANING if spec.startswith("model2vec:") else MEANING_DEEP)


def open_named(spec: str) -> Embedder:
    """Return the provider that *spec* names, without opening it or asking it anything.

    Raises:
        ValueError: it names none; the message lists the forms.
    """
    kind, _, rest = spec.partition(":")
    if kind == "model2vec" and rest:
        from memsync.index.model_folder import model2vec

        return model2vec(_folder(spec, rest))
    if kind == "sentence-transformers" and rest:
        from memsync.index.model_folder import sentence_transformers

        return sentence_transformers(_folder(spec, rest))
    if kind == "openai" and rest:
        return _remote(spec, rest)
    raise ValueError(f"{spec!r} is no embedder{_near(kind)}; use {', '.join(FORMS[:-1])} or {FORMS[-1]}")


def _near(kind: str) -> str:
    kinds = {form.partition(":")[0]: form for form in FORMS}
    near = closest(kind.replace("_", "-"), kinds)
    return f", did you mean {kinds[near]}?" if near else ""


def _folder(spec: str, text: str) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{spec!r}: {error}; write the whole path") from None
    # A relative path would mean another folder in each directory that a command runs in.
    if not path.is_absolute() and not PureWindowsPath(text).is_absolute():
        raise ValueError(f"{spec!r}: write the whole path of the folder, or one that starts with ~")
    return path


def _remote(spec: str, rest: str) -> Embedder:
    from memsync import net
    from memsync.index.openai_embedder import OWN_KEY, OpenAIEmbedder

    model, at, url = rest.rpartition("@http")  # the last one: model names may have an @ too
    if not at or not model.strip():
        example = "openai:nomic-embed-text@http://127.0.0.1:11434/v1"
        raise ValueError(
            f"{spec.partition('@')[0]!r} lacks a model or its URL; use openai:MODEL@URL, such as {example}"
        )
    base = net.clean_url(f"http{url}", "the URL of the embedder", OWN_KEY).removesuffix("/embeddings")
    return OpenAIEmbedder(model.strip(), base)
