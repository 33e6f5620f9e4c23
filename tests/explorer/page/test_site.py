"""The static site: it needs no server but one for files, and answers as the local server does."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench import site
from engine.version import version
from search.explorer import service
from search.explorer.examples import EXAMPLES, RECORDINGS
from search.explorer.jobs import Job
from search.theory.generate import random_tree
from search.theory.tree_text import write_list
from tests.explorer.page.asking import LONG
from tests.explorer.page.conftest import PROJECT, Shown, new_page

#: How many random trees the page and Python search.
TREES = int(os.environ.get("SECATEUR_TREES", "200"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        runtime = site.pyodide_archive(PROJECT / "build", download=False)
    except site.SiteError as error:
        pytest.skip(f"`make site` has not been run: {error}")
    return site.make_site(tmp_path_factory.mktemp("made") / "site", runtime, "")


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """The address of a server of files that runs during the block."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{server.stdout.readline().split(' port ')[1].split()[0]}/"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def opened(browser: Any, built: Path) -> Iterator[Shown]:
    """The site in a browser, with Python started. The end of the block checks that nothing came from elsewhere."""
    with hosted(built) as url, new_page(browser, url) as page:
        yield page


def answered(page: Shown, path: str, body: Any) -> tuple[int, str]:
    """What the worker of the site answers."""
    found = page.page.evaluate(
        """async ([path, body]) => {
            const {answer} = await import("./local.js");
            const {status, text} = await answer(path, body);
            return [status, text];
        }""",
        [path, body],
    )
    return int(found[0]), str(found[1])


def requests() -> Iterator[tuple[str, Any]]:
    """Every example, with its own algorithm and with each other one of its kind, and random trees."""
    for key in EXAMPLES:
        made = service.example({"key": key})
        yield "example", {"key": key}
        asked = {"text": made["text"], "algorithm": made["algorithm"] or "engine", "lattice": made["lattice"]}
        # The site contains the answer to the request with seed 1, so another seed asks Python.
        yield "trace", asked | {"order": {"kind": "given", "seed": 2}}
    generator = random.Random(14)
    keys = [entry["key"] for entry in service.catalogue()["algorithms"] if not entry["lattice"]]
    for seed in range(TREES):
        tree = random_tree(seed, generator.randint(0, 6), generator.randint(1, 4), lambda g: str(g.randint(-20, 20)))
        order = {"kind": generator.choice(["given", "best", "worst", "random"]), "seed": seed}
        yield "trace", {"text": write_list(tree), "algorithm": generator.choice(keys), "order": order}
    for key in ("tic-tac-toe-learned", "connect-four", "seven"):
        yield "trace", {"text": EXAMPLES[key].text(), "algorithm": "alpha-beta", "order": {"kind": "learned"}}
    yield "trace", {"text": "[1 [2", "algorithm": "alpha-beta"}
    yield "trace", {"text": "[1 2]", "algorithm": "none"}
    yield "generate", {"branching": 3, "depth": 5, "arrangement": "worst", "seed": 4}
    yield "export", {"text": "[[3 12 8] [2 4 6] [14 5 2]]", "algorithm": "pvs"}


def test_the_first_screen_does_not_wait_for_python(built: Path, browser: Any) -> None:
    with hosted(built) as url, new_page(browser, url) as page:
        assert page.length > 0
        # The site contains the answer to the page's first request.
        asked = page.page.evaluate("(({compare, ...one}) => JSON.stringify(one))(secateur.state.request)")
        assert f"trace{asked}" in json.loads((built / "answers.json").read_text(encoding="utf-8"))
        page.press("n")
        assert page.text("explanation").startswith("Visit")
        assert page.text("version") == version()
        page.page.wait_for_function("navigator.serviceWorker.controller !== null")


@pytest.mark.slow
def test_the_worker_answers_exactly_as_the_server(opened: Shown) -> None:
    for path, body in requests():
        assert answered(opened, path, body) == service.respond(path, body, Job()), body


def test_a_search_can_be_stopped_and_replaced(opened: Shown) -> None:
    opened.page.evaluate(
        """body => {
            const send = async () => (await import("./local.js")).answer("trace", body);
            window.sent = send();
        }""",
        LONG,
    )
    assert opened.page.evaluate(
        "import('./local.js').then(({stopPython}) => { stopPython(); return window.sent; })"
    ) == {
        "status": 409,
        "text": '{"error":"stopped","stopped":true}',
    }
    assert json.loads(answered(opened, "trace", {"text": "[1 2]", "algorithm": "pvs"})[1])["result"]["value"] == "2"


def test_recorded_searches_open_and_new_ones_are_refused(opened: Shown) -> None:
    opened.click("tab-chess")
    assert not opened.page.is_visible("#chess-search")
    for key in RECORDINGS:
        opened.choose("recorded", key)
        assert "depth" in opened.text("caption-a")
        assert opened.length > 50
    opened.click("share")
    address = opened.page.input_value("#share-address")
    opened.press("Escape")
    opened.page.goto("about:blank")
    opened.open(address)
    assert opened.page.evaluate("secateur.state.panels[0] === secateur.state.chess")
    status, text = answered(opened, "chess", {"depth": 3, "nodes": 100})
    assert (status, "cannot run the engine" in text) == (400, True)


def test_the_page_works_without_a_network_once_it_was_loaded(built: Path, browser: Any) -> None:
    context = browser.new_context()
    context.set_default_timeout(120_000)
    page = Shown(context.new_page())
    with hosted(built) as url:
        page.open(url)
        page.page.wait_for_function("navigator.serviceWorker.controller !== null")
    # The server is gone.
    page.page.reload()
    page.ready()
    page.choose("example", "textbook")
    assert "13 nodes, 9 leaves" in page.text("explanation")
    assert page.problems == []
    context.close()


def test_addresses_and_packages_are_checked(tmp_path: Path) -> None:
    for address in ("example.org/", "https://example.org", 'https://a"/', "https://a/?b/"):
        assert "bad address" in (site.main(tmp_path, address) or "")
    archive = tmp_path / f"pyodide-{site.PYODIDE}.tgz"
    with pytest.raises(site.SiteError, match="is missing"):
        site.pyodide_archive(tmp_path, download=False)
    archive.write_bytes(b"another package")
    with pytest.raises(site.SiteError, match="wrong SHA-256"):
        site.pyodide_archive(tmp_path, download=False)
