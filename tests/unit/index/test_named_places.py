"""Which places a text names, and which anchors are there."""

from __future__ import annotations

import pytest

from memsync.index.places import FOLDER, NAME, WHOLE, Named, find_anchor, find_placed, place_terms

TAX = "src/billing/tax.py@0123456789ab"


def fit(text: str, *anchors: str) -> float:
    return Named(text.split()).fit(anchors)[0]


@pytest.mark.parametrize(
    "text",
    [
        "src/billing/tax.py",
        "./src/billing/tax.py",
        "../billing/tax.py",
        "`src/billing/tax.py`,",
        '"src/billing/tax.py"',
        "@src/billing/tax.py",
        "(src/billing/tax.py:40:12)",
        "src/billing/tax.py#L40",
        "SRC/Billing/Tax.py",
        "src\\billing\\tax.py",
        "C:\\work\\shop\\src\\billing\\tax.py:3:",
        'File "/app/src/billing/tax.py", line 40, in total',
        "diff --git a/src/billing/tax.py b/src/billing/tax.py",
        "+++ b/src/billing/tax.py",
        "--cov=src/billing/tax.py",
        "src/billing/tax.py::rounds",
        "file:///home/me/shop/src/billing/tax.py",
        "https://example.org/o/shop/blob/main/src/billing/tax.py#L40",
    ],
)
def test_a_path_is_named_however_it_is_written(text):
    assert fit(text, TAX) == WHOLE


@pytest.mark.parametrize(
    ("text", "anchor", "share"),
    [
        ("tax.py:40", TAX, NAME),
        ("src/billing/", "src/billing/", WHOLE),
        ("src/billing", "src/billing/", WHOLE),
        ("billing/", "src/billing/", NAME),
        ("src/billing/tax.py", "src/billing/", FOLDER),
        ("src/billing/tax.py", "src/billing/**", FOLDER),
        ("src/billing/", TAX, FOLDER),
        ("round_total", "src/a.py#round_total", WHOLE),
        ("total()", "src/a.py#total", WHOLE),
        ("Client.retry", "src/a.py#Client.retry@0123456789ab", WHOLE),
        ("RetryPolicy", "src/a.py#RetryPolicy", WHOLE),
        ("tests/test_tax.py::test_rounds", "tests/test_tax.py#test_rounds", WHOLE),
        ("src/a.py#other", "src/a.py#total", FOLDER),
    ],
)
def test_what_is_near_counts_by_how_near_it_is(text, anchor, share):
    assert fit(text, anchor) == share


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("README.md", "README.md"),
        ("`index.js`", "web/index.js"),
        ("__init__.py", "src/billing/__init__.py"),
        ("src/index.js", "packages/cart/src/index.js"),
        ("src/", "src/"),
        ("`tax`", TAX),
        ("run()", "src/a.py#run"),
        ("/opt/lib/site-packages/src/billing/tax.py", TAX),
        ("node_modules/billing/tax.py", TAX),
        ("/usr/local/bin/deploy.sh", "deploy.sh"),
        ("other/tax.py", TAX),
        ("https://example.org/src/billing/tax.py", TAX),
        ("and/or e.g. I/O v1.2.3 HTTP_404 don't", TAX),
        ("git push", "$ git push"),
        ("src/a.py", "*.py"),
    ],
)
def test_names_that_many_have_and_places_elsewhere_name_nothing(text, anchor):
    assert fit(text, anchor) == 0


def test_what_fits_is_found_by_the_terms_of_the_record():
    texts = (TAX, "src/billing/", "src/a.py#Client.retry", "deploy.sh")
    for text in ("tax.py", "/app/src/billing/tax.py", "billing/", "client.retry", "deploy.sh"):
        for anchor in texts:
            if fit(text, anchor):
                assert not set(Named(text.split()).terms()).isdisjoint(place_terms([anchor])), (text, anchor)


def test_a_crowd_says_nothing():
    def says(*crowd: int) -> float:
        return find_placed(Named(["src/billing/tax.py"]), lambda term: crowd if term.endswith("tax.py") else ())[0]

    assert says(0) == says(0, 1) == WHOLE
    assert says(0, 1, 2) < WHOLE / 2
    assert find_placed(Named(["src/billing/tax.py"]), lambda _: range(20)) == {}


def test_many_in_the_folder_take_nothing_from_the_one_in_the_file():
    def having(term: str) -> list[int]:
        return [0] if term.endswith("tax.py") else list(range(1, 30)) if term.endswith("billing/") else []

    assert find_placed(Named(["src/billing/tax.py"]), having) == {0: WHOLE}


def test_the_nearest_anchor_is_told_without_its_hash():
    assert find_anchor("look at src/billing/tax.py", ("src/billing/", TAX)) == "src/billing/tax.py"
    assert find_anchor("look at it", ("src/billing/", TAX)) == ""


def test_commands_and_no_anchors_have_no_terms():
    assert place_terms(("$ git push", "*.py")) == place_terms(()) == []


def test_a_place_behind_a_thousand_words_is_told():
    assert find_anchor("a b c " * 500 + "src/billing/tax.py", ["src/billing/tax.py"]) == "src/billing/tax.py"


def test_of_a_record_that_is_anchored_to_everything_few_anchors_count():
    anchors = [f"src/part{number}/file{number}.py" for number in range(100)]
    terms = place_terms(anchors)
    assert terms == place_terms(anchors[:20])
    assert find_anchor("fix part19/file19.py", anchors) == anchors[19]
    assert find_anchor("fix part20/file20.py", anchors) == ""
